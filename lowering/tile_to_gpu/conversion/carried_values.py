"""Values that loops and branches carry: a register tile or scalar, or an accumulator with whether it is defined."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tilec.dialect.cuda_tile.types import TileType
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.placed import PlaceOp
from tilec.lowering import emitter
from tilec.lowering.plan.matrix.accumulator import is_zero
from tilec.lowering.tile.analysis.tile_operations import leaves_early
from tilec.lowering.tile_to_gpu.conversion.conversion import Conversion, InMemory, buffer_of, registers_of


def enter(value: ir.Value, target: ir.Value, conversion: Conversion) -> list[ir.Value]:
    """The converted values with which `value` becomes `target`: an argument or a result of a loop or a branch."""
    if target not in conversion.plan.accumulators:
        return [conversion.tile(value, conversion.layouts.get(target))]
    held = conversion.in_memory.get(value)
    if held is not None and conversion.plan.accumulators[value] is conversion.plan.accumulators[target]:
        return [held.tile, held.is_defined]
    type = buffer_of(target, conversion)
    if is_zero(value) and not conversion.plan.accumulators[target].is_always_defined:
        return [emitter.zero(type), emitter.boolean(False)]
    product = next(iter(conversion.plan.accumulators[target].multiplies)).results[0]
    tile = emitter.converted(conversion.tile(value, conversion.layouts[product]), registers_of(type, conversion.warps))
    return [emitter.gpu(PlaceOp, [tile], [type]).result, emitter.boolean(True)]


def enter_all(pairs: Iterable[tuple[ir.Value, ir.Value]], conversion: Conversion) -> list[ir.Value]:
    """The same for pairs of a value and its target; tokens have no values."""
    kept = ((value, target) for value, target in pairs if isinstance(target.type, TileType))
    return [made for value, target in kept for made in enter(value, target, conversion)]


def arrive(target: ir.Value, made: Sequence[ir.Value], conversion: Conversion) -> None:
    """Records the converted values of a target, and reads an accumulator that registers need at once.

    Results of an operation that leaves early are not defined if it does: `read_at_once` reads them where it has not.
    """
    accumulator = conversion.plan.accumulators.get(target)
    if accumulator is None:
        (value,) = made
        conversion.set(target, value)
        return
    tile, is_defined = made
    if accumulator.is_always_defined:
        is_defined = emitter.boolean(True)
    conversion.in_memory[target] = InMemory(tile, is_defined)
    if isinstance(target.owner, ir.Block) or not leaves_early(target.owner.opview):
        read_at_once([target], conversion)


def read_at_once(targets: Iterable[ir.Value], conversion: Conversion) -> None:
    """Reads the accumulators that registers need before any other operation."""
    for target in targets:
        accumulator = conversion.plan.accumulators.get(target)
        if accumulator is not None and target in accumulator.reads and accumulator.reads[target] is None:
            conversion.read(target)


def arrive_all(targets: Iterable[ir.Value], made: Iterable[ir.Value], conversion: Conversion) -> None:
    """The same for several targets, without tokens."""
    rest = iter(made)
    for target in targets:
        if isinstance(target.type, TileType):
            arrive(target, [next(rest) for _ in types_of(target, conversion)], conversion)


def types_of(target: ir.Value, conversion: Conversion) -> list[ir.Type]:
    """The types of the converted values of a target; none for a token."""
    if not isinstance(target.type, TileType):
        return []
    if target in conversion.plan.accumulators:
        return [buffer_of(target, conversion), emitter.integer_type(1)]
    return [conversion.type(target)]


def types_of_all(targets: Iterable[ir.Value], conversion: Conversion) -> list[ir.Type]:
    """The types of the converted values of several targets."""
    return [type for target in targets for type in types_of(target, conversion)]
