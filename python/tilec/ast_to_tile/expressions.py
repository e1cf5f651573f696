"""Evaluation of expressions."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from tilec.ast_to_tile.control_flow.conditional import and_then
from tilec.ast_to_tile.operators import conjunction, contained, identical, negation, operate, unary
from tilec.ast_to_tile.tracer import Tracer, expression
from tilec.ast_to_tile.values.attributes import attribute, element
from tilec.ast_to_tile.values.closures import define
from tilec.ast_to_tile.values.value_text import concatenated, formatted, text_of
from tilec.ast_to_tile.values.values import KernelValue, Text, Tile, describe
from tilec.errors import TileSyntaxError, TileTypeError

# The name of each binary operation.
BINARY = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "truediv",
    ast.MatMult: "matmul",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Pow: "pow",
    ast.BitAnd: "and",
    ast.BitOr: "or",
    ast.BitXor: "xor",
    ast.LShift: "lshift",
    ast.RShift: "rshift",
}
_UNARY = {ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert"}
_COMPARE = {ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge"}


@expression(ast.Constant)
def _constant(tracer: Tracer, node: ast.Constant) -> KernelValue:
    if isinstance(node.value, complex | bytes):
        raise TileTypeError(f"a {type(node.value).__name__} constant cannot be used in a kernel")
    return node.value


@expression(ast.Name)
def _name(tracer: Tracer, node: ast.Name) -> KernelValue:
    return tracer.frame.lookup(node.id)


@expression(ast.NamedExpr)
def _named(tracer: Tracer, node: ast.NamedExpr) -> KernelValue:
    if node.target.id not in tracer.frame.locals:
        raise TileSyntaxError("':=' cannot be used in a comprehension: assign before it")
    value = tracer.evaluate(node.value)
    tracer.frame.assign(node.target.id, value, node)
    return value


@expression(ast.Tuple)
def _tuple(tracer: Tracer, node: ast.Tuple) -> KernelValue:
    items: list[KernelValue] = []
    for item in node.elts:
        if isinstance(item, ast.Starred):
            items.extend(unpacked(tracer, item.value))
        else:
            items.append(tracer.evaluate(item))
    return tuple(items)


def unpacked(tracer: Tracer, node: ast.expr) -> tuple[KernelValue, ...]:
    """The elements of a tuple; raises CompileError if the value is not a tuple."""
    value = tracer.evaluate(node)
    if isinstance(value, tuple | list):
        return tuple(value)
    raise TileTypeError(f"expected a tuple to unpack, got {describe(value)}")


@expression(ast.Lambda)
def _lambda(tracer: Tracer, node: ast.Lambda) -> KernelValue:
    return define(tracer, node)


@expression(ast.Attribute)
def _attribute(tracer: Tracer, node: ast.Attribute) -> KernelValue:
    return attribute(tracer.emitter, tracer.evaluate(node.value), node.attr)


@expression(ast.Subscript)
def _subscript(tracer: Tracer, node: ast.Subscript) -> KernelValue:
    value = tracer.evaluate(node.value)
    return element(tracer.emitter, value, _key(tracer, node.slice))


def _key(tracer: Tracer, node: ast.expr) -> KernelValue:
    if isinstance(node, ast.Tuple):
        return tuple(_key(tracer, item) for item in node.elts)
    if isinstance(node, ast.Slice):
        return slice(*(None if part is None else tracer.evaluate(part) for part in (node.lower, node.upper, node.step)))
    return tracer.evaluate(node)


@expression(ast.BinOp)
def _binary(tracer: Tracer, node: ast.BinOp) -> KernelValue:
    return operate(tracer, BINARY[type(node.op)], tracer.evaluate(node.left), tracer.evaluate(node.right))


@expression(ast.UnaryOp)
def _unary(tracer: Tracer, node: ast.UnaryOp) -> KernelValue:
    value = tracer.evaluate(node.operand)
    return negation(tracer, value) if isinstance(node.op, ast.Not) else unary(tracer, _UNARY[type(node.op)], value)


@expression(ast.Compare)
def _compare(tracer: Tracer, node: ast.Compare) -> KernelValue:
    return _chained(tracer, tracer.evaluate(node.left), node.ops, node.comparators)


def _chained(
    tracer: Tracer, left: KernelValue, operators: Sequence[ast.cmpop], comparators: Sequence[ast.expr]
) -> KernelValue:
    """`left < x < y ...`; comparators after the first false comparison of scalars are not evaluated."""
    right = tracer.evaluate(comparators[0])
    result = _compared(tracer, operators[0], left, right)
    if len(comparators) == 1:
        return result
    rest = comparators[1:]
    if isinstance(result, Tile) and result.shape:
        return conjunction(tracer, result, _chained(tracer, right, operators[1:], rest))
    return and_then(tracer, result, rest, lambda: _chained(tracer, right, operators[1:], rest))


def _compared(tracer: Tracer, operator: ast.cmpop, x: KernelValue, y: KernelValue) -> KernelValue:
    if isinstance(operator, ast.Is | ast.IsNot):
        return identical(x, y) == isinstance(operator, ast.Is)
    if isinstance(operator, ast.In):
        return contained(tracer, x, y)
    if isinstance(operator, ast.NotIn):
        return negation(tracer, contained(tracer, x, y))
    return operate(tracer, _COMPARE[type(operator)], x, y)


@expression(ast.JoinedStr)
def _formatted(tracer: Tracer, node: ast.JoinedStr) -> KernelValue:
    pieces: list[str | Text] = []
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            if part.conversion != -1:
                raise TileSyntaxError(f"'!{chr(part.conversion)}' in an f-string cannot be used in a kernel: remove it")
            value = tracer.evaluate(part.value)
            pieces.append(formatted(tracer.emitter, value, _specification(part)))
        else:
            pieces.append(text_of(tracer.emitter, tracer.evaluate(part)))
    return concatenated(pieces)


def _specification(part: ast.FormattedValue) -> str:
    values = part.format_spec.values if isinstance(part.format_spec, ast.JoinedStr) else []
    literal = [value.value for value in values if isinstance(value, ast.Constant) and isinstance(value.value, str)]
    if len(literal) != len(values):
        raise TileSyntaxError("a format specification in a kernel must be a literal string, without braces")
    return "".join(literal)
