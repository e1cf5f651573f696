"""Loops that split-loops divides compute what they computed before, for any bounds and conditions."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tilec.lowering.tile.passes import run
from tilec.runtime.interpret.evaluate import evaluate
from tilec.runtime.interpret.run import run as interpret
from tilec.text_input.module import Module

LEAST, GREATEST = -(2**31), 2**31 - 1
ORDERS = ("less_than", "less_than_or_equal", "greater_than", "greater_than_or_equal")
# A hash of the counters for which a branch is taken, in their order.
BODY = """
  %taken = if {condition} -> (tile<2xi32>) {{
    %i1 = reshape %i : tile<i32> -> tile<1xi32>
    %i2 = broadcast %i1 : tile<1xi32> -> tile<2xi32>
    %x = muli %hash, %factor : tile<2xi32>
    %y = addi %x, %i2 : tile<2xi32>
    yield %y : tile<2xi32>
  }} else {{
    %x = muli %hash, %other : tile<2xi32>
    yield %x : tile<2xi32>
  }}
  continue %taken : tile<2xi32>
"""


def module(lines: str, condition: str = "%c", lower: str = "%low", step: int = 1, body: str = BODY) -> Module:
    """A loop from %low to %high, whose body has these lines before the branch; %m is a parameter."""
    constants = "".join(f"%k{n} = constant <i32: {n}> : tile<i32> " for n in range(9))
    return Module.parse(f"""cuda_tile.module @m {{
      entry @k(%p: tile<ptr<i32>>, %low: tile<i32>, %high: tile<i32>, %m: tile<i32>) {{
        {constants} %minus3 = constant <i32: -3> : tile<i32> %step = constant <i32: {step}> : tile<i32>
        %yes = constant <i1: true> : tile<i1>
        %n = assume bounded<-1000, 1000>, %m : tile<i32>
        %start = constant <i32: 7> : tile<2xi32>
        %factor = constant <i32: 31> : tile<2xi32>
        %other = constant <i32: 17> : tile<2xi32>
        %sum = for %i in ({lower} to %high, step %step) : tile<i32> iter_values(%hash = %start) -> (tile<2xi32>) {{
          {lines}
          {body.format(condition=condition)}
        }}
        %offset = iota : tile<2xi32>
        %p1 = reshape %p : tile<ptr<i32>> -> tile<1xptr<i32>>
        %p2 = broadcast %p1 : tile<1xptr<i32>> -> tile<2xptr<i32>>
        %q = offset %p2, %offset : tile<2xptr<i32>>, tile<2xi32> -> tile<2xptr<i32>>
        %t = store_ptr_tko weak %q, %sum : tile<2xptr<i32>>, tile<2xi32> -> token
        return
      }}
    }}""")


def stored(module: Module, *numbers: int) -> int:
    found = np.zeros(2, np.int32)
    interpret(module.ir, "k", 1, [found.ctypes.data, *numbers])
    return int(found[0])


def split(module: Module) -> Module:
    run(module.ir, ("split-loops",), evaluate=evaluate)
    module.verify()
    return module


def counts(module: Module) -> tuple[int, int]:
    """The loops and the branches."""
    text = module.to_text()
    return text.count(" for "), text.count(" if ")


def compare(lhs: str, order: str, rhs: str, name: str = "%c", sign: str = "signed") -> str:
    return f"{name} = cmpi {order} {lhs}, {rhs}, {sign} : tile<i32> -> tile<i1>\n"


def assumed(lines: str) -> str:
    """Lines in which %j is the counter within bounds, so that its sums and products do not wrap."""
    return "%j = assume bounded<-5000, 5000>, %i : tile<i32>\n" + lines


# Lines that compute %e from %j, and the same in Python.
CHAINS = {
    "%e = assume bounded<-9000, 9000>, %j : tile<i32>": lambda j: j,
    "%e = addi %j, %k5 : tile<i32>": lambda j: j + 5,
    "%e = subi %j, %k5 : tile<i32>": lambda j: j - 5,
    "%e = subi %k5, %j : tile<i32>": lambda j: 5 - j,
    "%e = negi %j : tile<i32>": lambda j: -j,
    "%e = muli %k7, %j : tile<i32>": lambda j: 7 * j,
    "%e = muli %j, %minus3 : tile<i32>": lambda j: -3 * j,
    "%e = shli %j, %k4 : tile<i32>": lambda j: j << 4,
    "%e = shri %j, %k2 signed : tile<i32>": lambda j: j >> 2,
    "%e = divi %j, %k7 signed rounding<negative_inf> : tile<i32>": lambda j: j // 7,
    "%e = divi %j, %k7 signed rounding<positive_inf> : tile<i32>": lambda j: -(-j // 7),
    "%d = addi %j, %k1 : tile<i32> %e = muli %d, %k8 : tile<i32>": lambda j: (j + 1) * 8,
    "%d = muli %j, %k6 : tile<i32> %s = subi %k3, %d : tile<i32> %e = muli %s, %minus3 : tile<i32>": (
        lambda j: (3 - 6 * j) * -3
    ),
    "%d = divi %j, %k3 signed rounding<negative_inf> : tile<i32> %e = muli %d, %minus3 : tile<i32>": (
        lambda j: (j // 3) * -3
    ),
    "%w = exti %j signed : tile<i32> -> tile<i64> %e = trunci %w : tile<i64> -> tile<i32>": lambda j: j,
}
PYTHON = {
    "less_than": lambda a, b: a < b,
    "less_than_or_equal": lambda a, b: a <= b,
    "greater_than": lambda a, b: a > b,
    "greater_than_or_equal": lambda a, b: a >= b,
}


def expected(counters: range, condition) -> int:
    """The hash, by Python's integers."""
    value = 7
    for i in counters:
        value = value * 31 + i if condition(i) else value * 17
    value &= 2**32 - 1
    return value - 2**32 if value > GREATEST else value


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("chain", CHAINS, ids=range(len(CHAINS)))
def test_chains(chain: str, order: str) -> None:
    """Each monotone operation, each order, either side, and loops with and without iterations before and after."""
    for flipped, step in ((False, 1), (True, 3)):
        sides = ("%n", order, "%e") if flipped else ("%e", order, "%n")
        lines = assumed(f"{chain}\n{compare(*sides)}")
        after = split(module(lines, step=step))
        assert counts(after) == (2, 0)
        randoms = random.Random(f"{chain}{order}")
        for _ in range(12):
            low, m = randoms.randint(-40, 40), randoms.randint(-150, 150)
            high = low + randoms.randint(-5, 40)

            def condition(i: int, m: int = m, flipped: bool = flipped) -> bool:
                pair = (CHAINS[chain](i), m)
                return PYTHON[order](*(pair[::-1] if flipped else pair))

            assert stored(after, low, high, m) == expected(range(low, high, step), condition)


