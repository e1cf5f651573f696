"""Math functions are within the error bounds of the CUDA and PTX manuals."""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest
from simulated import elementwise, ptx_of, run, tile

from tilec.errors import UnsupportedError
from tilec.lowering.layout.blocked import blocked

LAYOUT = blocked((256,), 4, 0, 2)
FLOATS = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64}


def result_of(body: str, element: str, *inputs: np.ndarray, target: str = "sm_100a") -> np.ndarray:
    y = np.zeros(256, FLOATS[element])
    run(elementwise(body, [(element, LAYOUT)] * len(inputs), (element, LAYOUT), target=target), [*inputs, y])
    return y


def upstream(name: str, element: str, *inputs: np.ndarray) -> np.ndarray:
    operands = ", ".join(f"%x{i}" for i in range(len(inputs)))
    return result_of(f"%y = {name} {operands} : {tile(element, LAYOUT)}", element, *inputs)


def tile_gpu_math_text(function: str, element: str, count: int) -> str:
    segments = ", ".join(["1"] * count + ["0"] * (32 - count))
    operands, type = ", ".join(f"%x{i}" for i in range(count)), tile(element, LAYOUT)
    attributes = f'{{function = "{function}", operandSegmentSizes = array<i32: {segments}>}}'
    return f'%y = "tile_gpu.math"({operands}) {attributes} : ({", ".join([type] * count)}) -> {type}'


def tile_gpu_math(function: str, element: str, *inputs: np.ndarray) -> np.ndarray:
    return result_of(tile_gpu_math_text(function, element, len(inputs)), element, *inputs)


def positive(dtype, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0.1, 8, 256).astype(dtype)


def ulps(y: np.ndarray, exact: np.ndarray) -> float:
    """The largest distance in units in the last place of the result's type."""
    if y.dtype == np.float64:
        spacing = np.spacing(np.abs(exact))
    else:
        fraction = {2: 10, 4: 23}[y.dtype.itemsize] if y.dtype != ml_dtypes.bfloat16 else 7
        spacing = 2.0 ** (np.floor(np.log2(np.maximum(np.abs(exact), 1e-300))) - fraction)
    return float(np.max(np.abs(y.astype(np.float64) - exact) / spacing))


