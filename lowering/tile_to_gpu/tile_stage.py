"""The stage from Tile IR to Tile IR: the passes over it, and the divisions that the plan decides."""

from __future__ import annotations

import dataclasses
from functools import partial

from tilec.compile_options import CompileOptions
from tilec.dialect.build import copied
from tilec.dialect.mlir import ir
from tilec.dialect.walk import operations_named
from tilec.frozen import replace
from tilec.lowering.matrix_unit import accumulates_in_registers
from tilec.lowering.plan.accumulator_room import fit_accumulators, halves_in_turn
from tilec.lowering.plan.chain_room import ChainRoom
from tilec.lowering.plan.cluster_division import choose_cluster, planned_shape, room_of
from tilec.lowering.plan.cluster_shape import ClusterShape
from tilec.lowering.plan.followed_hints import entry_options, hinted_slots
from tilec.lowering.plan.group_rows import group_rows
from tilec.lowering.plan.halved_operands import halve_operands, has_halves
from tilec.lowering.plan.matrix.kept_operands import mark_operands, room_for_operands
from tilec.lowering.plan.matrix.pairs import multiplies_in_narrow_pairs
from tilec.lowering.plan.matrix.sharing import LADDER
from tilec.lowering.plan.narrow_multiplies import fit_narrow_multiplies
from tilec.lowering.plan.operand_sides import exchange_sides
from tilec.lowering.plan.result_stores import has_places, place_results
from tilec.lowering.plan.scaled_multiplies import compute_scaled_in_turn, fit_scaled_multiplies, fits_scaled_multiplies
from tilec.lowering.plan.sparse_multiplies import fit_sparse_multiplies
from tilec.lowering.plan.wide_multiplies import divide_wide_multiplies
from tilec.lowering.target import Target
from tilec.lowering.tile.divide.split_loops import split_loops
from tilec.lowering.tile.divide.whole_masks import has_masked_operands
from tilec.lowering.tile.passes import (
    AFTER_EXPANSION,
    UNKNOWN,
    WITH_PARTS_OF_LOOPS,
    WITH_WHOLE_LOOPS,
    TileFacts,
    enabled,
    run,
)
from tilec.lowering.tile.simplify.simplify import Evaluate
from tilec.lowering.tile_to_gpu.convolution_choice import Candidate, Compiler, CountCycles, faster, run_with_lowerings
from tilec.lowering.tile_to_gpu.kernel import CountColumns, fits_by_sharing
from tilec.lowering.tile_to_gpu.occupancy_choice import asked_blocks, choose_occupancy, set_blocks
from tilec.remarks import Remark


def run_tile_stage(
    module: ir.Module,
    target: Target,
    given: CompileOptions,
    remarks: list[Remark],
    *,
    evaluate: Evaluate,
    count_columns: CountColumns,
    count_cycles: CountCycles,
) -> ir.Module:
    """The result for a module with one entry, which is changed; `evaluate` computes operations on constants."""

    def run_passes(source: ir.Module, found: list[Remark]) -> ir.Module:
        return _run_passes(source, compiler, found, evaluate)

    compiler = Compiler(target, given, run_passes, count_columns, count_cycles)
    (entry,) = operations_named(module, ("cuda_tile.entry",))
    with module.context:
        blocks = asked_blocks(entry, target, given)
        if blocks is None:
            return run_with_lowerings(module, compiler, remarks)
        is_hint = entry_options(entry, target, given).occupancy is not None
        set_blocks(module, 0)
        made = run_with_lowerings(module, compiler, remarks)
        choose_occupancy(made, blocks, is_hint, compiler, remarks)
        return made


def _run_passes(module: ir.Module, compiler: Compiler, remarks: list[Remark], evaluate: Evaluate) -> ir.Module:
    target, given = compiler.target, compiler.options
    (entry,) = operations_named(module, ("cuda_tile.entry",))
    options = entry_options(entry, target, given)
    with module.context:
        fit_sparse_multiplies(entry, target, replace(given, num_ctas=options.num_ctas), remarks, None)
        fit_narrow_multiplies(module, target, remarks)
    run(module, WITH_WHOLE_LOOPS, evaluate=evaluate, verifies=False)
    with module.context:
        split = copied(module) if has_masked_operands(module) else None
    best = _with_facts(module, compiler, evaluate)
    if split is not None:
        with module.context:
            split_loops(split, evaluate, masks_operands=True)
        best = faster(_with_facts(split, compiler, evaluate), best, compiler)
    remarks += best.remarks
    return best.module


def _with_facts(module: ir.Module, compiler: Compiler, evaluate: Evaluate) -> Candidate:
    """The candidate for a module with whole loops, or with parts of them."""
    target = compiler.target
    (entry,) = operations_named(module, ("cuda_tile.entry",))
    options = entry_options(entry, target, compiler.options)
    run(module, WITH_PARTS_OF_LOOPS, evaluate=evaluate, verifies=False)
    with module.context:
        is_turned = exchange_sides(entry, target)
    if is_turned:
        run(module, ("simplify", "cse"), evaluate=evaluate, facts=UNKNOWN, verifies=True)
    with module.context:
        room = room_of(entry, target, options)
        in_turn = halves_in_turn(module, target, options) if room.shape.ctas == 1 else None
    best = _with_room(module, compiler, room, evaluate)
    return best if in_turn is None else faster(_with_room(in_turn, compiler, room, evaluate), best, compiler)


