"""Accumulators that multiplies scale by a power of two: exact sums, the instructions that scale, and those that do not.

The elements are small integers, so that each sum is a multiple of the last power of two, and exact.
"""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from compare import run_everywhere

import tilec
import tilec as ct
from tilec.dialect.assembly.printer import print_module
from tilec.dialect.bytecode.writing.writer import write_module
from tilec.errors import TilecError
from tilec.runtime.cubin.cubin import assemble
from tilec.signature import Signature

Const = ct.Constant[int]
STEPS, DEPTH = 4, 64
# scale-input-d follows the predicate that says whether the multiply accumulates.
SCALED = re.compile(r"tcgen05\.mma\.cta_group::\d\.kind::\w+(?:\.collector::a::\w+)? [^;]*, %p\d+, (\d+);")


@ct.kernel
def decayed(A, B, C, tm: Const, tn: Const, tk: Const, decay: ct.Constant[float]):
    total = ct.zeros((tm, tn), C.dtype)
    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):
        a, b = ct.load(A, (ct.bid(0), k), (tm, tk)), ct.load(B, (k, ct.bid(1)), (tk, tn))
        total = ct.mma(a, b, total * decay)
    ct.store(C, (ct.bid(0), ct.bid(1)), total)


@ct.kernel
def decayed_tf32(A, B, C, tm: Const, tn: Const, tk: Const, decay: ct.Constant[float]):
    total = ct.zeros((tm, tn), C.dtype)
    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):
        a, b = ct.load(A, (ct.bid(0), k), (tm, tk)), ct.load(B, (k, ct.bid(1)), (tk, tn))
        total = ct.mma(a.astype(ct.tfloat32), b.astype(ct.tfloat32), total * decay)
    ct.store(C, (ct.bid(0), ct.bid(1)), total)


@ct.kernel
def quarters(A, B, C, tm: Const, tn: Const, tk: Const):
    """The factor is the first operand, and the sums start with the elements of C."""
    total = ct.load(C, (ct.bid(0), ct.bid(1)), (tm, tn))
    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):
        a, b = ct.load(A, (ct.bid(0), k), (tm, tk)), ct.load(B, (k, ct.bid(1)), (tk, tn))
        total = ct.mma(a, b, ct.full((tm, tn), 0.25, dtype=ct.float32) * total)
    ct.store(C, (ct.bid(0), ct.bid(1)), total)


@ct.kernel
def divided(A, B, C, tm: Const, tn: Const, tk: Const):
    total = ct.zeros((tm, tn), C.dtype)
    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):
        a, b = ct.load(A, (ct.bid(0), k), (tm, tk)), ct.load(B, (k, ct.bid(1)), (tk, tn))
        total = ct.mma(a, b, total / 4.0)
    ct.store(C, (ct.bid(0), ct.bid(1)), total)


@ct.kernel
def pieces(A, D, B, E, C, tm: Const, tn: Const, tk: Const):
    """(A + D / 256) @ (B + E / 256) without D @ E: the products of the small pieces are added first, and scaled."""
    total = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):
        a, d = ct.load(A, (ct.bid(0), k), (tm, tk)), ct.load(D, (ct.bid(0), k), (tm, tk))
        b, e = ct.load(B, (k, ct.bid(1)), (tk, tn)), ct.load(E, (k, ct.bid(1)), (tk, tn))
        total = ct.mma(d, b, ct.mma(a, e, total * 2.0**8))
        total = ct.mma(a, b, total * 2.0**-8)
    ct.store(C, (ct.bid(0), ct.bid(1)), total)


@ct.kernel
def read_again(A, B, C, D, tm: Const, tn: Const, tk: Const):
    """Registers need the scaled sums too."""
    total = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):
        a, b = ct.load(A, (0, k), (tm, tk)), ct.load(B, (k, 0), (tk, tn))
        scaled = total * 0.25
        ct.store(D, (k, 0), scaled)
        total = ct.mma(a, b, scaled)
    ct.store(C, (0, 0), total)


def operands(rows: int, columns: int, dtype: Any = np.float16) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(11)
    return tuple(random.integers(-2, 3, shape).astype(dtype) for shape in ((rows, 256), (256, columns)))


def sums(a: np.ndarray, b: np.ndarray, decay: float, start: np.ndarray | float = 0.0) -> np.ndarray:
    total = start
    for k in range(0, a.shape[1], DEPTH):
        total = total * decay + a[:, k : k + DEPTH].astype(float) @ b[k : k + DEPTH].astype(float)
    return total


def ptx_of(kernel: Any, args: tuple[Any, ...], target: str, **hints: Any) -> str:
    signature = Signature.from_arguments(kernel, args)
    return tilec.compile(kernel, target=target, signature=signature, hints=hints, stop="ptx").ptx


