"""Removes masks that are true everywhere, and accesses whose mask is false everywhere."""

from __future__ import annotations

from collections.abc import Sequence

from tilec.dialect.build import build
from tilec.dialect.mlir import ir
from tilec.lowering.tile.analysis.constants import splat
from tilec.lowering.tile.analysis.replacing import Rule, rebuilt_without


def _load(op: ir.OpView) -> Sequence[ir.Value] | None:
    if op.mask is None:
        return None
    holds = splat(op.mask)
    if holds:
        return rebuilt_without(op, "mask", "paddingValue")
    # Without padding a masked element is unspecified, and the load has to produce some value for it.
    if holds is None or op.paddingValue is None or not _is_weak(op):
        return None
    return [op.paddingValue, _token_before(op)]


def _store(op: ir.OpView) -> Sequence[ir.Value] | None:
    if op.mask is None:
        return None
    holds = splat(op.mask)
    if holds:
        return rebuilt_without(op, "mask")
    return [_token_before(op)] if holds is not None and _is_weak(op) else None


def _update(op: ir.OpView) -> Sequence[ir.Value] | None:
    """An atomic that updates nothing stays: it may still acquire or release."""
    return rebuilt_without(op, "mask") if op.mask is not None and splat(op.mask) else None


def _is_weak(op: ir.OpView) -> bool:
    """Whether an access imposes no order on others."""
    return op.memory_ordering_semantics == "weak"


def _token_before(op: ir.OpView) -> ir.Value:
    """The token that replaces that of a removed access."""
    token = op.result_token
    return op.token if op.token is not None else build("make_token", [], [token.type]).result


RULES: dict[str, Rule] = {
    "load_ptr_tko": _load,
    "store_ptr_tko": _store,
    "atomic_rmw_tko": _update,
    "tilex.atomic_rmw_tko": _update,
    "atomic_cas_tko": _update,
}
