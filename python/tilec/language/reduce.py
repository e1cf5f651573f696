"""Folding tiles along axes."""

from __future__ import annotations

from tilec.language.stub import kernel_function


@kernel_function
def sum(x, /, axis=None, *, keepdims=False, rounding_mode=None, flush_to_zero=False):
    """The sum along an axis, several axes, or all."""


@kernel_function
def prod(x, /, axis=None, *, keepdims=False, rounding_mode=None, flush_to_zero=False):
    """The product along an axis, several axes, or all."""


@kernel_function
def max(x, /, axis=None, *, keepdims=False, flush_to_zero=False, propagate_nan=False):
    """The maximum along an axis, several axes, or all."""


@kernel_function
def min(x, /, axis=None, *, keepdims=False, flush_to_zero=False, propagate_nan=False):
    """The minimum along an axis, several axes, or all."""


@kernel_function
def argmax(x, /, axis=None, *, keepdims=False, propagate_nan=False):
    """The index of the first maximum along an axis, or in the flattened tile, int32."""


@kernel_function
def argmin(x, /, axis=None, *, keepdims=False, propagate_nan=False):
    """The index of the first minimum along an axis, or in the flattened tile, int32."""


@kernel_function
def reduce(x, /, axis, func, identity, *, keepdims=False):
    """The fold of `func`, a function of two scalars, along one axis; for a tuple of n tiles it takes 2n and gives n."""
