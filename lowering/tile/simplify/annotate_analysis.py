"""Attaches the results of the analyses of integer and pointer tiles to their operations, as `tilec.known`.

    %at = addi %start, %lane {tilec.known = "run 128, divisor 128, 0..16383"} : tile<128xi32>

`run` is the number of consecutive elements, `equal` the number of equal ones, `divisor` a divisor of the first element
of a run (in bytes for pointers; `all` if it is zero), each a list for tiles of several dimensions; an interval follows.
Unknown facts are omitted. The facts about loop-carried values are in `tilec.known_in_iteration` of the loop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tilec.dialect.cuda_tile.types import PointerType, TileType
from tilec.dialect.mlir import ir
from tilec.dialect.walk import operations_below
from tilec.lowering.tile.analysis.bounds import bounds, type_interval
from tilec.lowering.tile.analysis.contiguity import contiguity
from tilec.lowering.tile.analysis.contiguity_rules import Axes
from tilec.lowering.tile.analysis.divisibility import UNBOUNDED
from tilec.lowering.tile.analysis.tile_operations import LOOPS, is_tile_operation

RESULTS, ARGUMENTS = "tilec.known", "tilec.known_in_iteration"

Known = Mapping[ir.Value, Axes]


def annotate_analysis(module: ir.Module) -> None:
    """Replaces the attributes; constants and values without known facts get none."""
    for entry in module.body.operations:
        if entry.operation.name == "cuda_tile.entry":
            known = contiguity(entry)
            for op in operations_below(entry):
                if is_tile_operation(op.operation) and op.operation.name != "cuda_tile.constant":
                    _set(op, RESULTS, list(op.operation.results), known)
                if op.operation.name in LOOPS:
                    _set(op, ARGUMENTS, list(op.body.blocks[0].arguments), known)


def _set(op: ir.OpView, name: str, values: Sequence[ir.Value], known: Known) -> None:
    texts = [_spelled(value, known) for value in values]
    attributes = op.operation.attributes
    if any(texts):
        strings = [ir.StringAttr.get(text) for text in texts]
        attributes[name] = strings[0] if len(strings) == 1 else ir.ArrayAttr.get(strings)
    elif name in attributes:
        del attributes[name]


def _spelled(value: ir.Value, known: Known) -> str:
    type = value.type
    if not isinstance(type, TileType) or value not in known:
        return ""
    is_integer = isinstance(type.element, ir.IntegerType)
    *along, each = known[value]
    axes = along or [each]
    parts = [_listed("run", [axis.contiguity for axis in axes]), _listed("equal", [axis.constancy for axis in axes])]
    if is_integer or isinstance(type.element, PointerType):
        parts.append(_listed("divisor", [axis.divisibility for axis in axes]))
    if is_integer and bounds(value) != type_interval(type):
        parts.append(f"{bounds(value).low}..{bounds(value).high}")
    return ", ".join(part for part in parts if part)


def _listed(name: str, numbers: Sequence[int]) -> str:
    if set(numbers) == {1}:
        return ""
    texts = ["all" if number == UNBOUNDED else str(number) for number in numbers]
    return f"{name} {texts[0] if len(texts) == 1 else '[' + ', '.join(texts) + ']'}"
