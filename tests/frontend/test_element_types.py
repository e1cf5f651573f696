"""Each function of one tile, with each element type: a result, or a message in the words of the program.

The errors of the verifier name operations of Tile IR, which a program does not contain.
"""

from __future__ import annotations

import re
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import tilec as ct
from tilec.errors import TilecError, VerificationError
from tilec.signature import parse

TYPES = """
    bool_ int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 bfloat16 float32 float64 tfloat32 float8_e4m3fn
    float8_e5m2 float8_e8m0fnu float8_e5m3fnu float4_e2m1fn float6_e2m3fn float6_e3m2fn
""".split()
# `t` is a tile of 16 elements of the type T, and `s` a scalar.
_TEXT = """
t == t; t < t; t != 1; t >= 1.0; ct.isnan(t); not t; not s; ~t; -t; +t; abs(t); ct.exp(t); ct.exp2(t); ct.log2(t)
ct.sqrt(t); ct.rsqrt(t); ct.sin(t); ct.tanh(t); ct.floor(t); ct.atan2(t, t); t + t; t + 1; 1.0 - t; t * t; t / t
t // t; t % t; t ** t; t ** 2; 2.0 ** t; t & t; t << t; t >> 1; ct.cdiv(t, t); divmod(t, t); ct.minimum(t, t)
ct.maximum(t, 1); ct.where(t, t, t); ct.where(t == t, t, t); ct.where(t == t, t, 1); ct.where(t == t, 1.0, t)
ct.sum(t); ct.prod(t); ct.max(t); ct.argmax(t, 0); ct.cumsum(t); ct.reduce(t, 0, lambda a, b: a, 0)
ct.reduce(t, 0, lambda a, b: ct.where(a == b, a, b), 1); ct.scan(t, 0, lambda a, b: b, 0); ct.cat((t, t), 0)
ct.reshape(t, (4, 4)); ct.transpose(t.reshape((2, 8))); ct.broadcast_to(t, (2, 16)); ct.extract(t, 0, 4)
ct.insert(t, 0, t); ct.bitcast(t, ct.int8); ct.bitcast(t, ct.uint16); ct.bitcast(t, ct.int32)
ct.bitcast(ct.ones(16, ct.uint8), T); ct.bitcast(ct.ones(16, ct.float32), T); ct.pack_to_bytes(t)
ct.unpack_from_bytes(ct.ones(16, ct.uint8), T); ct.full(16, 1.5, T); ct.arange(16, dtype=T)
ct.arange(16, dtype=T, step=3); T(3); T(1) + T(2); T(1) == T(2); T(1) < 2.0; t == T(1); t + T(1); -T(1); abs(T(1))
bool(T(1)); not T(1); 1 if s else 2; 1 if s == 1 else 2
ct.mma(t.reshape((4, 4)), t.reshape((4, 4)), ct.zeros((4, 4), ct.float32)); t.reshape((4, 4)) @ t.reshape((4, 4))
ct.gather(y, t); ct.gather(y, ct.arange(16, dtype=ct.int32), padding_value=T(1)); ct.load(y, s, (16,))
ct.store(y, 0, t); ct.scatter(y, ct.arange(16, dtype=ct.int32), t); ct.atomic_add(y, 0, s)
ct.astile((1, 2), dtype=T); ct.print(t); ct.printf("%d", s); ct.printf("%f", s); print(f"{s:.2f}"); ct.assert_(t)
t.astype(ct.int8); t.astype(ct.uint64); t.astype(ct.float64); t.astype(ct.float8_e5m2); t.astype(ct.tfloat32)
t.astype(ct.float4_e2m1fn); t.astype(ct.float6_e2m3fn); t.astype(ct.bool_); ct.ones(16, ct.int32).astype(T)
ct.ones(16, ct.bool_).astype(T); ct.bid(s); ct.assume_divisible_by(s, 4)
"""
EXPRESSIONS = [text.strip() for line in _TEXT.strip().splitlines() for text in line.split(";")]


@pytest.mark.filterwarnings("ignore::tilec.ConstantWarning")
@pytest.mark.parametrize("dtype", TYPES)
def test_no_error_of_the_verifier(dtype: str, tmp_path: Path) -> None:
    rounding = ", rounding_mode=ct.RoundingMode.RZ" if dtype == "float8_e8m0fnu" else ""
    head = f"    T = ct.{dtype}\n    t = ct.ones(16, ct.float32).astype(T{rounding})\n"
    # Not all types have scalars.
    scalar = "    s = ct.extract(t, 0, 1).item()\n"
    bodies = (head + scalar * bool(re.search(r"\bs\b", text)) + f"    {text}\n" for text in EXPRESSIONS)
    kernels = (f"@ct.kernel\ndef kernel{number}(y):\n{body}" for number, body in enumerate(bodies))
    path = tmp_path / "kernels.py"
    path.write_text("import tilec as ct\n" + "".join(kernels))
    names: dict[str, ct.Kernel] = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    translated = 0
    for number, expression in enumerate(EXPRESSIONS):
        try:
            names[f"kernel{number}"].to_tile(parse("y: i32[16]"))
            translated += 1
        except TilecError as error:
            assert not isinstance(error, VerificationError) and "kernels.py:" in str(error), (expression, str(error))
    assert translated > 25


