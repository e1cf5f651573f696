"""Inclusive prefix folds: element i of the result folds the elements up to i."""

from __future__ import annotations

from tilec.language.stub import kernel_function


@kernel_function
def cumsum(x, /, axis=0, *, reverse=False, rounding_mode=None, flush_to_zero=False):
    """Sums of the elements up to each one along `axis`, from the end if `reverse`."""


@kernel_function
def cumprod(x, /, axis=0, *, reverse=False, rounding_mode=None, flush_to_zero=False):
    """Products of the elements up to each one along `axis`, from the end if `reverse`."""


@kernel_function
def scan(x, /, axis, func, identity, *, reverse=False):
    """Prefixes folded by `func`, a function of two scalars; for a tuple of n tiles it takes 2n and gives n."""
