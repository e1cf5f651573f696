"""The types of Tile IR; `get` refuses what its type rules refuse (ValueError), properties give plain Python values."""

import functools
from collections.abc import Sequence
from typing import Any

from tilec.dialect.cuda_tile.namespace import CudaTile
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell

MAXIMUM_TILE_ELEMENTS = 1 << 24
# MLIR's own mark of a dynamic extent.
DYNAMIC = -(1 << 63)
PADDING_VALUES = ("zero", "neg_zero", "nan", "pos_inf", "neg_inf")
POINTER_ATTRIBUTES = ("none", "unicast", "multicast")

# Bits of an element as the rules count them: tf32 has 19 there, though it fills four bytes of memory.
ELEMENT_BITS = {
    "i1": 1,
    "i4": 4,
    "i8": 8,
    "i16": 16,
    "i32": 32,
    "i64": 64,
    "f16": 16,
    "bf16": 16,
    "f32": 32,
    "tf32": 19,
    "f64": 64,
    "f8E4M3FN": 8,
    "f8E5M2": 8,
    "f8E8M0FNU": 8,
    "f4E2M1FN": 4,
    "fnv8E5M3FNU": 8,
}
NUMBERS = tuple(name for name in ELEMENT_BITS if name != "i4")
INTEGERS = ("i1", "i8", "i16", "i32", "i64")
FLOATS = tuple(name for name in NUMBERS if name not in INTEGERS)


def _optional(text: str | None) -> ir.Attribute:
    # IRDL has no optional parameters; `unit` stands for absent.
    return ir.UnitAttr.get() if text is None else ir.StringAttr.get(text)


def _text(parameter: ir.Attribute) -> str | None:
    parameter = parameter.maybe_downcast()
    return parameter.value if isinstance(parameter, ir.StringAttr) else None


def _type(parameter: Any) -> ir.Type:
    return ir.TypeAttr(parameter).value


def _extents(values: Sequence[Any]) -> tuple[int, ...]:
    return tuple(DYNAMIC if value is None or value is ... else int(value) for value in values)


def _plain(values: Any) -> tuple[int | None, ...]:
    return tuple(None if value == DYNAMIC else value for value in values)


def _refuse(problem: str | None) -> None:
    if problem is not None:
        raise ValueError(problem)


class PointerType(CudaTile.Type, name="ptr"):
    """Address of an element in global memory."""

    pointee: Any
    kind: Any

    @classmethod
    @functools.cache
    def get(cls, element: ir.Type, attribute: str | None = None) -> "PointerType":
        if spell(element) not in NUMBERS:
            raise ValueError(f"pointee must be a number type, but got '{spell(element)}'")
        if attribute is not None and attribute not in POINTER_ATTRIBUTES:
            raise ValueError(f"pointer attribute must be one of: {', '.join(POINTER_ATTRIBUTES)}, but got: {attribute}")
        return super().get(element, _optional(attribute))

    element = property(lambda self: _type(self.params[0]))
    attribute = property(lambda self: _text(self.params[1]))

    def spelled(self) -> str:
        suffix = "" if self.attribute is None else f", <{self.attribute}>"
        return f"ptr<{spell(self.element)}{suffix}>"


class TileType(CudaTile.Type, name="tile"):
    """A tile of numbers or pointers; every extent is a power of two, rank 0 is a scalar."""

    extents: Any
    element_type: Any

    @classmethod
    def get(cls, shape: Sequence[int], element: ir.Type) -> "TileType":
        return _tile(tuple(shape), element)

    shape = property(lambda self: _tile_facts(self)[0])
    element = property(lambda self: _tile_facts(self)[1])
    rank = property(lambda self: len(_tile_facts(self)[0]))

    def spelled(self) -> str:
        return f"tile<{''.join(f'{extent}x' for extent in self.shape)}{spell(self.element)}>"


@functools.cache
def _tile(shape: tuple[int, ...], element: ir.Type) -> TileType:
    _refuse(tile_problem(shape, element))
    return TileType(ir.DynamicType.get("cuda_tile.tile", [ir.DenseI64ArrayAttr.get(shape), ir.TypeAttr.get(element)]))