@pytest.mark.parametrize("step", [1, 1 << 29])
@pytest.mark.parametrize("order", ORDERS)
def test_counters_at_the_ends_of_i32(order: str, step: int) -> None:
    """No number that the pass computes wraps: neither the bound of the split, nor the next counter of a large step."""
    after = split(module(compare("%i", order, "%m"), step=step))
    # After the third counter, the next one exceeds the greatest integer.
    last = GREATEST - 3 * step + step // 2 + 1
    for m in (LEAST, LEAST + 1, 0, GREATEST - 1, GREATEST):
        for low, high in ((LEAST, LEAST + 3 * step), (last, GREATEST), (GREATEST, LEAST)):
            counters = range(low, high, step)
            assert stored(after, low, high, m) == expected(counters, lambda i, m=m: PYTHON[order](i, m))
    # m + 1 may wrap, and is computed in 64 bits.
    assert counts(after) == (2, 0)


def wrapped(number: int) -> int:
    return (number + 2**31) % 2**32 - 2**31


def test_a_product_that_may_wrap_is_compared_after_the_split() -> None:
    """From the split on 8 i may exceed i32 and be negative: the second loop compares, and selects."""
    after = split(module("%e = muli %i, %k8 : tile<i32>\n" + compare("%e", "greater_than", "%m"), lower="%k0"))
    assert counts(after) == (2, 0)
    assert after.to_text().count("cmpi") == 1
    first_wrapped = 2**28
    for high, m in ((20, 70), (20, -1), (20, 1000)):
        assert stored(after, 0, high, m) == expected(range(high), lambda i, m=m: wrapped(8 * i) > m)
    # The interpreter would take minutes for the counters from 0 on.
    text = after.to_text().replace("constant <i32: 0>", f"constant <i32: {first_wrapped - 4}>")
    shifted = Module.parse(text)
    for m in (GREATEST - 20, GREATEST, 5):
        counters = range(first_wrapped - 4, first_wrapped + 4)
        assert stored(shifted, 0, first_wrapped + 4, m) == expected(counters, lambda i, m=m: wrapped(8 * i) > m)


