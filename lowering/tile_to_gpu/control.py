"""Loops and branches: scf of the same shape, without tokens, accumulators of tensor memory as flags."""

from __future__ import annotations

from tilec.dialect.cuda_tile.types import TileType
from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.errors import UnsupportedError
from tilec.lowering.tile.terminators import BREAK, CONTINUE, RETURN, YIELD, returns, terminators
from tilec.lowering.tile_to_gpu import emitter
from tilec.lowering.tile_to_gpu.conversion import Conversion
from tilec.lowering.tile_to_gpu.converts import converts
from tilec.lowering.tile_to_gpu.declarations import element_type
from tilec.lowering.tile_to_gpu.exits import convert_block
from tilec.lowering.tile_to_gpu.mma import AccumulatorState


@converts("for")
def _for(op: ir.OpView, conversion: Conversion) -> None:
    operation = op.operation
    block = operation.regions[0].blocks[0]
    in_memory = conversion.plan.carried.get(operation, {})
    states = {index: AccumulatorState(multiply, conversion) for index, multiply in in_memory.items()}
    for index, multiply in in_memory.items():
        conversion.accumulators[multiply.op.operation.results[0]] = states[index]
    carried = [index for index, value in enumerate(op.initValues) if isinstance(value.type, TileType)]
    initial = [_initial(op, index, states, conversion) for index in carried]
    bounds = [conversion.get(value) for value in list(operation.operands)[:3]]
    made = _scf_for(bounds, initial, bool(op.unsignedCmp))
    body = made.regions[0].blocks.append(bounds[0].type, *(value.type for value in initial))
    conversion.set(block.arguments[0], body.arguments[0])
    for position, index in enumerate(carried):
        conversion.set(block.arguments[index + 1], body.arguments[position + 1])

    def finish(end: ir.OpView) -> list[ir.Value]:
        given = _forwarded(end, CONTINUE)
        return [_next_value(op, index, given[index], states, conversion) for index in carried]

    with ir.InsertionPoint(body):
        types = [value.type for value in initial]
        emitter.create("scf.yield", [], convert_block(list(block.operations), types, finish, conversion))
    for position, index in enumerate(carried):
        result = made.results[position]
        if index in states:
            ran = emitter.less_than(bounds[0], bounds[1], unsigned=bool(op.unsignedCmp))
            result = states[index].finish(ran)
        conversion.set(operation.results[index], result)


def _scf_for(bounds: list[ir.Value], initial: list[ir.Value], unsigned: bool) -> ir.Operation:
    attributes = {"unsignedCmp": ir.UnitAttr.get()} if unsigned else {}
    return ir.Operation.create("scf.for", [value.type for value in initial], [*bounds, *initial], attributes, regions=1)


def _initial(op: ir.OpView, index: int, states: dict[int, AccumulatorState], conversion: Conversion) -> ir.Value:
    if index in states:
        return emitter.boolean(not states[index].starts_at_zero)
    argument = op.operation.regions[0].blocks[0].arguments[index + 1]
    return conversion.tile(op.initValues[index], conversion.layouts.get(argument))


def _next_value(
    op: ir.OpView, index: int, value: ir.Value, states: dict[int, AccumulatorState], conversion: Conversion
) -> ir.Value:
    if index in states:
        return conversion.get(value)
    argument = op.operation.regions[0].blocks[0].arguments[index + 1]
    return conversion.tile(value, conversion.layouts.get(argument))


def _forwarded(end: ir.OpView, *names: str) -> list[ir.Value]:
    """The operands of a terminator; raises UnsupportedError if it is not one of these."""
    if end.operation.name not in names:
        raise UnsupportedError(
            f"'{end.operation.name}' cannot leave this block when compiling", source_location(end.operation.location)
        )
    return list(end.operation.operands)


@converts("loop")
def _loop(op: ir.OpView, conversion: Conversion) -> None:
    if any(end.operation.name == CONTINUE for end in terminators(op)):
        _repeated(op, conversion)
    else:
        _executed_once(op, conversion)


def _executed_once(op: ir.OpView, conversion: Conversion) -> None:
    """The body of a loop without `continue`, in its place.

    If the loop contains a return, the last value is false after one.
    """
    operation, block = op.operation, op.operation.regions[0].blocks[0]
    for argument, value in zip(block.arguments, op.initValues, strict=True):
        if isinstance(value.type, TileType):
            conversion.set(argument, conversion.tile(value, conversion.layouts.get(argument)))
    kept = [result for result in operation.results if isinstance(result.type, TileType)]
    types = list(map(conversion.type, kept))
    may_return = next(returns(op), None) is not None

    def finish(end: ir.OpView) -> list[ir.Value]:
        given = _forwarded(end, BREAK, RETURN)
        completed = [emitter.boolean(end.operation.name == BREAK)] * may_return
        if end.operation.name == RETURN:
            return [*map(emitter.zero, types), *completed]
        pairs = zip(operation.results, given, strict=True)
        values = [conversion.tile(value, conversion.layouts.get(result)) for result, value in pairs if result in kept]
        return [*values, *completed]

    ends = [*types, *[emitter.integer_type(1)] * may_return]
    values = convert_block(list(block.operations), ends, finish, conversion)
    for result, value in zip(kept, values, strict=False):
        conversion.set(result, value)
    if may_return:
        conversion.completed[operation] = values[-1]


