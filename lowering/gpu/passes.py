"""Runs the passes over tile_gpu."""

from __future__ import annotations

from tilec.compile_options import DEFAULTS, CompileOptions
from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.kernel import KernelOp
from tilec.errors import UnsupportedError, VerificationError
from tilec.lowering.gpu.clean_up import clean_up
from tilec.lowering.gpu.kernel_pass import Context, KernelPass, in_order
from tilec.lowering.gpu.memory.shared_plan import memory_plan
from tilec.lowering.gpu.pass_records import RECORDS
from tilec.lowering.gpu.schedule.role_liveness import liveness
from tilec.lowering.gpu.schedule.schedule_loops import HEURISTICS
from tilec.lowering.target import Target, target_named
from tilec.lowering.tile.passes import Observe
from tilec.process.time_limit import check_time
from tilec.remarks import Remark

# By name, in the order of a compile.
PASSES: dict[str, KernelPass] = {record.name: record for record in RECORDS}
# The last pass that changes how many columns a kernel needs; later ones use those that are left.
_LAST_OF_COLUMNS = "reuse-channels"


def run(
    module: ir.Module,
    *,
    target: str,
    options: CompileOptions = DEFAULTS,
    remarks: list[Remark] | None = None,
    observe: Observe = lambda name, module: None,
) -> ir.Module:
    """Runs all passes in place, and verifies the module before upstream's; `remarks` gets what was not possible.

    `observe` is called with the name of each pass, and of each heuristic of a pass, and the module after it.

    Of the options, `roles`, `multicast`, `register_budgets` and `pipeline` (False switches off), `solver` and `stages`
    (the most slots of a ring) count here.
    """
    found = [] if remarks is None else remarks
    with module.context, ir.Location.unknown():
        clean_up(module)
        contexts = [Context.of(kernel, target_named(target), options, found) for kernel in _kernels(module)]
        for context in contexts:
            context.observe = lambda name: observe(name, module)
        for record in in_order(PASSES, RECORDS):
            check_time()
            for kernel, context in zip(_kernels(module), contexts, strict=True):
                _apply(record, kernel, context)
            observe(record.name, module)
        module.operation.verify()
        clean_up(module)
        for kernel in _kernels(module):
            _check_liveness(kernel)
    return module


def _apply(record: KernelPass, kernel: KernelOp, context: Context) -> None:
    if record.is_enabled(context) and record.missing(kernel, context) is None:
        record.apply(kernel, context)


def columns_needed(module: ir.Module, target: Target, options: CompileOptions) -> int:
    """The columns of tensor memory that the only kernel of a module, which is changed, needs: those of its plan."""
    clean_up(module)
    (kernel,) = _kernels(module)
    context = Context.of(kernel, target, options, [])
    names = [record.name for record in RECORDS]
    for record in in_order(PASSES, RECORDS[: names.index(_LAST_OF_COLUMNS) + 1]):
        check_time()
        _apply(record, kernel, context)
    return memory_plan(kernel).columns_used


def _check_liveness(kernel: KernelOp) -> None:
    found = liveness(kernel)
    assert not found.is_deadlock, f"the roles of a kernel deadlock: {found.problem}"


def run_pass(module: ir.Module, name: str, *, target: str) -> None:
    """Runs a pass or a heuristic on every kernel of a module, in place, and verifies it; KeyError for an unknown name.

    Raises UnsupportedError for a kernel that is not in the states that the pass needs.
    """
    record = table_of(name)[name]
    with module.context, ir.Location.unknown():
        for kernel in _kernels(module):
            context = Context.of(kernel, target_named(target), DEFAULTS, [])
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


def table_of(name: str) -> dict[str, KernelPass]:
    """The table with a pass or a heuristic, in which tests and benchmarks replace it."""
    return HEURISTICS if name in HEURISTICS else PASSES


def _kernels(module: ir.Module) -> list[KernelOp]:
    return [op for op in module.body.operations if op.operation.name == KernelOp.OPERATION_NAME]
