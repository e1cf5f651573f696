"""A mixture of experts: two products and a gate."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from cutile.bounded import APPROXIMATE, Bounded, compare
from cutile.sampling import Comparisons, Launch, constants, random, tiles


def mixture_of_experts(launch: Launch, tokens: int = 20, dtype: Any = ml_dtypes.bfloat16) -> Comparisons:
    """Each token is processed by two of five experts; an expert is a gated layer of two products."""
    hidden, inner, experts, experts_per_token = 64, 48, 5, 2
    tile = (16, 32, 32)
    generator = np.random.default_rng(7)
    x = random(1, tokens, hidden, dtype=dtype, scale=0.5)
    up = random(2, experts, 2 * inner, hidden, dtype=dtype, scale=0.1)
    down = random(3, experts, hidden, inner, dtype=dtype, scale=0.1)
    ids = np.stack([generator.permutation(experts)[:experts_per_token] for _ in range(tokens)])
    shares = generator.dirichlet(np.ones(experts_per_token), tokens).astype(dtype)
    order, owners = _by_expert(ids, tile[0], experts)
    first, second = (
        np.zeros((tokens * experts_per_token, 2 * inner), dtype),
        np.zeros((tokens * experts_per_token, inner), dtype),
    )
    third, weights = np.zeros((tokens * experts_per_token, hidden), dtype), shares.reshape(-1)
    launch(
        "expert_matmul", (len(owners) * tiles(2 * inner, tile[1]),),
        [x, up, first, weights, order, owners, experts_per_token, *constants(False, *tile)],
    )  # fmt: skip
    flat, name = ids.reshape(-1), f"of {tokens} tokens {np.dtype(dtype)}"
    gates = _expert_products(Bounded.exact(np.repeat(x, experts_per_token, 0)), up, flat).stored(dtype)
    yield compare(f"experts' first product {name}", first, gates)
    launch("gate", (tokens * experts_per_token,), [first[:, :inner], first[:, inner:], second, *constants(64)])
    gated = _gated(Bounded.exact(first[:, :inner]), Bounded.exact(first[:, inner:])).stored(dtype)
    yield compare(f"experts' gates {name}", second, gated)
    launch(
        "expert_matmul", (len(owners) * tiles(hidden, tile[1]),),
        [second, down, third, weights, order, owners, 1, *constants(True, *tile)],
    )  # fmt: skip
    products = _expert_products(Bounded.exact(second), down, flat)
    yield compare(f"experts' second product {name}", third, (products * weights[:, None]).stored(dtype))


def _by_expert(ids: np.ndarray, tile: int, experts: int) -> tuple[np.ndarray, np.ndarray]:
    """The token replicas sorted by expert, padded to whole tiles per expert, and the expert of each tile."""
    flat, order, owners = ids.reshape(-1), [], []
    for expert in range(experts):
        own_tokens = np.flatnonzero(flat == expert)
        blocks = tiles(len(own_tokens), tile)
        order += [*own_tokens, *[flat.size] * (blocks * tile - len(own_tokens))]
        owners += [expert] * blocks
    return np.array(order, np.int32), np.array(owners, np.int32)


def _expert_products(rows: Bounded, weights: np.ndarray, experts: np.ndarray) -> Bounded:
    product = rows[:, None, :] @ np.swapaxes(weights.astype(np.float64), 1, 2)[experts]
    return product[:, 0, :]


def _gated(gate: Bounded, up: Bounded) -> Bounded:
    return gate * (Bounded.exact(1.0) / (Bounded.exact(1.0) + (-gate).exp())).rounded(APPROXIMATE) * up
