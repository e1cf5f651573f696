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


def _channels_first(array: np.ndarray) -> torch.Tensor:
    """The layout of PyTorch."""
    return torch.from_numpy(np.moveaxis(array, -1, 1).copy())


def _channels_last(tensor: torch.Tensor) -> np.ndarray:
    return np.moveaxis(tensor.detach().numpy(), 1, -1)


def _padded(tensor: torch.Tensor, padding: Pairs, value: float = 0) -> torch.Tensor:
    """PyTorch lists padding innermost dimension first; negative padding cuts."""
    return functional.pad(tensor, [entry for pair in reversed(padding) for entry in pair], value=value)


def _function(name: str, x: np.ndarray | torch.Tensor) -> Any:
    return getattr(functional, f"{name}{x.ndim - 2}d")


def _convolution(
    x: torch.Tensor, f: torch.Tensor, stride: Sequence[int], dilation: Sequence[int], padding: Pairs, groups: int
) -> torch.Tensor:
    return _function("conv", x)(_padded(x, padding), f, None, stride, 0, dilation, groups)


def convolution(
    x: np.ndarray, f: np.ndarray, stride: Sequence[int], dilation: Sequence[int], padding: Pairs, groups: int
) -> np.ndarray:
    return _channels_last(_convolution(_channels_first(x), _channels_first(f), stride, dilation, padding, groups))


def gradients(
    x: np.ndarray, f: np.ndarray, dy: np.ndarray, stride: Sequence[int], dilation: Sequence[int], padding: Pairs,
    groups: int,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """The gradients with respect to x and to f."""
    tensors = _channels_first(x).requires_grad_(), _channels_first(f).requires_grad_()
    y = _convolution(*tensors, stride, dilation, padding, groups)
    dx, df = torch.autograd.grad(y, tensors, _channels_first(dy))
    return _channels_last(dx), _channels_last(df)


def causal_convolution(x: np.ndarray, f: np.ndarray, dilation: int) -> np.ndarray:
    """Each channel of [N, T, C] by its own filter: both ends are padded, and the last outputs dropped."""
    padding = (f.shape[1] - 1) * dilation
    y = functional.conv1d(
        _channels_first(x), _channels_first(f), padding=padding, dilation=dilation, groups=x.shape[-1]
    )
    return _channels_last(y[..., : x.shape[1]])


def transposed(x: np.ndarray, f: np.ndarray, **geometry: Any) -> np.ndarray:
    """The transposed convolution with arguments of PyTorch."""
    return _channels_last(_function("conv_transpose", x)(_channels_first(x), _channels_first(f), **geometry))


def cut(y: np.ndarray, ends: Pairs) -> np.ndarray:
    """y without elements at both ends of each dimension; with further zeros where an entry is negative."""
    return _channels_last(_padded(_channels_first(y), [(-lower, -upper) for lower, upper in ends]))


def max_pool(
    x: np.ndarray, window: Sequence[int], stride: Sequence[int], dilation: Sequence[int], padding: Pairs
) -> np.ndarray:
    return _channels_last(
        _function("max_pool", x)(_padded(_channels_first(x), padding, -torch.inf), window, stride, 0, dilation)
    )


def average_pool(
    x: np.ndarray, window: Sequence[int], stride: Sequence[int], padding: Sequence[int], count_padding: bool
) -> np.ndarray:
    """The padding is that of both ends of each dimension."""
    return _channels_last(
        _function("avg_pool", x)(_channels_first(x), window, stride, padding, count_include_pad=count_padding)
    )