@ct.kernel
def compared(x, y, out, dtype: ct.Constant):
    a, b = ct.load(x, 0, (8,)).astype(dtype), ct.load(y, 0, (8,)).astype(dtype)
    ct.store(out, (0, 0), (a < b).reshape((1, 8)))
    ct.store(out, (1, 0), (a == b).reshape((1, 8)))
    ct.store(out, (2, 0), (a != b).reshape((1, 8)))
    ct.store(out, (3, 0), (a >= 1.0).reshape((1, 8)))
    ct.store(out, (4, 0), ct.isnan(a).reshape((1, 8)))
    ct.store(out, (5, 0), a.astype(ct.bool_).reshape((1, 8)))
    ct.store(out, (6, 0), (not b).reshape((1, 8)))
    ct.store(out, (7, 0), (ct.where(a == b, a, b).astype(ct.float32) == 1).reshape((1, 8)))


NARROW = [
    (ct.float8_e4m3fn, ml_dtypes.float8_e4m3fn),
    (ct.float8_e5m2, ml_dtypes.float8_e5m2),
    (ct.float4_e2m1fn, ml_dtypes.float4_e2m1fn),
    (ct.float6_e2m3fn, ml_dtypes.float6_e2m3fn),
    (ct.tfloat32, np.float32),
]


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
@pytest.mark.parametrize(("dtype", "numpy_type"), NARROW, ids=lambda value: getattr(value, "name", ""))
def test_floats_without_arithmetic_are_compared(
    dtype: ct.DType, numpy_type: type, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILEC_TARGET", target)
    x = np.array([0, -0.0, 1, -1, 2, 0.5, 1, 4], np.float32)
    y = np.array([-0.0, 0, 1, 1, -2, 1.5, 0, np.nan if "float8" in dtype.name else 2], np.float32)
    a, b = (array.astype(numpy_type).astype(np.float32) for array in (x, y))
    rows = [a < b, a == b, a != b, a >= 1, np.isnan(a), a != 0, b == 0, np.where(a == b, a, b) == 1]
    for backend in ("interpret", "simulate"):
        out = np.zeros((8, 8), np.bool_)
        ct.launch(None, 1, compared, (x, y, out, dtype), backend=backend)
        assert out.tolist() == np.array(rows).tolist()


@ct.kernel
def negated(x, flags, out):
    ct.store(out, 0, not ct.load(x, 0, (8,)))
    ct.store(out, 1, not ct.load(flags, 0, (8,)))
    ct.store(out, 2, not not ct.load(x, 0, (8,)))


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
@pytest.mark.parametrize("dtype", [np.int8, np.uint32, np.float16, np.float32])
def test_not_of_a_tile_is_by_element(dtype: type, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in cuTile Python; `not` of a scalar is the same as before."""
    monkeypatch.setenv("TILEC_TARGET", target)
    x = np.array([0, 1, 2, 3, 0, 100, 0, 7]).astype(dtype)
    if x.dtype.kind == "f":
        x[1:4] = np.nan, 0.5, -0.0
    flags = np.arange(8) % 3 == 0
    for backend in ("interpret", "simulate"):
        out = np.zeros(24, np.bool_)
        ct.launch(None, 1, negated, (x, flags, out), backend=backend)
        assert out.tolist() == [*(x == 0).tolist(), *(~flags).tolist(), *(x != 0).tolist()]


@ct.kernel
def powers(exponents, out, kind: ct.Constant):
    base, exponent = ct.full(8, -1, kind), ct.load(exponents, 0, (8,))
    ct.store(out, 0, (base**exponent).astype(ct.float32))
    ct.store(out, 1, (kind(-1) ** exponent).astype(ct.float32))
    ct.store(out, 2, ct.pow(base, exponent.astype(ct.int64)).astype(ct.float32))
    ct.store(out, 3, (base**2049).astype(ct.float32))
    ct.store(out, 4, (base ** ct.int16(257)).astype(ct.float32))


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
@pytest.mark.parametrize("kind", [ct.bfloat16, ct.float16], ids=str)
def test_integer_exponents_are_not_rounded(kind: ct.DType, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """bfloat16 has no 257, and float16 no 2049: rounded to these types, odd exponents are even."""
    monkeypatch.setenv("TILEC_TARGET", target)
    exponents = np.array([0, 3, 256, 257, 2049, 65521, 100003, -257], np.int32)
    signs = [1.0 if exponent % 2 == 0 else -1.0 for exponent in exponents.tolist()]
    for backend in ("interpret", "simulate"):
        out = np.zeros(40, np.float32)
        ct.launch(None, 1, powers, (exponents, out, kind), backend=backend)
        assert out.tolist() == 3 * signs + 16 * [-1.0]


@ct.kernel
def six_bits(out):
    values = ct.astile((0.5, 1, 1.5, -2), dtype=ct.float6_e3m2fn)
    ct.store(out, 0, values.astype(ct.float32))


def test_tile_of_constants_of_six_bits() -> None:
    for backend in ("interpret", "simulate"):
        out = np.zeros(4, np.float32)
        ct.launch(None, 1, six_bits, (out,), backend=backend)
        assert out.tolist() == [0.5, 1, 1.5, -2]
