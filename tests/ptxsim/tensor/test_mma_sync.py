"""mma.sync of f64, a chain of fused multiply-adds, and of 8-bit floats, whose product is added to C at the end."""

from __future__ import annotations

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from tilec.runtime.ptxsim import _native

LANES = np.arange(32)
E4M3, E5M2 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2
NAMES = {E4M3: "e4m3", E5M2: "e5m2"}


def body(instruction: str, operand: str, counts: tuple[int, int], result: str, results: int) -> str:
    """Loads the registers of A, B and C of each lane from p0, p1 and p2, and stores D to p3."""

    def registers(name: str, count: int) -> str:
        return "{" + ", ".join(f"{name}{i}" for i in range(count)) + "}"

    sizes = {"b32": 4, "f32": 4, "f64": 8}
    lines = [f".reg .{operand} a<8>, b<4>;", f".reg .{result} c<4>, d<4>;", "mov.u32 %r0, %tid.x;"]
    groups = [("a", operand, counts[0]), ("b", operand, counts[1]), ("c", result, results), ("d", result, results)]
    for number, (name, type, count) in enumerate(groups):
        lines += [f"ld.param.u64 %rd{number}, [p{number}];", f"mul.wide.u32 %rd9, %r0, {sizes[type] * count};"]
        lines += [f"add.u64 %rd{number}, %rd{number}, %rd9;"]
        if name != "d":
            lines += [f"ld.global.{type} {name}{i}, [%rd{number}+{sizes[type] * i}];" for i in range(count)]
    lists = ", ".join(registers(name, count) for name, _, count in (groups[3], *groups[:3]))
    lines += [f"{instruction} {lists};"]
    lines += [f"st.global.{result} [%rd3+{sizes[result] * i}], d{i};" for i in range(results)]
    return "\n".join(lines)


# The fragments of the manual: PTX ISA 9.7.14.5.1 to 9.7.14.5.8.
def c_fragment(c: np.ndarray) -> np.ndarray:
    return np.stack([c[LANES // 4 + 8 * (i // 2), 2 * (LANES % 4) + i % 2] for i in range(4)], 1)


def from_c_fragment(fragment: np.ndarray) -> np.ndarray:
    c = np.zeros((16, 8), fragment.dtype)
    for i in range(4):
        c[LANES // 4 + 8 * (i // 2), 2 * (LANES % 4) + i % 2] = fragment[:, i]
    return c


def fused_multiply_add(a: float, b: float, c: float) -> float:
    """a * b + c, rounded once: Python rounds the quotient of a fraction to the nearest even f64."""
    return float(Fraction(a) * Fraction(b) + Fraction(c))


@pytest.mark.parametrize("depth", [4, 8, 16])
def test_f64_is_a_chain_of_fused_multiply_adds(simulate, depth):
    rng = np.random.default_rng(depth)
    a, b, c = (rng.standard_normal(shape) * 2.0 ** rng.integers(-30, 30, shape) for shape in
               [(16, depth), (depth, 8), (16, 8)])  # fmt: skip
    left = np.stack([a[LANES // 4 + 8 * (i % 2), LANES % 4 + 4 * (i // 2)] for i in range(depth // 2)], 1)
    right = np.stack([b[LANES % 4 + 4 * i, LANES // 4] for i in range(depth // 4)], 1)
    d = np.zeros((32, 4))
    text = f"mma.sync.aligned.m16n8k{depth}.row.col.f64.f64.f64.f64"
    simulate(body(text, "f64", (depth // 2, depth // 4), "f64", 4), left, right, c_fragment(c), d, target="sm_90a")
    expected = c.copy()
    for k in range(depth):
        expected = np.vectorize(fused_multiply_add)(a[:, k : k + 1], b[k : k + 1], expected)
    np.testing.assert_array_equal(from_c_fragment(d), expected)


def packed(parts: list[np.ndarray]) -> np.ndarray:
    return np.ascontiguousarray(np.stack(parts, -1)).view(np.uint32)[..., 0]


def run_8_bit(simulate, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """D of m16n8k16 or k32 with the types of the arrays."""
    depth = a.shape[1]
    left, right = [], []
    for first in range(0, depth, 16):
        columns = [first + 4 * (LANES % 4) + i for i in range(4)]
        left += [packed([a[LANES // 4 + row, column] for column in columns]) for row in (0, 8)]
        right.append(packed([b[row, LANES // 4] for row in columns]))
    half = c.dtype == np.float16
    sums = c_fragment(c)
    sums = np.ascontiguousarray(sums).view(np.uint32) if half else sums
    d = np.zeros_like(sums)
    types = ".".join(("f16" if half else "f32", NAMES[a.dtype.type], NAMES[b.dtype.type], "f16" if half else "f32"))
    text = f"mma.sync.aligned.m16n8k{depth}.row.col.{types}"
    program = body(text, "b32", (len(left), len(right)), "b32" if half else "f32", 2 if half else 4)
    simulate(program, np.stack(left, 1), np.stack(right, 1), sums, d)
    return from_c_fragment(d.view(np.float16) if half else d)


@pytest.mark.parametrize("result", [np.float32, np.float16])
@pytest.mark.parametrize("depth", [16, 32])
@pytest.mark.parametrize("right", [E4M3, E5M2])
@pytest.mark.parametrize("left", [E4M3, E5M2])
def test_8_bit_floats(simulate, left, right, depth, result):
    rng = np.random.default_rng(depth)
    a, b = rng.integers(-4, 5, (16, depth)).astype(left), rng.integers(-4, 5, (depth, 8)).astype(right)
    c = rng.integers(-4, 5, (16, 8)).astype(result)
    np.testing.assert_array_equal(run_8_bit(simulate, a, b, c), c + a.astype(result) @ b.astype(result))


def test_c_is_added_to_the_rounded_product_of_8_bit_floats(simulate):
    """1 + 3 * 2^-25 rounds up to 1 + 2^-23, where a fused sum would truncate to 1."""
    a, b = np.zeros((16, 32), E5M2), np.zeros((32, 8), E5M2)
    a[:, 0], b[0] = 2.0**-12, 2.0**-12
    a[:, 30], b[30] = 2.0**-13, 2.0**-12
    d = run_8_bit(simulate, a, b, np.ones((16, 8), np.float32))
    np.testing.assert_array_equal(d, np.full((16, 8), 1 + 2.0**-23, np.float32))


def test_infinity_of_8_bit_floats(simulate):
    a, b = np.zeros((16, 32), E5M2), np.ones((32, 8), E5M2)
    a[0, 3], a[1, 2], a[1, 3] = np.inf, np.inf, -np.inf
    d = run_8_bit(simulate, a, b, np.zeros((16, 8), np.float32))
    assert (d[0] == np.inf).all() and np.isnan(d[1]).all() and not d[2:].any()


def test_undefined_register_is_reported(simulate):
    text = body("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64", "f64", (2, 1), "f64", 4)
    text = text.replace("ld.global.f64 b0, [%rd1+0];", "")
    operands = [np.zeros((32, count)) for count in (2, 1, 4, 4)]
    with pytest.raises(_native.Trap, match="b0"):
        simulate(text, *operands)


@pytest.mark.parametrize("shape", ["m8n8k4", "m16n8k32"])
def test_other_shapes_of_f64_are_unsupported(simulate, shape):
    text = body(f"mma.sync.aligned.{shape}.row.col.f64.f64.f64.f64", "f64", (2, 1), "f64", 4)
    with pytest.raises(_native.Trap, match="the simulator does not support mma.sync.aligned."):
        simulate(text, *[np.zeros((32, count)) for count in (2, 1, 4, 4)])
