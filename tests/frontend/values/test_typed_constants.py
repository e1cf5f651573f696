"""Folding typed constants equals the run-time operation and numpy in the same type."""

from __future__ import annotations

import itertools
import math
import re
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tilec as ct
from tilec.ast_to_tile import entry  # noqa: F401  (registers every function)
from tilec.ast_to_tile.operations.arith import binary, invert, negate
from tilec.ast_to_tile.operations.convert import construct
from tilec.ast_to_tile.registry import HANDLERS
from tilec.ast_to_tile.values.constant_value import stored
from tilec.ast_to_tile.values.values import TypedConstant
from tilec.language import datatypes
from tilec.language.datatypes import DType

Function = Callable[[Any, Any], Any]
Interpret = Callable[..., None]

# The functions that kernels, Python and numpy compute.
BINARY: dict[str, Function] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "floordiv": lambda x, y: x // y,
    "mod": lambda x, y: x % y,
    "and": lambda x, y: x & y,
    "or": lambda x, y: x | y,
    "xor": lambda x, y: x ^ y,
    "lshift": lambda x, y: x << y,
    "rshift": lambda x, y: x >> y,
    "eq": lambda x, y: x == y,
    "lt": lambda x, y: x < y,
    "ge": lambda x, y: x >= y,
    "truediv": lambda x, y: x / y,
}
EXTREMES: dict[str, tuple[Function, Function]] = {
    "min": (lambda x, y: ct.minimum(x, y), min),
    "max": (lambda x, y: ct.maximum(x, y), max),
}
INTEGERS = (*datatypes.UNSIGNED, *datatypes.SIGNED)
FLOATS = datatypes.FLOATS
BITWISE = ("and", "or", "xor", "lshift", "rshift")
COMPARED = ("eq", "lt", "ge")


def kernel_of(function: Function) -> Any:
    @ct.kernel
    def compute(x, y, out):
        ct.store(out, (0,), function(ct.load(x, (0,), (64,)), ct.load(y, (0,), (64,))))

    return compute