def _repeated(op: ir.OpView, conversion: Conversion) -> None:
    """scf.while over whether to continue, the carried values, and the results of the last break.

    If the loop contains a return, the last value is false once the loop is left by one.
    """
    operation, block = op.operation, op.operation.regions[0].blocks[0]
    carried = [i for i, value in enumerate(op.initValues) if isinstance(value.type, TileType)]
    kept = [i for i, result in enumerate(operation.results) if isinstance(result.type, TileType)]
    first = [conversion.tile(op.initValues[i], conversion.layouts.get(block.arguments[i])) for i in carried]
    none = [emitter.zero(conversion.type(operation.results[i])) for i in kept]
    may_return = next(returns(op), None) is not None
    start = [emitter.boolean(True), *first, *none, *([emitter.boolean(True)] if may_return else [])]
    types = [value.type for value in start]
    made = ir.Operation.create("scf.while", types, start, regions=2)
    test, body = (region.blocks.append(*types) for region in made.regions)
    with ir.InsertionPoint(test):
        emitter.create("scf.condition", [], [test.arguments[0], *test.arguments])
    for position, index in enumerate(carried):
        conversion.set(block.arguments[index], body.arguments[1 + position])
    now = list(body.arguments)[1:]

    def finish(end: ir.OpView) -> list[ir.Value]:
        given = _forwarded(end, CONTINUE, BREAK, RETURN)
        if end.operation.name == RETURN:
            return [emitter.boolean(False), *now[:-1], emitter.boolean(False)]
        if end.operation.name == BREAK:
            results = [conversion.tile(given[i], conversion.layouts.get(operation.results[i])) for i in kept]
            return [emitter.boolean(False), *now[: len(carried)], *results, *now[len(carried) + len(kept) :]]
        again = [conversion.tile(given[i], conversion.layouts.get(block.arguments[i])) for i in carried]
        return [emitter.boolean(True), *again, *now[len(carried) :]]

    with ir.InsertionPoint(body):
        emitter.create("scf.yield", [], convert_block(list(block.operations), types, finish, conversion))
    for position, index in enumerate(kept):
        conversion.set(operation.results[index], made.results[1 + len(carried) + position])
    if may_return:
        conversion.completed[operation] = list(made.results)[-1]


@converts("if")
def _if(op: ir.OpView, conversion: Conversion) -> None:
    operation = op.operation
    kept = [index for index, result in enumerate(operation.results) if isinstance(result.type, TileType)]
    types = [conversion.type(operation.results[index]) for index in kept]
    made = ir.Operation.create("scf.if", types, [conversion.get(operation.operands[0])], regions=2)
    for old, new in zip(operation.regions, made.regions, strict=True):
        blocks = list(old.blocks)
        if not blocks:
            continue
        with ir.InsertionPoint(new.blocks.append()):
            conversion.block(blocks[0])
            given = _forwarded(blocks[0].operations[len(blocks[0].operations) - 1], YIELD)
            layouts = [conversion.layouts.get(operation.results[index]) for index in kept]
            emitter.create(
                "scf.yield", [], [conversion.tile(given[i], layout) for i, layout in zip(kept, layouts, strict=True)]
            )
    for position, index in enumerate(kept):
        conversion.set(operation.results[index], made.results[position])


@converts("make_token", "join_tokens")
def _token(op: ir.OpView, conversion: Conversion) -> None:
    """Program order is kept, so tokens need no instruction."""


_AXES = (0, 1, 2)


@converts("get_tile_block_id")
def _block_id(op: ir.OpView, conversion: Conversion) -> None:
    _per_axis(op, "program_id", conversion)


@converts("get_num_tile_blocks")
def _num_blocks(op: ir.OpView, conversion: Conversion) -> None:
    _per_axis(op, "num_programs", conversion)


def _per_axis(op: ir.OpView, name: str, conversion: Conversion) -> None:
    for axis, result in zip(_AXES, op.operation.results, strict=True):
        if list(result.uses):
            conversion.set(result, emitter.gpu(name, [], [element_type(result.type.element)], axis=axis).result)
