"""Replaces operations by cheaper ones with bit-identical results: constants, operands, shorter operations."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.lowering.tile.analysis.replacing import Replacement, Rule, replace_results
from tilec.lowering.tile.analysis.value_analysis import kept_facts
from tilec.lowering.tile.simplify import simplify_float, simplify_integer, simplify_memory, simplify_shape
from tilec.lowering.tile.simplify.fold_constants import Evaluate, fold_rules

_OP_GROUPS = (simplify_integer, simplify_float, simplify_shape, simplify_memory)
IDENTITIES: dict[str, Rule] = {name: rule for group in _OP_GROUPS for name, rule in group.RULES.items()}


def simplify(module: ir.Module, evaluate: Evaluate) -> None:
    """Folds constants and applies identities together up to a fixed point."""
    folds = fold_rules(evaluate)
    names = {*folds, *IDENTITIES}
    with kept_facts():
        replace_results(module, {name: _first(IDENTITIES.get(name), folds.get(name)) for name in names})


def _first(identity: Rule | None, fold: Rule | None) -> Rule:
    if identity is None or fold is None:
        found = identity or fold
        assert found is not None
        return found

    def rule(op: ir.OpView) -> Replacement:
        return identity(op) or fold(op)

    return rule
