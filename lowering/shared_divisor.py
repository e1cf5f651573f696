"""When the elements of a thread are divided by one reciprocal of the divisor that they share."""

from __future__ import annotations

# The reciprocal of a divisor, the checks of its operands and a branch take as long as the division of some elements.
LEAST_ELEMENTS = 8
