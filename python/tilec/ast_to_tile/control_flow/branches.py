"""`if`, and expressions with branches.

A constant condition selects a branch at compile time. Otherwise both branches are traced, and the names that they
assign differently and that are read later become results. A branch that ends in return, break or continue yields no
results, because the code after the `if` is reached only from the other branch.

In a called function, the statements after an `if` that contains `return` are traced in the branch that reaches them. If
both branches may reach them, the rest of the function is a loop of one iteration, which each `return` leaves.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence

from tilec.ast_to_tile.control_flow.liveness import assigned, contains, falls_through
from tilec.ast_to_tile.control_flow.merge import NoMerge, Plan, lower, rebuild, types_of, unify
from tilec.ast_to_tile.control_flow.return_exits import UNLIKE_RETURNS
from tilec.ast_to_tile.control_flow.run_once import run_once
from tilec.ast_to_tile.emitter import check_groups
from tilec.ast_to_tile.tracer import Block, Flow, Returned, Tracer, statement
from tilec.ast_to_tile.values.values import KernelValue, Tile, Unusable
from tilec.dialect.mlir import ir
from tilec.errors import Note, TileTypeError

_MISSING = object()
_UNLIKE_BRANCHES = "the two branches have incompatible values"


def either(
    tracer: Tracer,
    condition: Tile,
    then: Callable[[], KernelValue],
    otherwise: Callable[[], KernelValue],
    problem: str = _UNLIKE_BRANCHES,
) -> KernelValue:
    """The value of one of two computations; only the selected one is executed. `problem` introduces a type error."""
    blocks = [value_block(tracer, run) for run in (then, otherwise)]
    values = [returned_value(block) for block in blocks]
    plan = common_plan(values, problem)
    results = _close(tracer, condition, blocks, [[(plan, value)] for value in values])
    return rebuild(plan, results)


def common_plan(values: Sequence[KernelValue], problem: str = _UNLIKE_BRANCHES) -> Plan:
    """The plan that merges the values of two branches; raises TileTypeError if they are incompatible."""
    try:
        return unify(values)
    except NoMerge as unlike:
        raise TileTypeError(f"{problem}: {unlike.message}") from unlike


def choose(
    tracer: Tracer, node: ast.AST, nodes: Sequence[ast.expr], condition: Tile, blocks: Sequence[Block]
) -> KernelValue:
    """The value of one of two blocks that evaluate `nodes`; names that `:=` assigns in them are merged too."""
    values = [returned_value(block) for block in blocks]
    plan = common_plan(values)
    merged = {name: _merged(tracer, node, name, blocks) for name in sorted(assigned(nodes))}
    plans = {name: each for name, each in merged.items() if not isinstance(each, Unusable)}
    names = [[(each, block.names[name]) for name, each in plans.items()] for block in blocks]
    yielded = [[(plan, value), *items] for value, items in zip(values, names, strict=True)]
    results = _close(tracer, condition, blocks, yielded)
    value = rebuild(plan, results)
    _assign(tracer, node, merged, blocks, results)
    return value


def _assign(
    tracer: Tracer,
    node: ast.AST,
    merged: Mapping[str, Plan | Unusable],
    blocks: Sequence[Block],
    results: Iterator[ir.Value],
) -> None:
    """Assigns the values of names that blocks yield."""
    for name, plan in merged.items():
        value = plan if isinstance(plan, Unusable) else rebuild(plan, results)
        tracer.frame.assign(name, value, blocks[0].assigned_at.get(name, node))


def value_block(tracer: Tracer, run: Callable[[], KernelValue]) -> Block:
    """A traced block with the value of a computation."""
    return tracer.trace(lambda: Returned(run()))


def returned_value(block: Block) -> KernelValue:
    """The value at the end of a block; None if it has none."""
    return block.flow.value if isinstance(block.flow, Returned) else None


def _close(
    tracer: Tracer,
    condition: Tile,
    blocks: Sequence[Block],
    values: Sequence[Sequence[tuple[Plan, KernelValue]] | None],
) -> Iterator[ir.Value]:
    """Builds the `if` of traced blocks; `values` are the values that each block yields, None if it ends in a jump."""
    types: list[ir.Type] = []
    for block, yielded in zip(blocks, values, strict=True):
        if yielded is not None:
            with ir.InsertionPoint(block.end):
                operands = [operand for plan, value in yielded for operand in lower(tracer.emitter, plan, value)]
                types = [operand.type for operand in operands]
                check_groups(types, "the branches of an 'if' can yield")
                tracer.emitter.build("yield", operands)
    made = tracer.emitter.build("if", [condition.value], types)
    for block, region in zip(blocks, made.regions, strict=False):
        block.move_into(region)
    return iter(made.results)


@statement(ast.If)
def _if(tracer: Tracer, node: ast.If, rest: Sequence[ast.stmt]) -> Flow:
    condition = tracer.condition(node.test)
    in_loop = bool(tracer.loops) and tracer.loops[-1].frame is tracer.frame
    if not tracer.frame.is_kernel and not in_loop and contains(node, ast.Return):
        return _returning(tracer, node, condition, rest)
    if isinstance(condition, bool):
        return tracer.execute(node.body if condition else node.orelse)
    return _branches(tracer, node, condition)


def _branches(tracer: Tracer, node: ast.If, condition: Tile) -> Flow:
    """Builds an `if` whose condition is a run-time value."""
    then = tracer.trace(lambda: tracer.execute(node.body))
    if then.flow is not None:
        return _close_guard(tracer, condition, then, node.orelse)
    otherwise = tracer.trace(lambda: tracer.execute(node.orelse))
    names = (assigned(node.body) | assigned(node.orelse)) & tracer.frame.liveness.after[node]
    if otherwise.flow is not None:
        _merge_into(tracer, node, condition, [then, otherwise], [then], names)
    else:
        _merge_into(tracer, node, condition, [then, otherwise], [then, otherwise], names)
    _forget(tracer, node, (assigned(node.body) | assigned(node.orelse)) - names)
    return None


def _close_guard(tracer: Tracer, condition: Tile, exiting: Block, otherwise: Sequence[ast.stmt]) -> Flow:
    """Builds an `if` whose branch ends in a jump, then traces the other branch after the `if`."""
    made = tracer.emitter.build("if", [condition.value])
    exiting.move_into(made.regions[0])
    return tracer.execute(otherwise)


def _merge_into(
    tracer: Tracer,
    node: ast.If,
    condition: Tile,
    blocks: Sequence[Block],
    falling: Sequence[Block],
    names: frozenset[str],
) -> None:
    merged = {name: _merged(tracer, node, name, falling) for name in sorted(names)}
    plans = {name: plan for name, plan in merged.items() if not isinstance(plan, Unusable)}
    values = [[(plan, b.names[name]) for name, plan in plans.items()] if b in falling else None for b in blocks]
    needs_else = bool(node.orelse) or any(types_of(plan) for plan in plans.values())
    results = _close(tracer, condition, blocks if needs_else else blocks[:1], values if needs_else else values[:1])
    _assign(tracer, node, merged, falling, results)


def _merged(tracer: Tracer, node: ast.AST, name: str, blocks: Sequence[Block]) -> Plan | Unusable:
    values = [block.names.get(name, _MISSING) for block in blocks]
    for value in values:
        if isinstance(value, Unusable):
            return value
    if _MISSING in values:
        note = Note(
            "by this 'if'" if isinstance(node, ast.If) else "by this condition", tracer.frame.source_location(node)
        )
        return Unusable(f"'{name}' is assigned in one branch only: assign it before the 'if', or in both", (note,))
    try:
        return unify(values, local=len(blocks) == 1)
    except NoMerge as problem:
        notes = [
            Note("assigned here", tracer.frame.source_location(b.assigned_at[name]))
            for b in blocks
            if name in b.assigned_at
        ]
        message = f"'{name}' has incompatible values after the branches of an 'if': {problem.message}"
        return Unusable(message, tuple(notes))


def _forget(tracer: Tracer, node: ast.If, names: frozenset[str]) -> None:
    """Invalidates names that are not read later, because their value may be that of one branch."""
    for name in names:
        tracer.frame.names[name] = Unusable(f"'{name}' was assigned in a branch and has no value here")


def _returning(tracer: Tracer, node: ast.If, condition: bool | Tile, rest: Sequence[ast.stmt]) -> Flow:
    """An `if` that contains `return` in a called function, with the statements after it."""
    if isinstance(condition, bool):
        return Returned(result_of(tracer, [*(node.body if condition else node.orelse), *rest]))
    if falls_through(node.body) and falls_through(node.orelse):
        return run_once(tracer, lambda: _branches(tracer, node, condition) or tracer.execute(rest))
    then, otherwise = [*node.body, *rest], [*node.orelse, *rest]
    values = (lambda: result_of(tracer, then)), (lambda: result_of(tracer, otherwise))
    return Returned(either(tracer, condition, *values, UNLIKE_RETURNS))


def result_of(tracer: Tracer, statements: Sequence[ast.stmt]) -> KernelValue:
    """The value that statements at the end of a called function return."""
    flow = tracer.execute(statements)
    return flow.value if isinstance(flow, Returned) else None
