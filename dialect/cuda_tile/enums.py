"""The keywords of Tile IR's enumerations, in the order of their encoding."""

from __future__ import annotations

from typing import Any

from tilec.dialect.attributes import Enumeration
from tilec.dialect.cuda_tile.type_rules import PADDING_VALUES, POINTER_ATTRIBUTES

Signedness = Enumeration("unsigned", "signed", called="signedness")
Overflow = Enumeration("none", "no_signed_wrap", "no_unsigned_wrap", "no_wrap", called="overflow")
Predicate = Enumeration(
    "equal",
    "not_equal",
    "less_than",
    "less_than_or_equal",
    "greater_than",
    "greater_than_or_equal",
    called="comparison_predicate",
)
Ordering = Enumeration("unordered", "ordered", called="comparison_ordering")
AtomicMode = Enumeration("and", "or", "xor", "add", "addf", "max", "min", "umax", "umin", "xchg")
MemoryOrdering = Enumeration("weak", "relaxed", "acquire", "release", "acq_rel")
Scope = Enumeration("tl_blk", "device", "sys")
Visibility = Enumeration("public", "private", called="symbol_visibility")
MultimemReduction = Enumeration(
    "add", "min", "max", "and", "or", "xor", "umin", "umax", called="multimem_reduction_kind"
)

ROUNDING_MODES = (
    "nearest_even",
    "zero",
    "negative_inf",
    "positive_inf",
    "approx",
    "full",
    "nearest_int_to_zero",
    "nearest_away",
)
_ROUNDING: dict[str, Any] = {"of": ROUNDING_MODES, "called": "rounding"}
IeeeRounding = Enumeration("nearest_even", "zero", "negative_inf", "positive_inf", **_ROUNDING)
DivisionRounding = Enumeration("nearest_even", "zero", "negative_inf", "positive_inf", "approx", "full", **_ROUNDING)
RootRounding = Enumeration("nearest_even", "zero", "negative_inf", "positive_inf", "approx", **_ROUNDING)
ApproximateRounding = Enumeration("approx", "full", **_ROUNDING)
IntegerRounding = Enumeration("zero", "negative_inf", "positive_inf", **_ROUNDING)
FloatConversionRounding = Enumeration(
    "nearest_even", "zero", "negative_inf", "positive_inf", "nearest_away", **_ROUNDING
)
ToIntegerRounding = Enumeration("nearest_int_to_zero", **_ROUNDING)
FromIntegerRounding = Enumeration("nearest_even", **_ROUNDING)

# The enumerations by their names in the generic form of NVIDIA's tools.
ENUMERATIONS: dict[str, tuple[str, ...]] = {
    field.enumeration: field.numbering
    for field in (Signedness, Overflow, Predicate, Ordering, Visibility, MultimemReduction, IeeeRounding)
}
ENUMERATIONS["padding_value"] = PADDING_VALUES
ENUMERATIONS["ptr_attr"] = POINTER_ATTRIBUTES
