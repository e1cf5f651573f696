"""The rules on the swizzle of tensor maps."""

from __future__ import annotations

from collections.abc import Iterator

from tilec.lowering.target import Target
from tilec.lowering.tma.element_types import ELEMENTS
from tilec.lowering.tma.enumerations import SWIZZLES, WIDE_KINDS
from tilec.lowering.tma.rule import Rule, Violation, rule
from tilec.lowering.tma.rules import PACKED_SECTION, row_field
from tilec.lowering.tma.tensor_map import TensorMap

# Allowed by both manuals: the driver lists no flip and for U4 no atoms of 64 bytes, PTX no spans of 32 and 64 bytes.
PADDED_SWIZZLES = {
    "u4_align16b": ("none", "128B", "128B_atom_32B"),
    "u6_align16b": ("none", "128B", "128B_atom_32B", "128B_atom_64B"),
}
WIDE_SWIZZLES = ("64B", "128B", "128B_atom_32B")

SWIZZLE_RULES: list[Rule] = []


@rule(SWIZZLE_RULES, driver=False, ptx="5.5.7")
def swizzle_96b(tensor_map: TensorMap, _target: Target | None) -> Iterator[Violation]:
    """Swizzle 96B is of sm_103a alone, which is not a target."""
    if tensor_map.swizzle == "96B":
        yield Violation("swizzle", None, "a swizzle that the target has; 96B is of sm_103a alone", "96B")


@rule(SWIZZLE_RULES, driver=False, ptx="9.7.9.28")
def swizzle_atomicity_of_target(tensor_map: TensorMap, target: Target | None) -> Iterator[Violation]:
    """sm_90 has swizzles with atoms of 16 bytes alone."""
    if SWIZZLES[tensor_map.swizzle].atomicity and target is not None and not target.swizzles_wide_atoms:
        yield Violation("swizzle", None, f"16-byte atoms on {target.name}", tensor_map.swizzle)


@rule(SWIZZLE_RULES, ptx=PACKED_SECTION)
def swizzle_of_padded_elements(tensor_map: TensorMap, _target: Target | None) -> Iterator[Violation]:
    """Padded types have the swizzles that both manuals list."""
    allowed = PADDED_SWIZZLES.get(tensor_map.element)
    if allowed is not None and tensor_map.swizzle not in allowed:
        expected = f"one of {', '.join(allowed)} for {tensor_map.element}"
        yield Violation("swizzle", None, expected, tensor_map.swizzle)


@rule(SWIZZLE_RULES, kinds=WIDE_KINDS, ptx="5.5.5")
def swizzle_of_wide_kinds(tensor_map: TensorMap, _target: Target | None) -> Iterator[Violation]:
    """The wide kinds have the swizzles 64B, 128B and 128B_atom_32B."""
    if tensor_map.swizzle not in WIDE_SWIZZLES:
        expected = f"one of {', '.join(WIDE_SWIZZLES)} for kind {tensor_map.kind}"
        yield Violation("swizzle", None, expected, tensor_map.swizzle)


@rule(SWIZZLE_RULES)
def swizzle_of_interleave(tensor_map: TensorMap, _target: Target | None) -> Iterator[Violation]:
    """Interleave 32B needs swizzle 32B."""
    if tensor_map.interleave == "32B" and tensor_map.swizzle != "32B":
        yield Violation("swizzle", None, "32B with interleave 32B", tensor_map.swizzle)


def _limits_rows(tensor_map: TensorMap) -> bool:
    has_rows = tensor_map.interleave == "none" and not ELEMENTS[tensor_map.element].padded
    return tensor_map.swizzle != "none" and has_rows


@rule(SWIZZLE_RULES)
def swizzle_span(tensor_map: TensorMap, _target: Target | None) -> Iterator[Violation]:
    """Without interleave, a row is at most as long as the span of the swizzle."""
    span, row = SWIZZLES[tensor_map.swizzle].span_bytes, tensor_map.row_bits / 8
    if _limits_rows(tensor_map) and row > span:
        expected = f"rows of at most {span} bytes with swizzle {tensor_map.swizzle}"
        yield Violation(*row_field(tensor_map), expected, f"{row:g} bytes")


@rule(SWIZZLE_RULES, undocumented=True)
def short_swizzled_row(tensor_map: TensorMap, _target: Target | None) -> Iterator[Violation]:
    """Without interleave, a row is as long as the span of the swizzle."""
    span, row = SWIZZLES[tensor_map.swizzle].span_bytes, tensor_map.row_bits / 8
    if _limits_rows(tensor_map) and row < span:
        expected = f"rows of {span} bytes with swizzle {tensor_map.swizzle}, because shorter rows are undocumented"
        yield Violation(*row_field(tensor_map), expected, f"{row:g} bytes")
