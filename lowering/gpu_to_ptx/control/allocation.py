"""Memory of a tile block: one thread calls malloc, and all threads of the block read the address from scratch memory.

Device code may allocate memory of any size, and its addresses are those of global memory, as pointers of tile_gpu are.
"""

from __future__ import annotations

from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.global_memory import AllocateOp
from tilec.lowering.gpu_to_ptx.registers.device_call import call_assertfail, call_malloc
from tilec.lowering.gpu_to_ptx.registers.guards import conjunction
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering
from tilec.lowering.gpu_to_ptx.registers.one_thread import if_first_thread, if_true
from tilec.lowering.gpu_to_ptx.registers.registry import lowers

# CUDA C++ programming guide, "Heap Memory Allocation".
_MALLOC_ALIGNMENT = 16
_ADDRESS_BYTES = 8
_FULL = "alloca: the heap of the device is full, raise CU_LIMIT_MALLOC_HEAP_SIZE"


@lowers(AllocateOp)
def allocate(lowering: Lowering, operation: ir.Operation) -> None:
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
    _stop_if_full(lowering, operation, made)
    lowering.allocated.append(made)
    if further:
        made = lowering.compute(f"add.s64 $0, $1, {op.alignment - 1};", "i64", made)
        made = lowering.compute(f"and.b64 $0, $1, {-op.alignment};", "i64", made)
    lowering.set(operation.results[0], [made])


def _stop_if_full(lowering: Lowering, operation: ir.Operation, made: ir.Value) -> None:
    is_null = lowering.compute("setp.eq.s64 $0, $1, 0;", "i1", made)
    is_first = lowering.compute("setp.eq.s32 $0, $1, 0;", "i1", lowering.thread)
    condition = conjunction(lowering, is_null, is_first)
    assert condition is not None
    location = source_location(operation.location)
    file, line = (location.file, location.line) if location is not None else ("", 0)
    with if_true(lowering, condition, "heap_is_full"):
        call_assertfail(lowering, _FULL, file, line, lowering.b.entry.attributes["sym_name"].value)
