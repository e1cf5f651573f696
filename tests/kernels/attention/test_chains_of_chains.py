"""A recurrence whose chains of products need tiles of each other has the results of numpy, with roles and without room.

state = state + K^T (V - W state), and R = Q state + (Q K^T * G) (V - W state): threads of one role fill operands that
threads of another role multiply. Rows of the matrices have one element that is not zero, so that all sums are exact.
"""

from __future__ import annotations

import numpy as np
import pytest
from compare import assert_within, run_everywhere

import tilec as ct
from tilec.lowering.target import TARGETS

ROWS = 64
STEPS = 3
ONE_ROLE = "one role computes all chains of products: the operands of several roles need "


@ct.kernel
def recurrence(Q, K, W, V, G, R, S, steps: int, rows: ct.Constant[int], width: ct.Constant[int]):
    state = ct.zeros((width, width), ct.float32)
    for step in range(steps):
        w = ct.load(W, (step, 0), (rows, width)).astype(ct.float32)
        change = ct.load(V, (step, 0), (rows, width)).astype(ct.float32) - product(w, state)
        q = ct.load(Q, (step, 0), (rows, width)).astype(ct.float32) * 2
        k = ct.load(K, (step, 0), (rows, width)).astype(ct.float32)
        g = ct.load(G, step, rows)
        scores = product(q, k.transpose()) * g[None, :] * g[:, None]
        ct.store(R, (step, 0), product(q * g[:, None], state) + product(scores, change))
        state = state + product((k * g[:, None]).transpose(), change)
    ct.store(S, (0, 0), state)


def product(a, b):
    return ct.matmul(a.astype(ct.tfloat32), b.astype(ct.tfloat32)).astype(ct.float32)


def inputs(width: int) -> list[np.ndarray]:
    random = np.random.default_rng(width)
    arrays = [np.zeros((STEPS * ROWS, width), np.float16) for _ in range(4)]
    for array in arrays:
        rows = np.arange(len(array))
        array[rows, (rows * 3 + random.integers(0, width)) % width] = random.choice([-1, 1], len(array))
    return [*arrays, random.choice([1, 2], STEPS * ROWS).astype(np.float32)]


def expected(arrays: list[np.ndarray], width: int) -> tuple[np.ndarray, np.ndarray]:
    state, results = np.zeros((width, width)), []
    for step in range(STEPS):
        q, k, w, v, g = (array[step * ROWS : (step + 1) * ROWS].astype(np.float64) for array in arrays)
        change = v - w @ state
        results.append(2 * g[:, None] * q @ state + (2 * q @ k.T * g[None, :] * g[:, None]) @ change)
        state = state + (k * g[:, None]).T @ change
    # Numbers below 2**11 are exact in tf32.
    assert max(abs(array).max() for array in (state, *results)) < 2**11
    return np.concatenate(results), state


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("width", (64, 128))
def test_chains_that_need_each_other_are_exact(width: int, target: str) -> None:
    arrays = inputs(width)
    results = np.zeros((STEPS * ROWS, width), np.float32), np.zeros((width, width), np.float32)
    args = (*arrays, *results, STEPS, ROWS, width)
    for found in run_everywhere(recurrence, (1,), args, (5, 6), target=target, hints={}):
        for array, exact in zip(found, expected(arrays, width), strict=True):
            assert_within(array, exact, 0)


@pytest.mark.parametrize(("width", "has_room"), ((64, True), (128, False)))
def test_one_role_computes_where_roles_have_no_room(width: int, has_room: bool) -> None:
    """On sm_90a three roles need the operands of 128 columns at once; one role reuses their shared memory."""
    arrays = ", ".join(f"{name}: f16[?%16,?%16]" for name in "QKWV")
    text = f"{arrays}, G: f32[?%16], R: f32[?%16,?%16], S: f32[?%16,?%16], steps: i32, rows={ROWS}, width={width}"
    compiled = ct.compile(recurrence, signature=text, target="sm_90a", stop="ptx")
    assert any(remark.message.startswith(ONE_ROLE) for remark in compiled.all_remarks) is not has_room
