"""Atomic accesses."""

from tilec.dialect.attributes import Booleans
from tilec.dialect.cuda_tile.accesses import (
    element_problem,
    inbounds_problem,
    index_problem,
    mask_problem,
    multicast_problem,
    pointee_problem,
    tile_type_problem,
)
from tilec.dialect.cuda_tile.enums import AtomicMode, MemoryOrdering, Scope
from tilec.dialect.cuda_tile.operation import Operation
from tilec.dialect.cuda_tile.rules import same_shape
from tilec.dialect.cuda_tile.sets import BoolTile, IntegerTile, NumberTile, PointerTile, TileView, Token
from tilec.dialect.cuda_tile.types import GatherScatterViewType
from tilec.dialect.fields import Mixed, Operand, Result, TypeVariable, since
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import quote, spell

Number = TypeVariable("Number", NumberTile)

# Unlike other operations, this one takes indices of different types (tileirdisasm and tileiras 13.5).
_INDEX_RUNS = 8
_ORDERINGS = ("relaxed", "acquire", "release", "acq_rel")
_EXCHANGED = ("i32", "i64", "f32", "f64")
_INTEGERS = ("i32", "i64")
_ADDED = ("f16", "bf16", "f32", "f64")
_TAIL = "{, $mask}{ token=$token} attr-dict"


def _ordering_problem(op: ir.OpView) -> str | None:
    ordering = op.memory_ordering_semantics
    if ordering not in _ORDERINGS:
        return f"memory ordering semantics must be one of: {', '.join(_ORDERINGS)}, but got: {ordering}"
    return None


def mode_problem(mode: str, element: str) -> str | None:
    """Checks that an atomic mode supports an element type."""
    allowed = {"addf": _ADDED, "xchg": _EXCHANGED}.get(mode, _INTEGERS)
    if element not in allowed:
        return f"mode {mode} expects elements of {' or '.join(allowed)}, but got {element}"
    return None


class AtomicCasTkoOp(Operation, name="atomic_cas_tko", opcode=0x07):
    """Writes val if memory equals cmp bitwise; the result is the previous content (cmp where the mask is false)."""

    result: Result[Number]
    result_token: Result[Token]
    pointers: Operand[PointerTile]
    cmp: Operand[Number]
    val: Operand[Number]
    mask: Operand[BoolTile] | None
    token: Operand[Token] | None
    memory_ordering_semantics: MemoryOrdering
    memory_scope: Scope
    rules = [same_shape("pointers", "cmp")]
    assembly = (
        f"$memory_ordering_semantics $memory_scope $pointers, $cmp, $val{_TAIL}"
        " : type($pointers), type($cmp){, type($mask)} -> type($result), type($result_token)"
    )

    def check(self) -> str | None:
        return (
            element_problem(self.cmp.type.element, _EXCHANGED)
            or _ordering_problem(self)
            or mask_problem(self.mask, self.pointers)
            or pointee_problem(self.pointers, self.cmp, "multicast pointer is not supported for atomic_cas")
        )


class AtomicRmwTkoOp(Operation, name="atomic_rmw_tko", opcode=0x08):
    """Combines memory with arg; the result is the previous content (undefined where the mask is false)."""

    result: Result[Number]
    result_token: Result[Token]
    pointers: Operand[PointerTile]
    arg: Operand[Number]
    mask: Operand[BoolTile] | None
    token: Operand[Token] | None
    memory_ordering_semantics: MemoryOrdering
    memory_scope: Scope
    mode: AtomicMode
    rules = [same_shape("pointers", "arg")]
    assembly = (
        f"$memory_ordering_semantics $memory_scope $pointers, $mode, $arg{_TAIL}"
        " : type($pointers), type($arg){, type($mask)} -> type($result), type($result_token)"
    )

    def check(self) -> str | None:
        return (
            _ordering_problem(self)
            or mode_problem(self.mode, spell(self.arg.type.element))
            or mask_problem(self.mask, self.pointers)
            or pointee_problem(self.pointers, self.arg, "multicast pointer is not supported for atomic_rmw")
        )


class AtomicRedViewTkoOp(Operation, name="atomic_red_view_tko", opcode=0x75, since="13.3"):
    """Combines the tile of a view at index with value."""

    result_token: Result[Token]
    view: Operand[TileView]
    index: Mixed[Operand[IntegerTile], _INDEX_RUNS]
    value: Operand[NumberTile]
    token: Operand[Token] | None
    memory_ordering_semantics: MemoryOrdering
    memory_scope: Scope
    mode: AtomicMode
    inbounds: Booleans | None = since("13.5")
    assembly = (
        "$memory_ordering_semantics $memory_scope $view[$index], $mode, $value{ token = $token}"
        "{ inbounds = [$inbounds]} keyed-attr-dict"
        " : type($value), type($view)index_types($index) -> type($result_token)"
    )

    def check(self) -> str | None:
        view, value = self.view.type, self.value.type
        if isinstance(view, GatherScatterViewType):
            return f"expects a partition_view or a strided_view, but got {quote(view)}"
        problem = tile_type_problem(view, value, "value")
        if problem is not None:
            return problem
        if self.memory_ordering_semantics != "relaxed":
            return f"memory ordering semantics must be relaxed, but got: {self.memory_ordering_semantics}"
        if self.memory_scope == "sys":
            return "memory scope must be one of: tl_blk, device, but got: sys"
        if self.mode == "xchg":
            return "mode xchg is not supported for views"
        return (
            mode_problem(self.mode, spell(value.element))
            or index_problem(self, one_type=False)
            or inbounds_problem(self)
            or multicast_problem(view)
        )
