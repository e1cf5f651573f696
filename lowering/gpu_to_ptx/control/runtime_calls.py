"""Assertions and allocations: one thread calls a function of CUDA."""

from __future__ import annotations

from functools import reduce

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.debug import AssertOp
from tilec.dialect.tile_gpu.operations.global_memory import AllocateOp
from tilec.lowering.gpu_to_ptx.registers.declarations import call_assertfail, call_malloc
from tilec.lowering.gpu_to_ptx.registers.elements import layout_of
from tilec.lowering.gpu_to_ptx.registers.guards import conjunction, first_holder, if_first_thread, if_true
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering, lowers
from tilec.lowering.layout.linear_layout import LinearLayout

# The bits of the number of a thread that are its number in its warp.
_LANES = 31
# CUDA C++ programming guide, "Heap Memory Allocation".
_MALLOC_ALIGNMENT = 16
_ADDRESS_BYTES = 8
_FULL = "alloca: the heap of the device is full, raise CU_LIMIT_MALLOC_HEAP_SIZE"


@lowers(AssertOp)
def assertion(lowering: Lowering, operation: ir.Operation) -> None:
    """Calls __assertfail in the first thread of the role, or of each warp, that holds a false element."""
    op = operation.opview
    layout, registers = layout_of(op.condition.type), lowering.get(op.condition)
    distinct = [registers[register] for register in layout.distinct_registers]
    holds = reduce(lambda a, b: lowering.compute("and.pred $0, $1, $2;", "i1", a, b), distinct)
    fails = lowering.compute("not.pred $0, $1;", "i1", holds)
    with if_true(lowering, conjunction(lowering, fails, _first_holder(lowering, layout, op.each_warp)), "assertion"):
        call_assertfail(lowering, op.message, operation)


def _first_holder(lowering: Lowering, layout: LinearLayout, each_warp: bool) -> ir.Value | None:
    if each_warp:
        return first_holder(lowering, layout.free_thread_mask & _LANES if layout.shape else _LANES)
    if layout.shape:
        return first_holder(lowering, layout.free_thread_mask)
    # A scalar is in every thread of the role.
    return lowering.compute("setp.eq.s32 $0, $1, 0;", "i1", lowering.thread)


@lowers(AllocateOp)
def allocate(lowering: Lowering, operation: ir.Operation) -> None:
    """One thread calls malloc, and all threads of the block read the address from scratch memory.

    Device code may allocate memory of any size, and its addresses are those of global memory, as pointers of tile_gpu
    are.
    """
    op, b = operation.opview, lowering.b
    further = op.alignment - _MALLOC_ALIGNMENT if op.alignment > _MALLOC_ALIGNMENT else 0
    slot = lowering.shared_address(lowering.plan.scratch)
    lowering.scratch_size_bytes = max(lowering.scratch_size_bytes, _ADDRESS_BYTES)
    with if_first_thread(lowering, "allocate"):
        b.execute("st.shared.b64 [$0], $1;", (), slot, call_malloc(lowering, max(1, op.bytes) + further))
    # All threads of the block execute the code before the roles.
    b.execute("bar.sync 0;")
    made = b.execute("ld.shared.b64 $0, [$1];", b.i64, slot)
    b.execute("bar.sync 0;")
    is_null = lowering.compute("setp.eq.s64 $0, $1, 0;", "i1", made)
    is_first = lowering.compute("setp.eq.s32 $0, $1, 0;", "i1", lowering.thread)
    with if_true(lowering, lowering.compute("and.pred $0, $1, $2;", "i1", is_null, is_first), "heap_is_full"):
        call_assertfail(lowering, _FULL, operation)
    lowering.allocated.append(made)
    if further:
        made = lowering.compute(f"add.s64 $0, $1, {op.alignment - 1};", "i64", made)
        made = lowering.compute(f"and.b64 $0, $1, {-op.alignment};", "i64", made)
    lowering.set(operation.results[0], [made])
