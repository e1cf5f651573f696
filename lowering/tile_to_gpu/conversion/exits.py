"""Continue, break and return below an `if`, and return in a loop, become structured control flow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tilec.dialect.mlir import ir
from tilec.lowering import emitter
from tilec.lowering.tile.analysis.tile_operations import IF, RETURN, YIELD, leaves, leaves_early, returns
from tilec.lowering.tile_to_gpu.conversion.carried_values import arrive_all, enter_all, read_at_once, types_of_all
from tilec.lowering.tile_to_gpu.conversion.conversion import Conversion, named_location

# The values that a block yields if it ends with this terminator.
Finish = Callable[[ir.OpView], list[ir.Value]]


@dataclass(frozen=True)
class _End:
    """The end of a block: the types that it yields, and the values for a terminator.

    `rest_follows_yield`: for a cuda_tile.yield, `finish` also converts the operations after the enclosing `if`.
    """

    types: list[ir.Type]
    finish: Finish
    rest_follows_yield: bool = False


def convert_block(
    operations: list[ir.OpView], types: list[ir.Type], finish: Finish, conversion: Conversion
) -> list[ir.Value]:
    """Converts a block, each operation once, and returns the values of `types` that it yields.

    The operations after an `if` that can leave move into its branch that continues. If both branches continue, they
    move into an scf.if below, on a flag that the branches yield; so do those after a loop that contains a return.
    """
    return _convert(operations, _End(types, finish), conversion)


def _convert(operations: list[ir.OpView], end: _End, conversion: Conversion) -> list[ir.Value]:
    for number, op in enumerate(operations[:-1]):
        if leaves_early(op):
            rest = operations[number + 1 :]
            with named_location(op):
                if op.operation.name != IF:
                    return _rest_after_loop(op, rest, end, conversion)
                conversion.read_for(op.operation)
                if _may_repeat(rest, end) or sum(map(_continues, op.operation.regions)) < 2:
                    return _rest_in_branches(op, rest, end, conversion)
                return _rest_below_flag(op, rest, end, conversion)
        conversion.operation(op)
    return end.finish(operations[-1])


def _rest_after_loop(op: ir.OpView, rest: list[ir.OpView], end: _End, conversion: Conversion) -> list[ir.Value]:
    conversion.operation(op)
    if rest[0].operation.name == RETURN:
        return end.finish(rest[0])
    completed = conversion.completed[op.operation]
    return _rest_if(op, completed, rest, end, lambda: end.finish(next(returns(op))), conversion)


def _may_repeat(rest: list[ir.OpView], end: _End) -> bool:
    """Whether the rest of a block is a terminator that needs only values."""
    return len(rest) == 1 and not (end.rest_follows_yield and rest[0].operation.name == YIELD)


def _continues(branch: ir.Region) -> bool:
    """Whether the operations after an `if` may follow its branch."""
    return not any(map(leaves, branch.blocks))


def _rest_in_branches(op: ir.OpView, rest: list[ir.OpView], end: _End, conversion: Conversion) -> list[ir.Value]:
    def convert_rest() -> list[ir.Value]:
        return _convert(rest, end, conversion)

    def finish(terminator: ir.OpView) -> list[ir.Value]:
        if terminator.operation.name != YIELD:
            return end.finish(terminator)
        arrive_all(op.operation.results, _yielded(terminator, op, conversion), conversion)
        read_at_once(op.operation.results, conversion)
        return convert_rest()

    return _branches(op, _End(end.types, finish, not _may_repeat(rest, end)), convert_rest, conversion)


def _rest_below_flag(op: ir.OpView, rest: list[ir.OpView], end: _End, conversion: Conversion) -> list[ir.Value]:
    """The branches yield whether they continue, the results of the `if`, and the values of the block's end.

    A branch that continues yields zeros for the last, a branch that leaves for the results.
    """
    results = op.operation.results
    result_types = types_of_all(results, conversion)

    def finish(terminator: ir.OpView) -> list[ir.Value]:
        if terminator.operation.name == YIELD:
            values = _yielded(terminator, op, conversion)
            return [emitter.boolean(True), *values, *map(emitter.zero, end.types)]
        values = end.finish(terminator)
        return [emitter.boolean(False), *map(emitter.zero, result_types), *values]

    def continuing() -> list[ir.Value]:
        return [emitter.boolean(True), *map(emitter.zero, end.types)]

    types = [emitter.integer_type(1), *result_types, *end.types]
    continues, *values = _branches(op, _End(types, finish), continuing, conversion)
    arrive_all(results, values, conversion)
    return _rest_if(op, continues, rest, end, lambda: values[len(result_types) :], conversion)


def _rest_if(
    op: ir.OpView,
    condition: ir.Value,
    rest: list[ir.OpView],
    end: _End,
    otherwise: Callable[[], list[ir.Value]],
    conversion: Conversion,
) -> list[ir.Value]:
    """The rest of a block after `op` under a condition; without it, the block yields the values of `otherwise`."""

    def convert_rest() -> list[ir.Value]:
        read_at_once(op.operation.results, conversion)
        return _convert(rest, end, conversion)

    made = ir.Operation.create("scf.if", end.types, [condition], regions=2)
    for region, values in zip(made.regions, (convert_rest, otherwise), strict=True):
        with ir.InsertionPoint(region.blocks.append()):
            emitter.create("scf.yield", [], values())
    return list(made.results)


def _branches(
    op: ir.OpView, end: _End, without_block: Callable[[], list[ir.Value]], conversion: Conversion
) -> list[ir.Value]:
    """The values of an scf.if for an `if`; a branch without a block yields those of `without_block`."""
    made = ir.Operation.create("scf.if", end.types, [conversion.get(op.operation.operands[0])], regions=2)
    for old, new in zip(op.operation.regions, made.regions, strict=True):
        blocks = list(old.blocks)
        with ir.InsertionPoint(new.blocks.append()):
            values = _convert(list(blocks[0].operations), end, conversion) if blocks else without_block()
            emitter.create("scf.yield", [], values)
    return list(made.results)


def _yielded(terminator: ir.OpView, op: ir.OpView, conversion: Conversion) -> list[ir.Value]:
    """The converted operands of a yield for the results of an `if`."""
    return enter_all(zip(terminator.operation.operands, op.operation.results, strict=True), conversion)
