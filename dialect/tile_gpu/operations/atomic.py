"""Atomic updates of elements of global memory."""

from collections.abc import Sequence

from tilec.dialect.attributes import Booleans, Enumeration, Int32
from tilec.dialect.fields import Operand, Result, TypeVariable
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.interface import Category, Interface, Memory
from tilec.dialect.tile_gpu.layouts import operands_and_results_agree
from tilec.dialect.tile_gpu.namespace import Operation
from tilec.dialect.tile_gpu.operations.view import SCOPES, one_each, vector_has_a_dimension
from tilec.dialect.tile_gpu.sets import Index, Integer64, RegisterTile

INTEGERS = ("i32", "i64")
FLOATS = ("f32", "f64")
# The element types of each mode, as in cuda_tile: those for which PTX has an instruction.
MODES: dict[str, tuple[str, ...]] = {
    "and": INTEGERS,
    "or": INTEGERS,
    "xor": INTEGERS,
    "add": INTEGERS,
    "addf": ("f16", "bf16", *FLOATS),
    "max": INTEGERS,
    "min": INTEGERS,
    "umax": INTEGERS,
    "umin": INTEGERS,
    "xchg": (*INTEGERS, *FLOATS),
    "inc": ("i32",),
    "dec": ("i32",),
}
COMPARED = (*INTEGERS, *FLOATS)
# The most elements that one instruction updates (PTX ISA 9.7.13.6, vector types).
WIDEST = {("addf", "f16"): 8, ("addf", "bf16"): 8, ("addf", "f32"): 4}

Mode = Enumeration(*MODES)
Order = Enumeration("relaxed", "acquire", "release", "acq_rel")
Scope = Enumeration(*SCOPES)
Tile = TypeVariable("Tile", RegisterTile)


def _element(op: ir.OpView) -> str:
    return str(op.value.type.element_type)


def _mode_has_element(op: ir.OpView) -> str | None:
    allowed, found = MODES[op.mode], _element(op)
    return None if found in allowed else f"mode {op.mode} updates elements of {', '.join(allowed)}, but got {found}"


def _vector_is_an_instruction(op: ir.OpView) -> str | None:
    widest = WIDEST.get((op.mode, _element(op)), 1)
    if 1 <= op.vector <= widest:
        return None
    return f"mode {op.mode} of {_element(op)} updates at most {widest} elements at once, but got vector {op.vector}"


class AtomicGlobalOp(Operation, name="atomic_global"):
    """Replaces the element at address pointers[i] by mode(element, value[i]) where mask[i].

    result[i] is the previous element, zero where the mask is false. Each of `vector` elements is updated on its own.
    """

    interface = Interface(Category.ATOMIC, Memory.GLOBAL)
    result: Result[Tile]
    pointers: Operand[RegisterTile]
    value: Operand[Tile]
    mask: Operand[RegisterTile] | None
    mode: Mode
    vector: Int32
    order: Order
    scope: Scope
    assembly = (
        "$mode $value -> $pointers{, mask $mask} vector $vector order $order scope $scope attr-dict"
        " : type($value) -> type($pointers)"
    )
    rules = [_mode_has_element, _vector_is_an_instruction, operands_and_results_agree]


class CompareAndSwapGlobalOp(Operation, name="compare_and_swap_global"):
    """Replaces the element at address pointers[i] by value[i] where mask[i] and it has the bits of compare[i].

    result[i] is the previous element, compare[i] where the mask is false.
    """

    interface = Interface(Category.ATOMIC, Memory.GLOBAL)
    result: Result[Tile]
    pointers: Operand[RegisterTile]
    compare: Operand[Tile]
    value: Operand[Tile]
    mask: Operand[RegisterTile] | None
    order: Order
    scope: Scope
    assembly = (
        "$compare, $value -> $pointers{, mask $mask} order $order scope $scope attr-dict"
        " : type($value) -> type($pointers)"
    )
    rules = [operands_and_results_agree]

    def check(self) -> str | None:
        if _element(self) in COMPARED:
            return None
        return f"expected elements of {', '.join(COMPARED)}, but got {_element(self)}"


class AtomicViewOp(Operation, name="atomic_view"):
    """Replaces the elements that `load_view` would read by mode(element, value); elements outside are dropped.

    The order is relaxed.
    """

    interface = Interface(Category.ATOMIC, Memory.GLOBAL)
    value: Operand[RegisterTile]
    base: Operand[Integer64]
    offsets: Sequence[Operand[Index]]
    extents: Sequence[Operand[Index]]
    strides: Sequence[Operand[Index]]
    mode: Mode
    vector: Int32
    vector_dimension: Int32 | None
    inbounds: Booleans | None
    scope: Scope
    assembly = (
        "$mode $value -> $base[$offsets] extents [$extents] strides [$strides] vector $vector{"
        " along $vector_dimension}{ inbounds [$inbounds]} scope $scope attr-dict : type($value)"
    )
    rules = [_mode_has_element, _vector_is_an_instruction, one_each, vector_has_a_dimension]