@functools.cache
def _tile_facts(tile: TileType) -> tuple[tuple[int, ...], ir.Type]:
    extents, element = tile.params
    return tuple(ir.DenseI64ArrayAttr(extents)), _type(element)


def tile_problem(shape: Sequence[int], element: ir.Type) -> str | None:
    """What keeps a shape and an element type from being a tile, or None."""
    listed = f"[{', '.join(map(str, shape))}]"
    if not isinstance(element, PointerType) and spell(element) not in ELEMENT_BITS:
        return f"tile element must be a number type or a pointer, but got '{spell(element)}'"
    if any(extent <= 0 for extent in shape):
        return f"all dimensions must be positive constants, got {listed}"
    if any(extent & (extent - 1) for extent in shape):
        return f"all dimensions must be powers of two, got {listed}"
    if functools.reduce(lambda a, b: a * b, shape, 1) > MAXIMUM_TILE_ELEMENTS:
        return f"tile would exceed the maximum of {MAXIMUM_TILE_ELEMENTS} elements"
    if spell(element) == "f4E2M1FN" and all(extent % 2 for extent in shape):
        return "F4E2M1FN tiles must have an even number of elements"
    return None


class TensorViewType(CudaTile.Type, name="tensor_view"):
    """A strided tensor in global memory; None is an extent or a stride (in elements) known at run time only."""

    extents: Any
    element_type: Any
    steps: Any
    kind: Any

    @classmethod
    def get(
        cls, shape: Sequence[Any], element: ir.Type, strides: Sequence[Any], attribute: str | None = None
    ) -> "TensorViewType":
        return _tensor_view(_extents(shape), element, _extents(strides), attribute)

    shape = property(lambda self: _tensor_view_facts(self)[0])
    element = property(lambda self: _tensor_view_facts(self)[1])
    strides = property(lambda self: _tensor_view_facts(self)[2])
    attribute = property(lambda self: _tensor_view_facts(self)[3])
    rank = property(lambda self: len(self.shape))

    def spelled(self) -> str:
        shape = "".join(f"{_extent(extent)}x" for extent in self.shape)
        strides = f", strides=[{','.join(map(_extent, self.strides))}]" if self.shape else ""
        suffix = "" if self.attribute is None else f", #cuda_tile.ptr_attr<{self.attribute}>"
        return f"tensor_view<{shape}{spell(self.element)}{strides}{suffix}>"


def _extent(extent: int | None) -> str:
    return "?" if extent is None else str(extent)


@functools.cache
def _tensor_view(
    shape: tuple[int, ...], element: ir.Type, strides: tuple[int, ...], attribute: str | None
) -> TensorViewType:
    _refuse(tensor_view_problem(shape, element, strides))
    parameters = [
        ir.DenseI64ArrayAttr.get(shape),
        ir.TypeAttr.get(element),
        ir.DenseI64ArrayAttr.get(strides),
        _optional(attribute),
    ]
    return TensorViewType(ir.DynamicType.get("cuda_tile.tensor_view", parameters))


@functools.cache
def _tensor_view_facts(view: TensorViewType) -> tuple[Any, ...]:
    extents, element, steps, kind = view.params
    return _plain(ir.DenseI64ArrayAttr(extents)), _type(element), _plain(ir.DenseI64ArrayAttr(steps)), _text(kind)


def tensor_view_problem(shape: Sequence[int], element: ir.Type, strides: Sequence[int]) -> str | None:
    """What keeps extents (DYNAMIC allowed), an element type and strides from being a tensor view, or None."""
    if spell(element) not in NUMBERS:
        return f"tensor_view element must be a number type, but got '{spell(element)}'"
    if len(shape) != len(strides):
        return f"expected shape and stride to be of same rank but got shape of rank {len(shape)} and strides of rank {len(strides)}"
    for values, words in ((shape, "sizes"), (strides, "strides")):
        if any(value <= 0 and value != DYNAMIC for value in values):
            return f"dimensions must have strictly positive constant {words} but got [{', '.join(map(_extent, _plain(values)))}]"
    return None


