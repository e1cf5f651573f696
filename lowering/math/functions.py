"""Precise math functions: CUDA device code, called or inlined."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tilec import cache_files
from tilec.dialect.mlir import ir
from tilec.dialect.ptx.builder import PtxBuilder
from tilec.dialect.ptx.builder import function as declare
from tilec.errors import UnsupportedError
from tilec.hashing import sha256
from tilec.lowering.math.device_code import Step, device_function, inline_steps

# Names of a C type and the register class of a value of each element type.
C_TYPES = {"f32": "float", "f64": "double"}


@dataclass(frozen=True)
class _Row:
    """A function of the CUDA math library: its name for f64, and the number of arguments."""

    cuda: str
    arguments: int = 1

    def c_name(self, element: str) -> str:
        """The name in CUDA C++, which ends in f for f32 (CUDA Math API, "Single Precision Mathematical Functions")."""
        return self.cuda + ("f" if element == "f32" else "")


# By the names in Tile IR. Their errors: CUDA C++ Programming Guide, "Mathematical Functions", maximum ulp error.
FUNCTIONS = {
    "atan2": _Row("atan2", 2),
    "cos": _Row("cos"),
    "cosh": _Row("cosh"),
    "exp": _Row("exp"),
    "exp2": _Row("exp2"),
    "fmod": _Row("fmod", 2),
    "log": _Row("log"),
    "log2": _Row("log2"),
    "pow": _Row("pow", 2),
    "rsqrt": _Row("rsqrt"),
    "sin": _Row("sin"),
    "sinh": _Row("sinh"),
    "tan": _Row("tan"),
    "tanh": _Row("tanh"),
}


@dataclass(frozen=True)
class MathFunction:
    """A device function: `name` and `text` for `ptx.function`, and the steps that compute it.

    The only step is a call; for a short function the steps are its body and `text` is empty. The result has the
    type of the first parameter.
    """

    name: str
    text: str
    parameters: tuple[str, ...]
    steps: tuple[Step, ...]

    def write(self, b: PtxBuilder, *arguments: ir.Value) -> ir.Value:
        """Emits the function and returns its result; the first call also declares the function in the module."""
        if self.text:
            declare_once(b, self.name, self.text)
        types = {"f32": b.f32, "f64": b.f64, "i32": b.i32, "i64": b.i64, "i16": b.i16, "i1": b.i1}
        values = list(arguments)
        for step in self.steps:
            values.append(b.compute(step.text, types[step.type], *[values[operand] for operand in step.operands]))
        return values[-1]


def declare_once(b: PtxBuilder, name: str, text: str) -> None:
    """Declares a device function in the module of the kernel, if it is not declared yet."""
    module = b.entry.parent.opview
    operations = (view.operation for view in module.operation.regions[0].blocks[0].operations)
    if not any(o.name == "ptx.function" and o.attributes["sym_name"].value == name for o in operations):
        declare(module, name, text)


@functools.cache
def function(name: str, element: str, target: str) -> MathFunction:
    """The function `name` (a row of the table) on `element`, f32 or f64; UnsupportedError for any other.

    Narrower elements are computed in f32 by the caller. The bodies serve every target from sm_90 on.
    """
    if name not in FUNCTIONS:
        raise UnsupportedError(f"unknown math function '{name}': expected one of {', '.join(FUNCTIONS)}")
    if element not in C_TYPES:
        raise UnsupportedError(f"math functions are of {' and '.join(C_TYPES)}, got {element}")
    if not target.removeprefix("sm_").rstrip("af").isdecimal() or int(target.removeprefix("sm_").rstrip("af")) < 90:
        raise UnsupportedError(f"math functions need a target from sm_90 on, got {target}")
    return _built(name, element)


@functools.cache
def integer_power(element: str) -> MathFunction:
    """`fpowi` of Tile IR for f32 or f64: repeated squaring, each product rounded."""
    kind, symbol = C_TYPES[element], f"tilec_powi_{element}"
    source = f"""extern "C" __device__ {kind} {symbol}({kind} base, int exponent) {{
  {kind} power = exponent & 1 ? base : 1;
  for (unsigned rest = (exponent < 0 ? 0u - exponent : exponent) >> 1; rest; rest >>= 1) {{
    base *= base;
    if (rest & 1) power *= base;
  }}
  return exponent < 0 ? 1 / power : power;
}}"""
    return _compiled(symbol, source, (element, "i32"))


@functools.cache
def _built(name: str, element: str) -> MathFunction:
    row, kind = FUNCTIONS[name], C_TYPES[element]
    symbol = f"tilec_{row.c_name(element)}"
    names = [f"x{index}" for index in range(row.arguments)]
    parameters = ", ".join(f"{kind} {argument}" for argument in names)
    source = (
        f'extern "C" __device__ {kind} {symbol}({parameters}) {{ return {row.c_name(element)}({", ".join(names)}); }}'
    )
    return _compiled(symbol, source, (element,) * row.arguments)


def _compiled(symbol: str, source: str, parameters: tuple[str, ...]) -> MathFunction:
    """A function of CUDA C++ whose result has the type of its first parameter."""
    # Imported here because NVRTC loads the bindings of the CUDA driver, which other kernels need only to launch.
    from tilec.lowering.math import nvrtc

    ptx = cached([nvrtc.version(), *nvrtc.OPTIONS, source], lambda: nvrtc.compile_to_ptx(source))
    text = device_function(ptx, symbol)
    values = ", ".join(f"${index + 1}" for index in range(len(parameters)))
    call = Step(f"call.uni ($0), {symbol}, ({values});", parameters[0], tuple(range(len(parameters))))
    body = inline_steps(text, len(parameters))
    return MathFunction(symbol, "" if body else text, parameters, body or (call,))


def cached(made_from: Sequence[str], make: Callable[[], str]) -> str:
    """The result of `make`, from the cache if `made_from` was seen before.

    If the cache folder cannot be read or written, the text is made again.
    """
    folder = cache_files.folder("math")
    if folder is None:
        return make()
    path = os.path.join(folder, f"{sha256(chr(0).join(made_from).encode()).hexdigest()}.ptx")
    kept = cache_files.read(path)
    if kept is not None:
        return kept.decode()
    text = make()
    with contextlib.suppress(OSError):
        cache_files.write(path, text.encode())
    return text
