"""The passes over tile_gpu, in order; the kernel stays correct without any of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tilec.compile_options import DEFAULTS, CompileOptions
from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.cluster import GatherPartsOp
from tilec.dialect.tile_gpu.kernel import KernelOp
from tilec.dialect.tile_gpu.tma import TmaLoadOp
from tilec.dialect.walk import operations_inside
from tilec.lowering.gpu.advance_late_sums import advance_late_sums
from tilec.lowering.gpu.advance_loads import advance_loads
from tilec.lowering.gpu.advance_multiplies import advance_multiplies
from tilec.lowering.gpu.alternate_tiles import alternate_tiles
from tilec.lowering.gpu.assign_roles import assign_roles
from tilec.lowering.gpu.clean_up import clean_up
from tilec.lowering.gpu.copy_rows import copy_rows
from tilec.lowering.gpu.delay_multiplies import delay_multiplies
from tilec.lowering.gpu.divide_operands import divide_operands
from tilec.lowering.gpu.divide_tensor_loads import divide_tensor_loads
from tilec.lowering.gpu.divide_updates import divide_updates
from tilec.lowering.gpu.emulate_exponentials import emulate_exponentials
from tilec.lowering.gpu.fill_accumulators import fill_accumulators
from tilec.lowering.gpu.follow_schedule import follow_schedule, has_choices
from tilec.lowering.gpu.fuse_channels import fuse_channels
from tilec.lowering.gpu.issue_early import issue_early
from tilec.lowering.gpu.join_programs import join_programs
from tilec.lowering.gpu.make_channels import make_channels
from tilec.lowering.gpu.order_steps import order_steps
from tilec.lowering.gpu.order_warpgroups import order_warpgroups
from tilec.lowering.gpu.partition_roles import partition_roles
from tilec.lowering.gpu.pipeline import pipeline
from tilec.lowering.gpu.place_early import place_early
from tilec.lowering.gpu.read_early import read_early
from tilec.lowering.gpu.register_budgets import register_budgets
from tilec.lowering.gpu.repeat_scalars import repeat_scalars
from tilec.lowering.gpu.reuse_channels import reuse_channels
from tilec.lowering.gpu.ring_depth import ring_depth
from tilec.lowering.gpu.roles_progress import roles_wait_for_ever
from tilec.lowering.gpu.share_loads import share_loads
from tilec.lowering.gpu.skip_updates import skip_updates
from tilec.lowering.gpu.unroll_loads import unroll_loads
from tilec.lowering.gpu.wgmma_in_flight import wgmma_in_flight
from tilec.lowering.kernel_hints import STAGES, kernel_hint
from tilec.lowering.target import Target, target_named
from tilec.process.time_limit import check_time
from tilec.remarks import Remark

KernelPass = Callable[[KernelOp, Target, CompileOptions, list[Remark]], object]


def _roles(kernel: KernelOp, target: Target, _options: CompileOptions, remarks: list[Remark]) -> object:
    """All threads of the CTAs meet where they exchange tiles, so that the roles would wait for each other."""
    operations = operations_inside(kernel)
    exchanges = [op for op in operations if op.name == GatherPartsOp.OPERATION_NAME]
    if not exchanges:
        return partition_roles(kernel, target, remarks)
    if any(op.name == TmaLoadOp.OPERATION_NAME for op in operations):
        message = "the kernel has one role: all warps of a cluster take part in the exchange of a reduction"
        remarks.append(Remark("roles", message, source_location(exchanges[0].location)))
    return False


def _rings(kernel: KernelOp, target: Target, options: CompileOptions, remarks: list[Remark]) -> None:
    """Hints of the kernel replace options that are not set."""
    pipeline(kernel, target, options.stages or kernel_hint(kernel, STAGES), remarks)


# By name, in order: the rewrite of one tile_gpu.kernel, and the option that disables it.
PASSES: dict[str, tuple[KernelPass, str | None]] = {
    "place-early": (lambda kernel, target, options, remarks: place_early(kernel), None),
    "assign-roles": (lambda kernel, target, options, remarks: assign_roles(kernel, remarks), "roles"),
    "make-channels": (lambda kernel, target, options, remarks: make_channels(kernel), None),
    "copy-rows": (lambda kernel, target, options, remarks: copy_rows(kernel, remarks), "roles"),
    "divide-tensor-loads": (lambda kernel, target, options, remarks: divide_tensor_loads(kernel, target), None),
    "divide-updates": (lambda kernel, target, options, remarks: divide_updates(kernel), None),
    "divide-operands": (lambda kernel, target, options, remarks: divide_operands(kernel, target), None),
    "order-steps": (lambda kernel, target, options, remarks: order_steps(kernel), None),
    "fuse-channels": (lambda kernel, target, options, remarks: fuse_channels(kernel), None),
    "join-programs": (lambda kernel, target, options, remarks: join_programs(kernel, target, remarks), "multicast"),
    "share-loads": (lambda kernel, target, options, remarks: share_loads(kernel, remarks), "multicast"),
    "reuse-channels": (lambda kernel, target, options, remarks: reuse_channels(kernel, target), None),
    "partition-roles": (_roles, "roles"),
    "alternate-tiles": (lambda kernel, target, options, remarks: alternate_tiles(kernel, target, remarks), "roles"),
    "read-early": (lambda kernel, target, options, remarks: read_early(kernel, target), "pipeline"),
    "skip-updates": (lambda kernel, target, options, remarks: skip_updates(kernel), None),
    "register-budgets": (lambda kernel, target, options, remarks: register_budgets(kernel), "register_budgets"),
    "ring-depth": (lambda kernel, target, options, remarks: ring_depth(kernel, target), "pipeline"),
    "pipeline": (_rings, "pipeline"),
    "advance-multiplies": (lambda kernel, target, options, remarks: advance_multiplies(kernel), "pipeline"),
    "issue-early": (
        lambda kernel, target, options, remarks: issue_early(kernel, options.register_budgets),
        "pipeline",
    ),
    "delay-multiplies": (
        lambda kernel, target, options, remarks: delay_multiplies(kernel, options.register_budgets),
        "pipeline",
    ),
    "unroll-loads": (lambda kernel, target, options, remarks: unroll_loads(kernel), "pipeline"),
    "wgmma-in-flight": (lambda kernel, target, options, remarks: wgmma_in_flight(kernel), "pipeline"),
    "advance-loads": (
        lambda kernel, target, options, remarks: advance_loads(kernel, target, remarks, options.register_budgets),
        "pipeline",
    ),
    "emulate-exponentials": (lambda kernel, target, options, remarks: emulate_exponentials(kernel, target), None),
    "advance-late-sums": (lambda kernel, target, options, remarks: advance_late_sums(kernel, target), "pipeline"),
    "follow-schedule": (follow_schedule, "pipeline"),
    "order-warpgroups": (lambda kernel, target, options, remarks: order_warpgroups(kernel, target), "pipeline"),
    "fill-accumulators": (lambda kernel, target, options, remarks: fill_accumulators(kernel), None),
    "repeat-scalars": (lambda kernel, target, options, remarks: repeat_scalars(kernel), "register_budgets"),
}


# The pass that reads the work of loops, of which the passes before leave some twice.
_AFTER_CLEAN_UP = "follow-schedule"


# The matrix unit whose multiplies are those of warpgroups, and the passes that rewrite these alone.
_WARPGROUP_UNIT = "wgmma"
_OF_WARPGROUPS = ("issue-early", "delay-multiplies", "wgmma-in-flight", "order-warpgroups")


# Passes after which operations of one iteration are executed before those of the iteration before.
_REORDERING = ("advance-multiplies", "delay-multiplies", "advance-late-sums", "follow-schedule")


def run(
    module: ir.Module,
    *,
    target: str,
    options: CompileOptions = DEFAULTS,
    remarks: list[Remark] | None = None,
    reorders: bool = True,
) -> ir.Module:
    """Runs all passes in place, and verifies the module before upstream's; `remarks` gets what was not possible.

    With `reorders=False` loops keep the order of the program. The passes for multiplies of warpgroups are left out for
    targets that have none.

    Of the options, `roles`, `multicast`, `register_budgets` and `pipeline` (False switches off), `solver` and `stages`
    (the most slots of a ring) count here.
    """
    left_out: list[str] = []
    left_out += [] if _WARPGROUP_UNIT in target_named(target).matrix_units else _OF_WARPGROUPS
    left_out += [] if reorders else _REORDERING
    with module.context, ir.Location.unknown():
        clean_up(module)
        for name, (_, switch) in PASSES.items():
            check_time()
            if (switch is None or getattr(options, switch)) and name not in left_out:
                if name == _AFTER_CLEAN_UP and any(map(has_choices, _kernels(module))):
                    clean_up(module)
                _run_pass(module, name, target, options, remarks)
        module.operation.verify()
        clean_up(module)
    return module


def waiting_kernels(module: ir.Module) -> list[KernelOp]:
    """The kernels whose roles wait for each other for ever, because a pass has reordered a loop."""
    return [kernel for kernel in _kernels(module) if roles_wait_for_ever(kernel)]


def run_pass(
    module: ir.Module,
    name: str,
    *,
    target: str,
    options: CompileOptions = DEFAULTS,
    remarks: list[Remark] | None = None,
) -> None:
    """Runs one pass on every kernel of a module, in place, and verifies it; KeyError for an unknown name."""
    with module.context, ir.Location.unknown():
        _run_pass(module, name, target, options, remarks)
        module.operation.verify()


def _run_pass(module: ir.Module, name: str, target: str, options: CompileOptions, remarks: list[Remark] | None) -> None:
    kernel_pass, _ = PASSES[name]
    for kernel in _kernels(module):
        kernel_pass(kernel, target_named(target), options, [] if remarks is None else remarks)


def _kernels(module: ir.Module) -> Iterator[KernelOp]:
    yield from [op for op in module.body.operations if op.operation.name == KernelOp.OPERATION_NAME]
