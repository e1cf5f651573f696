"""Convolution and pooling by PyTorch on the CPU, for arrays [N, spatial.., C] and filters [K, window.., C / groups].

PyTorch takes equal padding at both ends of a dimension: other padding is a separate padding of the input, or a cut of
the output.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch.nn import functional

Pairs = Sequence[tuple[int, int]]


def _first(array: np.ndarray) -> torch.Tensor:
    """Channels become dimension 1."""
    return torch.from_numpy(np.moveaxis(array, -1, 1).copy())


def _last(tensor: torch.Tensor) -> np.ndarray:
    return np.moveaxis(tensor.detach().numpy(), 1, -1)


def _padded(tensor: torch.Tensor, padding: Pairs, value: float = 0) -> torch.Tensor:
    """PyTorch lists padding innermost dimension first; negative padding cuts."""
    return functional.pad(tensor, [entry for pair in reversed(padding) for entry in pair], value=value)


def _function(name: str, x: np.ndarray) -> Any:
    return getattr(functional, f"{name}{x.ndim - 2}d")


def convolution(
    x: np.ndarray, f: np.ndarray, stride: Sequence[int], dilation: Sequence[int], padding: Pairs, groups: int
) -> np.ndarray:
    return _last(_function("conv", x)(_padded(_first(x), padding), _first(f), None, stride, 0, dilation, groups))


def gradients(
    x: np.ndarray, f: np.ndarray, dy: np.ndarray, stride: Sequence[int], dilation: Sequence[int], padding: Pairs,
    groups: int,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """The gradients with respect to x and to f."""
    tensors = _first(x).requires_grad_(), _first(f).requires_grad_()
    y = _function("conv", x)(_padded(tensors[0], padding), tensors[1], None, stride, 0, dilation, groups)
    dx, df = torch.autograd.grad(y, tensors, _first(dy))
    return _last(dx), _last(df)


def causal_convolution(x: np.ndarray, f: np.ndarray, dilation: int) -> np.ndarray:
    """Each channel of [N, T, C] by its own filter: both ends are padded, and the last outputs dropped."""
    padding = (f.shape[1] - 1) * dilation
    y = functional.conv1d(_first(x), _first(f), padding=padding, dilation=dilation, groups=x.shape[-1])
    return _last(y[..., : x.shape[1]])


def transposed(x: np.ndarray, f: np.ndarray, **geometry: Any) -> np.ndarray:
    """The transposed convolution with arguments of PyTorch."""
    return _last(_function("conv_transpose", x)(_first(x), _first(f), **geometry))


def cut(y: np.ndarray, ends: Pairs) -> np.ndarray:
    """y without elements at both ends of each dimension; with further zeros where an entry is negative."""
    return _last(_padded(_first(y), [(-lower, -upper) for lower, upper in ends]))


def max_pool(
    x: np.ndarray, window: Sequence[int], stride: Sequence[int], dilation: Sequence[int], padding: Pairs
) -> np.ndarray:
    return _last(_function("max_pool", x)(_padded(_first(x), padding, -torch.inf), window, stride, 0, dilation))


def average_pool(
    x: np.ndarray, window: Sequence[int], stride: Sequence[int], padding: Sequence[int], count_padding: bool
) -> np.ndarray:
    """The padding is that of both ends of each dimension."""
    return _last(_function("avg_pool", x)(_first(x), window, stride, padding, count_include_pad=count_padding))
