"""Checks tensor maps against the rules of TMA: all fields at launch, and at compile time the fields that are known.

Source: CUDA driver API, "Tensor Map Object Management"; PTX ISA 5.5 and 9.7.9.27. Where they differ, a map must
satisfy both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from tilec.frozen import replace
from tilec.lowering.target import Target
from tilec.lowering.tma.im2col_rules import IM2COL_RULES
from tilec.lowering.tma.rule import Rule, Violation
from tilec.lowering.tma.rules import RULES, SHAPE_RULES
from tilec.lowering.tma.swizzle_rules import SWIZZLE_RULES
from tilec.lowering.tma.tensor_map import TensorMap

# Every rule, in the order in which it is checked.
ALL_RULES: tuple[Rule, ...] = (*SHAPE_RULES, *RULES, *SWIZZLE_RULES, *IM2COL_RULES)


def violations(tensor_map: TensorMap, target: Target | None = None, unconfirmed: bool = False) -> Iterator[Violation]:
    """Yields the rules that the known fields of a tensor map violate; without a target, those of every target.

    `unconfirmed` permits values that NVIDIA neither documents nor forbids.
    """
    shape, rules = _rules_of(tensor_map.kind, unconfirmed)
    found = list(_violations(shape, tensor_map, target))
    yield from found or _violations(rules, tensor_map, target)


def _violations(rules: Sequence[Rule], tensor_map: TensorMap, target: Target | None) -> Iterator[Violation]:
    for each in rules:
        for violation in each.check(tensor_map, target):
            yield replace(violation, source=each.source(tensor_map.kind, violation.field))


@cache
def _rules_of(kind: str, unconfirmed: bool) -> tuple[tuple[Rule, ...], tuple[Rule, ...]]:
    """The rules on the numbers of values, and the others, that apply to maps of a kind."""
    shape = tuple(each for each in SHAPE_RULES if kind in each.kinds)
    rules = ALL_RULES[len(SHAPE_RULES) :]
    return shape, tuple(each for each in rules if kind in each.kinds and not (each.undocumented and unconfirmed))
