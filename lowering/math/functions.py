"""Precise math functions: CUDA device code, called or inlined."""

from __future__ import annotations

import contextlib
import functools
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tilec import cache_files
from tilec.dialect.mlir import ir
from tilec.dialect.ptx.builder import PtxBuilder
from tilec.dialect.ptx.builder import function as declare
from tilec.dialect.walk import inner_operations
from tilec.errors import UnsupportedError
from tilec.hashing import sha256
from tilec.lowering.math.device_code import Step, device_function, inline_steps

# Names of a C type and the register class of a value of each element type.
C_TYPES = {"f32": "float", "f64": "double"}


# The functions of Tile IR, with the same names as in the CUDA math library, and the number of their arguments. Their
# errors: CUDA C++ Programming Guide, "Mathematical Functions", maximum ulp error.
_NAMES = "atan2 cos cosh exp exp2 fmod log log2 pow rsqrt sin sinh tan tanh".split()
FUNCTIONS = {name: 2 if name in ("atan2", "fmod", "pow") else 1 for name in _NAMES}


_PACKED = re.compile(r"(?P<name>fma|add)(?:\.(?P<rounding>rn|rm|rp|rz))?\.f32 \$0, (?P<operands>.*);")


@dataclass(frozen=True)
class PackedStep:
    """An instruction of f32 that also exists for two f32; an operand is "$n", the n-th of its step, or a literal."""

    name: str
    rounding: str
    operands: tuple[str, ...]


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

    @functools.cached_property
    def packed(self) -> dict[int, PackedStep]:
        """The steps that may compute two f32 at once, by number: each fma, and a sum with the result of one.

        ptxas contracts a packed product and a sum (lowering/gpu_to_ptx/registers/elementwise.py), and saturates the
        result of an instruction without another one, so that both stay as they are.
        """
        found: dict[int, PackedStep] = {}
        first = len(self.parameters)
        saturated = {
            operand - first for step in self.steps if step.text.startswith("cvt.sat") for operand in step.operands
        }
        for number, step in enumerate(self.steps):
            match = _PACKED.fullmatch(step.text)
            if match is None or number in saturated:
                continue
            if match["name"] == "fma" or any(operand - first in found for operand in step.operands):
                operands = tuple(match["operands"].split(", "))
                found[number] = PackedStep(match["name"], match["rounding"] or "rn", operands)
        return found

    def write(self, b: PtxBuilder, *arguments: ir.Value) -> ir.Value:
        """Emits the function and returns its result; the first call also declares the function in the module."""
        if self.text:
            declare_once(b, self.name, self.text)
        values = list(arguments)
        for step in self.steps:
            operands = [values[operand] for operand in step.operands]
            values.append(b.compute(step.text, getattr(b, step.type), *operands))
        return values[-1]


def declare_once(b: PtxBuilder, name: str, text: str) -> None:
    """Declares a device function in the module of the kernel, if it is not declared yet."""
    module = b.entry.parent.opview
    operations = (view.operation for view in inner_operations(module))
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
    kind, arguments = C_TYPES[element], [f"x{index}" for index in range(FUNCTIONS[name])]
    # The name for f32 ends in f (CUDA Math API, "Single Precision Mathematical Functions").
    c_name = name + ("f" if element == "f32" else "")
    symbol, parameters = f"tilec_{c_name}", ", ".join(f"{kind} {argument}" for argument in arguments)
    source = f'extern "C" __device__ {kind} {symbol}({parameters}) {{ return {c_name}({", ".join(arguments)}); }}'
    return _compiled(symbol, source, (element,) * len(arguments))


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
