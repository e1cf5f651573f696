"""Checks that the pass simplify applies identities and preserves results bitwise, for special values of each type.

The values are all pairs of special values of the type (infinities, zeros of both signs, subnormals, NaN, the limits of
the integers). After floating-point arithmetic, all NaN compare equal.
"""

from __future__ import annotations

import re

import numpy as np

from tilec.lowering.tile.passes import run
from tilec.runtime.interpret.evaluate import evaluate
from tilec.runtime.interpret.run import run as interpret
from tilec.text_input.module import Module

COUNT = 512
SPECIALS = {
    "i8": [0, 1, 2, 3, 7, 64, 127, 128, 129, 254, 255],
    "i32": [0, 1, 2, 3, 31, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFF, 0xFFFF0000, 12345],
    "i64": [0, 1, 2, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, (1 << 40) + 5],
    "f16": [0, 0x8000, 1, 0x8001, 0x3FF, 0x3C00, 0xBC00, 0x3C01, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E00, 0x3555],
    "f32": [0, 1 << 31, 1, 0x80000001, 0x7FFFFF, 0x807FFFFF, 0x800000, 0x3F800000, 0xBF800000, 0x3F800001, 0x7F7FFFFF,
            0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0x3EAAAAAB, 0x42F6E979],
}  # fmt: skip
NAN_ABOVE = {"f16": 0x7C00, "f32": 0x7F800000}
# Operations that may change the bits of a NaN.
ARITHMETIC = re.compile(r"\b(addf|subf|mulf|divf|fma|maxf|minf|ceil|floor|ftof|fpowf)\b")


def codes(element: str, seed: int) -> np.ndarray:
    """Special values, shuffled by the seed so that all pairs occur, then random bits."""
    bits = int(element[1:])
    special = SPECIALS[element]
    every = np.arange(COUNT)
    found = [special[(index // len(special) ** seed) % len(special)] for index in range(COUNT)]
    noise = np.random.default_rng(seed).integers(0, 1 << min(bits, 62), COUNT).tolist()
    mixed = [a if index < 3 * COUNT // 4 else b for index, a, b in zip(every, found, noise, strict=True)]
    return np.array(mixed, f"u{bits // 8}")


def load(name: str, pointer: str, element: str) -> str:
    tile = f"tile<{COUNT}xptr<{element}>>"
    return f"""
      %{name}1 = reshape {pointer} : tile<ptr<{element}>> -> tile<1xptr<{element}>>
      %{name}2 = broadcast %{name}1 : tile<1xptr<{element}>> -> {tile}
      %{name}3 = offset %{name}2, %lane : {tile}, tile<{COUNT}xi32> -> {tile}"""


def kernel(body: str, source: str, result: str) -> str:
    """Stores %r, computed by the body from tiles %x and %y; T is their type and R the type of the result."""
    text = body.replace("R", f"tile<{COUNT}x{result}>").replace("T", f"tile<{COUNT}x{source}>")
    return f"""cuda_tile.module @m {{
    entry @k(%px: tile<ptr<{source}>>, %py: tile<ptr<{source}>>, %pr: tile<ptr<{result}>>) {{
      %lane = iota : tile<{COUNT}xi32> %t0 = make_token : token
      {load("a", "%px", source)} {load("b", "%py", source)} {load("c", "%pr", result)}
      %x, %tx = load_ptr_tko weak %a3 : tile<{COUNT}xptr<{source}>> -> tile<{COUNT}x{source}>, token
      %y, %ty = load_ptr_tko weak %b3 : tile<{COUNT}xptr<{source}>> -> tile<{COUNT}x{source}>, token
      {text}
      %ts = store_ptr_tko weak %c3, %r : tile<{COUNT}xptr<{result}>>, tile<{COUNT}x{result}> -> token
    }} }}"""


def stored(module: Module, source: str, result: str) -> np.ndarray:
    x, y = codes(source, 0), codes(source, 1)
    found = np.zeros(COUNT, f"u{int(result[1:]) // 8}" if result != "i1" else np.uint8)
    arrays = [x, y, found]
    interpret(module.ir, "k", 1, [array.ctypes.data for array in arrays])
    return found


IGNORED = frozenset("return iota make_token reshape broadcast offset load_ptr_tko store_ptr_tko constant".split())


def names(module: Module) -> list[str]:
    """The operations between loads and store."""
    found = re.findall(r"^    (?:[%\w:, ]+ = )?(\w+)", module.to_text(), re.MULTILINE)
    return [name for name in found if name not in IGNORED]


def simplified(text: str) -> Module:
    module = Module.parse(text)
    run(module.ir, ("simplify", "canonicalize"), evaluate=evaluate)
    module.verify()
    return module


def check(body: str, source: str, result: str, remaining: list[str]) -> None:
    text = kernel(body, source, result)
    module = simplified(text)
    assert names(module) == remaining
    before, after = stored(Module.parse(text), source, result), stored(module, source, result)
    if result in NAN_ABOVE and ARITHMETIC.search(body):
        magnitude = (1 << int(result[1:]) - 1) - 1
        nan = NAN_ABOVE[result]
        before, after = (np.where(codes & magnitude > nan, magnitude, codes) for codes in (before, after))
    np.testing.assert_array_equal(after, before)
    assert len(np.unique(before)) > 1 or not remaining


def constant(name: str, number: str, element: str) -> str:
    return f"%{name} = constant <{element}: {number}> : tile<{COUNT}x{element}> "
