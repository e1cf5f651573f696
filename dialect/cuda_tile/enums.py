"""The keywords of Tile IR's enumerations, in the order of their encoding."""

from __future__ import annotations

from tilec.dialect.attributes import Enumeration

Signedness = Enumeration("unsigned", "signed")
Overflow = Enumeration("none", "no_signed_wrap", "no_unsigned_wrap", "no_wrap")
Predicate = Enumeration(
    "equal", "not_equal", "less_than", "less_than_or_equal", "greater_than", "greater_than_or_equal"
)
Ordering = Enumeration("unordered", "ordered")
AtomicMode = Enumeration("and", "or", "xor", "add", "addf", "max", "min", "umax", "umin", "xchg")
MemoryOrdering = Enumeration("weak", "relaxed", "acquire", "release", "acq_rel")
Scope = Enumeration("tl_blk", "device", "sys")
Visibility = Enumeration("public", "private")
MultimemReduction = Enumeration("add", "min", "max", "and", "or", "xor", "umin", "umax")

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
IeeeRounding = Enumeration("nearest_even", "zero", "negative_inf", "positive_inf", of=ROUNDING_MODES)
DivisionRounding = Enumeration(
    "nearest_even", "zero", "negative_inf", "positive_inf", "approx", "full", of=ROUNDING_MODES
)
RootRounding = Enumeration("nearest_even", "zero", "negative_inf", "positive_inf", "approx", of=ROUNDING_MODES)
ApproximateRounding = Enumeration("approx", "full", of=ROUNDING_MODES)
IntegerRounding = Enumeration("zero", "negative_inf", "positive_inf", of=ROUNDING_MODES)
FloatConversionRounding = Enumeration(
    "nearest_even", "zero", "negative_inf", "positive_inf", "nearest_away", of=ROUNDING_MODES
)
ToIntegerRounding = Enumeration("nearest_int_to_zero", of=ROUNDING_MODES)
FromIntegerRounding = Enumeration("nearest_even", of=ROUNDING_MODES)
