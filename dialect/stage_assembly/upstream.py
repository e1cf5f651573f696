"""Default attributes of upstream operations."""

from __future__ import annotations

# Default attributes of arith and math operations, which are not printed.
DEFAULTS = {
    "fastmath": "#arith.fastmath<none>",
    "overflowFlags": "#arith.overflow<none>",
}
SEGMENTS = "operandSegmentSizes"
