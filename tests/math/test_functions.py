"""Precise math functions, run in the simulator, are within the error bounds of the CUDA documentation."""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np
import pytest

from tilec.dialect.mlir import context, ir
from tilec.dialect.ptx.builder import PtxBuilder, entry
from tilec.errors import InternalError, UnsupportedError
from tilec.lowering.math import nvrtc
from tilec.lowering.math.device_code import Step
from tilec.lowering.math.functions import C_TYPES, FUNCTIONS, function
from tilec.lowering.ptx.emit import emit
from tilec.runtime.cubin.cubin import assemble
from tilec.runtime.simulate import Settings, Shape, run_text

# CUDA C++ Programming Guide, "Mathematical Functions": maximum error in ulp from the correctly rounded result.
ULP = {
    "atan2": {"f32": 3, "f64": 2},
    "cos": {"f32": 2, "f64": 2},
    "cosh": {"f32": 2, "f64": 1},
    "exp": {"f32": 2, "f64": 1},
    "exp2": {"f32": 2, "f64": 1},
    "fmod": {"f32": 0, "f64": 0},
    "log": {"f32": 1, "f64": 1},
    "log2": {"f32": 1, "f64": 1},
    "pow": {"f32": 4, "f64": 2},
    "rsqrt": {"f32": 2, "f64": 1},
    "sin": {"f32": 2, "f64": 2},
    "sinh": {"f32": 3, "f64": 2},
    "tan": {"f32": 4, "f64": 2},
    "tanh": {"f32": 2, "f64": 1},
}
ORACLE: dict[str, Callable] = {
    "atan2": np.arctan2,
    "cos": np.cos,
    "cosh": np.cosh,
    "exp": np.exp,
    "exp2": np.exp2,
    "fmod": np.fmod,
    "log": np.log,
    "log2": np.log2,
    "pow": np.power,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sin": np.sin,
    "sinh": np.sinh,
    "tan": np.tan,
    "tanh": np.tanh,
}
CASES = [(name, element) for element in C_TYPES for name in FUNCTIONS]
DTYPES = {"f32": np.float32, "f64": np.float64}
COUNT = 256


def kernel_of(names: list[str], element: str, target: str) -> str:
    """A kernel with one thread per element: out[j][i] = f(x[i]) or f(x[i], y[i]) with the function f of index j."""
    size = 4 if element == "f32" else 8
    with context(), ir.Location.unknown():
        module = ir.Module.create()
        parameters = [("out", "u64"), ("x", "u64"), ("y", "u64")]
        b = PtxBuilder(entry(module, "kernel", target=target, threads=[COUNT], parameters=parameters))
        kind = b.f32 if element == "f32" else b.f64
        thread = b.compute("mov.u32 $0, %tid.x;", b.i32)
        offset = b.compute(f"mul.wide.u32 $0, $1, {size};", b.i64, thread)
        bases = [b.compute(f"ld.param.b64 $0, [{name}];", b.i64) for name, _ in parameters]
        out, *inputs = [b.compute("add.s64 $0, $1, $2;", b.i64, base, offset) for base in bases]
        values = [b.execute(f"ld.global.{element} $0, [$1];", kind, address) for address in inputs]
        for row, name in enumerate(names):
            found = function(name, element, target)
            result = found.write(b, *values[: len(found.parameters)])
            b.execute(f"st.global.{element} [$0+{row * COUNT * size}], $1;", (), out, result)
        b.leave()
        assert module.operation.verify()
        return emit(module)


