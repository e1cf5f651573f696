"""The types of Tile IR; `get` raises ValueError if a type rule is violated, properties return plain Python values.

`irdl` lists the constraints of the parameters in the exported definition, in order. They are not loaded here, because
IRDL would refuse a type of generic text without a message.
"""

from collections.abc import Sequence
from typing import Any

from tilec.dialect.cache import cached, integers_of
from tilec.dialect.constraints import DenseArray, Unconstrained, keyword_or_unit, number
from tilec.dialect.cuda_tile.element import DYNAMIC, ELEMENT_BITS, NUMBERS, spell_extent
from tilec.dialect.cuda_tile.namespace import CudaTile
from tilec.dialect.cuda_tile.type_rules import (
    PADDING_VALUES,
    POINTER_ATTRIBUTES,
    dim_map_problem,
    pointer_problem,
    sparse_dim_problem,
    tensor_view_problem,
    tile_problem,
    tile_view_problem,
    traversal_problem,
)
from tilec.dialect.generic_types import parameters_problem
from tilec.dialect.mlir import ir
from tilec.dialect.parameterless import parameterless
from tilec.dialect.spelling import spell


def _optional(text: str | None, context: ir.Context) -> ir.Attribute:
    # IRDL has no optional parameters; `unit` stands for an absent one.
    return ir.UnitAttr.get(context) if text is None else ir.StringAttr.get(text, context)


def _integers(values: Sequence[int], context: ir.Context) -> ir.Attribute:
    return ir.DenseI32ArrayAttr.get(list(values), context)


def _text(parameter: ir.Attribute) -> str | None:
    parameter = parameter.maybe_downcast()
    return parameter.value if isinstance(parameter, ir.StringAttr) else None


def _type(parameter: ir.Attribute) -> ir.Type:
    return ir.TypeAttr(parameter).value


def _extents(values: Sequence[int | None]) -> tuple[int, ...]:
    return tuple(DYNAMIC if value is None or value is ... else int(value) for value in values)


def _plain(values: Sequence[int]) -> tuple[int | None, ...]:
    return tuple(None if value == DYNAMIC else value for value in values)


def _refuse(problem: str | None) -> None:
    if problem is not None:
        raise ValueError(problem)


class PointerType(CudaTile.Type, name="ptr"):
    """Address of an element in global memory."""

    pointee: Unconstrained
    kind: Unconstrained
    irdl = (number(NUMBERS), keyword_or_unit(POINTER_ATTRIBUTES))

    @classmethod
    @cached
    def get(cls, element: ir.Type, attribute: str | None = None) -> "PointerType":
        _refuse(pointer_problem(element, attribute))
        return super().get(element, _optional(attribute, element.context), context=element.context)

    element = property(lambda self: _type(self.params[0]))
    attribute = property(lambda self: _text(self.params[1]))

    def spelled(self) -> str:
        suffix = "" if self.attribute is None else f", <{self.attribute}>"
        return f"ptr<{spell(self.element)}{suffix}>"


class TileType(CudaTile.Type, name="tile"):
    """A tile of numbers or pointers; every extent is a power of two, rank 0 is a scalar."""

    extents: Unconstrained
    element_type: Unconstrained
    irdl = (DenseArray, number(ELEMENT_BITS))

    @classmethod
    def get(cls, shape: Sequence[int], element: ir.Type) -> "TileType":
        return _tile(tuple(shape), element)

    shape = property(lambda self: _tile_facts(self)[0])
    element = property(lambda self: _tile_facts(self)[1])
    rank = property(lambda self: len(_tile_facts(self)[0]))

    def spelled(self) -> str:
        return f"tile<{''.join(f'{extent}x' for extent in self.shape)}{spell(self.element)}>"


@cached
def _tile(shape: tuple[int, ...], element: ir.Type) -> TileType:
    _refuse(tile_problem(shape, element))
    # Types are created in the context of their components, because verifiers run without an entered context.
    made = element.context
    parameters = [ir.DenseI64ArrayAttr.get(shape, made), ir.TypeAttr.get(element, made)]
    return TileType(ir.DynamicType.get("cuda_tile.tile", parameters, made))


