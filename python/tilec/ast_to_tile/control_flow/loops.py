"""Builds `for` and `while` loops.

A loop carries the names that its body assigns and that are read in a later iteration or after the loop. A `for`
without `break` and `return` becomes `cuda_tile.for`; every other loop becomes `cuda_tile.loop` with the condition in
its body.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence

from tilec.ast_to_tile.arguments import known
from tilec.ast_to_tile.control_flow.iteration import unroll
from tilec.ast_to_tile.control_flow.liveness import assigned, contains, leaves_loop
from tilec.ast_to_tile.control_flow.loop_return import after_loop
from tilec.ast_to_tile.control_flow.merge import (
    NoMerge,
    Plan,
    carry,
    lower,
    rebuild,
    types_of,
    unify,
    with_kept_constants,
)
from tilec.ast_to_tile.control_flow.return_exits import FLAG, VALUE, filled, has_value, plan_of_flags, plan_of_values
from tilec.ast_to_tile.emitter import check_groups
from tilec.ast_to_tile.operations.arith import binary, common_dtype, compare, invert
from tilec.ast_to_tile.operations.convert import to_dtype
from tilec.ast_to_tile.static_calls import is_static_call
from tilec.ast_to_tile.tracer import Block, Flow, Jump, Left, Loop, Returned, Tracer, statement
from tilec.ast_to_tile.values.values import KernelValue, Operand, Range, Tile, Unusable, describe, is_number
from tilec.dialect import undefined_behaviour
from tilec.dialect.mlir import ir
from tilec.errors import Note, TileSyntaxError, TileTypeError
from tilec.language.datatypes import DType
from tilec.language.operations.control import static_iter

Plans = dict[str, Plan]


@statement(ast.For)
def _for(tracer: Tracer, node: ast.For, rest: Sequence[ast.stmt]) -> Flow:
    if node.orelse:
        raise TileSyntaxError("'else' after a loop cannot be used in a kernel: set a flag before 'break'")
    if is_static_call(tracer, node.iter, static_iter):
        return unroll(tracer, node)
    bounds = tracer.evaluate(node.iter)
    if not isinstance(bounds, Range):
        raise TileTypeError(f"expected range(...) or ct.static_iter(...) after 'in', got {describe(bounds)}")
    if not isinstance(node.target, ast.Name):
        raise TileTypeError("expected one name as the variable of a loop over range(...), which yields integers")
    start, stop, step = loop_bounds(tracer, bounds)
    counter = node.target.id
    plans = _carried(tracer, node)
    leaves = leaves_loop(node.body) or contains(node.body, ast.Return)
    if leaves:
        if tracer.emitter.checks and isinstance(known(bounds.step), Tile):
            positive = compare(tracer.emitter, "gt", step, tracer.emitter.constant(0, step.dtype))
            tracer.emitter.check(positive, undefined_behaviour.STEP)
        _for_as_loop(tracer, node, counter, plans, start, stop, step, _may_overflow(bounds, start.dtype))
    else:
        _counted(tracer, node, counter, plans, start, stop, step)
    if counter not in plans:
        tracer.frame.names[counter] = Unusable(
            f"'{counter}' has no value after its loop, which may have zero iterations: assign it before the loop too"
        )
    return after_loop(tracer, node, rest) if leaves else None


def loop_bounds(tracer: Tracer, bounds: Range) -> list[Tile]:
    """Start, stop and step of a range as scalars of one type, the type of the counter."""
    values = (bounds.start, bounds.stop, bounds.step)
    dtype = common_dtype(_wider_bound(values[0], values[1]), values[2])
    return [to_dtype(tracer.emitter, value, dtype) for value in values]


def _may_overflow(bounds: Range, dtype: DType) -> bool:
    """Whether the counter of the last iteration plus the step may not fit the type of the counter."""
    start, stop, step = (known(bound) for bound in (bounds.start, bounds.stop, bounds.step))
    if step == 1:
        return False
    if not isinstance(stop, int) or not isinstance(step, int):
        return True
    if not isinstance(start, int):
        return stop - 1 + step > dtype.range[1]
    counters = range(start, stop, step)
    return bool(counters) and counters[-1] + step > dtype.range[1]


def _wider_bound(x: Operand, y: Operand) -> Operand:
    """The bound that has the common type of both; the first if both are Python numbers."""
    dtype = common_dtype(x, y)
    return next((value for value in (x, y) if not is_number(value) and value.dtype is dtype), x)


def _carried(tracer: Tracer, node: ast.For | ast.While) -> Plans:
    liveness = tracer.frame.liveness
    own = [node.test] if isinstance(node, ast.While) else [node.target]
    names = assigned([*own, *node.body]) & (liveness.header[node] | liveness.after[node])
    defined = {name: tracer.frame.names[name] for name in sorted(names) if name in tracer.frame.names}
    return {name: carry(value) for name, value in defined.items() if not isinstance(value, Unusable)}


def _initial(tracer: Tracer, plans: Plans) -> list[ir.Value]:
    return [
        operand for name, plan in plans.items() for operand in lower(tracer.emitter, plan, tracer.frame.names[name])
    ]


def _types(plans: Plans) -> list[ir.Type]:
    types = [type for plan in plans.values() for type in types_of(plan)]
    check_groups(types, "a loop can carry")
    return types


def _enter(tracer: Tracer, plans: Plans, arguments: Sequence[ir.Value]) -> None:
    values = iter(arguments)
    for name, plan in plans.items():
        tracer.frame.names[name] = rebuild(plan, values)


def _body(tracer: Tracer, node: ast.For | ast.While) -> Flow:
    """Traces the statements of a loop body; the end of the body is a `continue`."""
    flow = tracer.execute(node.body)
    if flow is None:
        tracer.loops[-1].repeats.append(jump(tracer, node))
    return flow


def jump(tracer: Tracer, node: ast.AST) -> Jump:
    """A jump from the current block."""
    return Jump(ir.InsertionPoint.current.block, dict(tracer.frame.names), node)


def _repeat(tracer: Tracer, loop: Loop, node: ast.AST, plans: Plans, block: Block, step: list[ir.Value]) -> None:
    """Builds every `continue`; the operands of `step` precede those of the carried names."""
    for each in loop.repeats:
        with ir.InsertionPoint(each.block):
            operands = list(step)
            for name, plan in plans.items():
                operands += _next(tracer, loop, name, plan, each.names[name], block)
            tracer.emitter.build("continue", operands)


def _next(tracer: Tracer, loop: Loop, name: str, plan: Plan, value: KernelValue, block: Block) -> list[ir.Value]:
    if isinstance(value, Unusable):
        raise TileTypeError(f"'{name}' is carried to the next iteration, but {value.problem}", notes=list(value.notes))
    try:
        return lower(tracer.emitter, plan, value)
    except NoMerge as problem:
        assignment = block.assigned_at.get(name)
        raise TileTypeError(
            f"'{name}' changes from iteration to iteration: {problem.message}; "
            "give it one type and shape before the loop",
            tracer.frame.source_location(assignment) if assignment is not None else None,
            [Note("in this loop", tracer.frame.source_location(loop.node)), *tracer.frame.call_chain()],
        ) from problem


def _counted(tracer: Tracer, node: ast.For, name: str, plans: Plans, start: Tile, stop: Tile, step: Tile) -> None:
    loop = Loop(tracer.frame, node)
    before = dict(tracer.frame.names)
    initial = _initial(tracer, plans)

    def run(arguments: Sequence[ir.Value]) -> Flow:
        _enter(tracer, plans, arguments[1:])
        tracer.frame.assign(name, Tile(arguments[0], start.dtype, ()), node.target)
        return _body(tracer, node)

    block = _trace(tracer, loop, run, [start.value.type, *_types(plans)])
    _repeat(tracer, loop, node, plans, block, [])
    flags = {} if start.dtype.signed else {"unsignedCmp": True}
    operands = [start.value, stop.value, step.value, *initial]
    made = tracer.emitter.build("for", operands, [value.type for value in initial], flags)
    block.move_into(made.regions[0])
    _leave(tracer, node, plans, block, iter(made.results))
    for name in plans:
        tracer.frame.names[name] = _after_iterations(name, before, loop, tracer.frame.names[name])


def _after_iterations(name: str, before: dict[str, KernelValue], loop: Loop, carried: KernelValue) -> KernelValue:
    """The value of a carried name after a `for`, with the constants that every iteration keeps."""
    return with_kept_constants(before[name], [each.names[name] for each in loop.repeats], carried)


def _trace(tracer: Tracer, loop: Loop, run: Callable[[Sequence[ir.Value]], Flow], types: list[ir.Type]) -> Block:
    loop.contexts = len(tracer.contexts)
    tracer.loops.append(loop)
    try:
        return tracer.trace_with(run, types)
    finally:
        tracer.loops.pop()


def _leave(tracer: Tracer, node: ast.For | ast.While, plans: Plans, block: Block, results: Iterator[ir.Value]) -> None:
    for name, plan in plans.items():
        tracer.frame.assign(name, rebuild(plan, results), block.assigned_at.get(name, node))
    _forget(tracer, node, plans)


def _forget(tracer: Tracer, node: ast.For | ast.While, kept: Iterable[str]) -> None:
    note = Note("in this loop", tracer.frame.source_location(node))
    for name in assigned(node.body) - set(kept):
        problem = (
            f"'{name}' is assigned only inside a loop, which may have zero iterations: assign it before the loop too"
        )
        tracer.frame.names[name] = Unusable(problem, (note,))


def _for_as_loop(
    tracer: Tracer,
    node: ast.For,
    name: str,
    plans: Plans,
    start: Tile,
    stop: Tile,
    step: Tile,
    may_overflow: bool,
) -> None:
    """A `for` with `break`: the loop carries the counter and compares it with the bound first."""
    exits: list[Jump] = []
    loop = Loop(tracer.frame, node, exits=exits)
    before = dict(tracer.frame.names)
    initial = [start.value, *_initial(tracer, plans)]
    after: list[ir.Value] = []

    def run(arguments: Sequence[ir.Value]) -> Flow:
        _enter(tracer, plans, arguments[1:])
        counter = Tile(arguments[0], start.dtype, ())
        _exit_if(tracer, compare(tracer.emitter, "ge", counter, stop), node)
        # Built at this point, which dominates every `continue`.
        advance = _smaller_advance(tracer, counter, stop, step) if may_overflow else step
        after.append(binary(tracer.emitter, "add", counter, advance).value)
        tracer.frame.assign(name, counter, node.target)
        return _body(tracer, node)

    block = _trace(tracer, loop, run, [start.value.type, *_types(plans)])
    _repeat(tracer, loop, node, plans, block, after)
    # The first exit is that of the counter: it has the carried values.
    for name, carried in [(name, exits[0].names[name]) for name in plans]:
        value = _after_iterations(name, before, loop, carried)
        for each in exits:
            if each.names[name] is carried:
                each.names[name] = value
    _close_loop(tracer, loop, node, initial, block)


def _smaller_advance(tracer: Tracer, counter: Tile, stop: Tile, step: Tile) -> Tile:
    """min(step, stop - counter): for a counter below the bound, the difference is exact as an unsigned number."""
    left = binary(tracer.emitter, "sub", stop, counter)
    return tracer.emitter.tile("mini", [step, left], step.dtype, (), signedness="unsigned")


def _exit_if(tracer: Tracer, condition: Tile, node: ast.AST) -> None:
    """`if condition: break` at the start of a loop body."""
    exits = tracer.loops[-1].exits

    def leave() -> Flow:
        assert exits is not None
        exits.append(jump(tracer, node))
        return Left()

    block = tracer.trace(leave)
    made = tracer.emitter.build("if", [condition.value])
    block.move_into(made.regions[0])


@statement(ast.While)
def _while(tracer: Tracer, node: ast.While, rest: Sequence[ast.stmt]) -> Flow:
    if node.orelse:
        raise TileSyntaxError("'else' after a loop cannot be used in a kernel: set a flag before 'break'")
    plans = _carried(tracer, node)
    loop = Loop(tracer.frame, node, exits=[])
    initial = _initial(tracer, plans)

    def run(arguments: Sequence[ir.Value]) -> Flow:
        _enter(tracer, plans, arguments)
        condition = tracer.condition(node.test)
        if condition is False:
            loop.exits.append(jump(tracer, node))  # type: ignore[union-attr]
            return Left()
        if isinstance(condition, Tile):
            _exit_if(tracer, invert(tracer.emitter, condition), node)
        return _body(tracer, node)

    block = _trace(tracer, loop, run, _types(plans))
    _repeat(tracer, loop, node, plans, block, [])
    _close_loop(tracer, loop, node, initial, block)
    return after_loop(tracer, node, rest) if loop.exits else _never_ends(tracer)


def _never_ends(tracer: Tracer) -> Flow:
    if not tracer.frame.is_kernel:
        raise TileSyntaxError("this loop in a function never ends: leave it with 'break'")
    tracer.emitter.build("return")
    return Returned(None)


def _close_loop(tracer: Tracer, loop: Loop, node: ast.For | ast.While, initial: list[ir.Value], block: Block) -> None:
    """Builds every `break` and the loop; its results are the assigned names that are read later."""
    exits = loop.exits or []
    names = assigned([node]) & tracer.frame.liveness.after[node]
    if any(FLAG in each.names for each in exits):
        names |= {FLAG, VALUE}
    merged = {name: _at_exits(tracer, node, name, exits) for name in sorted(names)}
    plans = {name: plan for name, plan in merged.items() if not isinstance(plan, Unusable)}
    for each in exits:
        with ir.InsertionPoint(each.block):
            operands = [o for name, plan in plans.items() for o in filled(tracer.emitter, plan, each.names, name)]
            tracer.emitter.build("break", operands)
    made = tracer.emitter.build("loop", initial, _types(plans))
    block.move_into(made.regions[0])
    results = iter(made.results)
    _forget(tracer, node, names)
    for name, plan in merged.items():
        value = plan if isinstance(plan, Unusable) else rebuild(plan, results)
        tracer.frame.assign(name, value, block.assigned_at.get(name, node))


def _at_exits(tracer: Tracer, node: ast.AST, name: str, exits: Sequence[Jump]) -> Plan | Unusable:
    note = Note("in this loop", tracer.frame.source_location(node))
    if name in (FLAG, VALUE):
        return plan_of_flags(exits) if name == FLAG else plan_of_values(exits)
    # What follows the loop reads a name only if no `return` left the loop.
    staying = [each.names for each in exits if FLAG not in each.names]
    for names in staying:
        value = names.get(name)
        if isinstance(value, Unusable):
            return value
    values = [each.names[name] for each in exits if has_value(each.names, name)]
    if not values or any(name not in names for names in staying):
        problem = f"'{name}' is not assigned on every path out of a loop: assign it before the loop too"
        return Unusable(problem, (note,))
    try:
        return _unified(values, [names[name] for names in staying])
    except NoMerge as problem:
        return Unusable(f"'{name}' has incompatible values after the loop: {problem.message}", (note,))


def _unified(values: Sequence[KernelValue], staying: Sequence[KernelValue]) -> Plan:
    """The plan of the values of all exits, or of those that stay in the function if the others do not fit."""
    try:
        return unify(values, local=True)
    except NoMerge:
        if not staying:
            raise
        return unify(staying, local=True)