def run(name: str, element: str, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    out = np.empty(COUNT, DTYPES[element])
    arrays = (out, x, y)
    ranges = [(array.ctypes.data, array.nbytes, array is out) for array in arrays]
    parameters = struct.pack("<3Q", *(array.ctypes.data for array in arrays))
    shape = Shape(grid=(1, 1, 1), block=(COUNT, 1, 1))
    run_text(kernel_of([name], element, "sm_100a"), "kernel", shape, parameters, ranges, Settings())
    return out


def arguments(name: str, element: str) -> tuple[np.ndarray, np.ndarray]:
    """Normally distributed values, large values for the slow paths, and special values."""
    random = np.random.default_rng(7)
    x = random.normal(size=COUNT) * 3
    x[64:128] = random.choice([-1, 1], 64) * np.exp2(random.uniform(-30, 60, 64))
    x[:16] = [0.0, -0.0, 1, -1, 2, 0.5, np.inf, -np.inf, np.nan, 1e-40, -1e-40, 1e30, 88.7, -103.9, 710, -745]
    y = random.normal(size=COUNT) * 2
    y[16:32], y[32:48] = random.integers(-5, 6, 16), np.inf
    if name in ("log", "log2", "rsqrt", "pow"):
        x[48:] = np.abs(x[48:])
    return x.astype(DTYPES[element]), y.astype(DTYPES[element])


def ulps(found: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """Distance to the correctly rounded result in units in the last place; 0 if both are the same special value."""
    expected = exact.astype(found.dtype)
    same = (found == expected) | (np.isnan(found) & np.isnan(expected))
    with np.errstate(invalid="ignore"):
        distance = np.abs(found.astype(exact.dtype) - expected) / np.spacing(np.abs(expected))
    return np.where(same, 0, distance).astype(np.float64)


@pytest.mark.parametrize(("name", "element"), CASES)
def test_values(name: str, element: str) -> None:
    x, y = arguments(name, element)
    wide = np.float64 if element == "f32" else np.longdouble
    given = (x.astype(wide), y.astype(wide))[: FUNCTIONS[name]]
    with np.errstate(all="ignore"):
        exact = ORACLE[name](*given)
        error = ulps(run(name, element, x, y), exact)
    worst = int(np.argmax(np.where(np.isnan(error), np.inf, error)))
    assert error[worst] <= ULP[name][element], (x[worst], y[worst], exact[worst])


@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
@pytest.mark.parametrize("element", ["f32", "f64"])
def test_ptxas_accepts_all_functions_in_one_file(element: str, target: str) -> None:
    """Functions that share tables and internal functions do not conflict."""
    text = kernel_of(list(FUNCTIONS), element, target)
    assert text.startswith(".version 9.0\n")
    cubin = assemble(text, target)
    assert cubin.warnings == ()


def test_short_function_is_inlined() -> None:
    found = function("exp", "f32", "sm_100a")
    assert found.text == ""
    assert "ex2.approx.ftz.f32 $0, $1;" in [step.text for step in found.steps]
    assert not [step for step in found.steps if step.text.startswith(("mov.f32", "call"))]


def test_function_of_one_instruction() -> None:
    assert function("exp2", "f32", "sm_100a").steps == (Step("ex2.approx.f32 $0, $1;", "f32", (0,)),)


def test_long_function_is_called() -> None:
    found = function("pow", "f64", "sm_90a")
    assert found.steps == (Step("call.uni ($0), tilec_pow, ($1, $2);", "f64", (0, 1)),)
    assert found.parameters == ("f64", "f64")
    assert ".version" not in found.text and ".visible" not in found.text


def test_function_that_is_called_twice_is_declared_once() -> None:
    text = kernel_of(["log", "exp", "log"], "f32", "sm_90a")
    assert text.count(".func") == 1
    assert text.count("call.uni") == 2


def test_source_that_nvrtc_refuses_is_an_internal_error() -> None:
    with pytest.raises(InternalError, match=r"NVRTC cannot compile a device function of tilec: tilec.cu\(1\): error:"):
        nvrtc.compile_to_ptx("wrong")


def test_failure_of_nvrtc_is_an_internal_error() -> None:
    with pytest.raises(InternalError, match="NVRTC failed: NVRTC_ERROR_INVALID_PROGRAM$"):
        nvrtc._checked((nvrtc.nvrtc.nvrtcResult.NVRTC_ERROR_INVALID_PROGRAM,))


@pytest.mark.parametrize(
    ("name", "element", "target", "message"),
    [
        ("erf", "f32", "sm_90a", "unknown math function 'erf': expected one of atan2, cos"),
        ("exp", "f16", "sm_90a", "math functions are of f32 and f64, got f16"),
        ("exp", "f32", "sm_80", "math functions need a target from sm_90 on, got sm_80"),
        ("exp", "f32", "gfx90a", "math functions need a target from sm_90 on, got gfx90a"),
    ],
)
def test_unknown_functions_types_and_targets_are_refused(name: str, element: str, target: str, message: str) -> None:
    with pytest.raises(UnsupportedError, match=message):
        function(name, element, target)
