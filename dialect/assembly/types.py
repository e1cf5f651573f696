"""Parses types: Tile IR's own, NVIDIA's generic form (`!cuda_tile.tile<4xf32>`), and MLIR's."""

from __future__ import annotations

import re

from tilec.dialect.assembly.tokens.limits import MAXIMUM_DIGITS
from tilec.dialect.cache import cached
from tilec.dialect.cuda_tile.element import ELEMENT_BITS
from tilec.dialect.cuda_tile.types import (
    GatherScatterViewType,
    PartitionViewType,
    PointerType,
    StridedViewType,
    TensorViewType,
    TileType,
    TokenType,
)
from tilec.dialect.mlir import context, ir
from tilec.dialect.tilex.im2col_type import ARRAYS, Im2colViewType
from tilec.dialect.tilex.packed_type import PackedViewType

_BUILTIN = {"fnv8E5M3FNU": "f8E5M3FNU"}
_PREFIX = "!cuda_tile."
_EXTENSION = re.compile(r"!?tilex\.")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_$.]*")
_INTEGER = re.compile(r"-?\d+")
_SPACE = re.compile(r"(?:[ \t\r\n]++|//[^\n]*+)*+")


class TypeSyntaxError(Exception):
    """An invalid type: a message, and the offset within the text of the type."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.message, self.offset = message, offset


def element_type(name: str) -> ir.Type:
    """The number type of a name (`f32`, `f8E4M3FN`); raises KeyError for other names."""
    return _element_type(name, ir.Context.current or context())


@cached
def _element_type(name: str, made: ir.Context) -> ir.Type:
    if name not in ELEMENT_BITS:
        raise KeyError(name)
    return ir.Type.parse(_BUILTIN.get(name, name), made)


def parse_type(text: str) -> ir.Type:
    """Parses a type; raises TypeSyntaxError."""
    return _parse_type(text, ir.Context.current or context())


@cached
def _parse_type(text: str, made: ir.Context) -> ir.Type:
    reader = _TypeReader(text)
    with made:
        found = reader.type()
    reader.skip()
    if reader.at != len(text):
        reader.fail("unexpected characters after the type")
    return found


class _TypeReader:
    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def fail(self, message: str, at: int | None = None) -> None:
        raise TypeSyntaxError(message, self.at if at is None else at)

    def skip(self) -> None:
        self.at = _SPACE.match(self.text, self.at).end()  # type: ignore[union-attr]

    def take(self, literal: str) -> bool:
        self.skip()
        if not self.text.startswith(literal, self.at):
            return False
        self.at += len(literal)
        return True

    def expect(self, literal: str) -> None:
        if not self.take(literal):
            self.fail(f"expected '{literal}'")

    def word(self) -> str:
        self.skip()
        found = _WORD.match(self.text, self.at)
        if found is None:
            self.fail("expected a type")
            return ""
        self.at = found.end()
        return found.group()

    def integer(self, message: str = "expected an integer") -> int:
        self.skip()
        found = _INTEGER.match(self.text, self.at)
        if found is None:
            self.fail(message)
            return 0
        value = self._number(found.group())
        self.at = found.end()
        return value

    def _number(self, digits: str) -> int:
        if len(digits) > MAXIMUM_DIGITS:
            self.fail("integer constant out of range for type")
        return int(digits)

    def type(self) -> ir.Type:
        self.skip()
        start = self.at
        if (extension := _EXTENSION.match(self.text, start)) is not None:
            return self._extension(start, extension.end())
        prefixed = self.take(_PREFIX)
        if not prefixed and self.text.startswith(("!", "("), self.at):
            return self._foreign(start)
        name = self.word()
        if name == "token":
            return TokenType.get()
        if name in ELEMENT_BITS and not prefixed:
            return element_type(name)
        reader = getattr(self, f"_{name}", None) if name in _CONSTRUCTORS else None
        if reader is None:
            return self._unknown(name, start, prefixed)
        if self._is_parametric():
            return self._foreign(start)
        self.expect("<")
        try:
            return reader()
        except ValueError as error:
            raise TypeSyntaxError(str(error), start) from None

    def _is_parametric(self) -> bool:
        # MLIR's form for dialects defined in Python: parameters, of which the first is an array or a prefixed type.
        return (
            re.match(r"\s*<\s*(array<i|!cuda_tile\.tensor_view|f?\w+,\s*(unit|\"))", self.text[self.at :]) is not None
        )

    def _extension(self, start: int, after_prefix: int) -> ir.Type:
        """A type of tilex, which is written with its dialect; `after_prefix` is the offset of its name."""
        self.at = after_prefix
        name = self.word()
        if name not in _EXTENSIONS:
            self.fail(f"unknown type: tilex.{name}", start)
        if self._is_parametric():
            return self._foreign(start)
        self.expect("<")
        try:
            return getattr(self, f"_{name}")()
        except ValueError as error:
            raise TypeSyntaxError(str(error), start) from None

    def _unknown(self, name: str, start: int, prefixed: bool) -> ir.Type:
        if prefixed:
            self.fail(f"unknown type: {name}", start)
        return self._foreign(start)

    def _foreign(self, start: int) -> ir.Type:
        text = self.text[start:]
        try:
            found = ir.Type.parse(
                text if text.startswith(("!", "(")) or not text.startswith(_CONSTRUCTORS) else _PREFIX + text
            )
        except ir.MLIRError:
            name = _WORD.match(text.lstrip("!"))
            raise TypeSyntaxError(f"unknown type: {name.group() if name else text}", start) from None
        self.at = len(self.text)
        return found

    def _element(self, description: str) -> ir.Type:
        start = self.at
        name = self.word()
        if name not in ELEMENT_BITS:
            self.fail(f"expected {description}, but got '{name}'", start)
        return element_type(name)

    def _dimension(self, dynamic: bool) -> int | None | bool:
        """Reads a dimension and its `x`; False if the element type starts."""
        self.skip()
        if dynamic and self.text.startswith("?", self.at):
            self.at += 1
            self.expect("x")
            return None
        found = re.compile(r"(-?\d+)\s*x").match(self.text, self.at)
        if found is None:
            if _INTEGER.match(self.text, self.at):
                self.fail("expected 'x' after the dimension")
            return False
        extent = self._number(found.group(1))
        # The least number encodes `?` in a type and must be written `?` in text.
        if dynamic and extent <= 0:
            self.fail(f"dimensions must have strictly positive constant sizes but got [{extent}]")
        self.at = found.end()
        return extent

    def _dimensions(self, dynamic: bool = False) -> list[int | None]:
        found: list[int | None] = []
        while (extent := self._dimension(dynamic)) is not False:
            found.append(extent)
        return found

    def _ptr(self) -> ir.Type:
        element = self._element("a number type")
        attribute = None
        if self.take(","):
            self.take("#cuda_tile.ptr_attr")
            self.expect("<")
            attribute = self.word()
            self.expect(">")
        self.expect(">")
        return PointerType.get(element, attribute)

    def _tile(self) -> ir.Type:
        shape = self._dimensions()
        self.skip()
        if self.text.startswith("?", self.at):
            self.fail("expected static shape: the dimensions of a tile are numbers, but got '?'")
        if self.text.startswith((f"{_PREFIX}ptr", "ptr"), self.at):
            self.take(_PREFIX)
            self.word()
            self.expect("<")
            element = self._ptr()
        else:
            element = self._element("a number type or a pointer")
        self.expect(">")
        return TileType.get(shape, element)  # type: ignore[arg-type]

    def _tensor_view(self) -> ir.Type:
        shape = self._dimensions(dynamic=True)
        element = self._element("a number type")
        strides: list[int | None] = []
        attribute, has_strides = None, False
        while self.take(","):
            if self.take("#cuda_tile.ptr_attr"):
                self.expect("<")
                attribute = self.word()
                self.expect(">")
            elif self.take("strides"):
                if not shape:
                    self.fail("strides must not be provided for 0-d tiles")
                self.expect("=")
                strides, has_strides = self._strides(), True
            else:
                self.fail("expected 'strides'")
        if shape and not has_strides:
            self.fail("expected 'strides'")
        if not shape and not self.text.startswith(">", self.at):
            self.fail("unexpected token after element type in 0-d tensor_view")
        self.expect(">")
        return TensorViewType.get(shape, element, strides, attribute)

    def _strides(self) -> list[int | None]:
        found: list[int | None] = []
        self.expect("[")
        while not self.take("]"):
            if found:
                self.expect(",")
            if self.take("?"):
                found.append(None)
                continue
            stride = self.integer("expected either 64-bit integer or question mark")
            if stride <= 0:
                self.fail(f"expected strictly positive integer, got {stride}")
            found.append(stride)
        return found

    def _integers(self) -> list[int]:
        found: list[int] = []
        self.expect("[")
        while not self.take("]"):
            if found:
                self.expect(",")
            found.append(self.integer())
        return found

    def _tile_shape(self) -> list[int]:
        self.expect("tile")
        self.expect("=")
        self.expect("(")
        found = [] if self.text.startswith(")", self.at) else [self._tile_dimension(0)]
        while self.take("x"):
            found.append(self._tile_dimension(len(found)))
        self.expect(")")
        self.expect(",")
        return found

    def _tile_dimension(self, axis: int) -> int:
        extent = self.integer()
        if not -(1 << 31) <= extent < 1 << 31:
            self.fail(f"tile dimension {axis} exceeds i32 limitations ({extent})")
        return extent

    def _view(self) -> tuple[str | None, ir.Type]:
        padding = None
        if self.take("padding_value"):
            self.expect("=")
            padding = self.word()
            self.expect(",")
        self.skip()
        start = self.at
        self.take(_PREFIX)
        name = self.word()
        if name != "tensor_view":
            self.fail(f"expected 'tensor_view' type, but got '{name}'", start)
        self.expect("<")
        return padding, self._tensor_view()

    def _dim_map(self) -> list[int] | None:
        if not self.take(","):
            return None
        self.expect("dim_map")
        self.expect("=")
        return self._integers()

    def _partition_view(self) -> ir.Type:
        shape = self._tile_shape()
        padding, view = self._view()
        mapping = self._dim_map()
        self.expect(">")
        return PartitionViewType.get(shape, view, mapping, padding)

    def _strided_view(self) -> ir.Type:
        shape = self._tile_shape()
        self.expect("traversal_strides")
        self.expect("=")
        traversal = self._integers()
        self.expect(",")
        padding, view = self._view()
        mapping = self._dim_map()
        self.expect(">")
        return StridedViewType.get(shape, traversal, view, mapping, padding)

    def _gather_scatter_view(self) -> ir.Type:
        shape = self._tile_shape()
        padding, view = self._view()
        self.expect(",")
        self.expect("sparse_dim")
        self.expect("=")
        sparse = self.integer()
        self.expect(">")
        return GatherScatterViewType.get(shape, view, sparse, padding)

    def _im2col_view(self) -> ir.Type:
        shape = self._tile_shape()
        arrays = {name: self._named_integers(name) for name in ARRAYS}
        interleave = mode = None
        if self.take("interleave"):
            self.expect("=")
            interleave = self.integer()
            self.expect(",")
        if self.take("mode"):
            self.expect("=")
            mode = self.word()
            self.expect(",")
        _, view = self._view()
        self.expect(">")
        return Im2colViewType.get(shape, view, **arrays, mode=mode, interleave=interleave)

    def _packed_view(self) -> ir.Type:
        shape = self._tile_shape()
        self.expect("bits")
        self.expect("=")
        bits = self.integer()
        self.expect(",")
        _, view = self._view()
        self.expect(">")
        return PackedViewType.get(shape, bits, view)

    def _named_integers(self, name: str) -> list[int]:
        """`window=[3, 3],`."""
        self.expect(name)
        self.expect("=")
        found = self._integers()
        if any(not -(1 << 31) <= value < 1 << 31 for value in found):
            self.fail(f"{name} exceeds the limits of i32: {found}")
        self.expect(",")
        return found


_CONSTRUCTORS = ("ptr", "tile", "tensor_view", "partition_view", "strided_view", "gather_scatter_view")
# The types of tilex.
_EXTENSIONS = ("im2col_view", "packed_view")
