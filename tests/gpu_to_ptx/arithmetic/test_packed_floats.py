"""Pairs of f32 are computed by one instruction on sm_100a, with the bits of the scalar instructions."""

from __future__ import annotations

import re

import numpy as np
import pytest
from reductions import reduce, yields
from simulated import elementwise, ptx_of, run_ptx, tile

from tilec.lowering.layout.blocked import blocked
from tilec.lowering.layout.linear_layout import LinearLayout

LAYOUT = blocked((16, 64), 4, 1, 4)
TILE = tile("f32", LAYOUT)
SPECIAL = [0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan, 1e-45, -1e-40, 1.17549435e-38, 3.4e38, -3.4e38, 1 / 3]


def numbers(seed: int) -> np.ndarray:
    """Special numbers in every combination, then numbers of all magnitudes."""
    random = np.random.default_rng(seed)
    bits = random.integers(0, 2**32, LAYOUT.size, dtype=np.uint32).view(np.float32)
    special = np.array(SPECIAL, np.float32)
    bits[: special.size**2] = np.repeat(special, special.size) if seed else np.tile(special, special.size)
    return bits.reshape(LAYOUT.shape)


def binary(name: str) -> str:
    return f"%y = {name} %x0, %x1 : {TILE}"


def function(name: str, count: int = 2) -> str:
    """%y = name of %x0 to %x{count - 1}."""
    sizes = ", ".join(["1"] * count + ["0"] * (32 - count))
    operands = ", ".join(f"%x{i}" for i in range(count))
    attributes = f'function = "{name}", operandSegmentSizes = array<i32: {sizes}>'
    return f'%y = "tile_gpu.math"({operands}) {{{attributes}}} : ({", ".join([TILE] * count)}) -> {TILE}'


