"""A model of views: the memory offset of each element of a tile, and the text of the types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from program import Program, Shape, row_major, tensor_type, tile_type
from rational import FORMATS, INFINITE, NAN, special_code

# An index of a tile: numbers, and a list of numbers for the sparse dimension of a gather_scatter_view.
Index = Sequence[int | Sequence[int]]


def padding_code(element: str, padding: str) -> int | None:
    """The bits of a padding value; None if the element type has no such value."""
    if element not in FORMATS:
        return 0 if padding == "zero" else None
    form = FORMATS[element]
    sign = 1 << form.stored - 1
    infinite = ((1 << form.exponent_bits) - 1) << form.fraction_bits + form.shift
    if padding == "zero":
        return None if element == "f8E8M0FNU" else 0
    if padding == NAN:
        return None if form.special == "none" else special_code(form, 0, NAN)
    if not form.signed:
        return None
    if padding == "neg_zero":
        return sign
    assert padding in ("pos_inf", "neg_inf"), INFINITE
    return None if form.special != "ieee" else infinite | (sign if padding == "neg_inf" else 0)


# The message of a checking implementation for an index outside the index space.
INDEX_OUTSIDE = "index"


@dataclass(frozen=True)
class View:
    """A tensor and the tiles it is cut into; `steps` make it a strided_view, `sparse` a gather_scatter_view.

    `dynamic` is the integer type of the operands that give extents and strides, unless those are literals.
    """

    element: str
    shape: Shape
    strides: Shape
    tile: Shape
    steps: Shape | None = None
    sparse: int | None = None
    dim_map: Shape | None = None
    padding: str | None = None
    dynamic: str | None = None
    attribute: str = ""

    @property
    def kind(self) -> str:
        if self.sparse is not None:
            return "gather_scatter_view"
        return "partition_view" if self.steps is None else "strided_view"

    @property
    def size(self) -> int:
        """The number of elements of the memory of the tensor."""
        return 1 + sum((extent - 1) * stride for extent, stride in zip(self.shape, self.strides, strict=True))

    @property
    def tensor(self) -> str:
        shape, strides = (["?"] * len(self.shape),) * 2 if self.dynamic else (self.shape, self.strides)
        return tensor_type(self.element, shape, strides, self.attribute)

    @property
    def type(self) -> str:
        parameters = [f"tile=({'x'.join(map(str, self.tile))})"]
        if self.steps is not None:
            parameters.append(f"traversal_strides={list(self.steps)}")
        if self.padding is not None:
            parameters.append(f"padding_value = {self.padding}")
        parameters.append(self.tensor)
        if self.dim_map is not None:
            parameters.append(f"dim_map={list(self.dim_map)}")
        if self.sparse is not None:
            parameters.append(f"sparse_dim={self.sparse}")
        return f"{self.kind}<{', '.join(parameters)}>"

    def offsets(self, index: Index) -> list[int | None]:
        """The offset of each element of the tile in row-major order, None for an element outside the tensor."""
        return [self._offset(index, inside) for inside in product(*map(range, self.tile))]

    def _offset(self, index: Index, inside: Shape) -> int | None:
        offset = 0
        for axis, dim in enumerate(self.dim_map or range(len(self.tile))):
            position = self._position(axis, index[axis], inside[axis])
            if position >= self.shape[dim]:
                return None
            offset += position * self.strides[dim]
        return offset

    def _position(self, axis: int, number: int | Sequence[int], inside: int) -> int:
        if not isinstance(number, int):
            return number[inside]
        if self.sparse is not None:
            return number + inside
        return number * (self.steps or self.tile)[axis] + inside

    def contains(self, index: Index) -> bool:
        """Whether an index is in the index space.

        Other indices are undefined by the specification; in known implementations, their tiles are outside the tensor.
        """
        dense = [(number, count) for number, count in zip(index, self.index_space(), strict=True)]
        return all(number < count for number, count in dense if isinstance(number, int))

    def index_space(self) -> list[int]:
        """The number of tiles along each dimension."""
        steps = (1,) * len(self.tile) if self.sparse is not None else self.steps or self.tile
        extents = [self.shape[dim] for dim in self.dim_map or range(len(self.tile))]
        return [-(-extent // step) for extent, step in zip(extents, steps, strict=True)]

    def make(self, program: Program, base: str) -> str:
        """Adds the view over memory at a base to a program; returns its name."""
        return program.let(f"make_{self.kind} {self.make_tensor(program, base)} : {self.type}")

    def make_tensor(self, program: Program, base: str) -> str:
        shape, strides, types = list(map(str, self.shape)), list(map(str, self.strides)), ""
        if self.dynamic:
            shape, strides = ([program.scalar(self.dynamic, x) for x in sizes] for sizes in (self.shape, self.strides))
            types = f"{tile_type(self.dynamic)} -> "
        elif self.attribute:
            types = f"{tile_type(f'ptr<{self.element}, <{self.attribute}>>')} -> "
        listed = f"shape = [{', '.join(shape)}], strides = [{', '.join(strides)}]"
        return program.let(f"make_tensor_view {base}, {listed} : {types}{self.tensor}")


def matrix(element: str, rows: int, columns: int, gap: int, tile: Shape, **more) -> View:
    """A view of a matrix with a gap after each row."""
    return View(element, (rows, columns), (columns + gap, 1), tile, **more)


def dense(element: str, shape: Shape, tile: Shape, **more) -> View:
    """A view of a tensor without gaps."""
    return View(element, shape, tuple(row_major(shape)), tile, **more)


def unsigned(index: Index, types: Sequence[str]) -> Index:
    """The index truncated to its unsigned types (of numbers, of lists)."""
    one, many = (1 << int(element[1:]) for element in types)
    return [number % one if isinstance(number, int) else [x % many for x in number] for number in index]


def indices(program: Program, index: Index, element: str, sparse_element: str) -> tuple[str, str]:
    """The operands of an index, and their types as text: one for all, or one per operand if they differ."""
    names, types = [], []
    for number in index:
        if isinstance(number, int):
            names.append(program.scalar(element, number))
            types.append(tile_type(element))
        else:
            names.append(program.loaded_tile(sparse_element, number, (len(number),)))
            types.append(tile_type(sparse_element, (len(number),)))
    return ", ".join(names), ", ".join(types[:1] if len(set(types)) == 1 else types)