def test_a_difference_that_may_wrap_is_compared_after_the_split() -> None:
    """5 - 8 i falls until it wraps, long after it is below a bound of few thousands."""
    lines = "%d = muli %i, %k8 : tile<i32> %e = subi %k5, %d : tile<i32>\n" + compare("%e", "less_than", "%n")
    after = split(module(lines, lower="%k0"))
    assert counts(after) == (2, 0)
    assert after.to_text().count("cmpi") == 1
    for high, m in ((20, -70), (20, 5), (20, 6), (20, -1000)):
        assert stored(after, 0, high, m) == expected(range(high), lambda i, m=m: wrapped(5 - 8 * i) < m)
    # The interpreter would take minutes for the counters from 0 on.
    first_wrapped = 2**28 + 1
    shifted = Module.parse(after.to_text().replace("constant <i32: 0>", f"constant <i32: {first_wrapped - 4}>"))
    for m in (-1000, 0, 1000):
        counters = range(first_wrapped - 4, first_wrapped + 4)
        assert stored(shifted, 0, first_wrapped + 4, m) == expected(counters, lambda i, m=m: wrapped(5 - 8 * i) < m)


def test_a_product_that_may_wrap_below_stays() -> None:
    """A counter of any sign: 8 i may wrap before the split too."""
    lines = "%e = muli %i, %k8 : tile<i32>\n" + compare("%e", "greater_than", "%m")
    assert counts(split(module(lines))) == (1, 1)


@pytest.mark.parametrize(
    "lines",
    [
        "%e = muli %j, %j : tile<i32> " + compare("%e", "less_than", "%n"),
        "%e = remi %j, %k3 signed : tile<i32> " + compare("%e", "less_than", "%n"),
        "%e = muli %j, %n : tile<i32> " + compare("%e", "less_than", "%k5"),
        "%e = divi %j, %k3 signed rounding<zero> : tile<i32> " + compare("%e", "less_than", "%n"),
        "%e = divi %j, %n signed rounding<negative_inf> : tile<i32> " + compare("%e", "less_than", "%k5"),
        compare("%j", "equal", "%n"),
        compare("%j", "less_than", "%n", sign="unsigned"),
        compare("%n", "less_than", "%k5"),
    ],
    ids=["square", "remainder", "unknown sign", "toward zero", "unknown divisor", "equal", "unsigned", "invariant"],
)
def test_other_conditions_stay(lines: str) -> None:
    assert counts(split(module(assumed(lines)))) == (1, 1)


def test_conditions_of_two_ends_make_three_loops() -> None:
    """A window, in one branch or in two: the iterations between its ends have no branch."""
    ends = compare("%i", "less_than", "%k4", "%a") + compare("%i", "greater_than_or_equal", "%n", "%b")
    after = split(module(ends + "%c = ori %a, %b : tile<i1>"))
    # Before the first end the branch is taken, between them it is not.
    assert counts(after) == (3, 0)
    for high, m in ((20, 10), (20, 2), (3, 10), (0, 0), (20, 40)):
        assert stored(after, -2, high, m) == expected(range(-2, high), lambda i, m=m: i < 4 or i >= m)