def _with_room(module: ir.Module, compiler: Compiler, room: ChainRoom, evaluate: Evaluate) -> Candidate:
    """The candidate whose tiles fit the memories of a CTA, or of a cluster that divides them; the module is changed."""
    target, shape, remarks = compiler.target, room.shape, list[Remark]()
    (entry,) = operations_named(module, ("cuda_tile.entry",))
    options = entry_options(entry, target, compiler.options)
    with module.context:
        if shape.ctas == 1:
            # Before stores are divided: slices of columns belong to no part.
            fit_accumulators(entry, target, options, remarks, partial(_chosen_ctas, module, target, options))
            shape = planned_shape(entry, options.num_ctas or 1, target)
        is_divided = divide_wide_multiplies(module, target, shape)
        has_choice = shape.ctas == 1 and options.tma
        # Rings for which memory is short do not have several slots of whole tiles.
        is_short = has_choice and hinted_slots(entry, target, options) != 1 and has_halves(module, target)
        halved = copied(module) if is_short else None
    facts = dataclasses.replace(_tile_facts(entry, target, options, shape), slice_bytes=room.slice_bytes)

    def finish(source: ir.Module, is_divided: bool) -> Candidate:
        found = list(remarks)
        # Parts of constants are constants, before stores are divided.
        names = (*(("simplify",) if is_divided else ()), *enabled(facts))
        made = Candidate(source, _run_with_facts(source, compiler, found, facts, names, evaluate), found)
        if not has_choice:
            return made
        with source.context:
            return _with_kept_operands(_with_placed_results(made, compiler), compiler)

    best = finish(module, is_divided)
    if halved is not None:
        with module.context:
            halve_operands(halved, target)
        # Operands in tensor memory may be worth more beside halves, which are slower without.
        best = faster(finish(halved, is_divided=True), best, compiler)
    return best


def _with_placed_results(present: Candidate, compiler: Compiler) -> Candidate:
    """The candidate with the place of stores in loops that is the faster one by the cost model."""
    if not has_places(present.module, compiler.target):
        return present
    early, late = copied(present.module), copied(present.module)
    place_results(early, late=False)
    place_results(late, late=True)
    candidates = [Candidate(made, made, present.remarks) for made in (late, early)]
    return faster(candidates[0], candidates[1], compiler)


def _with_kept_operands(present: Candidate, compiler: Compiler) -> Candidate:
    """The candidate with left operands in tensor memory, if that is free, or faster by the cost model."""
    target = compiler.target
    room = room_for_operands(present.module, target)
    if room is None:
        return present
    if room.costs_nothing:
        mark_operands(present.module, target, room.spares[0])
        return present
    for spare in room.spares:
        kept = copied(present.module)
        mark_operands(kept, target, spare)
        candidate = Candidate(kept, kept, present.remarks)
        # With as many cycles, no operand has columns beside a second slot of accumulators.
        if faster(candidate, present, compiler) is candidate:
            return candidate
        if candidate.cycles(compiler) != present.cycles(compiler):
            break
    return present


def _run_with_facts(
    module: ir.Module,
    compiler: Compiler,
    remarks: list[Remark],
    facts: TileFacts,
    names: tuple[str, ...],
    evaluate: Evaluate,
) -> ir.Module:
    target, given = compiler.target, compiler.options
    (entry,) = operations_named(module, ("cuda_tile.entry",))
    options = entry_options(entry, target, given)
    with module.context:
        module = compute_scaled_in_turn(module, target, options, remarks)
    run(module, names, evaluate=evaluate, facts=facts)
    grouped = group_rows(module, target, given.tma)
    if grouped is not module:
        run(grouped, AFTER_EXPANSION, evaluate=evaluate, facts=facts)
        return grouped
    if fit_sparse_multiplies(module, target, given, remarks, LADDER[-1]):
        run(module, ("unbatch-multiplies", "split-tiles", *enabled(facts)), evaluate=evaluate, facts=facts)
    if fits_scaled_multiplies(module, target, options, LADDER[-1]):
        return module
    # A scaled multiply has no slower unit: where accumulators cannot share columns, it is divided here.
    for sharing in (LADDER[0], LADDER[-1]):
        fitted, found = copied(module), list[Remark]()
        if fit_scaled_multiplies(fitted, target, sharing, found):
            run(fitted, AFTER_EXPANSION, evaluate=evaluate, facts=facts)
        fits_alone = fits_scaled_multiplies(fitted, target, options, LADDER[-1])
        if fits_alone or fits_by_sharing(fitted, target, given, compiler.count_columns):
            break
    remarks += found
    return fitted


def _chosen_ctas(module: ir.Module, target: Target, options: CompileOptions) -> int:
    """The CTAs that compute a tile block of the entry of a module without the hint num_ctas."""
    copy = copied(module)
    divide_wide_multiplies(copy, target, ClusterShape(1))
    (entry,) = operations_named(copy, ("cuda_tile.entry",))
    return choose_cluster(entry, target, options).value


def _tile_facts(entry: ir.OpView, target: Target, options: CompileOptions, shape: ClusterShape) -> TileFacts:
    """The facts of an entry whose tiles are simplified; `options` contain its hints."""
    ctas = max(options.num_ctas or 1, shape.ctas)
    return TileFacts(
        # Accumulators in registers leave no others for a second chain, and a cluster divides the rows itself.
        splits_chains=ctas == 1 and not accumulates_in_registers(target),
        # Threads of a narrow pair do not have whole rows: columns of them are in some warps only.
        # Where a cluster divides columns, cluster_division.py divides the stores with them.
        divides_stores=shape.columns == 1 and not multiplies_in_narrow_pairs(entry, ctas, target, options),
        divides_depth=hinted_slots(entry, target, options) is None,
        shared_bytes=target.shared_bytes,
    )
