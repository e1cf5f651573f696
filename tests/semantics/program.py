"""Vectors that are whole programs: the text of an entry, its arguments, and memory before and after."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

Bits = Sequence[int | None]
Shape = tuple[int, ...]


def tile_type(element: str, shape: Shape = ()) -> str:
    return f"tile<{''.join(f'{extent}x' for extent in shape)}{element}>"


def pointer_type(element: str, shape: Shape = ()) -> str:
    return tile_type(f"ptr<{element}>", shape)


def row_major(shape: Shape) -> list[int]:
    """The strides of a tensor without gaps."""
    return [prod(shape[axis + 1 :]) for axis in range(len(shape))]


def tensor_type(element: str, shape: Sequence[int | str], strides: Sequence[int | str], attribute: str = "") -> str:
    """The text of a tensor_view type; `?` is an extent or a stride passed as an operand."""
    extents = "".join(f"{extent}x" for extent in shape)
    stepped = f", strides=[{','.join(map(str, strides))}]" if shape else ""
    return f"tensor_view<{extents}{element}{stepped}{f', #cuda_tile.ptr_attr<{attribute}>' if attribute else ''}>"


class Program:
    """Builds an entry line by line; `operations` are the operations that the vector tests."""

    def __init__(self, *operations: str, case: str, grid: Shape | None = None, **more: Any) -> None:
        self._record: dict[str, Any] = {"operations": list(operations), "case": case, **more}
        self._grid = grid
        self._outside: list[str] = []
        self._lines: list[str] = []
        self._parameters: list[str] = []
        self._arguments: list[dict[str, Any]] = []
        self._buffers: dict[str, dict[str, Any]] = {}
        self._names = 0

    def line(self, text: str) -> None:
        self._lines.append(text)

    def module_line(self, text: str) -> None:
        """Adds a line to the module, outside of the entry."""
        self._outside.append(text)

    def let(self, text: str) -> str:
        """Adds a line with one result; returns the name of the result."""
        self._names += 1
        self.line(f"%{self._names} = {text}")
        return f"%{self._names}"

    def pair(self, text: str) -> tuple[str, str]:
        """Adds a line with two results; returns their names."""
        self._names += 2
        names = f"%{self._names - 1}", f"%{self._names}"
        self.line(f"{names[0]}, {names[1]} = {text}")
        return names

    def scalar(self, element: str, bits: int) -> str:
        """Adds a parameter that is a number; a negative integer is converted to its bits."""
        self._arguments.append({"element": element, "bits": bits % (1 << int(element[1:])) if bits < 0 else bits})
        self._parameters.append(f"%a{len(self._parameters)}: {tile_type(element)}")
        return f"%a{len(self._parameters) - 1}"

    def buffer(self, element: str, before: Bits | None = None, after: Bits | None = None, attribute: str = "") -> str:
        """Adds a parameter that points to memory; None `before` is unspecified, None `after` is unchanged."""
        name = f"b{len(self._buffers)}"
        states = {"before": before, "after": after}
        self._buffers[name] = {"element": element, **{k: list(v) for k, v in states.items() if v is not None}}
        self._arguments.append({"buffer": name})
        pointer = f"ptr<{element}{f', <{attribute}>' if attribute else ''}>"
        self._parameters.append(f"%a{len(self._parameters)}: {tile_type(pointer)}")
        return f"%a{len(self._parameters) - 1}"

    def constant(self, element: str, value: Any, shape: Shape = ()) -> str:
        """A tile of literals; literals of floats are strings, decimal or hexadecimal bits."""
        return self.let(f"constant <{element}: {_literal(value)}> : {tile_type(element, shape)}")

    def pointers(self, base: str, pointee: str, offsets: Sequence[int]) -> str:
        """A 1-D tile of pointers at offsets (in elements) from a base."""
        kind = f"ptr<{pointee}>"
        one = self.let(f"reshape {base} : {tile_type(kind)} -> {tile_type(kind, (1,))}")
        shape = (len(offsets),)
        if len(offsets) > 1:
            one = self.let(f"broadcast {one} : {tile_type(kind, (1,))} -> {tile_type(kind, shape)}")
        offsets_tile = self.loaded_tile("i32", offsets, shape)
        many = tile_type(kind, shape)
        return self.let(f"offset {one}, {offsets_tile} : {many}, {tile_type('i32', shape)} -> {many}")

    def whole_view(self, base: str, element: str, shape: Shape) -> tuple[str, str]:
        """A view whose one tile is the whole tensor at a base, and its type."""
        tensor = tensor_type(element, shape, row_major(shape))
        tensor_value = self.let(
            f"make_tensor_view {base}, shape = {list(shape)}, strides = {row_major(shape)} : {tensor}"
        )
        kind = f"partition_view<tile=({'x'.join(map(str, shape))}), {tensor}>"
        return self.let(f"make_partition_view {tensor_value} : {kind}"), kind

    def load(self, pointer: str, element: str, token: str = "") -> tuple[str, str]:
        """Loads one element through a pointer; returns it with the token of the load."""
        after = f" token={token}" if token else ""
        return self.pair(f"load_ptr_tko weak {pointer}{after} : {pointer_type(element)} -> {tile_type(element)}, token")

    def store(self, pointer: str, value: str, element: str, token: str = "") -> str:
        """Stores one element through a pointer; returns the token."""
        after = f" token={token}" if token else ""
        types = f"{pointer_type(element)}, {tile_type(element)}"
        return self.let(f"store_ptr_tko weak {pointer}, {value}{after} : {types} -> token")

    def loaded_tile(self, element: str, bits: Bits, shape: Shape) -> str:
        """A tile that the program loads from a new buffer."""
        base = self.buffer(element, bits)
        if not shape:
            return self.load(base, element)[0]
        view, kind = self.whole_view(base, element, shape)
        loaded = tile_type(element, shape)
        return self.pair(f"load_view_tko weak {view}[{self._zeros(shape)}] : {kind}, tile<i32> -> {loaded}, token")[0]

    def expect(self, value: str, element: str, bits: Bits, shape: Shape = ()) -> str:
        """Stores a tile into a new buffer, which must equal `bits` after the run; returns the token."""
        base = self.buffer(element, None, bits)
        if not shape:
            return self.store(base, value, element)
        view, kind = self.whole_view(base, element, shape)
        types = f"{tile_type(element, shape)}, {kind}, tile<i32>"
        return self.let(f"store_view_tko weak {value}, {view}[{self._zeros(shape)}] : {types} -> token")

    def _zeros(self, shape: Shape) -> str:
        zero = self.constant("i32", 0)
        return ", ".join([zero] * len(shape))

    def undefined(self, message: str) -> None:
        """The result is unspecified; a checking implementation has `message` in its error."""
        self._record["undefined"] = message

    def record(self) -> dict[str, Any]:
        """The vector for the file."""
        entry = [f"entry @vector({', '.join(self._parameters)}) {{", *self._lines, "return", "}"]
        text = "\n".join(["cuda_tile.module @vectors {", *self._outside, *entry, "}"])
        grid = {} if self._grid is None else {"grid": list(self._grid)}
        return {**self._record, **grid, "arguments": self._arguments, "buffers": self._buffers, "module": text}


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"[{', '.join(map(_literal, value))}]" if isinstance(value, list | tuple) else str(value)
