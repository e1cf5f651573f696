"""Checks tensor maps against the rules of TMA: all fields at launch, and at compile time the fields that are known.

Source: CUDA driver API, "Tensor Map Object Management"; PTX ISA 5.5 and 9.7.9.27. Where they differ, a map must
satisfy both.
"""

from __future__ import annotations

from collections.abc import Iterator

from tilec.lowering.tma.im2col_rules import IM2COL_RULES
from tilec.lowering.tma.rule import Rule, Violation
from tilec.lowering.tma.rules import RULES, SHAPE_RULES
from tilec.lowering.tma.swizzle_rules import SWIZZLE_RULES
from tilec.lowering.tma.tensor_map import TensorMap

# Every rule, in the order in which it is checked.
ALL_RULES: tuple[Rule, ...] = (*SHAPE_RULES, *RULES, *SWIZZLE_RULES, *IM2COL_RULES)


def violations(tensor_map: TensorMap, target: str | None = None, unconfirmed: bool = False) -> Iterator[Violation]:
    """Yields the rules that the known fields of a tensor map violate; without a target, those of every target.

    `unconfirmed` permits values that NVIDIA neither documents nor forbids.
    """
    found = [violation for each in SHAPE_RULES for violation in each.violations(tensor_map, target)]
    yield from found
    if not found:
        for each in ALL_RULES[len(SHAPE_RULES) :]:
            if not (each.undocumented and unconfirmed):
                yield from each.violations(tensor_map, target)
