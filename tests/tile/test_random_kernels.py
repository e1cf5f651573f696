"""The pipeline of compile preserves the results of random kernels in the interpreter."""

from __future__ import annotations

import random

import numpy as np
import pytest

import tilec
from tilec.lowering.tile.passes import run
from tilec.runtime.interpret.evaluate import evaluate
from tilec.text_input.module import Module

TILE = "tile<8xi32>"
KERNELS = 30
OPERATIONS = 14


class Kernel:
    """Writes a kernel that stores the result of a random computation on eight integers."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.count = 0
        self.lines: list[str] = []

    def new_name(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def emit(self, text: str) -> str:
        name = self.new_name()
        self.lines.append(f"{name} = {text}")
        return name

    def constant(self, *choices: int) -> str:
        number = self.random.choice(choices or (-7, -1, 0, 1, 2, 3, 12, 1 << 30, -(1 << 31)))
        return self.emit(f"constant <i32: {number}> : {TILE}")

    def operation(self, known: list[str]) -> str:
        a, b = self.random.choice(known), self.random.choice([*known, self.constant()])
        kind = self.random.choice(("binary", "binary", "signed", "divide", "shift", "select", "unary"))
        if kind == "binary":
            return self.emit(
                f"{self.random.choice(('addi', 'subi', 'muli', 'andi', 'ori', 'xori', 'mulhii'))} {a}, {b} : {TILE}"
            )
        sign = self.random.choice(("signed", "unsigned"))
        if kind == "signed":
            return self.emit(f"{self.random.choice(('maxi', 'mini'))} {a}, {b} {sign} : {TILE}")
        if kind == "divide":
            rounding = self.random.choice(("", " rounding<positive_inf>", " rounding<negative_inf>"))
            name, rounding = self.random.choice((("divi", rounding if sign == "signed" else ""), ("remi", "")))
            return self.emit(f"{name} {a}, {self.constant(1, 2, 3, 8, 10)} {sign}{rounding} : {TILE}")
        if kind == "shift":
            shift, sign = self.random.choice((("shri", sign), ("shli", "")))
            return self.emit(f"{shift} {a}, {self.constant(0, 1, 4, 31)} {sign} : {TILE}")
        if kind == "unary":
            return self.emit(f"{self.random.choice(('absi', 'negi'))} {a} : {TILE}")
        condition = self.emit(
            f"cmpi {self.random.choice(('less_than', 'equal'))} {a}, {b}, {sign} : {TILE} -> tile<8xi1>"
        )
        return self.emit(f"select {condition}, {a}, {b} : tile<8xi1>, {TILE}")

    def operations(self, known: list[str], count: int) -> list[str]:
        known = list(known)
        for _ in range(count):
            known.append(self.operation(known))
        return known

    def loop(self, known: list[str]) -> str:
        """A loop that carries one value; most of its operations are loop-invariant."""
        name, carried = self.new_name(), self.new_name()
        start = self.random.choice(known)
        self.lines.append(
            f"{name} = for %i in (%zero to %n, step %one) : tile<i32> iter_values({carried} = {start}) -> ({TILE}) {{"
        )
        inner = self.operations(known, 4)
        index = self.emit("reshape %i : tile<i32> -> tile<1xi32>")
        broadcast = self.emit(f"broadcast {index} : tile<1xi32> -> {TILE}")
        last = self.operations([*inner, broadcast, carried], 4)[-1]
        self.lines.append(f"continue {self.emit(f'addi {last}, {carried} : {TILE}')} : {TILE} }}")
        return name

    def combined(self, values: list[str]) -> str:
        """A value that depends on all of the values."""
        three, combined = self.constant(3), values[0]
        for value in values[1:]:
            scaled = self.emit(f"muli {combined}, {three} : {TILE}")
            combined = self.emit(f"addi {scaled}, {value} : {TILE}")
        return combined

    def text(self) -> str:
        # Most values are constants, so that most operations fold.
        known = self.operations(["%lane", *(self.constant() for _ in range(5))], OPERATIONS)
        known.append(self.loop(known))
        result = self.combined(self.operations(known, 3))
        body = "\n".join(self.lines)
        return f"""cuda_tile.module @m {{ entry @k(%p: tile<ptr<i32>>, %n: tile<i32>) {{
          %lane = iota : {TILE} %zero = constant <i32: 0> : tile<i32> %one = constant <i32: 1> : tile<i32>
          {body}
          %t0 = make_token : token
          %row = reshape %p : tile<ptr<i32>> -> tile<1xptr<i32>>
          %bases = broadcast %row : tile<1xptr<i32>> -> tile<8xptr<i32>>
          %pointers = offset %bases, %lane : tile<8xptr<i32>>, {TILE} -> tile<8xptr<i32>>
          %t1 = store_ptr_tko weak %pointers, {result} token = %t0 : tile<8xptr<i32>>, {TILE} -> token
        }} }}"""


def interpreted(module: Module, iterations: int) -> np.ndarray:
    """The memory after a kernel."""
    stored = np.full(8, 77, np.int32)
    tilec.run(module, (1, 1, 1), [stored, iterations], backend="interpret")
    return stored


@pytest.mark.parametrize("seed", range(KERNELS))
def test_pipeline_preserves_the_results_of_random_kernels(seed: int) -> None:
    text = Kernel(seed).text()
    changed = Module.parse(text)
    run(changed.ir, evaluate=evaluate)
    changed.verify()
    assert len(changed.to_text()) < len(Module.parse(text).to_text())
    for iterations in (0, 1, 3):
        np.testing.assert_array_equal(interpreted(changed, iterations), interpreted(Module.parse(text), iterations))
