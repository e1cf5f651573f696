"""The stage from Tile IR to Tile IR: the passes over it, and the divisions that the plan decides."""

from __future__ import annotations

from tilec.compile_options import CompileOptions
from tilec.dialect.mlir import ir
from tilec.lowering.matrix_unit import accumulates_in_registers
from tilec.lowering.plan.accumulator_registers import fit_accumulators
from tilec.lowering.plan.followed_hints import asks_for_slots, entry_options
from tilec.lowering.plan.matrix.narrow_pairs import multiplies_in_narrow_pairs
from tilec.lowering.plan.matrix.sharing import LADDER
from tilec.lowering.plan.scaled_multiplies import fit_scaled_multiplies, fits_scaled_multiplies
from tilec.lowering.target import Target
from tilec.lowering.tile.facts import TileFacts
from tilec.lowering.tile.passes import AFTER_EXPANSION, BEFORE_FACTS, enabled, run
from tilec.lowering.tile.simplify.fold_constants import Evaluate
from tilec.lowering.tile_to_gpu.kernel import CountColumns, fits_by_sharing
from tilec.remarks import Remark


def run_tile_stage(
    module: ir.Module,
    entry: ir.OpView,
    target: Target,
    given: CompileOptions,
    remarks: list[Remark],
    *,
    evaluate: Evaluate,
    count_columns: CountColumns,
) -> ir.Module:
    """The result for a module with one entry, which is changed; `evaluate` computes operations on constants."""
    options = entry_options(entry, target, given)
    run(module, BEFORE_FACTS, evaluate=evaluate, verifies=False)
    facts = _tile_facts(entry, target, options)
    if accumulates_in_registers(target) and (options.num_ctas or 1) == 1:
        # Before stores are divided: slices of columns belong to no part.
        fit_accumulators(entry, remarks)
    run(module, enabled(facts), evaluate=evaluate, facts=facts)
    if fits_scaled_multiplies(module, target, LADDER[-1]):
        return module
    # A scaled multiply has no slower unit: where accumulators cannot share columns, it is divided here.
    for sharing in (LADDER[0], LADDER[-1]):
        fitted, found = _copied(module), list[Remark]()
        if fit_scaled_multiplies(fitted, target, sharing, found):
            run(fitted, AFTER_EXPANSION, evaluate=evaluate, facts=facts)
        if fits_scaled_multiplies(fitted, target, LADDER[-1]) or fits_by_sharing(fitted, target, given, count_columns):
            break
    remarks += found
    return fitted


def _copied(module: ir.Module) -> ir.Module:
    with module.operation.location:
        copy = ir.Module.create()
        for name in module.operation.attributes:
            copy.operation.attributes[name] = module.operation.attributes[name]
        for op in module.body.operations:
            op.operation.clone(ip=ir.InsertionPoint(copy.body))
    return copy


def _tile_facts(entry: ir.OpView, target: Target, options: CompileOptions) -> TileFacts:
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
