"""Hints that a tile_gpu.kernel carries as attributes, from the Tile IR entry to the later stages, and the options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tilec.compile_options import CompileOptions
from tilec.dialect.mlir import ir
from tilec.frozen import replace
from tilec.lowering.target import Target

# Blocks of an SM that registers and shared memory leave room for; the most slots of a ring.
OCCUPANCY, STAGES = "tilec.occupancy", "tilec.stages"
# 1 if a hint excludes clusters.
NUM_CTAS = "tilec.num_ctas"
# Why a cluster computes each tile block although no hint asks for it, as text.
CLUSTER_CHOICE = "tilec.cluster_choice"
# On an assertion of Tile IR: no warp passes it, so that the operation after it is not executed by any thread.
EACH_WARP = "tilec.each_warp"


def kernel_hint(kernel: Any, name: str) -> int | None:
    """The hint of that name, None where the kernel has none."""
    attributes = kernel.operation.attributes
    return ir.IntegerAttr(attributes[name]).value if name in attributes else None


def followed_options(given: CompileOptions, hints: Mapping[str, int | None], target: Target) -> CompileOptions:
    """The options of a compile, completed by the hints of a kernel; features that the target lacks are off."""
    completed = given.completed({name: value for name, value in hints.items() if value is not None})
    return completed if target.moves_registers else replace(completed, register_budgets=False)
