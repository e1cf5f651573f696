"""Loops that a comparison of carried integers leaves have the iterations that Python counts, as their integers wrap."""

from __future__ import annotations

import operator
import random
from collections.abc import Iterator

import numpy as np
import pytest

import tilec

# Loops with more iterations are not run; most of those do not end.
MOST_ITERATIONS = 40
PREDICATES = {
    "less_than": operator.lt,
    "less_than_or_equal": operator.le,
    "greater_than": operator.gt,
    "greater_than_or_equal": operator.ge,
    "equal": operator.eq,
    "not_equal": operator.ne,
}
# Operations on the compared integer: the text, and the function. Divisions round down.
OPERATIONS = {
    "addi": lambda x, y: x + y,
    "subi": lambda x, y: x - y,
    "muli": lambda x, y: x * y,
    "divi": lambda x, y: x // y,
    "shli": lambda x, y: x << y,
}
STEPS = (1, 1, 1, 1, -1, -1, 2, 64, 128, -64, 3, 48, 2**30)
NUMBERS = {
    "addi": (1, 7, 64),
    "subi": (1, 7, 64),
    "muli": (2, 4, 64, 64, 128, 48, -1, -64, 2**28),
    "divi": (1, 7, 64),
    "shli": (1, 5, 6),
}
# The ranges of bounds and first values, as assumptions: any, those of the extents of arrays, near zero, and zero.
RANGES = {"any": "div_by<1>", "extent": "bounded<0, ?>", "near": "bounded<-4096, 4096>", "zero": "bounded<0, 0>"}


def wrapped(number: int, bits: int) -> int:
    half = 1 << bits - 1
    return (number + half) % (2 * half) - half


def program(rng: random.Random, bits: int) -> dict:
    """A loop that carries two integers and compares functions of them with the arguments `m` and `n`."""
    conditions, steps = [], (rng.choice(STEPS), rng.choice(STEPS))
    for bound in rng.choice((("n",), ("n",), ("n", "m"))):
        operations, which = [], rng.choice((0, 0, 1))
        grows = steps[which] > 0
        for name in rng.sample(sorted(OPERATIONS), rng.choice((0, 0, 1, 1, 2))):
            number = rng.choice(NUMBERS[name])
            grows ^= name == "muli" and number < 0
            operations.append((name, number))
        likely = [name for name in PREDICATES if ("less" if grows else "greater") in name]
        conditions.append((which, operations, rng.choice((*likely * 3, *sorted(PREDICATES))), bound))
    return {
        "bits": bits,
        "steps": steps,
        "conditions": conditions,
        "bounds": rng.choice(("any", "extent", "near")),
        "starts": rng.choice(("near", "near", "zero", "any")),
    }


def text(loop: dict) -> str:
    """Stores the sum of the first integer times powers of 3, and both integers after the loop."""
    type = f"i{loop['bits']}"
    lines, results = [], []
    for number, (which, operations, predicate, bound) in enumerate(loop["conditions"]):
        value = f"%x{which}"
        for place, (name, operand) in enumerate(operations):
            rounding = " signed rounding<negative_inf>" if name == "divi" else ""
            lines.append(f"%k{number}{place} = constant <{type}: {operand}> : tile<{type}>")
            lines.append(f"%y{number}{place} = {name} {value}, %k{number}{place}{rounding} : tile<{type}>")
            value = f"%y{number}{place}"
        lines.append(f"%c{number} = cmpi {predicate} {value}, %{bound}, signed : tile<{type}> -> tile<i1>")
        results.append(f"%c{number}")
    if len(results) == 2:
        lines.append("%both = andi %c0, %c1 : tile<i1>")
        results = ["%both"]
    assumed = [f"%s{n} = assume {RANGES[loop['starts']]}, %a{n} : tile<{type}>" for n in range(2)]
    assumed += [f"%{name} = assume {RANGES[loop['bounds']]}, %{name}1 : tile<{type}>" for name in "nm"]
    start, grow = ", ".join(f"%x{n} = %s{n}" for n in range(2)), loop["steps"]
    newline = "\n"
    return f"""cuda_tile.module @m {{ entry @k(%p: tile<ptr<{type}>>, %a0: tile<{type}>, %a1: tile<{type}>,
        %n1: tile<{type}>, %m1: tile<{type}>) {{
      %zero = constant <{type}: 0> : tile<{type}>
      %one = constant <{type}: 1> : tile<{type}>
      %true = constant <i1: true> : tile<i1>
      {newline.join(assumed)}
      %r:3 = loop iter_values(%sum = %zero, {start}) : tile<{type}>, tile<{type}>, tile<{type}>
          -> tile<{type}>, tile<{type}>, tile<{type}> {{
        {newline.join(lines)}
        %leaves = xori {results[0]}, %true : tile<i1>
        if %leaves {{ break %sum, %x0, %x1 : tile<{type}>, tile<{type}>, tile<{type}> }}
        %d0 = constant <{type}: {grow[0]}> : tile<{type}>
        %d1 = constant <{type}: {grow[1]}> : tile<{type}>
        %t0 = addi %x0, %d0 : tile<{type}>
        %t1 = addi %x1, %d1 : tile<{type}>
        %three = constant <{type}: 3> : tile<{type}>
        %triple = muli %sum, %three : tile<{type}>
        %next = addi %triple, %x0 : tile<{type}>
        continue %next, %t0, %t1 : tile<{type}>, tile<{type}>, tile<{type}>
      }}
      %e = store_ptr_tko weak %p, %r#0 : tile<ptr<{type}>>, tile<{type}> -> token
      %q = offset %p, %one : tile<ptr<{type}>>, tile<{type}> -> tile<ptr<{type}>>
      %b = store_ptr_tko weak %q, %r#1 : tile<ptr<{type}>>, tile<{type}> -> token
      %o = offset %q, %one : tile<ptr<{type}>>, tile<{type}> -> tile<ptr<{type}>>
      %c = store_ptr_tko weak %o, %r#2 : tile<ptr<{type}>>, tile<{type}> -> token
      return
    }} }}"""