OPERATIONS = {
    "add": (binary("arith.addf"), 2, "add.rn.f32x2"),
    "sub": (binary("arith.subf"), 2, "fma.rn.f32x2"),
    "mul": (binary("arith.mulf"), 2, "mul.rn.f32x2"),
    "fma": (f"%y = math.fma %x0, %x1, %x2 : {TILE}", 3, "fma.rn.f32x2"),
    "add.rz": (function("add.rz"), 2, "add.rz.f32x2"),
    "sub.rm": (function("sub.rm"), 2, "fma.rm.f32x2"),
    "sub.rp.ftz": (function("sub.rp.ftz"), 2, "fma.rp.ftz.f32x2"),
    "mul.rn.ftz": (function("mul.rn.ftz"), 2, "mul.rn.ftz.f32x2"),
    "fma.rn.ftz": (function("fma.rn.ftz", 3), 3, "fma.rn.ftz.f32x2"),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_bits_are_those_of_scalars(name):
    """The kernel for sm_90a has scalar instructions."""
    body, count, packed = OPERATIONS[name]
    arrays = [numbers(seed) for seed in range(count)]
    results = []
    for target in ("sm_100a", "sm_90a"):
        ptx = ptx_of(elementwise(body, [("f32", LAYOUT)] * count, ("f32", LAYOUT), target=target))
        assert ptx.count(packed) == (4 if target == "sm_100a" else 0)
        result = np.zeros(LAYOUT.shape, np.float32)
        run_ptx(ptx, [*arrays, result])
        results.append(result.view(np.uint32))
    assert np.array_equal(*results)


def test_a_sum_is_that_of_numpy():
    """1/3 and neighbours: every sum is rounded once."""
    a, b = (np.random.default_rng(seed).standard_normal(LAYOUT.shape).astype(np.float32) for seed in range(2))
    result = np.zeros_like(a)
    run_ptx(ptx_of(elementwise(binary("arith.addf"), [("f32", LAYOUT)] * 2, ("f32", LAYOUT))), [a, b, result])
    assert np.array_equal(result, a + b)


def instructions(body: str, count: int) -> list[str]:
    ptx = ptx_of(elementwise(body, [("f32", LAYOUT)] * count, ("f32", LAYOUT)))
    return re.findall(r"(?:add|sub|mul|fma)\.rn\.f32(?:x2)?", ptx)


def test_products_are_not_added_as_pairs():
    """ptxas 13.0 contracts mul.rn.f32x2 and add.rn.f32x2; it keeps both roundings of the other forms."""
    product = f"%p = arith.mulf %x0, %x1 : {TILE}\n"
    assert set(instructions(product + f"%y = arith.addf %p, %x2 : {TILE}", 3)) == {"mul.rn.f32x2", "add.rn.f32"}
    assert set(instructions(product + f"%y = arith.subf %p, %x2 : {TILE}", 3)) == {"mul.rn.f32x2", "fma.rn.f32x2"}
    negated = product + f"%n = arith.negf %p : {TILE}\n%y = arith.addf %n, %x2 : {TILE}"
    assert set(instructions(negated, 3)) == {"mul.rn.f32x2", "add.rn.f32"}
    unchanged = product + f"%z = arith.constant dense<-0.0> : {TILE}\n%s = arith.subf %p, %z : {TILE}\n"
    assert "add.rn.f32" in instructions(unchanged + f"%y = arith.addf %s, %x2 : {TILE}", 3)
    twice = f"%s = arith.addf %x0, %x1 : {TILE}\n%y = arith.addf %s, %x2 : {TILE}"
    assert set(instructions(twice, 3)) == {"add.rn.f32x2"}


def test_a_value_of_a_loop_may_be_a_product():
    loop = f"""%c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c3 = arith.constant 3 : i32
    %y = scf.for %i = %c0 to %c3 step %c1 iter_args(%t = %x0) -> ({TILE}) : i32 {{
      %s = arith.addf %t, %x1 : {TILE}
      %p = arith.mulf %s, %x1 : {TILE}
      scf.yield %p : {TILE}
    }}"""
    assert set(instructions(loop, 2)) == {"mul.rn.f32x2", "add.rn.f32"}


def test_intermediate_pairs_stay_in_64_bit_registers():
    """Two of three results are used by packed instructions only: loads are packed and stores unpacked, nothing else."""
    ptx = ptx_of(
        elementwise(
            f"%s = arith.subf %x0, %x1 : {TILE}\n%y = arith.mulf %s, %s : {TILE}",
            [("f32", LAYOUT)] * 2,
            ("f32", LAYOUT),
        )
    )
    assert len(re.findall(r"mov\.b64 %rd\d+, \{", ptx)) == 8
    assert len(re.findall(r"mov\.b64 \{", ptx)) == 4


ROW = LinearLayout(
    tuple((0, 1 << bit) for bit in range(6)), tuple((1 << bit, 0) for bit in range(5)), ((0, 0), (0, 0)), (32, 64)
)


def reduction(operation: str, target: str) -> str:
    body = f"%s = {operation} %e0, %acc0 : f32\n" + yields("%s", ["f32"])
    result = ROW.drop(1)
    text = reduce("%y", "%x0", [tile("f32", ROW)], [tile("f32", result)], ["f32"], body, 1)
    return ptx_of(elementwise(text, [("f32", ROW)], ("f32", result), target=target))


@pytest.mark.parametrize(
    ("operation", "oracle"),
    [
        ("arith.maximumf", np.max),
        ("arith.minimumf", np.min),
        ("arith.maxnumf", np.nanmax),
        ("arith.minnumf", np.nanmin),
    ],
)
def test_extrema_of_a_row_take_three_at_a_time(operation, oracle):
    """64 numbers of a thread: 31 instructions of three and one of two, and no shuffle."""
    ptx = reduction(operation, "sm_100a")
    name = {"arith.maximumf": "max.NaN", "arith.minimumf": "min.NaN"}.get(operation, operation[6:9])
    found = re.findall(rf"{name}\.f32 ((?:%f\d+(?:, )?)+);", ptx)
    assert sorted(text.count("%") for text in found) == [3] + [4] * 31 and "shfl" not in ptx
    x = np.random.default_rng(3).standard_normal(ROW.shape).astype(np.float32)
    x[5, 17], x[6, 63], x[7, :8] = np.nan, np.inf, -0.0
    result = np.zeros(32, np.float32)
    run_ptx(ptx, [x, result])
    assert np.array_equal(result, oracle(x, axis=1), equal_nan=True)


def test_sum_of_a_row_adds_pairs():
    """64 numbers of a thread: 31 sums of pairs, and the sum of both halves."""
    ptx = reduction("arith.addf", "sm_100a")
    assert (ptx.count("add.rn.f32x2"), len(re.findall(r"add\.rn\.f32 ", ptx)), "shfl" in ptx) == (31, 1, False)
    x = np.random.default_rng(4).standard_normal(ROW.shape).astype(np.float32)
    result = np.zeros(32, np.float32)
    run_ptx(ptx, [x, result])
    level = x.reshape(32, 32, 2)
    while level.shape[1] > 1:
        level = level[:, 0::2] + level[:, 1::2]
    assert np.array_equal(result, level[:, 0, 0] + level[:, 0, 1])


@pytest.mark.parametrize("operation", ["arith.addf", "arith.maximumf"])
def test_sm_90a_has_neither(operation):
    ptx = reduction(operation, "sm_90a")
    assert "f32x2" not in ptx and not re.search(r"max\.NaN\.f32 (%f\d+, ){3}", ptx)
