"""The columns of tensor memory that a kernel needs: those of its memory plan after channels share slots."""

from __future__ import annotations

from tilec.compile_options import CompileOptions
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.kernel import KernelOp
from tilec.lowering.gpu.clean_up import clean_up
from tilec.lowering.gpu.kernel_pass import Context
from tilec.lowering.gpu.memory.shared_plan import memory_plan
from tilec.lowering.gpu.pass_records import RECORDS
from tilec.lowering.gpu.passes import PASSES
from tilec.lowering.target import Target
from tilec.process.time_limit import check_time

# The last pass that changes how many columns a kernel needs; later ones use those that are left.
_LAST = "reuse-channels"


def columns_needed(module: ir.Module, target: Target, options: CompileOptions) -> int:
    """The columns of the only kernel of a module, which is changed."""
    clean_up(module)
    (kernel,) = [op for op in module.body.operations if op.operation.name == KernelOp.OPERATION_NAME]
    context = Context.of(kernel, target, options, [])
    names = [record.name for record in RECORDS]
    for name in names[: names.index(_LAST) + 1]:
        check_time()
        record = PASSES.get(name)
        if record is not None and record.is_enabled(context) and record.missing(kernel, context) is None:
            record.apply(kernel, context)
    return memory_plan(kernel).columns_used