@cached
def _tile_facts(tile: TileType) -> tuple[tuple[int, ...], ir.Type]:
    extents, element = tile.params
    return integers_of(ir.DenseI64ArrayAttr(extents)), _type(element)


class TensorViewType(CudaTile.Type, name="tensor_view"):
    """A strided tensor in global memory; None is a dynamic extent or stride (in elements)."""

    extents: Unconstrained
    element_type: Unconstrained
    steps: Unconstrained
    kind: Unconstrained
    irdl = (DenseArray, number(NUMBERS), DenseArray, keyword_or_unit(POINTER_ATTRIBUTES))

    @classmethod
    def get(
        cls, shape: Sequence[int | None], element: ir.Type, strides: Sequence[int | None], attribute: str | None = None
    ) -> "TensorViewType":
        return _tensor_view(_extents(shape), element, _extents(strides), attribute)

    shape = property(lambda self: _tensor_view_facts(self)[0])
    element = property(lambda self: _tensor_view_facts(self)[1])
    strides = property(lambda self: _tensor_view_facts(self)[2])
    attribute = property(lambda self: _tensor_view_facts(self)[3])
    rank = property(lambda self: len(self.shape))

    def spelled(self) -> str:
        shape = "".join(f"{spell_extent(extent)}x" for extent in self.shape)
        strides = f", strides=[{','.join(map(spell_extent, self.strides))}]" if self.shape else ""
        suffix = "" if self.attribute is None else f", #cuda_tile.ptr_attr<{self.attribute}>"
        return f"tensor_view<{shape}{spell(self.element)}{strides}{suffix}>"


@cached
def _tensor_view(
    shape: tuple[int, ...], element: ir.Type, strides: tuple[int, ...], attribute: str | None
) -> TensorViewType:
    _refuse(tensor_view_problem(shape, element, strides))
    made = element.context
    parameters = [
        ir.DenseI64ArrayAttr.get(shape, made),
        ir.TypeAttr.get(element, made),
        ir.DenseI64ArrayAttr.get(strides, made),
        _optional(attribute, made),
    ]
    return TensorViewType(ir.DynamicType.get("cuda_tile.tensor_view", parameters, made))


@cached
def _tensor_view_facts(view: TensorViewType) -> tuple[Any, ...]:
    extents, element, steps, kind = view.params
    return (
        _plain(integers_of(ir.DenseI64ArrayAttr(extents))),
        _type(element),
        _plain(integers_of(ir.DenseI64ArrayAttr(steps))),
        _text(kind),
    )


class _TileView(CudaTile.Type):
    """Common properties of the views that divide a tensor view into tiles."""

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
    """Adjacent tiles: tile I starts at I * tile_shape, and its dim k is dim dim_map[k] of the tensor view."""

    tile: Unconstrained
    view: Unconstrained
    mapping: Unconstrained
    pad: Unconstrained
    irdl = (DenseArray, TensorViewType, DenseArray, keyword_or_unit(PADDING_VALUES))

    @classmethod
    def get(
        cls,
        tile_shape: Sequence[int],
        tensor_view: TensorViewType,
        dim_map: Sequence[int] | None = None,
        padding: str | None = None,
    ) -> "PartitionViewType":
        _refuse(tile_view_problem(tile_shape, tensor_view, padding))
        mapping = list(range(len(tile_shape)) if dim_map is None else dim_map)
        _refuse(dim_map_problem(mapping, len(tile_shape)))
        made = tensor_view.context
        tile, pad = _integers(tile_shape, made), _optional(padding, made)
        return super().get(tile, tensor_view, _integers(mapping, made), pad, context=made)

    dim_map = property(lambda self: _view_facts(self)["dim_map"])


