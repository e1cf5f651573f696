"""Matrix multiplication."""

from __future__ import annotations

from tilec.language.stub import kernel_function


@kernel_function
def mma(x, y, /, acc, *, use_fast_acc=False):
    """x @ y + acc, in the element type of `acc`; float32 is multiplied as float32, for tf32 convert with astype."""


@kernel_function
def matmul(x, y, /):
    """x @ y in their common element type."""


@kernel_function
def mma_scaled(x, x_scale, y, y_scale, /, acc):
    """(x * x_scale) @ (y * y_scale) + acc, where a scale holds for a run of elements along K."""
