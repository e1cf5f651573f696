"""Loops run the right number of iterations for all bounds: the interpreter and PTX agree with Python's range."""

from __future__ import annotations

import random
from functools import cache
from itertools import product

import numpy as np
import pytest

import tilec
import tilec as ct

TYPES = ("i8", "i16", "i32", "i64")
SIGNS = ("", "unsigned ")
# The most iterations of a generated loop.
MOST_TRIPS = 12


def limits(type: str, sign: str) -> tuple[int, int]:
    width = int(type[1:])
    return (0, 2**width - 1) if sign else (-(2 ** (width - 1)), 2 ** (width - 1) - 1)


def trips(lower: int, upper: int, step: int) -> int:
    return max(0, -((lower - upper) // step))


def cases(type: str, sign: str, count: int) -> list[tuple[int, int, int]]:
    """Lower bound, upper bound and step, many of them near the limits of the type and near zero."""
    rng = random.Random(f"{type} {sign}")
    low, high = limits(type, sign)
    half = 2 ** (int(type[1:]) - 1)
    found = [
        (high - 3, high, 1), (high - 3, high, 2), (high - 1, high, high), (low, low, 1), (low, high, high),
        (high, low, 1), (low, low + 3, 1), (low, high, (high - low) // 3 if sign else high),
    ]  # fmt: skip
    found += [(half - 2, half + 2, 1), (half - 1, half + 7, 3)] if sign else [(-2, 3, 1), (-1, 5, 4)]
    while len(found) < count:
        lower = rng.choice((low, high, half - 1, half, 0, rng.randint(low, high))) + rng.randint(-9, 9)
        step = rng.choice((1, 1, 2, 3, rng.randint(1, high), high))
        upper = rng.choice((lower + step * rng.randint(0, MOST_TRIPS) - rng.randint(0, step), high, low))
        if low <= lower <= high and low <= upper <= high and trips(lower, upper, step) <= MOST_TRIPS:
            found.append((lower, upper, step))
    return found


NAMES = ("lower", "upper", "step")


def from_arguments(type: str) -> str:
    """Converts the entry's arguments, which are i64, to bounds of `type`."""
    if type == "i64":
        return "\n".join(f"%{name} = assume div_by<1>, %{name}64 : tile<i64>" for name in NAMES)
    return "\n".join(f"%{name} = trunci %{name}64 : tile<i64> -> tile<{type}>" for name in NAMES)


def from_constants(type: str, bounds: tuple[int, int, int]) -> str:
    low, high = limits(type, "")
    signed = [bound if bound <= high else bound - (high - low + 1) for bound in bounds]
    return "\n".join(
        f"%{name} = constant <{type}: {bound}> : tile<{type}>" for name, bound in zip(NAMES, signed, strict=True)
    )


def counting(type: str, sign: str, bounds: tuple[int, int, int] | None) -> str:
    """Stores the number of iterations and the sum of the counters modulo 2^64; dynamic bounds are i64 arguments."""
    extend = f"%w = exti %i {'unsigned' if sign else 'signed'} : tile<{type}> -> tile<i64>\n" if type != "i64" else ""
    counter = "%w" if extend else "%i"
    setup = from_arguments(type) if bounds is None else from_constants(type, bounds)
    return f"""cuda_tile.module @m {{ entry @k(%p: tile<ptr<i64>>, %lower64: tile<i64>, %upper64: tile<i64>,
        %step64: tile<i64>) {{
      {setup}
      %zero = constant <i64: 0> : tile<i64>
      %one = constant <i64: 1> : tile<i64>
      %n, %s = for {sign}%i in (%lower to %upper, step %step) : tile<{type}>
          iter_values(%c = %zero, %t = %zero) -> (tile<i64>, tile<i64>) {{
        {extend}%d = addi %c, %one : tile<i64>
        %u = addi %t, {counter} : tile<i64>
        continue %d, %u : tile<i64>, tile<i64>
      }}
      %k1 = store_ptr_tko weak %p, %n : tile<ptr<i64>>, tile<i64> -> token
      %q = offset %p, %one : tile<ptr<i64>>, tile<i64> -> tile<ptr<i64>>
      %k2 = store_ptr_tko weak %q, %s : tile<ptr<i64>>, tile<i64> -> token
      return
    }} }}"""


def as_i64(number: int) -> int:
    return (number + 2**63) % 2**64 - 2**63


def counted(program, backend: str, bounds: tuple[int, int, int], **options) -> list[int]:
    out = np.zeros(2, np.int64)
    tilec.run(program, (1,), [out, *map(as_i64, bounds)], backend=backend, **options)
    return out.tolist()


def exact(bounds: tuple[int, int, int]) -> list[int]:
    return [trips(*bounds), as_i64(sum(range(*bounds)))]


@pytest.mark.parametrize("sign", SIGNS, ids=("signed", "unsigned"))
@pytest.mark.parametrize("type", TYPES)
def test_dynamic_bounds(type, sign, target):
    compiled = tilec.compile(tilec.Module.parse(counting(type, sign, None)), target=target, stop="ptx")
    for bounds in cases(type, sign, 40):
        assert counted(compiled, "simulate", bounds, step_limit=200_000) == exact(bounds), bounds
        assert counted(compiled, "interpret", bounds) == exact(bounds), bounds


@pytest.mark.parametrize("sign", SIGNS, ids=("signed", "unsigned"))
@pytest.mark.parametrize("type", TYPES)
def test_constant_bounds(type, sign):
    for bounds in cases(type, sign, 14):
        module = tilec.Module.parse(counting(type, sign, bounds))
        compiled = tilec.compile(module, target="sm_100a", stop="ptx")
        assert counted(compiled, "simulate", bounds, step_limit=200_000) == exact(bounds), bounds


M, N, K = 64, 32, 64


@cache
def accumulating(type: str, sign: str, target: str, roles: bool, pipeline: bool):
    """A loop that adds a product of ones per iteration, whose operands TMA copies: the result counts the iterations."""
    shapes = ((M, K, "f16"), (K, N, "f16"), (M, N, "f32"))
    a, b, c = (f"tensor_view<{rows}x{columns}x{e}, strides=[{columns},1]>" for rows, columns, e in shapes)
    va, vb, vc = (
        f"partition_view<tile=({rows}x{columns}), {view}>"
        for (rows, columns, _), view in zip(shapes, (a, b, c), strict=True)
    )
    ta, tb, tc = (f"tile<{rows}x{columns}x{e}>" for rows, columns, e in shapes)
    text = f"""cuda_tile.module @m {{ entry @k(%a: tile<ptr<f16>>, %b: tile<ptr<f16>>, %c: tile<ptr<f32>>,
        %lower64: tile<i64>, %upper64: tile<i64>, %step64: tile<i64>) {{
      {from_arguments(type)}
      %a1 = assume div_by<16>, %a : tile<ptr<f16>>
      %b1 = assume div_by<16>, %b : tile<ptr<f16>>
      %z = constant <i32: 0> : tile<i32>
      %zero = constant <f32: 0.0> : {tc}
      %ta = make_tensor_view %a1, shape = [{M},{K}], strides = [{K},1] : {a}
      %va = make_partition_view %ta : {va}
      %tb = make_tensor_view %b1, shape = [{K},{N}], strides = [{N},1] : {b}
      %vb = make_partition_view %tb : {vb}
      %tc = make_tensor_view %c, shape = [{M},{N}], strides = [{N},1] : {c}
      %vc = make_partition_view %tc : {vc}
      %r = for {sign}%i in (%lower to %upper, step %step) : tile<{type}> iter_values(%q = %zero) -> ({tc}) {{
        %x, %k1 = load_view_tko weak %va[%z,%z] : {va}, tile<i32> -> {ta}, token
        %y, %k2 = load_view_tko weak %vb[%z,%z] : {vb}, tile<i32> -> {tb}, token
        %w = mmaf %x, %y, %q : {ta}, {tb}, {tc}
        continue %w : {tc}
      }}
      %k3 = store_view_tko weak %r, %vc[%z,%z] : {tc}, {vc}, tile<i32> -> token
      return
    }} }}"""
    hints = {"roles": roles, "pipeline": pipeline}
    compiled = tilec.compile(tilec.Module.parse(text), target=target, stop="ptx", hints=hints)
    assert "cp.async.bulk.tensor" in compiled.ptx
    return compiled


def aligned(count: int, dtype) -> np.ndarray:
    """Zeros at an address that is a multiple of 128 bytes."""
    size = count * np.dtype(dtype).itemsize
    raw = np.zeros(size + 128, np.uint8)
    start = -raw.ctypes.data % 128
    return raw[start : start + size].view(dtype)


@pytest.mark.covering
@pytest.mark.parametrize(("roles", "pipeline"), list(product((True, False), repeat=2)))
@pytest.mark.parametrize("sign", SIGNS, ids=("signed", "unsigned"))
@pytest.mark.parametrize("type", TYPES)
def test_prefetched_copies_match_the_iterations(type, sign, target, roles, pipeline):
    compiled = accumulating(type, sign, target, roles, pipeline)
    a, b, c = aligned(M * K, np.float16), aligned(K * N, np.float16), aligned(M * N, np.float32)
    a[:], b[:] = 1, 1
    for bounds in cases(type, sign, 16):
        c[:] = -1
        tilec.run(compiled, (1,), [a, b, c, *map(as_i64, bounds)], backend="simulate", step_limit=400_000)
        assert np.all(c == K * trips(*bounds)), bounds


@ct.kernel
def loop_that_may_be_left(out, lower64, upper64, step64, most, dtype: ct.Constant, kind: ct.Constant[str]):
    """Stores the number of iterations and the sum of the counters; iteration number `most` ends the loop."""
    lower, upper, step = lower64.astype(dtype), upper64.astype(dtype), step64.astype(dtype)
    visited, total = ct.int64(0), ct.int64(0)
    for i in range(lower, upper, step):
        if visited == most:
            if kind == "return":
                ct.store(out, (0,), visited)
                ct.store(out, (1,), total)
                return
            else:
                break
        visited += 1
        if kind == "continue":
            if visited % 2 == 0:
                continue
        total += i.astype(ct.int64)
    ct.store(out, (0,), visited)
    ct.store(out, (1,), total)


@ct.kernel
def loop_of_constants(
    out, most, lower: ct.Constant[int], upper: ct.Constant[int], step: ct.Constant[int], dtype: ct.Constant
):
    """As above, with constant bounds and `break`."""
    visited, total = ct.int64(0), ct.int64(0)
    for i in range(dtype(lower), dtype(upper), dtype(step)):
        if visited == most:
            break
        visited += 1
        total += i.astype(ct.int64)
    ct.store(out, (0,), visited)
    ct.store(out, (1,), total)


# More iterations than any loop has, and a number that ends most loops early.
NEVER, EARLY = 1_000, 2


def left_after(most: int, bounds: tuple[int, int, int], kind: str) -> list[int]:
    """The number of iterations and the sum of the counters, by Python's range."""
    counters = list(range(*bounds))[:most]
    return [len(counters), as_i64(sum(counters[::2] if kind == "continue" else counters))]


@pytest.mark.covering
@pytest.mark.parametrize("kind", ["break", "return", "continue"])
@pytest.mark.parametrize("sign", SIGNS, ids=("signed", "unsigned"))
@pytest.mark.parametrize("type", TYPES)
def test_range_that_may_be_left(type, sign, kind, target):
    dtype = f"{'u' if sign else 'i'}{type[1:]}"
    signature = f"out: i64[?], lower64: i64, upper64: i64, step64: i64, most: i32, dtype={dtype}, kind='{kind}'"
    compiled = tilec.compile(loop_that_may_be_left, signature=signature, target=target, stop="ptx")
    for bounds in cases(type, sign, 20):
        for backend, most in product(("simulate", "interpret"), (NEVER, EARLY)):
            out = np.zeros(2, np.int64)
            settings = {"step_limit": 200_000} if backend == "simulate" else {}
            tilec.run(compiled, (1,), [out, *map(as_i64, bounds), most], backend=backend, **settings)
            assert out.tolist() == left_after(most, bounds, kind), (bounds, backend)


@pytest.mark.parametrize("sign", SIGNS, ids=("signed", "unsigned"))
@pytest.mark.parametrize("type", TYPES)
def test_constant_range_that_may_be_left(type, sign):
    dtype = f"{'u' if sign else 'i'}{type[1:]}"
    for lower, upper, step in cases(type, sign, 14):
        signature = f"out: i64[?], most: i32, lower={lower}, upper={upper}, step={step}, dtype={dtype}"
        compiled = tilec.compile(loop_of_constants, signature=signature, target="sm_100a", stop="ptx")
        for most in (NEVER, EARLY):
            out = np.zeros(2, np.int64)
            tilec.run(compiled, (1,), [out, most], backend="simulate", step_limit=200_000)
            assert out.tolist() == left_after(most, (lower, upper, step), "break"), (lower, upper, step)
