"""Rebuilds a loop or a branch without some of its carried values or results."""

from __future__ import annotations

from collections.abc import Sequence

from tilec.dialect.build import build
from tilec.dialect.mlir import ir
from tilec.lowering.tile.terminators import BREAK, YIELD, terminators

_SEGMENTS = ("operandSegmentSizes", "resultSegmentSizes")


def keep_results(op: ir.OpView, kept: Sequence[int]) -> None:
    """Rebuilds an `if` or a `loop` with only these results; the others must have no use."""
    ending = YIELD if op.operation.name == "cuda_tile.if" else BREAK
    for end in [end for end in terminators(op) if end.operation.name == ending]:
        _shorten(end, kept)
    operands = [op.condition] if op.operation.name == "cuda_tile.if" else list(op.initValues)
    _remake(op, operands, kept)


def without_carried(op: ir.OpView, kept: Sequence[int], ends: Sequence[ir.OpView]) -> None:
    """Rebuilds a `for` or a `loop` with only these carried values; `ends` are its continues, the others have no use."""
    is_for = op.operation.name == "cuda_tile.for"
    for end in ends:
        _shorten(end, kept)
    block, inits = op.body.blocks[0], list(op.initValues)
    for index in reversed(range(len(inits))):
        if index not in kept:
            block.erase_argument(index + is_for)
    given = [inits[index] for index in kept]
    if is_for:
        _remake(op, [op.lowerBound, op.upperBound, op.step, given], kept)
    else:
        _remake(op, given, range(len(op.operation.results)))


def _shorten(end: ir.OpView, kept: Sequence[int]) -> None:
    operands = list(end.operation.operands)
    with ir.InsertionPoint(end.operation), end.location:
        build(end.operation.name, [operands[index] for index in kept], attributes=_attributes(end))
    end.operation.erase()


def _remake(op: ir.OpView, operands: Sequence[ir.Value | list[ir.Value]], kept: Sequence[int]) -> None:
    results = [op.operation.results[index] for index in kept]
    with ir.InsertionPoint(op.operation), op.location:
        made = build(op.operation.name, operands, [result.type for result in results], _attributes(op))
    for old, new in zip(op.operation.regions, made.regions, strict=True):
        for block in list(old.blocks):
            block.append_to(new)
    for result, value in zip(results, made.results, strict=True):
        result.replace_all_uses_with(value)
    op.operation.erase()


def _attributes(op: ir.OpView) -> dict[str, ir.Attribute]:
    return {name: op.attributes[name] for name in op.attributes if name not in _SEGMENTS}