class _TileView(CudaTile.Type):
    """What the views that cut a tensor view into tiles have in common."""

    tile_shape = property(lambda self: _view_facts(self)["tile_shape"])
    tensor_view = property(lambda self: _view_facts(self)["tensor_view"])
    padding = property(lambda self: _view_facts(self)["padding"])
    element = property(lambda self: self.tensor_view.element)
    rank = property(lambda self: len(self.tile_shape))
    tile_type = property(lambda self: TileType.get(self.tile_shape, self.element))

    def spelled(self) -> str:
        facts = _view_facts(self)
        parts = [f"tile=({'x'.join(map(str, self.tile_shape))})"]
        if "traversal_strides" in facts:
            parts.append(f"traversal_strides=[{','.join(map(str, facts['traversal_strides']))}]")
        if self.padding is not None:
            parts.append(f"padding_value = {self.padding}")
        parts.append(spell(self.tensor_view))
        if "dim_map" in facts and facts["dim_map"] != tuple(range(self.rank)):
            parts.append(f"dim_map=[{', '.join(map(str, facts['dim_map']))}]")
        if "sparse_dim" in facts:
            parts.append(f"sparse_dim={facts['sparse_dim']}")
        return f"{self._name}<{', '.join(parts)}>"


class PartitionViewType(_TileView, name="partition_view"):
    """Non-overlapping tiles of a tensor view: tile I starts at I * tile_shape, its dim k walks tensor dim dim_map[k]."""

    tile: Any
    view: Any
    mapping: Any
    pad: Any

    @classmethod
    def get(
        cls,
        tile_shape: Sequence[int],
        tensor_view: TensorViewType,
        dim_map: Sequence[int] | None = None,
        padding: str | None = None,
    ) -> "PartitionViewType":
        _refuse(_view_problem(tile_shape, tensor_view, padding))
        mapping = list(range(len(tile_shape)) if dim_map is None else dim_map)
        _refuse(_dim_map_problem(mapping, len(tile_shape)))
        tile = ir.DenseI32ArrayAttr.get(list(tile_shape))
        return super().get(tile, tensor_view, ir.DenseI32ArrayAttr.get(mapping), _optional(padding))

    dim_map = property(lambda self: _view_facts(self)["dim_map"])


class StridedViewType(_TileView, name="strided_view"):
    """Tiles that start every traversal_strides elements, so that they may overlap or leave gaps."""

    tile: Any
    traversal: Any
    view: Any
    mapping: Any
    pad: Any

    @classmethod
    def get(
        cls,
        tile_shape: Sequence[int],
        traversal_strides: Sequence[int],
        tensor_view: TensorViewType,
        dim_map: Sequence[int] | None = None,
        padding: str | None = None,
    ) -> "StridedViewType":
        _refuse(_view_problem(tile_shape, tensor_view, padding))
        mapping = list(range(len(tile_shape)) if dim_map is None else dim_map)
        _refuse(_traversal_problem(traversal_strides, len(tile_shape)) or _dim_map_problem(mapping, len(tile_shape)))
        tile, traversal = ir.DenseI32ArrayAttr.get(list(tile_shape)), ir.DenseI32ArrayAttr.get(list(traversal_strides))
        return super().get(tile, traversal, tensor_view, ir.DenseI32ArrayAttr.get(mapping), _optional(padding))

    dim_map = property(lambda self: _view_facts(self)["dim_map"])
    traversal_strides = property(lambda self: _view_facts(self)["traversal_strides"])


class GatherScatterViewType(_TileView, name="gather_scatter_view"):
    """Tiles whose rows along sparse_dim are named one by one; the other indices are offsets in elements."""

    tile: Any
    view: Any
    sparse: Any
    pad: Any

    @classmethod
    def get(
        cls, tile_shape: Sequence[int], tensor_view: TensorViewType, sparse_dim: int, padding: str | None = None
    ) -> "GatherScatterViewType":
        _refuse(_view_problem(tile_shape, tensor_view, padding))
        if not 0 <= sparse_dim < len(tile_shape):
            raise ValueError(
                f"gather dimension is outside of tensor view dimensions, expected less than {len(tile_shape)}, got {sparse_dim}"
            )
        sparse = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), sparse_dim)
        return super().get(ir.DenseI32ArrayAttr.get(list(tile_shape)), tensor_view, sparse, _optional(padding))

    sparse_dim = property(lambda self: _view_facts(self)["sparse_dim"])


