"""The facts that passes over Tile IR follow, from the target and the hints of a kernel."""

from __future__ import annotations

from tilec.compile_options import CompileOptions
from tilec.dialect.mlir import ir
from tilec.lowering.matrix_unit import accumulates_in_registers
from tilec.lowering.plan.followed_hints import asks_for_slots
from tilec.lowering.plan.matrix.narrow_pairs import multiplies_in_narrow_pairs
from tilec.lowering.target import Target
from tilec.lowering.tile.facts import TileFacts


def tile_facts(entry: ir.OpView, target: Target, options: CompileOptions) -> TileFacts:
    """The facts of an entry whose tiles are simplified; `options` contain its hints."""
    ctas = options.num_ctas or 1
    return TileFacts(
        # Accumulators in registers leave no others for a second chain, and a cluster divides the rows itself.
        splits_chains=ctas == 1 and not accumulates_in_registers(target),
        # Threads of a narrow pair do not have whole rows: columns of them are in some warps only.
        divides_stores=not multiplies_in_narrow_pairs(entry, ctas, target, options),
        divides_depth=not asks_for_slots(entry, target, options),
        shared_bytes=target.shared_bytes,
    )
