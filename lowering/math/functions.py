"""The precise functions that a kernel may call."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from tilec.errors import UnsupportedError
from tilec.lowering.math import nvrtc
from tilec.lowering.math.cache import cached
from tilec.lowering.math.device_code import device_function
from tilec.lowering.math.inline import inline_text
from tilec.lowering.math.table import C_TYPES, FUNCTIONS


@dataclass(frozen=True)
class MathFunction:
    """A device function: `name` and `text` for `ptx.function`, and the instruction that computes it.

    `instruction` has `$0` for the result and `$1, ...` for the arguments, all of one element type. It is a call, or
    for a short function the body itself; then `text` is empty and nothing needs to be declared.
    """

    name: str
    text: str
    parameters: tuple[str, ...]
    instruction: str


@functools.cache
def function(name: str, element: str, target: str) -> MathFunction:
    """The function `name` (a row of the table) on `element`, f32 or f64; UnsupportedError for any other.

    Narrower elements are computed in f32 by the caller. The bodies serve every target from sm_90 on.
    """
    if name not in FUNCTIONS:
        raise UnsupportedError(f"there is no math function '{name}', expected one of {', '.join(FUNCTIONS)}")
    if element not in C_TYPES:
        raise UnsupportedError(f"math functions are of {' and '.join(C_TYPES)}, got {element}")
    if not target.removeprefix("sm_").rstrip("af").isdecimal() or int(target.removeprefix("sm_").rstrip("af")) < 90:
        raise UnsupportedError(f"math functions need a target from sm_90 on, got {target}")
    return _built(name, element)


@functools.cache
def _built(name: str, element: str) -> MathFunction:
    row, kind = FUNCTIONS[name], C_TYPES[element]
    symbol = f"tilec_{row.c_name(element)}"
    names = [f"x{index}" for index in range(row.arguments)]
    parameters = ", ".join(f"{kind} {argument}" for argument in names)
    source = (
        f'extern "C" __device__ {kind} {symbol}({parameters}) {{ return {row.c_name(element)}({", ".join(names)}); }}'
    )
    ptx = cached([nvrtc.version(), *nvrtc.OPTIONS, source], lambda: nvrtc.compile_to_ptx(source))
    text = device_function(ptx, symbol)
    inline = inline_text(text)
    values = ", ".join(f"${index + 1}" for index in range(row.arguments))
    call = f"call.uni ($0), {symbol}, ({values});"
    return MathFunction(symbol, "" if inline else text, (element,) * row.arguments, inline or call)
