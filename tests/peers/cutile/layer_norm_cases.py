"""Layer norm, forward and backward."""

from __future__ import annotations

from typing import Any

import numpy as np
from cutile.bounded import Bounded, compare
from cutile.sampling import Comparisons, Launch, constants, random, tiles


def layer_norm(launch: Launch, shape: tuple[int, int] = (12, 256), dtype: Any = np.float32) -> Comparisons:
    """Forward, then the gradients of input, weight and bias."""
    (rows, columns), tile, groups = shape, 128, 5
    x, dy = random(1, *shape, dtype=dtype, scale=0.5) - np.asarray(2.3, dtype), random(2, *shape, dtype=dtype)
    w, b, eps = random(3, columns, dtype=dtype), random(4, columns, dtype=dtype), 1e-5
    y, mean, rstd = np.zeros(shape, dtype), np.zeros(rows, np.float32), np.zeros(rows, np.float32)
    launch("layer_norm", (rows,), [x, w, b, y, mean, rstd, eps, *constants(tile)])
    centre, scale = _moments(x, eps)
    name = f"of {shape} {np.dtype(dtype)}"
    yield compare(f"means {name}", mean, centre[:, 0])
    yield compare(f"scales {name}", rstd, scale[:, 0])
    normal = (Bounded.exact(x) - centre) * scale
    yield compare(f"layer norm {name}", y, (normal * w + b).stored(dtype))
    dx = np.zeros(shape, dtype)
    dw, db = np.zeros((groups, columns), np.float32), np.zeros((groups, columns), np.float32)
    locks = np.zeros(groups, np.int32)
    launch("layer_norm_gradient", (rows,), [dx, dy, dw, db, x, w, mean, rstd, locks, *constants(tile)])
    yield compare(f"input's gradient {name}", dx, _input_gradient(dy, w, normal, scale).stored(dtype))
    weight, bias = np.zeros(columns, dtype), np.zeros(columns, dtype)
    launch("layer_norm_weights", (tiles(columns, tile),), [dw, db, weight, bias, *constants(4, tile)])
    yield compare(f"weight's gradient {name}", weight, (Bounded.exact(dy) * normal).sum(0).stored(dtype))
    yield compare(f"bias's gradient {name}", bias, Bounded.exact(dy).sum(0).stored(dtype))


def _moments(x: np.ndarray, eps: float) -> tuple[Bounded, Bounded]:
    centre = Bounded.exact(x).sum(1, keepdims=True) / x.shape[1]
    centred = Bounded.exact(x) - centre
    variance = (centred * centred).sum(1, keepdims=True) / x.shape[1]
    return centre, Bounded.exact(1.0) / (variance + Bounded.exact(eps).rounded()).sqrt()


def _input_gradient(dy: np.ndarray, w: np.ndarray, normal: Bounded, scale: Bounded) -> Bounded:
    weighted = (Bounded.exact(dy) * w).stored(dy.dtype)
    along = (normal * weighted).sum(1, keepdims=True) / dy.shape[1]
    mean = weighted.sum(1, keepdims=True) / dy.shape[1]
    return (weighted - (normal * along + mean)) * scale
