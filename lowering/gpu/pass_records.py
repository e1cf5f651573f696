"""The records of the passes over a kernel of tile_gpu, in order; the kernel stays correct without any of them."""

from __future__ import annotations

from tilec.lowering.gpu.channels.copy_rows import copy_rows
from tilec.lowering.gpu.channels.fill_accumulators import fill_accumulators
from tilec.lowering.gpu.channels.fuse_channels import fuse_channels
from tilec.lowering.gpu.channels.make_channels import make_channels
from tilec.lowering.gpu.channels.pipeline import pipeline
from tilec.lowering.gpu.channels.reuse_channels import reuse_channels
from tilec.lowering.gpu.channels.share_loads import share_loads
from tilec.lowering.gpu.columns.divide_columns import divide_columns
from tilec.lowering.gpu.columns.order_steps import order_steps
from tilec.lowering.gpu.columns.read_early import read_early
from tilec.lowering.gpu.columns.skip_updates import skip_updates
from tilec.lowering.gpu.kernel_pass import KernelPass, State
from tilec.lowering.gpu.roles.alternate_tiles import alternate_tiles
from tilec.lowering.gpu.roles.assign_roles import assign_roles
from tilec.lowering.gpu.roles.partition_roles import partition_roles
from tilec.lowering.gpu.roles.persist import persist
from tilec.lowering.gpu.roles.register_budgets import register_budgets
from tilec.lowering.gpu.roles.repeat_scalars import repeat_scalars
from tilec.lowering.gpu.schedule.expand_schedules import expand_schedules
from tilec.lowering.gpu.schedule.order_warpgroups import order_warpgroups
from tilec.lowering.gpu.schedule.schedule_loops import schedule_loops

_CHANNELLED = (State.CHANNELLED,)
_ONE_ROLE = (State.CHANNELLED, State.UNDIVIDED)
_EXPANDED = (State.CHANNELLED, State.EXPANDED)

RECORDS = (
    KernelPass("persist", persist, needs=(State.UNDIVIDED,), option="persistent"),
    KernelPass("assign-roles", assign_roles),
    KernelPass("make-channels", make_channels, gives=(State.CHANNELLED,), after=("persist", "assign-roles")),
    KernelPass("copy-rows", copy_rows, needs=_ONE_ROLE, option="roles"),
    KernelPass("divide-columns", divide_columns, needs=_ONE_ROLE),
    KernelPass("order-steps", order_steps, needs=_ONE_ROLE, after=("divide-columns",)),
    KernelPass("fuse-channels", fuse_channels, needs=_ONE_ROLE),
    KernelPass("share-loads", share_loads, needs=_ONE_ROLE, after=("fuse-channels",), option="multicast"),
    KernelPass("reuse-channels", reuse_channels, needs=_ONE_ROLE, after=("share-loads", "divide-columns")),
    KernelPass("partition-roles", partition_roles, needs=_ONE_ROLE, after=("reuse-channels",), option="roles"),
    KernelPass(
        "alternate-tiles", alternate_tiles, needs=_CHANNELLED, after=("partition-roles",), option="roles", unit="wgmma"
    ),
    KernelPass("read-early", read_early, needs=_CHANNELLED, after=("reuse-channels",), option="pipeline"),
    KernelPass("skip-updates", skip_updates, needs=_CHANNELLED, after=("partition-roles",)),
    KernelPass(
        "register-budgets",
        register_budgets,
        needs=_CHANNELLED,
        after=("partition-roles", "read-early", "skip-updates"),
        option="register_budgets",
    ),
    KernelPass("pipeline", pipeline, needs=_CHANNELLED, after=("partition-roles",), option="pipeline"),
    KernelPass(
        "schedule-loops", schedule_loops, needs=_CHANNELLED, after=("partition-roles", "pipeline", "register-budgets")
    ),
    KernelPass(
        "expand-schedules", expand_schedules, needs=_CHANNELLED, gives=(State.EXPANDED,), after=("schedule-loops",)
    ),
    KernelPass(
        "order-warpgroups",
        order_warpgroups,
        needs=_EXPANDED,
        after=("expand-schedules",),
        option="pipeline",
        unit="wgmma",
    ),
    KernelPass("fill-accumulators", fill_accumulators, needs=_EXPANDED, after=("partition-roles",)),
    KernelPass(
        "repeat-scalars", repeat_scalars, needs=_EXPANDED, after=("register-budgets",), option="register_budgets"
    ),
)
