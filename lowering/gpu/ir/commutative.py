"""Whether the operands of a reduction's body may be exchanged, so that its elements may be combined in any order."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Mapping

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.shape import BroadcastOp, ConvertLayoutOp, IotaOp, MathOp, ReshapeOp
from tilec.dialect.upstream_predicates import predicate_of
from tilec.dialect.walk import owner_of, terminator_of

# Operations whose two operands may be exchanged, and the functions of tile_gpu.math of this kind, without modifiers.
_EXCHANGEABLE = {
    f"arith.{name}"
    for name in (
        "addi", "muli", "andi", "ori", "xori", "maxsi", "maxui", "minsi", "minui",
        "addf", "mulf", "maximumf", "minimumf", "maxnumf", "minnumf",
    )
}  # fmt: skip
_EXCHANGEABLE_FUNCTIONS = ("add", "mul", "max", "min")

Number = int | float
Values = Mapping[ir.Value, Number]

# Pairs of numbers that have every result of comparisons with each other and with themselves.
_INTEGER_PAIRS = ((0, 0), (0, 1), (1, 0), (0, -1), (-1, 0))
_FLOAT_PAIRS = ((0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (math.nan, 0.0), (0.0, math.nan), (math.nan, math.nan))

_LOGICAL = {"arith.andi": operator.and_, "arith.ori": operator.or_, "arith.xori": operator.xor}
_COMPARISONS = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge
}  # fmt: skip


def is_commutative(operation: ir.Operation) -> bool:
    """Whether the results of the body of a tile_gpu.reduce do not depend on the order of element and accumulator."""
    body = operation.regions[0].blocks[0]
    arguments = list(body.arguments)
    pairs = list(zip(arguments[0::2], arguments[1::2], strict=True))
    results = list(terminator_of(body).operands)
    return all(_is_symmetric(value, pairs) for value in results) or _selects_one(operation, pairs, results)


def _is_symmetric(value: ir.Value, pairs: list[tuple[ir.Value, ir.Value]]) -> bool:
    """Whether a value is one exchangeable operation on the element and the accumulator of an operand."""
    op = owner_of(value)
    if op is None:
        return False
    is_function = op.name == MathOp.OPERATION_NAME and op.opview.function.split(".")[0] in _EXCHANGEABLE_FUNCTIONS
    is_exchangeable = is_function or op.name in _EXCHANGEABLE
    return is_exchangeable and any(set(op.operands) == set(pair) for pair in pairs)


def _selects_one(operation: ir.Operation, pairs: list[tuple[ir.Value, ir.Value]], results: list[ir.Value]) -> bool:
    """Whether the results are either all elements or all accumulators, and the same ones after an exchange.

    The choice may depend on comparisons of elements with their accumulators only. Floats that compare equal may differ
    in their bits, so some other operand has to tell them apart.
    """
    condition = _condition(pairs, results)
    if condition is None:
        return False
    sources = operation.opview.sources
    samples = [
        [
            pair
            for pair in (_FLOAT_PAIRS if isinstance(element.type, ir.FloatType) else _INTEGER_PAIRS)
            if pair[0] != pair[1] or not _is_position(source, operation.opview.dimension)
        ]
        for (element, _), source in zip(pairs, sources, strict=True)
    ]
    try:
        return all(_is_decided(condition, pairs, sample) for sample in itertools.product(*samples))
    except _UnknownError:
        return False


def _condition(pairs: list[tuple[ir.Value, ir.Value]], results: list[ir.Value]) -> ir.Value | None:
    """The condition of the selects between element and accumulator that are the results; None if some result is not."""
    found = set()
    for (element, accumulator), value in zip(pairs, results, strict=True):
        op = owner_of(value)
        if op is None or op.name != "arith.select":
            return None
        condition, *choices = op.operands
        if choices not in ([element, accumulator], [accumulator, element]):
            return None
        found.add((condition, choices[0] == element))
    return found.pop()[0] if len(found) == 1 else None


def _is_decided(
    condition: ir.Value, pairs: list[tuple[ir.Value, ir.Value]], sample: tuple[tuple[Number, Number], ...]
) -> bool:
    """Whether an exchange of elements and accumulators changes the condition, or changes nothing at all."""
    if all(isinstance(first, int) and first == second for first, second in sample):
        return True
    given = dict(zip(itertools.chain(*pairs), itertools.chain(*sample), strict=True))
    exchanged = dict(zip(itertools.chain(*pairs), itertools.chain(*(pair[::-1] for pair in sample)), strict=True))
    return _evaluated(condition, given) != _evaluated(condition, exchanged)


class _UnknownError(Exception):
    """The condition has an operation that is not evaluated here."""


def _evaluated(value: ir.Value, arguments: Values) -> bool:
    op = owner_of(value)
    if op is not None and op.name in _LOGICAL:
        return _LOGICAL[op.name](*(_evaluated(operand, arguments) for operand in op.operands))
    if op is None or op.name not in ("arith.cmpi", "arith.cmpf") or not all(each in arguments for each in op.operands):
        raise _UnknownError
    compare = _compared_floats if op.name == "arith.cmpf" else _compared_integers
    return compare(predicate_of(op), *(arguments[operand] for operand in op.operands))


def _compared_floats(predicate: str, a: Number, b: Number) -> bool:
    """The predicates `false`, `true`, `ord` and `uno` compare no numbers and are not evaluated."""
    compare = _COMPARISONS.get(predicate[1:])
    if compare is None:
        raise _UnknownError
    return compare(a, b) if a == a and b == b else predicate[0] == "u"


def _compared_integers(predicate: str, a: Number, b: Number) -> bool:
    if predicate[0] == "u":
        a, b = (number % 2**64 for number in (a, b))
    return _COMPARISONS[predicate[-2:]](a, b)


def _is_position(source: ir.Value, dimension: int) -> bool:
    """Whether all elements of a row differ, because they are the position along the dimension."""
    extent = source.type.shape[dimension]
    steps: dict[str, Callable[[ir.Value], bool]] = {
        ConvertLayoutOp.OPERATION_NAME: lambda value: True,
        BroadcastOp.OPERATION_NAME: lambda value: value.owner.operands[0].type.shape[dimension] == extent,
        ReshapeOp.OPERATION_NAME: lambda value: math.prod(value.type.shape) == value.type.shape[dimension],
    }
    while (op := owner_of(source)) is not None and op.name in steps:
        if not steps[op.name](source):
            return False
        source = op.operands[0]
    return op is not None and op.name == IotaOp.OPERATION_NAME and extent <= 1 << source.type.element_type.width