def test_both_of_two_conditions() -> None:
    """`and` with a condition that is not monotone: the branch stays where the first condition holds."""
    lines = compare("%i", "greater_than_or_equal", "%n", "%a") + "%r = remi %i, %k3 signed : tile<i32>"
    lines += compare("%r", "equal", "%k1", "%b") + "%c = andi %a, %b : tile<i1>"
    after = split(module(lines))
    assert counts(after) == (2, 1)
    for high, m in ((20, 10), (20, 0), (20, 30)):
        assert stored(after, 0, high, m) == expected(range(high), lambda i, m=m: i >= m and i % 3 == 1)


def test_negated_condition() -> None:
    lines = compare("%i", "less_than", "%n", "%a") + "%c = xori %a, %yes : tile<i1>"
    after = split(module(lines))
    assert counts(after) == (2, 0)
    assert stored(after, 0, 20, 11) == expected(range(20), lambda i: i >= 11)


SELECT = """
  %x = muli %hash, %factor : tile<2xi32>
  %y = muli %hash, %other : tile<2xi32>
  %c1 = reshape {condition} : tile<i1> -> tile<1xi1>
  %c2 = broadcast %c1 : tile<1xi1> -> tile<2xi1>
  %z = select %c2, %x, %y : tile<2xi1>, tile<2xi32>
  continue %z : tile<2xi32>
"""


def test_select_of_tiles() -> None:
    """`ct.where` of a scalar condition splits like a branch."""
    after = split(module(compare("%i", "less_than", "%n"), body=SELECT))
    assert counts(after)[0] == 2
    assert "select" not in after.to_text()
    before = module(compare("%i", "less_than", "%n"), body=SELECT)
    for m in (-1, 0, 7, 30):
        assert stored(after, 0, 20, m) == stored(before, 0, 20, m)


def test_bound_that_the_body_computes() -> None:
    """The bound moves before the loop, unless an operand may make it undefined."""
    lines = "%e = addi %n, %k3 : tile<i32>\n" + compare("%i", "less_than", "%e")
    after = split(module(lines))
    assert counts(after) == (2, 0)
    assert stored(after, 0, 20, 8) == expected(range(20), lambda i: i < 11)
    divided = "%e = divi %k8, %n signed : tile<i32>\n" + compare("%i", "less_than", "%e")
    assert counts(split(module(divided))) == (1, 1)


CONTINUE = """
  if {condition} {{
    %x = muli %hash, %factor : tile<2xi32>
    continue %x : tile<2xi32>
  }}
  %y = muli %hash, %other : tile<2xi32>
  continue %y : tile<2xi32>
"""


def test_branch_that_continues_early() -> None:
    after = split(module(compare("%i", "less_than", "%n"), body=CONTINUE))
    assert counts(after) == (2, 0)
    before = module(compare("%i", "less_than", "%n"), body=CONTINUE)
    for m in (-1, 0, 7, 30):
        assert stored(after, 0, 20, m) == stored(before, 0, 20, m)


SCALARS = """
  %s = if {condition} -> (tile<i32>) {{ yield %k1 : tile<i32> }} else {{ yield %k2 : tile<i32> }}
  %s1 = reshape %s : tile<i32> -> tile<1xi32>
  %s2 = broadcast %s1 : tile<1xi32> -> tile<2xi32>
  %y = muli %hash, %s2 : tile<2xi32>
  continue %y : tile<2xi32>
"""


def test_choices_between_scalars_stay() -> None:
    """A select of scalars costs less than a second loop."""
    assert counts(split(module(compare("%i", "less_than", "%n"), body=SCALARS)))[0] == 1