def pairs(name: str, dtype: DType) -> list[tuple[Any, Any]]:
    """64 pairs of values for which `name` is defined, including the limits of the type."""
    if dtype.is_float:
        values = [0.0, -0.0, 1.0, -1.5, 0.1, 3.3, -7.25, 448.0, 65504.0, 2.0**-14, 1e-7, math.inf]
        chosen = itertools.product([stored(value, dtype) for value in values], repeat=2)
        defined = [(x, y) for x, y in chosen if y or name not in ("floordiv", "mod", "truediv")]
        if name in ("floordiv", "mod"):
            defined = [(x, y) for x, y in defined if math.isfinite(x)]
    else:
        low, high = dtype.range
        values = [low, low + 1, 0, 1, 2, 3, 7, 100, high // 3, high - 1, high]
        amounts = [0, 1, 3, dtype.bitwidth - 1]
        chosen = itertools.product(values, amounts if name in ("lshift", "rshift") else values)
        divides = name in ("floordiv", "mod", "truediv")
        defined = [(x, y) for x, y in chosen if not divides or y and not (x == low and y == -1)]
    return (defined * 64)[:: max(1, len(defined) // 64)][:64]


def numpy_dtype(dtype: DType) -> np.dtype:
    return np.dtype(dtype.name.removesuffix("_"))


def result_type(name: str, dtype: DType) -> DType:
    if name in COMPARED:
        return datatypes.bool_
    return datatypes.float32 if name == "truediv" and dtype.is_integral else dtype


def exact(name: str, function: Function, x: int, y: int, dtype: DType) -> Any:
    """The result in Python integers, wrapped by numpy, or the division of numpy in float32."""
    if name == "truediv":
        return np.float32(x) / np.float32(y)
    result = function(x, y)
    return (
        result
        if isinstance(result, bool)
        else np.array([result & ((1 << 64) - 1)], np.uint64).astype(numpy_dtype(dtype))[0]
    )


def run(interpret: Interpret, name: str, function: Function, dtype: DType) -> tuple[np.ndarray, list[Any], np.ndarray]:
    """The run-time results, the folded constants, and the operands of all pairs."""
    chosen = pairs(name, dtype)
    x, y = (np.array(column, numpy_dtype(dtype)) for column in zip(*chosen, strict=True))
    out = np.zeros(64, numpy_dtype(result_type(name, dtype)))
    ct.launch(None, 1, kernel_of(function), (x, y, out), backend="interpret")
    folded = [binary(None, name, TypedConstant(a, dtype), TypedConstant(b, dtype)) for a, b in chosen]  # type: ignore[arg-type]
    assert {constant.dtype for constant in folded} == {result_type(name, dtype)}
    return out, [constant.value for constant in folded], np.array([x, y])


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("name", [*BINARY, *EXTREMES])
def test_integers_wrap(interpret: Interpret, name: str, dtype: DType) -> None:
    function = BINARY[name] if name in BINARY else EXTREMES[name][0]
    out, folded, operands = run(interpret, name, function, dtype)
    reference = BINARY[name] if name in BINARY else EXTREMES[name][1]
    expected = [exact(name, reference, int(x), int(y), dtype) for x, y in operands.T]
    np.testing.assert_array_equal(np.array(folded, out.dtype), np.array(expected, out.dtype))
    np.testing.assert_array_equal(out, np.array(expected, out.dtype))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", [name for name in (*BINARY, *EXTREMES) if name not in BITWISE])
@pytest.mark.filterwarnings("ignore:.*encountered in:RuntimeWarning")
def test_floats_are_rounded_to_their_type(interpret: Interpret, name: str, dtype: DType) -> None:
    function = BINARY[name] if name in BINARY else EXTREMES[name][0]
    out, folded, operands = run(interpret, name, function, dtype)
    np.testing.assert_array_equal(out.astype(np.float64), np.array(folded, np.float64))
    np.testing.assert_array_equal(np.signbit(out.astype(np.float64)), np.signbit(np.array(folded, np.float64)))
    if name in ("add", "sub", "mul", "truediv", *COMPARED):
        expected = BINARY[name](operands[0], operands[1])
        np.testing.assert_array_equal(np.array(folded, out.dtype), expected)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_unary_operations_of_integers_wrap(dtype: DType) -> None:
    kind = numpy_dtype(dtype)
    for value in (*dtype.range, 0, 3, dtype.range[1] // 2):
        constant, reference = TypedConstant(value, dtype), np.array([value], kind)
        assert negate(None, constant).value == (-reference)[0]  # type: ignore[arg-type]
        assert invert(None, constant).value == (~reference)[0]  # type: ignore[arg-type]
        assert HANDLERS[ct.abs](None, constant).value == np.abs(reference)[0]


@pytest.mark.parametrize("target", INTEGERS, ids=str)
@pytest.mark.parametrize("source", INTEGERS, ids=str)
def test_conversions_of_integers_wrap(source: DType, target: DType) -> None:
    for value in (*source.range, 0, 3, source.range[1] // 2):
        constant = construct(target, TypedConstant(value, source), None)  # type: ignore[arg-type]
        assert constant.value == np.array([value], numpy_dtype(source)).astype(numpy_dtype(target))[0]


ROUNDED = {
    datatypes.float16: np.float16,
    datatypes.bfloat16: ml_dtypes.bfloat16,
    datatypes.float32: np.float32,
    datatypes.float8_e5m2: ml_dtypes.float8_e5m2,
    datatypes.float8_e4m3fn: ml_dtypes.float8_e4m3fn,
}


@pytest.mark.parametrize("dtype", ROUNDED, ids=str)
def test_constants_are_rounded_once(dtype: DType) -> None:
    for value in (0.1, 1 / 3, 1.0009765625, 3.3, -2.7, 1e-7, 2.0**-9):
        assert stored(value, dtype) == float(np.array(value).astype(ROUNDED[dtype]))


def test_tfloat32_has_ten_fraction_bits() -> None:
    assert stored(1 + 2**-10 + 2**-11, datatypes.tfloat32) == 1 + 2**-9
    assert stored(1 + 2**-11, datatypes.tfloat32) == 1
    assert stored(0.1, datatypes.tfloat32) == 0.0999755859375


def test_integers_beyond_53_bits_are_rounded_once() -> None:
    # A tie between two f32 numbers plus 1: rounding to f64 first would drop the 1 and round the tie to even.
    value = 2**60 + 2**36 + 1
    assert stored(value, datatypes.float32) == 2.0**60 + 2.0**37
    assert stored(-value, datatypes.float32) == -(2.0**60) - 2.0**37
    assert stored(2**60 + 2**36, datatypes.float32) == 2.0**60


@pytest.mark.parametrize(
    ("value", "dtype", "message"),
    [
        (math.nan, datatypes.int32, "cannot convert nan to int32: it has no integer value"),
        (math.inf, datatypes.uint8, "cannot convert inf to uint8: it has no integer value"),
        (-1.0, datatypes.float8_e8m0fnu, "cannot convert -1.0 to float8_e8m0fnu: the type has no negative values"),
        (-3, datatypes.float8_e8m0fnu, "cannot convert -3 to float8_e8m0fnu: the type has no negative values"),
    ],
)
def test_values_that_a_type_cannot_represent_are_rejected(value: float, dtype: DType, message: str) -> None:
    with pytest.raises(ct.TileValueError) as caught:
        stored(value, dtype)
    assert caught.value.message == message


@ct.kernel
def constants(out):
    ct.scatter(out, 0, ct.int64(ct.uint32(-3)))
    ct.scatter(out, 1, ct.int64(ct.int32(3_000_000_000)))
    ct.scatter(out, 2, ct.int64(ct.uint8(150) + ct.uint8(110)))
    ct.scatter(out, 3, ct.int64(~ct.uint32(3)))
    ct.scatter(out, 4, ct.int64(-ct.uint32(3)))
    ct.scatter(out, 5, ct.int64(ct.float16(2049.0)))
    ct.scatter(out, 6, ct.int64(-ct.bool_(True)))
    ct.scatter(out, 7, ct.astype(ct.int64(300), ct.int8).astype(ct.int64))
    ct.static_assert(ct.uint8(255) + ct.uint8(1) == 0)
    ct.static_assert(ct.float64(ct.float32(0.1)) != ct.float64(0.1))


@pytest.mark.parametrize("backend", ["interpret", "simulate"])
def test_typed_constants_in_a_kernel(backend: str) -> None:
    out = np.zeros(8, np.int64)
    with pytest.warns(ct.ConstantWarning):
        ct.launch(None, 1, constants, (out,), backend=backend)
    assert out.tolist() == [4294967293, -1294967296, 4, 4294967292, 4294967293, 2048, -1, 44]


def test_rounding_mode_applies_to_constants(interpret: Interpret) -> None:
    @ct.kernel
    def rounded(out):
        up, down = ct.RoundingMode.RP, ct.RoundingMode.RM
        ct.scatter(out, 0, ct.truediv(ct.float32(1.0), ct.float32(3.0), rounding_mode=up))
        ct.scatter(out, 1, ct.truediv(ct.float32(1.0), ct.float32(3.0), rounding_mode=down))

    out = np.zeros(2, np.float32)
    interpret(rounded, 1, out)
    assert out[0] == np.nextafter(out[1], np.float32(1))


def test_float_and_int_of_text(interpret: Interpret) -> None:
    @ct.kernel
    def parsed(out):
        ct.scatter(out, 0, float("-inf"))
        ct.scatter(out, 1, int("12") + 1)

    out = np.zeros(2, np.float32)
    interpret(parsed, 1, out)
    assert out.tolist() == [-math.inf, 13]


@ct.kernel
def named_types(signed, unsigned):
    ct.store(signed, (0,), ct.full((4,), 300, ct.int8))
    ct.store(signed, (1,), ct.full((4,), -170, ct.int8))
    ct.store(signed, (2,), ct.full((4,), -1.5, ct.int8))
    ct.store(signed, (3,), ct.astile((300, -129, 2.75, True), dtype=ct.int8))
    ct.store(unsigned, (0,), ct.full((4,), -1, ct.uint32))
    ct.store(unsigned, (1,), ct.full((4,), 2**40 + 7, ct.uint32))


def test_constants_of_a_named_type_keep_their_low_bits() -> None:
    """As `astype` does, and cuTile Python: the fraction is dropped, and integers are reduced modulo 2^n."""
    signed, unsigned = np.zeros(16, np.int8), np.zeros(8, np.uint32)
    with pytest.warns(ct.ConstantWarning):
        ct.launch(None, 1, named_types, (signed, unsigned), backend="interpret")
    assert signed.reshape(4, 4).tolist() == [[44] * 4, [86] * 4, [-1] * 4, [44, 127, 2, 1]]
    assert unsigned.reshape(2, 4).tolist() == [[2**32 - 1] * 4, [7] * 4]


def test_negative_power_of_integers_is_truncated(interpret: Interpret) -> None:
    @ct.kernel
    def kernel(out):
        for i, base in ct.static_iter(enumerate((-2, -1, 1, 2))):
            ct.scatter(out, i, ct.int8(base) ** -3)

    out = np.full(4, 7, np.int8)
    interpret(kernel, 1, out)
    assert out.tolist() == [0, -1, 1, 0]


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("ct.float4_e2m1fn(2.0)", "'float4_e2m1fn(...)' cannot be called: make a tile with ct.full"),
        ("np.float32('text')", "'float32(...)' cannot convert 'text'"),
        ("ct.float32((1, 2))", "'float32(...)' takes a scalar, got a tuple of 2"),
    ],
)
def test_type_that_cannot_make_a_value_is_a_type_error(tmp_path: Path, expression: str, problem: str) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(f"import numpy as np\nimport tilec as ct\n@ct.kernel\ndef kernel():\n    {expression}\n")
    with pytest.raises(ct.TileTypeError, match=re.escape(problem)):
        ct.launch(None, 1, runpy.run_path(str(path))["kernel"], (), backend="interpret")
