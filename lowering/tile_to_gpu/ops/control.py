"""Loops and branches: scf of the same shape, without tokens."""

from __future__ import annotations

from tilec.dialect.cuda_tile.types import TileType
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.attribute_names import ASSUMED_ITERATIONS
from tilec.dialect.tile_gpu.operations.kernel import NumProgramsOp, ProgramIdOp
from tilec.lowering import emitter
from tilec.lowering.tile.analysis.tile_operations import BREAK, CONTINUE, RETURN, ends, given, returns, terminator
from tilec.lowering.tile_to_gpu.access.declarations import element_type
from tilec.lowering.tile_to_gpu.conversion.carried_values import (
    arrive,
    arrive_all,
    enter,
    enter_all,
    types_of,
    types_of_all,
)
from tilec.lowering.tile_to_gpu.conversion.conversion import Conversion, converts
from tilec.lowering.tile_to_gpu.conversion.exits import convert_block


@converts("for")
def _for(op: ir.OpView, conversion: Conversion) -> None:
    operation = op.operation
    block = operation.regions[0].blocks[0]
    targets = list(block.arguments)[1:]
    initial = enter_all(zip(op.initValues, targets, strict=True), conversion)
    bounds = [conversion.get(value) for value in list(operation.operands)[:3]]
    types = [value.type for value in initial]
    attributes = {"unsignedCmp": ir.UnitAttr.get()} if op.unsignedCmp else {}
    if ASSUMED_ITERATIONS in operation.attributes:
        attributes[ASSUMED_ITERATIONS] = operation.attributes[ASSUMED_ITERATIONS]
    made = ir.Operation.create("scf.for", types, [*bounds, *initial], attributes, regions=1)
    body = made.regions[0].blocks.append(bounds[0].type, *types)

    def finish(end: ir.OpView) -> list[ir.Value]:
        return enter_all(zip(end.operation.operands, targets, strict=True), conversion)

    with ir.InsertionPoint(body):
        conversion.set(block.arguments[0], body.arguments[0])
        arrive_all(targets, list(body.arguments)[1:], conversion)
        ends_of_body = convert_block(list(block.operations), types, finish, conversion)
        emitter.create("scf.yield", [], ends_of_body)
    # A carried i1 that is false before the loop and true after each iteration is whether the loop has run.
    is_run = [
        emitter.is_false(first) and emitter.is_true(end) for first, end in zip(initial, ends_of_body, strict=True)
    ]
    has_run = emitter.less_than(bounds[0], bounds[1], bool(op.unsignedCmp)) if any(is_run) else None
    results = [has_run if is_flag else result for result, is_flag in zip(made.results, is_run, strict=True)]
    arrive_all(operation.results, results, conversion)


@converts("loop")
def _loop(op: ir.OpView, conversion: Conversion) -> None:
    (_repeated if ends(op, CONTINUE) else _executed_once)(op, conversion)


def _executed_once(op: ir.OpView, conversion: Conversion) -> None:
    """The body of a loop without `continue`, in its place.

    If the loop contains a return, the last value is false after one.
    """
    operation, block = op.operation, op.operation.regions[0].blocks[0]
    for argument, value in zip(block.arguments, op.initValues, strict=True):
        if isinstance(value.type, TileType):
            arrive(argument, enter(value, argument, conversion), conversion)
    types = types_of_all(operation.results, conversion)
    may_return = next(returns(op), None) is not None

    def finish(end: ir.OpView) -> list[ir.Value]:
        completed = [emitter.boolean(end.operation.name == BREAK)] * may_return
        if end.operation.name == RETURN:
            return [*map(emitter.zero, types), *completed]
        return [*enter_all(zip(end.operation.operands, operation.results, strict=True), conversion), *completed]

    ended = [*types, *[emitter.integer_type(1)] * may_return]
    values = convert_block(list(block.operations), ended, finish, conversion)
    arrive_all(operation.results, values, conversion)
    if may_return:
        conversion.completed[operation] = values[-1]


