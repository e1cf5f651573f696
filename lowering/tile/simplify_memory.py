"""Accesses whose mask is known: one that is true everywhere goes, an access that it forbids everywhere goes itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilec.dialect.build import build
from tilec.dialect.mlir import ir
from tilec.dialect.operation import groups
from tilec.lowering.tile.constants import splat
from tilec.lowering.tile.replacing import Rule

_SEGMENTS = ("operandSegmentSizes", "resultSegmentSizes")


def _load(op: Any) -> Sequence[ir.Value] | None:
    if op.mask is None:
        return None
    holds = splat(op.mask)
    if holds:
        return _without(op, "mask", "paddingValue")
    # What a masked element is without padding no one says, so some value has to be made for it by the load.
    if holds is None or op.paddingValue is None or not _is_weak(op):
        return None
    return [op.paddingValue, _waited(op)]


def _store(op: Any) -> Sequence[ir.Value] | None:
    if op.mask is None:
        return None
    holds = splat(op.mask)
    if holds:
        return _without(op, "mask")
    return [_waited(op)] if holds is not None and _is_weak(op) else None


def _is_weak(op: Any) -> bool:
    """Whether an access orders nothing but itself."""
    return op.memory_ordering_semantics == "weak"


def _waited(op: Any) -> ir.Value:
    """The token of an access that does nothing: what came before it."""
    token = op.result_token
    return op.token if op.token is not None else build("make_token", [], [token.type]).result


def _without(op: Any, *names: str) -> Sequence[ir.Value]:
    """The same operation without some of its optional operands."""
    operands = {**(groups(op, "operand") or {}), **{name: [] for name in names}}
    attributes = {name: op.attributes[name] for name in op.attributes if name not in _SEGMENTS}
    types = [result.type for result in op.operation.results]
    return list(build(op.operation.name, list(operands.values()), types, attributes).results)


RULES: dict[str, Rule] = {"load_ptr_tko": _load, "store_ptr_tko": _store}
