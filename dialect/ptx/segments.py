"""The operand and result groups of `ptx.compute_many` and `ptx.execute_many`."""

from __future__ import annotations

from collections.abc import Sequence

from tilec.dialect.mlir import ir
from tilec.dialect.ptx.instruction import SINGLE_OPERANDS, SINGLE_RESULTS


def segments(results: Sequence[ir.Type], operands: Sequence[ir.Value], context: ir.Context) -> dict[str, ir.Attribute]:
    """The two segment attributes; raises ValueError if too many values lie outside every run of one type."""
    kinds = [value.type for value in operands]
    return {
        "resultSegmentSizes": ir.DenseI32ArrayAttr.get(_split(results, SINGLE_RESULTS), context),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get(_split(kinds, SINGLE_OPERANDS), context),
    }


def _split(types: Sequence[ir.Type], singles: int) -> list[int]:
    """Segment sizes: singles, the longest run of one type, singles."""
    if not types:
        return [0] * (2 * singles + 1)
    starts = [index for index in range(len(types)) if index == 0 or types[index] != types[index - 1]]
    runs = [end - start for start, end in zip(starts, [*starts[1:], len(types)], strict=True)]
    longest = max(range(len(runs)), key=runs.__getitem__)
    before, run = starts[longest], runs[longest]
    after = len(types) - before - run
    if before > singles or after > singles:
        raise ValueError(f"an instruction takes {singles} values of any types before and after a run of one type")
    return [*_ones(before, singles), run, *_ones(after, singles)]


def _ones(count: int, width: int) -> list[int]:
    return [1] * count + [0] * (width - count)
