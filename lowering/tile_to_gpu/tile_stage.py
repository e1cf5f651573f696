"""The stage from Tile IR to Tile IR: the passes over it, and the divisions that the plan decides."""

from __future__ import annotations

import math
from dataclasses import replace

from tilec.compile_options import CompileOptions
from tilec.dialect.build import copied
from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.registers import REGISTER_FILE
from tilec.dialect.walk import operations_below
from tilec.lowering.matrix_unit import accumulates_in_registers
from tilec.lowering.plan.cluster_division import check_order
from tilec.lowering.plan.followed_hints import asks_for_slots, entry_options
from tilec.lowering.plan.matrix.accumulator import Accumulator, accumulators
from tilec.lowering.plan.matrix.loop_resources import LoopResources
from tilec.lowering.plan.matrix.pairs import multiplies_in_narrow_pairs
from tilec.lowering.plan.matrix.sharing import LADDER
from tilec.lowering.plan.narrow_multiplies import fit_narrow_multiplies
from tilec.lowering.plan.scaled_multiplies import (
    compute_scaled_in_turn,
    fit_scaled_multiplies,
    fits_scaled_multiplies,
)
from tilec.lowering.plan.sparse_multiplies import fit_sparse_multiplies
from tilec.lowering.target import Target
from tilec.lowering.tile.analysis.tile_operations import MULTIPLIES
from tilec.lowering.tile.divide.divided_dimensions import COLUMNS, ROWS, NotDivisibleError
from tilec.lowering.tile.divide.parts_in_turn import compute_in_turn
from tilec.lowering.tile.passes import AFTER_EXPANSION, BEFORE_FACTS, TileFacts, enabled, run
from tilec.lowering.tile.simplify.simplify import Evaluate
from tilec.lowering.tile_to_gpu.access.alignment import element_bits
from tilec.lowering.tile_to_gpu.kernel import CountColumns, fits_by_sharing
from tilec.remarks import Remark

# The rest is for addresses, for values that are computed from the accumulators, and for the threads that load.
_MOST_REGISTERS = REGISTER_FILE // 4 * 3
_REGISTER_BITS = 32
# The dimension, and its least extent, in order of preference: two warpgroups have 64 rows each.
_CHOICES = ((ROWS, 128), (COLUMNS, 64), (ROWS, 64))


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
    with module.context:
        fit_sparse_multiplies(entry, target, replace(given, num_ctas=options.num_ctas), remarks, None)
        fit_narrow_multiplies(module, target, remarks)
    run(module, BEFORE_FACTS, evaluate=evaluate, verifies=False)
    facts = _tile_facts(entry, target, options)
    if accumulates_in_registers(target) and (options.num_ctas or 1) == 1:
        # Before stores are divided: slices of columns belong to no part.
        with module.context:
            _fit_accumulators(entry, remarks)
    with module.context:
        module = compute_scaled_in_turn(module, target, options, remarks)
    run(module, enabled(facts), evaluate=evaluate, facts=facts)
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
        if fits_alone or fits_by_sharing(fitted, target, given, count_columns):
            break
    remarks += found
    return fitted


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


def _fit_accumulators(entry: ir.OpView, remarks: list[Remark]) -> None:
    """Changes an entry in place so that its accumulators fit the registers; `remarks` gets the division or the refusal.

    mmaf : 256x64, 64x256 -> 256x256 in a loop   ->   for %part in (0 to 2, step 1), with a loop of 128x256 inside

    Stores must be whole: slices of columns (divide_stores.py) belong to no part.
    """
    multiplies = [op for op in operations_below(entry) if op.operation.name in MULTIPLIES and op.acc.type.rank == 2]
    places = list(dict.fromkeys(accumulators(multiplies).values()))
    together = [[other for other in places if other is place or place.overlaps(other)] for place in places]
    largest = max(together, key=_registers, default=[])
    needed = _registers(largest)
    if needed <= _MOST_REGISTERS:
        return
    location = source_location(next(iter(largest[0].multiplies)).location)
    parts = 1 << math.ceil(math.log2(needed / _MOST_REGISTERS))
    need = f"the accumulators need {needed} of {REGISTER_FILE} registers"
    reasons: list[str] = []
    for along, least in _CHOICES:
        try:
            compute_in_turn(entry, parts, along, least, check_order)
        except NotDivisibleError as error:
            reasons.append(str(error))
            continue
        words, side = (("rows", "right"), ("columns", "left"))[along]
        message = f"{need}: the block computes the {words} in {parts} parts, and loads the {side} operand for each"
        remarks.append(Remark("matrix-unit", message, location))
        return
    message = f"{need}, so that values spill: {'; '.join(dict.fromkeys(reasons))}; use a smaller tile"
    remarks.append(Remark("registers", message, location))


def _registers(places: list[Accumulator]) -> int:
    """The registers of accumulators in all threads."""
    resources = LoopResources()
    resources.add_accumulators(places, _registers_of)
    return resources.total()


def _registers_of(multiply: ir.OpView) -> int:
    sums = multiply.acc.type
    return math.prod(sums.shape) * element_bits(sums.element) // _REGISTER_BITS
