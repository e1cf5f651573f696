"""Aliases for the types of a module: register tiles with layouts, buffers, channels."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.dialect.tile_gpu.types import BufferType, ChannelType

# Buffer layouts that are printed in a type without quotes.
_BARE_LAYOUT = re.compile(r"[\w=.\-]+(?: [\w=.\-]+)*")


class TypeAliases:
    """Aliases such as `!tile_128x64xf32` for long types, in text order."""

    def __init__(self, module: ir.Module) -> None:
        self._names: dict[ir.Type, str] = {}
        self._layouts: dict[str, str] = {}
        self._taken: set[str] = set()
        self._lines: list[str] = []
        for type in _types(module.operation):
            self._add(type)

    def spell(self, type: ir.Type) -> str:
        """A type by its alias, otherwise in full."""
        name = self._names.get(type)
        return name if name is not None else _written_out(type)

    def lines(self) -> list[str]:
        """The definitions, each after those it uses."""
        return self._lines

    def _add(self, type: ir.Type) -> None:
        if type in self._names:
            return
        if isinstance(type, ir.RankedTensorType) and isinstance(type.encoding, ir.StringAttr):
            layout = self._layout(type.encoding, "x".join(map(str, type.shape)) or "scalar")
            extents = "".join(f"{extent}x" for extent in type.shape)
            self._define(type, f"!tile_{extents}{type.element_type}", f"tensor<{extents}{type.element_type}, {layout}>")
        elif isinstance(type, BufferType):
            extents = "".join(f"{extent}x" for extent in type.shape)
            self._define(type, f"!{type.memory}_{extents}{type.element}", _written_out(type))
        elif isinstance(type, ChannelType) and type.buffers:
            for buffer in type.buffers:
                self._add(buffer)
            buffers = [self.spell(buffer) for buffer in type.buffers]
            shapes = "_".join(name.lstrip("!").partition("_")[2] for name in buffers)
            self._define(type, f"!channel_{shapes}", f"channel<[{', '.join(buffers)}]>")

    def _layout(self, encoding: ir.StringAttr, shape: str) -> str:
        text = str(encoding)
        if text not in self._layouts:
            self._layouts[text] = self._unique(f"#layout_{shape}")
            self._lines.append(f"{self._layouts[text]} = {text}")
        return self._layouts[text]

    def _define(self, type: ir.Type, name: str, meaning: str) -> None:
        self._names[type] = self._unique(name)
        self._lines.append(f"{self._names[type]} = {meaning}")

    def _unique(self, name: str) -> str:
        unique, number = name, 0
        while unique in self._taken:
            number += 1
            unique = f"{name}_{number}"
        self._taken.add(unique)
        return unique


def _written_out(type: ir.Type) -> str:
    """A type in the syntax of its dialect if that is complete."""
    if isinstance(type, BufferType) and not _BARE_LAYOUT.fullmatch(type.layout):
        return str(type)
    return spell(type)


def _types(operation: ir.Operation) -> Iterator[ir.Type]:
    for region in operation.regions:
        for block in region.blocks:
            yield from (argument.type for argument in block.arguments)
            for op in block.operations:
                yield from (result.type for result in op.operation.results)
                yield from _types(op.operation)