def counted(loop: dict, start: tuple[int, int], bounds: dict[str, int]) -> list[int] | None:
    """The results of the loop; None if it has more than MOST_ITERATIONS."""
    bits, values, total = loop["bits"], list(start), 0
    for _ in range(MOST_ITERATIONS + 1):
        stays = True
        for which, operations, predicate, bound in loop["conditions"]:
            value = values[which]
            for name, operand in operations:
                value = wrapped(OPERATIONS[name](value, operand), bits)
            stays &= PREDICATES[predicate](value, bounds[bound])
        if not stays:
            return [total, *values]
        total = wrapped(3 * total + values[0], bits)
        values = [wrapped(value + step, bits) for value, step in zip(values, loop["steps"], strict=True)]
    return None


def arguments(rng: random.Random, loop: dict) -> Iterator[tuple[tuple[int, int], dict[str, int], list[int]]]:
    """Starts and bounds for which the loop ends soon, many near the limits of the type, with the result."""
    limits = -(1 << loop["bits"] - 1), (1 << loop["bits"] - 1) - 1

    def near(number: int) -> int:
        return min(max(number + rng.randint(-20, 20) * rng.choice((1, 1, 64)), limits[0]), limits[1])

    for _ in range(400):
        start = [near(0 if loop["starts"] == "near" else rng.choice((0, 0, *limits))) for _ in "01"]
        start = [0, 0] if loop["starts"] == "zero" else start
        bound = [near(rng.choice((0, 0, 0, *limits)) if loop["bounds"] != "near" else 0) for _ in "nm"]
        least = 0 if loop["bounds"] == "extent" else limits[0]
        bounds = dict(zip("nm", (max(number, least) for number in bound), strict=True))
        expected = counted(loop, (start[0], start[1]), bounds)
        if expected is not None:
            yield (start[0], start[1]), bounds, expected


@pytest.mark.parametrize("seed", range(24))
def test_iterations(seed: int) -> None:
    rng = random.Random(seed)
    bits = 64 if seed % 6 == 0 else 32
    loop = program(rng, bits)
    compiled = tilec.compile(tilec.Module.parse(text(loop)), target="sm_100a", stop="ptx")
    found = 0
    for start, bounds, expected in arguments(rng, loop):
        out = np.zeros(3, f"int{bits}")
        tilec.run(compiled, (1,), [out, *start, bounds["n"], bounds["m"]], backend="simulate", step_limit=20_000)
        assert out.tolist() == expected, (start, bounds, text(loop))
        found += expected[0] > 0
        if found == 12:
            break


@pytest.mark.parametrize("bounds", [{"n": 2**31 - 1, "m": 12}, {"n": 2**30, "m": 12}, {"n": 2**31 - 1, "m": 3}])
def test_a_product_that_wraps_before_the_other_bound(bounds: dict[str, int], target: str) -> None:
    """j * 2^28 is below 2^31 - 1 for every j, as it wraps; the other bound ends the loop."""
    conditions = [(0, [("muli", 2**28)], "less_than", "n"), (0, [], "less_than", "m")]
    loop = {"bits": 32, "steps": (1, 1), "conditions": conditions, "bounds": "extent", "starts": "zero"}
    compiled = tilec.compile(tilec.Module.parse(text(loop)), target=target, stop="ptx")
    out = np.zeros(3, np.int32)
    tilec.run(compiled, (1,), [out, 0, 0, bounds["n"], bounds["m"]], backend="simulate")
    assert out.tolist() == counted(loop, (0, 0), bounds)