class StridedViewType(_TileView, name="strided_view"):
    """Tiles that start every traversal_strides elements, with overlaps or gaps."""

    tile: Unconstrained
    traversal: Unconstrained
    view: Unconstrained
    mapping: Unconstrained
    pad: Unconstrained
    irdl = (DenseArray, DenseArray, TensorViewType, DenseArray, keyword_or_unit(PADDING_VALUES))

    @classmethod
    def get(
        cls,
        tile_shape: Sequence[int],
        traversal_strides: Sequence[int],
        tensor_view: TensorViewType,
        dim_map: Sequence[int] | None = None,
        padding: str | None = None,
    ) -> "StridedViewType":
        _refuse(tile_view_problem(tile_shape, tensor_view, padding))
        mapping = list(range(len(tile_shape)) if dim_map is None else dim_map)
        _refuse(traversal_problem(traversal_strides, len(tile_shape)) or dim_map_problem(mapping, len(tile_shape)))
        made = tensor_view.context
        tile, traversal = _integers(tile_shape, made), _integers(traversal_strides, made)
        return super().get(
            tile, traversal, tensor_view, _integers(mapping, made), _optional(padding, made), context=made
        )

    dim_map = property(lambda self: _view_facts(self)["dim_map"])
    traversal_strides = property(lambda self: _view_facts(self)["traversal_strides"])


class GatherScatterViewType(_TileView, name="gather_scatter_view"):
    """Tiles whose rows along sparse_dim are selected individually; the other indices are offsets in elements."""

    tile: Unconstrained
    view: Unconstrained
    sparse: Unconstrained
    pad: Unconstrained
    irdl = (DenseArray, TensorViewType, ir.IntegerAttr, keyword_or_unit(PADDING_VALUES))

    @classmethod
    def get(
        cls, tile_shape: Sequence[int], tensor_view: TensorViewType, sparse_dim: int, padding: str | None = None
    ) -> "GatherScatterViewType":
        _refuse(tile_view_problem(tile_shape, tensor_view, padding))
        _refuse(sparse_dim_problem(sparse_dim, len(tile_shape)))
        made = tensor_view.context
        sparse = ir.IntegerAttr.get(ir.IntegerType.get_signless(32, made), sparse_dim)
        return super().get(_integers(tile_shape, made), tensor_view, sparse, _optional(padding, made), context=made)

    dim_map = property(lambda self: tuple(range(self.rank)))
    sparse_dim = property(lambda self: _view_facts(self)["sparse_dim"])


@cached
def _view_facts(view: ir.Type) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for (name, read), parameter in zip(_VIEW_PARAMETERS[view._name], view.params, strict=True):
        found[name] = read(parameter)
    return found


def _plain_integers(parameter: ir.Attribute) -> tuple[int, ...]:
    return integers_of(ir.DenseI32ArrayAttr(parameter))


_VIEW_PARAMETERS: dict[str, list[tuple[str, Any]]] = {
    "partition_view": [
        ("tile_shape", _plain_integers),
        ("tensor_view", _type),
        ("dim_map", _plain_integers),
        ("padding", _text),
    ],
    "strided_view": [
        ("tile_shape", _plain_integers),
        ("traversal_strides", _plain_integers),
        ("tensor_view", _type),
        ("dim_map", _plain_integers),
        ("padding", _text),
    ],
    "gather_scatter_view": [
        ("tile_shape", _plain_integers),
        ("tensor_view", _type),
        ("sparse_dim", lambda parameter: ir.IntegerAttr(parameter).value),
        ("padding", _text),
    ],
}


class TokenType(CudaTile.Type, name="token"):
    """The type of tokens, which order memory operations."""

    __annotations__ = {}

    @classmethod
    def get(cls, context: ir.Context | None = None) -> "TokenType":
        return parameterless(cls, "cuda_tile.token", context)

    def spelled(self) -> str:
        return "token"


def _remade(type: ir.Type) -> Any:
    """The same type, created and checked by `get`."""
    if isinstance(type, PointerType):
        return PointerType.get(type.element, type.attribute)
    if isinstance(type, TileType):
        return TileType.get(type.shape, _remade(type.element))
    if isinstance(type, TensorViewType):
        return TensorViewType.get(type.shape, type.element, type.strides, type.attribute)
    return type.get(**_view_facts(type)) if isinstance(type, _TileView) else type


@cached
def type_problem(type: ir.Type) -> str | None:
    """The problem with a type from generic text, which MLIR does not check, or None."""
    return parameters_problem(type, _remade)


for _kind in (PointerType, TileType, TensorViewType, PartitionViewType, StridedViewType, GatherScatterViewType):
    _kind.problem = type_problem
