"""Accesses to a multicast address: the same memory of several devices."""

import math

from tilec.dialect.attributes import Booleans
from tilec.dialect.cuda_tile.accesses import (
    INDEX_RUNS,
    element_problem,
    inbounds_problem,
    index_problem,
    ordering_problem,
    tile_type_problem,
    unit_stride_problem,
)
from tilec.dialect.cuda_tile.enums import MemoryOrdering, MultimemReduction, Scope
from tilec.dialect.cuda_tile.operation import Operation
from tilec.dialect.cuda_tile.sets import AnyTile, IntegerTile, PartitionView, Token
from tilec.dialect.cuda_tile.types import PartitionViewType
from tilec.dialect.fields import Mixed, Operand, Result
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import quote, spell

_ELEMENTS = ("f16", "bf16", "f32", "f64", "i32", "i64")
_TAIL = "{ token = $token}{ inbounds = [$inbounds]} keyed-attr-dict"


def _problem(op: ir.OpView, tile: ir.Type, subject: str, orderings: tuple[str, ...]) -> str | None:
    view = op.view.type
    if view.tensor_view.attribute != "multicast":
        return f"expects a view over a multicast tensor_view, but got {quote(view)}"
    return (
        element_problem(view.element, _ELEMENTS)
        or tile_type_problem(view, tile)
        or _half_problem(view)
        or ordering_problem(op, subject, orderings)
        or index_problem(op)
        or inbounds_problem(op)
    )


def _half_problem(view: PartitionViewType) -> str | None:
    """Elements of 16 bits are reduced in pairs (tileirdisasm 13.5)."""
    if spell(view.element) not in ("f16", "bf16"):
        return None
    count = math.prod(view.tile_shape)
    if count % 2:
        return f"expects a tile of a multiple of 4 bytes, but got {count} element(s) of 16 bits"
    return unit_stride_problem(view.tensor_view, "views of f16 or bf16")


def _reduction_problem(op: ir.OpView, float_kinds: tuple[str, ...]) -> str | None:
    element, kind = spell(op.view.type.element), op.reduction
    if element.startswith("i"):
        return None
    allowed = float_kinds if element in ("f16", "bf16") else ("add",)
    if kind not in allowed:
        return f"reduction of {element} must be one of: {', '.join(allowed)}, but got: {kind}"
    return None


class MultimemLoadReduceViewTkoOp(Operation, name="multimem_load_reduce_view_tko", opcode=0x7B, since="13.5"):
    """Loads the tile at index from every device and reduces it."""

    reduced_values: Result[AnyTile]
    result_token: Result[Token]
    view: Operand[PartitionView]
    index: Mixed[Operand[IntegerTile], INDEX_RUNS]
    token: Operand[Token] | None
    memory_ordering_semantics: MemoryOrdering
    memory_scope: Scope | None
    reduction: MultimemReduction = "add"
    inbounds: Booleans | None
    assembly = (
        "$memory_ordering_semantics{ $memory_scope} $view[$index]"
        f"{_TAIL} : type($view)index_types($index) -> type($reduced_values), type($result_token)"
    )

    def check(self) -> str | None:
        orderings = ("weak", "relaxed", "acquire")
        return _problem(self, self.reduced_values.type, "load", orderings) or _reduction_problem(
            self, ("add", "min", "max")
        )


class MultimemReduceViewTkoOp(Operation, name="multimem_reduce_view_tko", opcode=0x7C, since="13.5"):
    """Reduces a tile into the memory of every device at index."""

    result_token: Result[Token]
    view: Operand[PartitionView]
    tile: Operand[AnyTile]
    index: Mixed[Operand[IntegerTile], INDEX_RUNS]
    token: Operand[Token] | None
    memory_ordering_semantics: MemoryOrdering
    memory_scope: Scope
    reduction: MultimemReduction = "add"
    inbounds: Booleans | None
    assembly = (
        "$memory_ordering_semantics $memory_scope $view, $tile[$index]"
        f"{_TAIL} : type($view), type($tile)index_types($index) -> type($result_token)"
    )

    def check(self) -> str | None:
        return _problem(self, self.tile.type, "reduction", ("relaxed", "release")) or _reduction_problem(self, ("add",))


class MultimemStoreViewTkoOp(Operation, name="multimem_store_view_tko", opcode=0x7D, since="13.5"):
    """Writes a tile to the memory of every device at index."""

    result_token: Result[Token]
    view: Operand[PartitionView]
    tile: Operand[AnyTile]
    index: Mixed[Operand[IntegerTile], INDEX_RUNS]
    token: Operand[Token] | None
    memory_ordering_semantics: MemoryOrdering
    memory_scope: Scope | None
    inbounds: Booleans | None
    assembly = (
        "$memory_ordering_semantics{ $memory_scope} $view, $tile[$index]"
        f"{_TAIL} : type($view), type($tile)index_types($index) -> type($result_token)"
    )

    def check(self) -> str | None:
        return _problem(self, self.tile.type, "store", ("weak", "relaxed", "release"))