def check(kernel: Any, args: tuple[Any, ...], number: int, grid: Any, exact: np.ndarray, target: str, **hints) -> None:
    assert not (exact * 2**20 % 1).any() and np.abs(exact).max() < 2**11  # exact in the sums of both targets
    for (found,) in run_everywhere(kernel, grid, args, (number,), target=target, hints=hints, seeds=(0, 1)):
        np.testing.assert_array_equal(found, exact)


@pytest.mark.parametrize("tile", [(128, 64), (64, 64), (128, 256), (128, 512), (256, 128)], ids=str)
def test_a_constant_decay(tile: tuple[int, int], target: str) -> None:
    a, b = operands(256, 512)
    args = (a, b, np.zeros((256, 512), np.float32), *tile, DEPTH, 0.25)
    check(decayed, args, 2, (256 // tile[0], 512 // tile[1]), sums(a, b, 0.25), target)
    found = SCALED.findall(ptx_of(decayed, args, target))
    assert set(found) == ({"2"} if target == "sm_100a" else set())


@pytest.mark.parametrize("kernel", [quarters, divided], ids=["first operand", "division"])
def test_other_words(kernel: Any, target: str) -> None:
    a, b = operands(128, 128)
    c = np.random.default_rng(2).integers(-3, 4, (128, 128)).astype(np.float32)
    args = (a, b, c, 128, 128, DEPTH)
    check(kernel, args, 2, (1, 1), sums(a, b, 0.25, c if kernel is quarters else 0.0), target)
    assert ("2" in SCALED.findall(ptx_of(kernel, args, target))) == (target == "sm_100a")


@pytest.mark.parametrize("ctas", [2, 4])
def test_clusters(ctas: int, target: str) -> None:
    a, b = operands(256, 256)
    args = (a, b, np.zeros((256, 256), np.float32), 256, 256, DEPTH, 0.5)
    check(decayed, args, 2, (1, 1), sums(a, b, 0.5), target, num_ctas=ctas)
    ptx = ptx_of(decayed, args, target, num_ctas=ctas)
    assert target != "sm_100a" or "cta_group::2" in ptx and set(SCALED.findall(ptx)) == {"1"}


@pytest.mark.parametrize(
    ("dtype", "is_scaled"),
    [(ml_dtypes.bfloat16, True), (np.float32, True), (ml_dtypes.float8_e4m3fn, False)],
    ids=["bf16", "tf32", "e4m3"],
)
def test_kinds(dtype: Any, is_scaled: bool, target: str) -> None:
    """PTX ISA 9.7.16.10.9: kinds f16 and tf32 alone have scale-input-d."""
    a, b = operands(128, 64, dtype)
    args = (a, b, np.zeros((128, 64), np.float32), 128, 64, DEPTH, 0.125)
    kernel = decayed_tf32 if dtype is np.float32 else decayed
    check(kernel, args, 2, (1, 1), sums(a, b, 0.125), target)
    assert SCALED.findall(ptx_of(kernel, args, "sm_100a")) == (["3"] if is_scaled else [])


@pytest.mark.parametrize("power", [0, 1, 15, 16, -1])
def test_powers(power: int, target: str) -> None:
    """1 is not a factor; the instruction has the powers from 2**-1 to 2**-15."""
    a, b = operands(128, 64)
    a[:, DEPTH:-DEPTH] = 0
    # Multiples of 2**14, so that the scaled sums are integers.
    a[:, :DEPTH] = np.where(np.arange(DEPTH) % 8, 0, a[:, :DEPTH]) * 2**14 if power > 8 else a[:, :DEPTH]
    steps = 2 if power > 8 else STEPS
    a, b = np.ascontiguousarray(a[:, : DEPTH * steps]), np.ascontiguousarray(b[: DEPTH * steps])
    args = (a, b, np.zeros((128, 64), np.float32), 128, 64, DEPTH, 2.0**-power)
    exact = sums(a, b, 2.0**-power)
    for (found,) in run_everywhere(decayed, (1, 1), args, (2,), target=target, hints={}, seeds=(0,)):
        np.testing.assert_array_equal(found, exact)
    assert SCALED.findall(ptx_of(decayed, args, "sm_100a")) == ([str(power)] if 1 <= power <= 15 else [])


@pytest.mark.parametrize("decay", [0.3, -0.25, 0.75])
def test_other_factors_multiply_in_registers(decay: float) -> None:
    a, b = operands(128, 64)
    assert not SCALED.findall(
        ptx_of(decayed, (a, b, np.zeros((128, 64), np.float32), 128, 64, DEPTH, decay), "sm_100a")
    )


def test_sums_in_f16_multiply_in_registers(target: str) -> None:
    """Half of a sum in f16 is often subnormal."""
    a, b = operands(128, 64)
    args = (a, b, np.zeros((128, 64), np.float16), 128, 64, DEPTH, 0.5)
    check(decayed, args, 2, (1, 1), sums(a, b, 0.5), target)
    assert not SCALED.findall(ptx_of(decayed, args, "sm_100a"))


def test_pieces_of_wider_numbers(target: str) -> None:
    """The sum of the products of pieces, without those of two small ones."""
    a, b = operands(128, 128, ml_dtypes.bfloat16)
    d, e = (each[::-1].copy() for each in (a, b))
    args = (a, d, b, e, np.zeros((128, 128), np.float32), 128, 128, DEPTH)
    wide = [each.astype(float) for each in (a, d, b, e)]
    exact = wide[0] @ wide[2] + (wide[1] @ wide[2] + wide[0] @ wide[3]) / 256
    check(pieces, args, 4, (1, 1), exact, target)
    assert target != "sm_100a" or SCALED.findall(ptx_of(pieces, args, target)) == ["8"]


def test_registers_that_need_the_scaled_sums(target: str) -> None:
    a, b = operands(128, 64)
    args = (a, b, np.zeros((128, 64), np.float32), np.zeros((128 * STEPS, 64), np.float32), 128, 64, DEPTH)
    exact = [sums(a[:, : k * DEPTH], b[: k * DEPTH], 0.25, np.zeros((128, 64))) for k in range(STEPS + 1)]
    for total, scaled in run_everywhere(read_again, (1,), args, (2, 3), target=target, hints={}, seeds=(0, 1)):
        np.testing.assert_array_equal(total, exact[-1])
        np.testing.assert_array_equal(scaled, np.concatenate(exact[:-1]) * 0.25)


@pytest.mark.parametrize("form", ["text", "bytecode"])
def test_tile_ir(form: str, target: str, tmp_path: Any) -> None:
    a, b = operands(128, 128)
    args = (a, b, np.zeros((128, 128), np.float32), 128, 128, DEPTH, 0.25)
    signature = Signature.from_arguments(decayed, args)
    module = tilec.compile(decayed, target=target, signature=signature, stop="tile").stages[0].value
    source = tmp_path / ("kernel.tile.mlir" if form == "text" else "kernel.tileirbc")
    source.write_bytes(print_module(module).encode() if form == "text" else write_module(module))
    compiled = tilec.compile(str(source), target=target, stop="ptx")
    # A kernel of bytecode has pointers, extents and strides.
    flat = [value for x in args[:3] for value in (x, *x.shape, *(stride // x.itemsize for stride in x.strides))]
    tilec.run(compiled, (1, 1), args if form == "text" else flat, backend="simulate", seed=0)
    np.testing.assert_array_equal(args[2], sums(a, b, 0.25))
    assert set(SCALED.findall(compiled.ptx)) == ({"2"} if target == "sm_100a" else set())


@pytest.mark.parametrize("dtype", [np.float16, np.float32], ids=["f16", "tf32"])
@pytest.mark.parametrize("ctas", [1, 2])
def test_ptxas_accepts_the_ptx(dtype: Any, ctas: int) -> None:
    a, b = operands(256, 256, dtype)
    kernel = decayed_tf32 if dtype is np.float32 else decayed
    ptx = ptx_of(kernel, (a, b, np.zeros((256, 256), np.float32), 256, 256, 32, 0.5), "sm_100a", num_ctas=ctas)
    assert SCALED.findall(ptx) and assemble(ptx, "sm_100a").warnings == ()


def test_changed_scales_are_noticed() -> None:
    """One power of two more or less, none, and a scale of the second step along K too."""
    a, b = operands(128, 64)
    exact, result = sums(a, b, 0.25), np.zeros((128, 64), np.float32)
    args = (a, b, result, 128, 64, DEPTH, 0.25)
    signature = Signature.from_arguments(decayed, args)
    artifact = tilec.compile(decayed, target="sm_100a", signature=signature, stop="ptx").artifact

    def is_right(ptx: str) -> bool:
        result[:] = 0
        try:
            tilec.run(dataclasses.replace(artifact, ptx=ptx), (1, 1), args, backend="simulate", seed=0)
        except TilecError:
            return False
        return np.array_equal(result, exact)

    (scaled,) = [match.group() for match in SCALED.finditer(artifact.ptx)]
    plain = next(m.group() for m in re.finditer(r"tcgen05\.mma\.[^;]*;", artifact.ptx) if m.group() != scaled)
    mutants = [artifact.ptx.replace(scaled, scaled.replace(", 2;", changed)) for changed in (", 1;", ", 3;", ";")]
    mutants.append(artifact.ptx.replace(plain, plain.replace(";", ", 2;")))
    assert is_right(artifact.ptx) and len({*mutants, artifact.ptx}) == 5
    assert not any(map(is_right, mutants))
