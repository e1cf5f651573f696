"""Hints of operations of Tile IR, and those that a tile_gpu.kernel carries as attributes to the later stages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tilec.compile_options import CompileOptions
from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.frozen import replace
from tilec.lowering.target import Target, share_of_block
from tilec.remarks import Loss, Remark

# Blocks of an SM that registers and shared memory leave room for; the most slots of a ring; the slots that rings get
# first, which have more where no other block of the SM could use the memory.
OCCUPANCY, STAGES, LATENCY = "tilec.occupancy", "tilec.stages", "tilec.latency"
# 1 if a hint excludes clusters.
NUM_CTAS = "tilec.num_ctas"
# Why a cluster computes each tile block although no hint asks for it, as text.
CLUSTER_CHOICE = "tilec.cluster_choice"
# On an assertion of Tile IR: no warp passes it, so that the operation after it is not executed by any thread.
EACH_WARP = "tilec.each_warp"

# On loads of Tile IR: the number of the load that was repeated for several taps. One ring has their tiles in turn.
REPEATED_LOAD = "tilec.repeated_load"
# On loads of Tile IR, of a loop that has the iterations after groups of several: they are too few to load ahead.
REMAINING_LOAD = "tilec.remaining_load"
# On stores of Tile IR: the number of the store of a loop that was repeated for several iterations, each of which writes
# a tile of its own.
REPEATED_STORE = "tilec.repeated_store"
_UNFOLLOWED = "occupancy={} is not followed: "


def kernel_hint(kernel: Any, name: str) -> int | None:
    """The hint of that name, None where the kernel has none."""
    attributes = kernel.operation.attributes
    return ir.IntegerAttr(attributes[name]).value if name in attributes else None


def blocks_of_hint(kernel: Any) -> int:
    """The blocks on an SM that a kernel was planned for: those of the hint `occupancy`, 1 without it."""
    return kernel_hint(kernel, OCCUPANCY) or 1


def unfollowed_occupancy(blocks: int, reason: str, entry: ir.Operation) -> Remark:
    """The remark that the hint `occupancy` of an entry or kernel is not followed."""
    message = _UNFOLLOWED.format(blocks) + reason
    return Remark("hint", message, source_location(entry.location), Loss("blocks", count=blocks))


def unfollowed_reason(blocks: int, remarks: Iterable[Remark]) -> str | None:
    """The reason of the first remark of `unfollowed_occupancy` for these blocks, None without one."""
    prefix = _UNFOLLOWED.format(blocks)
    messages = (each.message for each in remarks)
    return next((each.removeprefix(prefix) for each in messages if each.startswith(prefix)), None)


def columns_refusal(columns: int, blocks: int, target: Target) -> str | None:
    """Why several blocks of an SM cannot have these columns of tensor memory each, or None."""
    share = share_of_block(target, blocks).tensor_memory_columns
    if columns <= share:
        return None
    return f"a block needs {columns} columns of tensor memory, {blocks} blocks have {share} each"


def followed_options(given: CompileOptions, hints: Mapping[str, int | None], target: Target) -> CompileOptions:
    """The options of a compile, completed by the hints of a kernel; features that the target lacks are off."""
    completed = given.completed({name: value for name, value in hints.items() if value is not None})
    return completed if target.moves_registers else replace(completed, register_budgets=False)


def tile_hint(op: ir.OpView, name: str, target: Target) -> int | bool | None:
    """A hint of an operation for this target, else for all targets."""
    attributes = op.operation.attributes
    hints = attributes["optimization_hints"] if "optimization_hints" in attributes else {}
    for architecture in (target.architecture, "default"):
        if architecture in hints and name in hints[architecture]:
            return hints[architecture][name].value
    return None


def allows_tma(op: ir.OpView, target: Target) -> bool:
    """Whether the hints of an access leave TMA allowed."""
    return tile_hint(op, "allow_tma", target) is not False


def tma_refusal(op: ir.OpView, target: Target, use_tma: bool) -> str | None:
    """Why an access does not use TMA by an option or a hint, or None."""
    if not use_tma:
        return "TMA is switched off"
    return None if allows_tma(op, target) else "hint allow_tma=False"
