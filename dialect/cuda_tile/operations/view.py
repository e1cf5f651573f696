"""Tensor views and tile views of global memory, with their loads and stores."""

from collections.abc import Sequence

from tilec.dialect.attributes import Booleans
from tilec.dialect.cuda_tile.accesses import (
    INDEX_RUNS,
    inbounds_problem,
    multicast_problem,
    ordering_problem,
    view_problem,
)
from tilec.dialect.cuda_tile.attributes import Hints
from tilec.dialect.cuda_tile.enums import MemoryOrdering, Scope
from tilec.dialect.cuda_tile.operation import NoMemoryEffect, Operation
from tilec.dialect.cuda_tile.sets import (
    AnyTile,
    GatherScatterView,
    IntegerTile,
    PartitionView,
    ScalarInteger,
    ScalarPointer,
    StridedView,
    TensorView,
    TileView,
    Token,
)
from tilec.dialect.fields import Mixed, Operand, Result, since
from tilec.dialect.mlir import ext, ir
from tilec.dialect.spelling import quote, spell

_ACCESS = "$memory_ordering_semantics{ $memory_scope}"
_TAIL = "{ token = $token}{ optimization_hints = $optimization_hints}{ inbounds = [$inbounds]} keyed-attr-dict"


class MakeTensorViewOp(Operation, name="make_tensor_view", opcode=0x43, traits=[NoMemoryEffect]):
    """A strided tensor at base; dynamic extents and strides are unsigned, one operand per `?` of the type in order."""

    result: Result[TensorView]
    base: Operand[ScalarPointer]
    dynamicShape: Sequence[Operand[ScalarInteger]]
    dynamicStrides: Sequence[Operand[ScalarInteger]]
    assembly = "$base, tensor_view_extents() attr-dict : tensor_view_types()"

    def check_types(self) -> str | None:
        view, pointer = self.result.type, self.base.type.element
        if pointer.element != view.element:
            return (
                f"expects a pointer to {spell(view.element)}, the element of the view, but got {quote(self.base.type)}"
            )
        if pointer.attribute != view.attribute:
            return f"tensor_view must preserve ptr_attr from base pointer ({pointer.attribute})"
        dynamic = [*self.dynamicShape, *self.dynamicStrides]
        for keyword, extents, given in (
            ("shape", view.shape, self.dynamicShape),
            ("stride", view.strides, self.dynamicStrides),
        ):
            if extents.count(None) != len(given):
                return f"expected {extents.count(None)} dynamic {keyword} operands for {quote(view)}, got {len(given)}"
        if any(value.type != dynamic[0].type for value in dynamic):
            return "expects all dynamic shape and stride operands to have one type"
        return None


class MakePartitionViewOp(Operation, name="make_partition_view", opcode=0x42, traits=[ext.Pure]):
    """A tensor view divided into adjacent tiles."""

    result: Result[PartitionView]
    tensor_view: Operand[TensorView]
    assembly = "$tensor_view attr-dict : type($result)"

    def check_types(self) -> str | None:
        return _inner_problem(self)


class MakeStridedViewOp(Operation, name="make_strided_view", opcode=0x74, since="13.3", traits=[ext.Pure]):
    """A tensor view divided into tiles at given traversal strides."""

    result: Result[StridedView]
    tensor_view: Operand[TensorView]
    assembly = "$tensor_view attr-dict : type($result)"

    def check_types(self) -> str | None:
        return _inner_problem(self)


class MakeGatherScatterViewOp(Operation, name="make_gather_scatter_view", opcode=0x73, since="13.3", traits=[ext.Pure]):
    """A tensor view whose rows along one dimension are selected individually."""

    result: Result[GatherScatterView]
    tensor_view: Operand[TensorView]
    assembly = "$tensor_view attr-dict : type($result)"

    def check_types(self) -> str | None:
        return _inner_problem(self)


def _inner_problem(op: ir.OpView) -> str | None:
    given, inner = op.tensor_view.type, op.result.type.tensor_view
    if given != inner:
        return f"expects an operand of type {quote(inner)}, the tensor_view inside the result, but got {quote(given)}"
    return None


class GetTensorShapeOp(Operation, name="get_tensor_shape", opcode=0x2F, traits=[NoMemoryEffect]):
    """The extents of a tensor, unsigned; undefined if one does not fit."""

    result: Sequence[Result[ScalarInteger]]
    src: Operand[TensorView]
    assembly = "$src attr-dict : type($src) -> type($result)"

    def has_assembly(self) -> bool:
        # A tensor of rank 0 has no extents, so the assembly form would have no result type.
        return bool(len(self.results))

    def check_types(self) -> str | None:
        return _rank_problem(self)


class GetIndexSpaceShapeOp(Operation, name="get_index_space_shape", opcode=0x2D, traits=[NoMemoryEffect]):
    """The number of tiles of a view along each dimension."""

    result: Sequence[Result[ScalarInteger]]
    src: Operand[TileView]
    assembly = "$src attr-dict : type($src) -> type($result)"

    def check_types(self) -> str | None:
        return _rank_problem(self)


def _rank_problem(op: ir.OpView) -> str | None:
    if len(op.results) != op.src.type.rank:
        return f"expects {op.src.type.rank} results for {quote(op.src.type)}, but got {len(op.results)}"
    return None


class LoadViewTkoOp(Operation, name="load_view_tko", opcode=0x3E):
    """Loads the tile at index (unsigned); elements outside the tensor are the view's padding or undefined."""

    tile: Result[AnyTile]
    result_token: Result[Token]
    view: Operand[TileView]
    index: Mixed[Operand[IntegerTile], INDEX_RUNS]
    token: Operand[Token] | None
    memory_ordering_semantics: MemoryOrdering
    memory_scope: Scope | None
    optimization_hints: Hints | None
    inbounds: Booleans | None = since("13.4")
    assembly = f"{_ACCESS} $view[$index]{_TAIL} : type($view)index_types($index) -> type($tile), type($result_token)"

    def check_types(self) -> str | None:
        return view_problem(self, self.tile.type) or multicast_problem(self.view.type)

    def check(self) -> str | None:
        return ordering_problem(self, "load", ("weak", "relaxed", "acquire")) or inbounds_problem(self)


class StoreViewTkoOp(Operation, name="store_view_tko", opcode=0x66):
    """Stores a tile at index (unsigned); elements outside the tensor are dropped."""

    result_token: Result[Token]
    tile: Operand[AnyTile]
    view: Operand[TileView]
    index: Mixed[Operand[IntegerTile], INDEX_RUNS]
    token: Operand[Token] | None
    memory_ordering_semantics: MemoryOrdering
    memory_scope: Scope | None
    optimization_hints: Hints | None
    inbounds: Booleans | None = since("13.4")
    assembly = (
        f"{_ACCESS} $tile, $view[$index]{_TAIL} : type($tile), type($view)index_types($index) -> type($result_token)"
    )

    def check_types(self) -> str | None:
        return view_problem(self, self.tile.type) or multicast_problem(self.view.type)

    def check(self) -> str | None:
        return ordering_problem(self, "store", ("weak", "relaxed", "release")) or inbounds_problem(self)