@functools.cache
def _view_facts(view: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for (name, read), parameter in zip(_VIEW_PARAMETERS[view._name], view.params, strict=True):
        found[name] = read(parameter)
    return found


def _integers(parameter: ir.Attribute) -> tuple[int, ...]:
    return tuple(ir.DenseI32ArrayAttr(parameter))


_VIEW_PARAMETERS: dict[str, list[tuple[str, Any]]] = {
    "partition_view": [("tile_shape", _integers), ("tensor_view", _type), ("dim_map", _integers), ("padding", _text)],
    "strided_view": [
        ("tile_shape", _integers),
        ("traversal_strides", _integers),
        ("tensor_view", _type),
        ("dim_map", _integers),
        ("padding", _text),
    ],
    "gather_scatter_view": [
        ("tile_shape", _integers),
        ("tensor_view", _type),
        ("sparse_dim", lambda parameter: ir.IntegerAttr(parameter).value),
        ("padding", _text),
    ],
}


def _view_problem(tile_shape: Sequence[int], tensor_view: ir.Type, padding: str | None) -> str | None:
    if not isinstance(tensor_view, TensorViewType):
        return f"expected 'tensor_view' type, but got '{spell(tensor_view)}'"
    listed = f"[{', '.join(map(str, tile_shape))}]"
    if not tile_shape:
        return "0-dimension tile shape is not supported"
    if len(tile_shape) != tensor_view.rank:
        return f"expected tensor_view rank and tile rank to match, got tensor_view rank {tensor_view.rank} and tile rank {len(tile_shape)}"
    if any(extent <= 0 for extent in tile_shape):
        return f"tile shape dimensions must have positive length but got {listed}"
    if any(extent & (extent - 1) for extent in tile_shape):
        return f"tile shape dimensions must have power of two length but got {listed}"
    return _padding_problem(padding, tensor_view.element) or tile_problem(tile_shape, tensor_view.element)


def _padding_problem(padding: str | None, element: ir.Type) -> str | None:
    if padding is not None and padding not in PADDING_VALUES:
        return (
            f'invalid padding_value attribute specification. Got "{padding}" but expect one of: '
            f"{', '.join(PADDING_VALUES)}"
        )
    if padding not in (None, "zero") and spell(element) not in FLOATS:
        return f"padding_value {padding} can only be used with floating point element types, got {spell(element)}"
    return None


def _dim_map_problem(mapping: Sequence[int], rank: int) -> str | None:
    if len(mapping) != rank:
        return f"expected dim_map to map exactly all {rank} dimensions of the tile, got {len(mapping)} mappings"
    for position, target in enumerate(mapping):
        if target < 0:
            return f"target dimension must not be negative, got {target}"
        if target >= rank:
            return f"target dimension is outside of tensor view dimensions, expected strictly less than {rank}, got {target}"
        if target in mapping[:position]:
            first = list(mapping).index(target)
            return f"target dimension {target} mapped at least twice (for tile dimensions {first} and {position})"
    return None


def _traversal_problem(strides: Sequence[int], rank: int) -> str | None:
    if len(strides) != rank:
        return f"expected {rank} traversal strides, got {len(strides)}"
    if any(stride <= 0 for stride in strides):
        return f"traversal strides must be strictly positive but got [{', '.join(map(str, strides))}]"
    return None


class TokenType(CudaTile.Type, name="token"):
    """Order between memory operations."""

    __annotations__ = {}

    @classmethod
    @functools.cache
    def get(cls) -> "TokenType":
        return super().get()

    def spelled(self) -> str:
        return "token"


def type_problem(type: ir.Type) -> str | None:
    """What is wrong with a type that was not made by `get` (generic text is not checked by MLIR), or None."""
    try:
        if isinstance(type, TileType):
            TileType.get(type.shape, type.element)
        elif isinstance(type, TensorViewType):
            TensorViewType.get(type.shape, type.element, type.strides, type.attribute)
        elif isinstance(type, _TileView):
            facts = _view_facts(type)
            _cls(type).get(**facts)
    except ValueError as error:
        return str(error)
    return None


def _cls(type: Any) -> Any:
    return {"partition_view": PartitionViewType, "strided_view": StridedViewType}.get(type._name, GatherScatterViewType)