# Upstream name -> numpy function, maximum ulp error for f32 (CUDA Math API tables; PTX ISA for the instructions).
FUNCTIONS = {
    "math.exp2": (np.exp2, 2),
    "math.rsqrt": (lambda x: 1 / np.sqrt(x), 2),
    "math.exp": (np.exp, 2),
    "math.log": (np.log, 1),
    "math.log2": (np.log2, 1),
    "math.sin": (np.sin, 2),
    "math.cos": (np.cos, 2),
    "math.tan": (np.tan, 4),
    "math.sinh": (np.sinh, 3),
    "math.cosh": (np.cosh, 2),
    "math.tanh": (np.tanh, 2),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("element", FLOATS)
def test_functions_of_one_argument(name, element):
    function, bound = FUNCTIONS[name]
    x = positive(FLOATS[element])
    # f16 and bf16 results are computed in f32, so their error is that of the last rounding; f64 is within 2 ulp too.
    limit = 0.5 + bound * 2.0**-13 if FLOATS[element] in (np.float16, ml_dtypes.bfloat16) else bound + 0.5
    assert ulps(upstream(name, element, x), function(x.astype(np.float64))) <= limit


@pytest.mark.parametrize("name", ["math.powf", "math.atan2", "arith.remf"])
@pytest.mark.parametrize("element", ["f32", "f64", "f16"])
def test_functions_of_two_arguments(name, element):
    function, bound = {"math.powf": (np.power, 4), "math.atan2": (np.arctan2, 3), "arith.remf": (np.fmod, 0)}[name]
    a, b = positive(FLOATS[element], 2), positive(FLOATS[element], 3) / 4
    b = b.astype(FLOATS[element])
    exact = function(a.astype(np.float64), b.astype(np.float64))
    y = upstream(name, element, a, b)
    if name == "arith.remf":
        assert np.array_equal(y.astype(np.float64), exact)
    else:
        assert ulps(y, exact) <= bound + 0.5


@pytest.mark.parametrize("element", FLOATS)
def test_square_root_rounds_once(element):
    x = positive(FLOATS[element], 4)
    assert np.array_equal(upstream("math.sqrt", element, x), np.sqrt(x.astype(np.float64)).astype(FLOATS[element]))


@pytest.mark.parametrize(
    ("name", "function"), [("math.floor", np.floor), ("math.ceil", np.ceil), ("math.absf", np.abs)]
)
@pytest.mark.parametrize("element", FLOATS)
def test_exact_functions(name, function, element):
    x = (positive(FLOATS[element], 5) - 4).astype(FLOATS[element])
    assert np.array_equal(upstream(name, element, x), function(x.astype(np.float64)).astype(FLOATS[element]))


@pytest.mark.parametrize("element", ["f32", "f64"])
def test_fused_multiply_add_rounds_once(element):
    """a * a - round(a * a) is the rounding error of the product."""
    a = positive(FLOATS[element], 6)
    product = a * a
    y = upstream("math.fma", element, a, a, -product)
    exact = [int(x * 2**60) ** 2 - int(p * 2**60) * 2**60 for x, p in zip(a.tolist(), product.tolist(), strict=True)]
    assert np.array_equal(y.astype(np.float64) * 2.0**120, np.array([float(e) for e in exact]))


# Powers by repeated squaring, in the order of the lowering, each product rounded.
POWERS: dict[int, Callable[[np.ndarray], np.ndarray]] = {
    0: np.ones_like,
    1: lambda x: x,
    2: lambda x: x * x,
    3: lambda x: x * (x * x),
    7: lambda x: (x * (x * x)) * ((x * x) * (x * x)),
    -1: lambda x: 1 / x,
    -3: lambda x: 1 / (x * (x * x)),
    -4: lambda x: 1 / ((x * x) * (x * x)),
}


@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize("exponent", POWERS)
def test_integer_powers(element, exponent):
    ints = tile("i32", LAYOUT)
    body = f"%n = arith.constant dense<{exponent}> : {ints}\n%y = math.fpowi %x0, %n : {tile(element, LAYOUT)}, {ints}"
    x = positive(FLOATS[element], 7)
    assert np.array_equal(result_of(body, element, x), POWERS[exponent](x))


def test_rounding_modes_of_f32():
    a, b = positive(np.float32, 8), positive(np.float32, 9)
    exact = a.astype(np.float64) * b.astype(np.float64)
    down, up = (
        tile_gpu_math("mul.rm", "f32", a, b).astype(np.float64),
        tile_gpu_math("mul.rp", "f32", a, b).astype(np.float64),
    )
    assert (down <= exact).all() and (exact <= up).all()
    assert np.array_equal(np.where(down == exact, up, np.nextafter(down.astype(np.float32), np.float32(np.inf))), up)
    assert np.array_equal(tile_gpu_math("mul.rz", "f32", a, b).astype(np.float64), down)


@pytest.mark.parametrize("element", ["f16", "bf16"])
@pytest.mark.parametrize("operation", ["add", "mul", "div"])
def test_rounding_modes_of_f16_and_bf16(element, operation):
    """The exact result is between the results rounded down and up, which are equal or adjacent."""
    a, b = positive(FLOATS[element], 14), positive(FLOATS[element], 15)
    exact = {"add": np.add, "mul": np.multiply, "div": np.divide}[operation](a.astype(np.float64), b.astype(np.float64))
    down, up, zero = (tile_gpu_math(f"{operation}.{mode}", element, a, b) for mode in ("rm", "rp", "rz"))
    assert (down.astype(np.float64) <= exact).all() and (exact <= up.astype(np.float64)).all()
    steps = up.view(np.int16).astype(int) - down.view(np.int16).astype(int)
    assert np.array_equal(steps, (down.astype(np.float64) != exact).astype(int))
    assert np.array_equal(zero, down)


APPROXIMATE = {
    "exp2.approx.ftz": (np.exp2, 2),
    "rsqrt.approx.ftz": (lambda x: 1 / np.sqrt(x), 2),
    "sqrt.approx": (np.sqrt, 2),
    # 2 ulp of ex2, and 16 for the rounding of x log2 e, which is below 16.
    "exp.approx": (np.exp, 2 + 16),
}


@pytest.mark.parametrize("function", APPROXIMATE)
def test_approximate_functions(function):
    exact, bound = APPROXIMATE[function]
    x = positive(np.float32, 10)
    assert ulps(tile_gpu_math(function, "f32", x), exact(x.astype(np.float64))) <= bound


def test_approximate_tanh():
    """PTX ISA 9.7.3.23: relative error 2^-11."""
    x = positive(np.float32, 11) / 4
    exact = np.tanh(x.astype(np.float64))
    assert (np.abs(tile_gpu_math("tanh.approx", "f32", x) - exact) <= 2.0**-11 * exact).all()


@pytest.mark.parametrize("function", ["div.full", "div.approx"])
def test_approximate_division(function):
    a, b = positive(np.float32, 12), positive(np.float32, 13)
    assert ulps(tile_gpu_math(function, "f32", a, b), a.astype(np.float64) / b.astype(np.float64)) <= 2


def test_flush_to_zero():
    tiny = np.full(256, 1e-39, np.float32)
    assert not tile_gpu_math("add.rn.ftz", "f32", tiny, tiny).any()
    assert tile_gpu_math("add.rz", "f32", tiny, tiny).all()


def test_error_names_an_unknown_function():
    with pytest.raises(UnsupportedError, match="unknown function 'erf.approx'"):
        ptx_of(elementwise(tile_gpu_math_text("erf.approx", "f32", 1), [("f32", LAYOUT)], ("f32", LAYOUT)))


def test_called_function_is_declared_once():
    body = f"%s = math.sin %x0 : {tile('f32', LAYOUT)}\n%y = math.sin %s : {tile('f32', LAYOUT)}"
    text = ptx_of(elementwise(body, [("f32", LAYOUT)], ("f32", LAYOUT)))
    assert text.count(".func ") == 1 and text.count("call.uni") == 4
