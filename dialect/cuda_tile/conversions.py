"""The rounding modes of conversions between float types."""

from __future__ import annotations

_LETTERS = {"E": "nearest_even", "Z": "zero", "M": "negative_inf", "P": "positive_inf", "A": "nearest_away"}
_COLUMNS = ("f16", "bf16", "f32", "f64", "tf32", "f8E4M3FN", "f8E5M2", "f8E8M0FNU", "f4E2M1FN", "fnv8E5M3FNU")

# As the tools of release 13.5 accept them; a row is the source, a column the target.
_ROWS = {
    "f16": "- EZ EZMPA EZMPA EZMPA E E ZP E E",
    "bf16": "EZ - EZMPA EZMPA EZMPA E E ZP E E",
    "f32": "EZ EZ - EZMPA EZA E E ZP E E",
    "f64": "EZ EZ EZMP - EZ E E ZP E E",
    "tf32": "EZ EZ EZMPA EZMPA - E E ZP E E",
    "f8E4M3FN": "EZMPA EZMPA EZMPA EZMPA EZMPA - E ZP E E",
    "f8E5M2": "EZMPA EZMPA EZMPA EZMPA EZMPA E - ZP E E",
    "f8E8M0FNU": "EZ EZ EZ EZMPA EZ E E - E E",
    "f4E2M1FN": "EZMPA EZMPA EZMPA EZMPA EZMPA E E ZP - E",
    "fnv8E5M3FNU": "EZ EZMPA EZMPA EZMPA EZMPA E E ZP E -",
}


def rounding_modes(source: str, target: str) -> tuple[str, ...]:
    """The modes of a conversion between two element types; empty if the types are equal."""
    letters = _ROWS[source].split()[_COLUMNS.index(target)]
    return tuple(_LETTERS[letter] for letter in letters if letter != "-")


def ftof_problem(source: str, target: str, mode: str) -> str | None:
    """The problem with a conversion, or None."""
    if source == target:
        return f"converting tiles of {source} and {target} is not supported: the types must differ"
    modes = rounding_modes(source, target)
    if mode not in modes:
        conversion = f"a conversion from {source} to {target}"
        return f"rounding mode must be one of: {', '.join(modes)} for {conversion}, but got: {mode}"
    return None
