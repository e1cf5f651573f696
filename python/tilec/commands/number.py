"""Numbers on a command line: the `type` of options whose value has a range."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable

MAX_U32 = 2**32 - 1
MAX_U64 = 2**64 - 1

# Longer texts exceed every range, and Python does not convert more than 4300 digits.
_MOST_DIGITS = 40


def integer(least: int, most: int) -> Callable[[str], int]:
    """Parses a decimal integer from `least` to `most`; an error for any other text."""

    def parse(text: str) -> int:
        value = decimal(text)
        if value is None or not least <= value <= most:
            raise argparse.ArgumentTypeError(f"expected an integer from {least} to {most}, got '{text}'")
        return value

    return parse


def positive(unit: str) -> Callable[[str], float]:
    """Parses a finite number greater than 0, of `unit` in messages."""

    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        # The comparison is false for NaN.
        if not 0 < value < math.inf:
            raise argparse.ArgumentTypeError(f"expected a number of {unit} greater than 0, got '{text}'")
        return value

    return parse


def decimal(text: str) -> int | None:
    """The value of decimal digits with an optional sign; None for any other text, and for integers beyond 64 bits."""
    if not re.fullmatch(r"\s*[+-]?[0-9]+\s*", text) or len(text) > _MOST_DIGITS:
        return None
    return int(text)
