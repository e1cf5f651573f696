"""Expressions that evaluate an operand only under a condition: `and`, `or`, chained comparisons, `x if c else y`.

An operand whose operations have no effect and cannot fail is evaluated always, and the result is selected. Any other
operand becomes a branch.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Sequence

from tilec.ast_to_tile.control_flow.branches import choose, common_plan, returned_value, value_block
from tilec.ast_to_tile.control_flow.liveness import contains
from tilec.ast_to_tile.control_flow.merge import Same
from tilec.ast_to_tile.operations.arith import binary, where
from tilec.ast_to_tile.tracer import Block, Tracer, expression
from tilec.ast_to_tile.values.values import KernelValue, Tile, is_tile_like
from tilec.dialect.mlir import ir

# Operations whose result is undefined for some second operands, zero among them.
_PARTIAL = frozenset(f"cuda_tile.{name}" for name in ("divi", "remi", "shli", "shri"))
_REGIONS_AND_EFFECTS = frozenset(f"cuda_tile.{name}" for name in ("if", "for", "loop", "assert"))


def and_then(
    tracer: Tracer, truth: KernelValue, nodes: Sequence[ast.expr], follow: Callable[[], KernelValue]
) -> KernelValue:
    """`truth and follow()`; `nodes` are the expressions that `follow` evaluates."""
    return _connected(tracer, True, tracer.truth(truth), nodes, follow)


@expression(ast.BoolOp)
def _boolean(tracer: Tracer, node: ast.BoolOp) -> KernelValue:
    return _connect(tracer, isinstance(node.op, ast.And), node.values)


def _connect(tracer: Tracer, is_and: bool, nodes: list[ast.expr]) -> bool | Tile:
    """The value of `and` or `or`; operands after the deciding one are not evaluated."""
    first, *rest = nodes
    truth = tracer.condition(first)
    return _connected(tracer, is_and, truth, rest, lambda: _connect(tracer, is_and, rest)) if rest else truth


def _connected(
    tracer: Tracer,
    is_and: bool,
    truth: bool | Tile,
    nodes: Sequence[ast.expr],
    follow: Callable[[], KernelValue],
) -> bool | Tile:
    if isinstance(truth, bool):
        return tracer.truth(follow()) if truth == is_and else truth
    following = value_block(tracer, lambda: tracer.truth(follow()))
    if _evaluated_always(nodes, [following]):
        return tracer.truth(binary(tracer.emitter, "and" if is_and else "or", truth, returned_value(following)))
    stopping = value_block(tracer, lambda: not is_and)
    blocks = [following, stopping] if is_and else [stopping, following]
    return tracer.truth(choose(tracer, tracer.node, nodes, truth, blocks))


@expression(ast.IfExp)
def _conditional(tracer: Tracer, node: ast.IfExp) -> KernelValue:
    condition = tracer.condition(node.test)
    if isinstance(condition, bool):
        return tracer.evaluate(node.body if condition else node.orelse)
    parts = [node.body, node.orelse]
    blocks = [value_block(tracer, functools.partial(tracer.evaluate, part)) for part in parts]
    x, y = map(returned_value, blocks)
    plan = common_plan([x, y])
    if isinstance(plan, Same) and _evaluated_always(parts, blocks):
        return plan.value
    if is_tile_like(x) and is_tile_like(y) and _evaluated_always(parts, blocks):
        return where(tracer.emitter, condition, x, y)
    return choose(tracer, node, parts, condition, blocks)


def _evaluated_always(nodes: Sequence[ast.expr], blocks: Sequence[Block]) -> bool:
    """Moves the operations of the blocks to the insertion point, and returns True, if that changes no result."""
    if any(contains(node, (ast.Call, ast.NamedExpr)) for node in nodes):
        return False
    operations = [inner.operation for block in blocks for inner in block.block.operations]
    if not all(map(_may_be_executed, operations)):
        return False
    for each in operations:
        ir.InsertionPoint.current.block.append(each)
    return True


def _may_be_executed(operation: ir.Operation) -> bool:
    """Whether an operation may be executed where its result is not needed."""
    name = operation.name
    if name in _PARTIAL:
        return _is_safe(operation.operands[1])
    return name not in _REGIONS_AND_EFFECTS and not name.endswith("_tko")


def _is_safe(divisor: ir.Value) -> bool:
    """Whether a value is a constant by which every integer can be divided and shifted."""
    if isinstance(divisor.owner, ir.Block) or divisor.owner.operation.name != "cuda_tile.constant":
        return False
    elements = divisor.owner.operation.attributes["value"]
    return elements.is_splat and elements.get_splat_value().value not in (0, -1)
