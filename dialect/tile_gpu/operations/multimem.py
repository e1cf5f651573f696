"""Accesses to multicast addresses, each of which stands for memory of several devices (PTX ISA 9.7.9.12)."""

from collections.abc import Sequence

from tilec.dialect.attributes import Booleans, Enumeration, Int32, Text
from tilec.dialect.fields import Operand, Result
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.interface import Category, Interface, Memory
from tilec.dialect.tile_gpu.namespace import Operation
from tilec.dialect.tile_gpu.operations.view import LOAD_ORDERS, SCOPES, STORE_ORDERS, one_each, vector_has_a_dimension
from tilec.dialect.tile_gpu.sets import Index, Integer64, RegisterTile

INTEGERS = ("i32", "i64")
HALVES = ("f16", "bf16")
FLOATS = (*HALVES, "f32", "f64")
# The element types of each reduction; minima and maxima of 16-bit floats exist for loads only.
REDUCTIONS: dict[str, tuple[str, ...]] = {
    "add": (*INTEGERS, *FLOATS),
    "and": INTEGERS,
    "or": INTEGERS,
    "xor": INTEGERS,
    "max": (*INTEGERS, *HALVES),
    "min": (*INTEGERS, *HALVES),
    "umax": INTEGERS,
    "umin": INTEGERS,
}
# The fewest and the most elements that one instruction accesses.
VECTORS = {"f16": (2, 8), "bf16": (2, 8), "f32": (1, 4)}

Reduction = Enumeration(*REDUCTIONS)
LoadOrder = Enumeration(*LOAD_ORDERS)
StoreOrder = Enumeration(*STORE_ORDERS)
Scope = Enumeration(*SCOPES)


def _element(op: ir.OpView) -> str:
    return str((op.results[0] if len(op.results) else op.operands[0]).type.element_type)


def _reduction_has_element(op: ir.OpView) -> str | None:
    allowed, found = REDUCTIONS[op.reduction], _element(op)
    return None if found in allowed else f"{op.reduction} reduces elements of {', '.join(allowed)}, but got {found}"


def _vector_is_an_instruction(op: ir.OpView) -> str | None:
    least, most = VECTORS.get(_element(op), (1, 1))
    if least <= op.vector <= most:
        return None
    return f"elements of {_element(op)} are accessed {least} to {most} at once, but got vector {op.vector}"


def _stored_element(op: ir.OpView) -> str | None:
    allowed, found = REDUCTIONS["add"], _element(op)
    return None if found in allowed else f"expected elements of {', '.join(allowed)}, but got {found}"


def _scope_of_order(op: ir.OpView) -> str | None:
    if (op.order is None) == (op.scope is None):
        return None
    return f"order and scope come together, but got order {op.order} and scope {op.scope}"


_VIEW = "$base[$offsets] extents [$extents] strides [$strides] vector $vector{ along $vector_dimension}"
_TAIL = "{ inbounds [$inbounds]}{ order $order}{ scope $scope} attr-dict"
_RULES = [_vector_is_an_instruction, one_each, vector_has_a_dimension, _scope_of_order]


class MultimemLoadViewOp(Operation, name="multimem_load_view"):
    """As `load_view`; each element is the reduction of the elements of all devices."""

    interface = Interface(Category.MULTICAST, Memory.GLOBAL)
    result: Result[RegisterTile]
    base: Operand[Integer64]
    offsets: Sequence[Operand[Index]]
    extents: Sequence[Operand[Index]]
    strides: Sequence[Operand[Index]]
    reduction: Reduction
    vector: Int32
    vector_dimension: Int32 | None
    padding: Text = "zero"
    inbounds: Booleans | None
    order: LoadOrder | None
    scope: Scope | None
    assembly = f"$reduction {_VIEW}{{ padding $padding}}{_TAIL} : type($result)"
    rules = [_reduction_has_element, *_RULES]


class MultimemStoreViewOp(Operation, name="multimem_store_view"):
    """As `store_view`, in the memory of all devices."""

    interface = Interface(Category.MULTICAST, Memory.GLOBAL)
    value: Operand[RegisterTile]
    base: Operand[Integer64]
    offsets: Sequence[Operand[Index]]
    extents: Sequence[Operand[Index]]
    strides: Sequence[Operand[Index]]
    vector: Int32
    vector_dimension: Int32 | None
    inbounds: Booleans | None
    order: StoreOrder | None
    scope: Scope | None
    assembly = f"$value -> {_VIEW}{_TAIL} : type($value)"
    rules = [_stored_element, *_RULES]


class MultimemReduceViewOp(Operation, name="multimem_reduce_view"):
    """Replaces the elements that `load_view` would read, on all devices, by reduction(element, value)."""

    interface = Interface(Category.MULTICAST, Memory.GLOBAL)
    value: Operand[RegisterTile]
    base: Operand[Integer64]
    offsets: Sequence[Operand[Index]]
    extents: Sequence[Operand[Index]]
    strides: Sequence[Operand[Index]]
    reduction: Reduction
    vector: Int32
    vector_dimension: Int32 | None
    inbounds: Booleans | None
    order: StoreOrder
    scope: Scope
    assembly = f"$reduction $value -> {_VIEW}{_TAIL} : type($value)"
    rules = [_reduction_has_element, *_RULES]

    def check(self) -> str | None:
        if _element(self) in HALVES and self.reduction != "add":
            return f"elements of {_element(self)} in memory can only be added to, but got {self.reduction}"
        return None