def _repeated(op: ir.OpView, conversion: Conversion) -> None:
    """scf.while over whether to continue, the carried values, and the other results of the last break.

    If the loop contains a return, the last value is false once the loop is left by one.
    """
    operation, block = op.operation, op.operation.regions[0].blocks[0]
    first = enter_all(zip(op.initValues, block.arguments, strict=True), conversion)
    carried = _carried_results(op, conversion)
    targets = [result for result in operation.results if result not in carried]
    kept = types_of_all(targets, conversion)
    may_return = next(returns(op), None) is not None
    start = [emitter.boolean(True), *first, *map(emitter.zero, kept), *([emitter.boolean(True)] if may_return else [])]
    types = [value.type for value in start]
    made = ir.Operation.create("scf.while", types, start, regions=2)
    test, body = (region.blocks.append(*types) for region in made.regions)
    with ir.InsertionPoint(test):
        emitter.create("scf.condition", [], [test.arguments[0], *test.arguments])
    now = list(body.arguments)[1:]
    results = slice(len(first), len(first) + len(kept))

    def finish(end: ir.OpView) -> list[ir.Value]:
        if end.operation.name == RETURN:
            return [emitter.boolean(False), *now[:-1], emitter.boolean(False)]
        if end.operation.name == BREAK:
            values = dict(zip(operation.results, end.operation.operands, strict=True))
            rest, left = iter(now), list[ir.Value]()
            last = {argument: result for result, argument in carried.items() if values[result] != argument}
            for argument in block.arguments:
                # After the loop nothing reads the argument but the results that have its registers.
                own, result = [next(rest) for _ in types_of(argument, conversion)], last.get(argument)
                left += own if result is None else enter(values[result], result, conversion)
            left += enter_all(((values[result], result) for result in targets), conversion)
            return [emitter.boolean(False), *left, *now[results.stop :]]
        again = enter_all(zip(end.operation.operands, block.arguments, strict=True), conversion)
        return [emitter.boolean(True), *again, *now[results.start :]]

    with ir.InsertionPoint(body):
        arrive_all(block.arguments, now, conversion)
        emitter.create("scf.yield", [], convert_block(list(block.operations), types, finish, conversion))
    arrive_all(targets, list(made.results)[1:][results], conversion)
    for result, argument in carried.items():
        before = [block.arguments[number] for number in range(ir.BlockArgument(argument).arg_number)]
        first_part = 1 + len(types_of_all(before, conversion))
        parts = list(made.results)[first_part : first_part + len(types_of(argument, conversion))]
        arrive(result, parts, conversion)
    if may_return:
        conversion.completed[operation] = list(made.results)[-1]


def _carried_results(op: ir.OpView, conversion: Conversion) -> dict[ir.Value, ir.Value]:
    """The results that have the registers of an argument of the loop.

    Every break gives several results from one argument as it is, or one result of which the argument is the former
    value: a break gives it, or the next iteration has the value that a break gives.
    """
    arguments = list(op.operation.regions[0].blocks[0].arguments)
    found, changed = dict[ir.Value, ir.Value](), dict[ir.Value, ir.Value]()
    for number, result in enumerate(op.operation.results):
        sources, types = {*given(op, BREAK, number)}, types_of(result, conversion)
        for place, argument in enumerate(arguments):
            if not types or types_of(argument, conversion) != types:
                continue
            if sources == {argument}:
                found[result] = argument
            elif conversion.plan.accumulators.keys().isdisjoint((result, argument)):
                if not sources.isdisjoint((argument, *given(op, CONTINUE, place))):
                    changed.setdefault(result, argument)
    for result, argument in changed.items():
        if result not in found and argument not in found.values():
            found[result] = argument
    return found


@converts("if")
def _if(op: ir.OpView, conversion: Conversion) -> None:
    operation = op.operation
    types = types_of_all(operation.results, conversion)
    made = ir.Operation.create("scf.if", types, [conversion.get(operation.operands[0])], regions=2)
    for old, new in zip(operation.regions, made.regions, strict=True):
        blocks = list(old.blocks)
        if not blocks:
            continue
        with ir.InsertionPoint(new.blocks.append()):
            conversion.block(blocks[0])
            pairs = zip(terminator(blocks[0]).operation.operands, operation.results, strict=True)
            emitter.create("scf.yield", [], enter_all(pairs, conversion))
    arrive_all(operation.results, made.results, conversion)


@converts("make_token", "join_tokens")
def _token(op: ir.OpView, conversion: Conversion) -> None:
    """Program order is kept, so tokens need no instruction."""


@converts("get_tile_block_id", "get_num_tile_blocks")
def _per_axis(op: ir.OpView, conversion: Conversion) -> None:
    operation = ProgramIdOp if op.operation.name == "cuda_tile.get_tile_block_id" else NumProgramsOp
    for axis, result in enumerate(op.operation.results):
        if list(result.uses):
            conversion.set(result, emitter.gpu(operation, [], [element_type(result.type.element)], axis=axis).result)
