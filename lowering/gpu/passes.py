"""Runs the passes over tile_gpu."""

from __future__ import annotations

from tilec.compile_options import DEFAULTS, CompileOptions
from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.kernel import KernelOp
from tilec.errors import UnsupportedError, VerificationError
from tilec.lowering.gpu.clean_up import clean_up
from tilec.lowering.gpu.kernel_pass import Context, KernelPass, State
from tilec.lowering.gpu.pass_records import RECORDS
from tilec.lowering.gpu.schedule.follow_schedule import has_choices
from tilec.lowering.gpu.schedule.role_liveness import liveness
from tilec.lowering.target import target_named
from tilec.lowering.tile.passes import Observe
from tilec.process.time_limit import check_time
from tilec.remarks import Remark

# By name, in the order of a compile.
PASSES: dict[str, KernelPass] = {record.name: record for record in RECORDS}
# The pass that reads the work of loops, of which the passes before leave some twice.
_AFTER_CLEAN_UP = "follow-schedule"
# Runs in front of each pass that needs loops without schedules.
_EXPANDER = "expand-schedules"


def run(
    module: ir.Module,
    *,
    target: str,
    options: CompileOptions = DEFAULTS,
    remarks: list[Remark] | None = None,
    observe: Observe = lambda name, module: None,
) -> ir.Module:
    """Runs all passes in place, and verifies the module before upstream's; `remarks` gets what was not possible.

    `observe` is called with the name of each pass and the module after it.

    Of the options, `roles`, `multicast`, `register_budgets` and `pipeline` (False switches off), `solver` and `stages`
    (the most slots of a ring) count here.
    """
    found = [] if remarks is None else remarks
    with module.context, ir.Location.unknown():
        clean_up(module)
        contexts = [Context.of(kernel, target_named(target), options, found) for kernel in _kernels(module)]
        for record in PASSES.values():
            check_time()
            if record.name == _AFTER_CLEAN_UP and options.pipeline and any(map(has_choices, _kernels(module))):
                clean_up(module)
            for kernel, context in zip(_kernels(module), contexts, strict=True):
                if not record.is_enabled(context):
                    continue
                if record.missing(kernel, context) is State.EXPANDED and _EXPANDER in PASSES:
                    PASSES[_EXPANDER].apply(kernel, context)
                if record.missing(kernel, context) is None:
                    record.apply(kernel, context)
            observe(record.name, module)
        module.operation.verify()
        clean_up(module)
        for kernel in _kernels(module):
            _check_liveness(kernel)
    return module


def _check_liveness(kernel: KernelOp) -> None:
    found = liveness(kernel)
    assert not found.is_deadlock, f"the roles of a kernel deadlock: {found.problem}"


def run_pass(module: ir.Module, name: str, *, target: str, options: CompileOptions = DEFAULTS) -> None:
    """Runs one pass on every kernel of a module, in place, and verifies it; KeyError for an unknown name.

    Raises UnsupportedError for a kernel that is not in the states that the pass needs.
    """
    record = PASSES[name]
    with module.context, ir.Location.unknown():
        for kernel in _kernels(module):
            context = Context.of(kernel, target_named(target), options, [])
            state = record.missing(kernel, context)
            if state is not None:
                location = source_location(kernel.operation.location)
                raise UnsupportedError(f"pass '{name}' needs a kernel with {state.value}", location)
            record.apply(kernel, context)
            found = liveness(kernel)
            if found.is_deadlock:
                location = source_location(kernel.operation.location)
                raise VerificationError(f"the roles of the kernel deadlock: {found.problem}", location)
        module.operation.verify()


def _kernels(module: ir.Module) -> list[KernelOp]:
    return [op for op in module.body.operations if op.operation.name == KernelOp.OPERATION_NAME]
