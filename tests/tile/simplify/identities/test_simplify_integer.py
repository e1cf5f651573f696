"""The pass simplify applies identities of integers and of their comparisons."""

from __future__ import annotations

import re

import numpy as np
import pytest
from checked_rewrites import COUNT, check, constant, kernel, names, simplified, stored

from tilec.lowering.tile.analysis import bounds
from tilec.text_input.module import Module

INTEGER = [
    ("%c = 0", "addi %x, %c", []), ("%c = 0", "addi %c, %x", []), ("%c = 0", "subi %x, %c", []),
    ("", "subi %x, %x", []), ("%c = 1", "muli %x, %c", []), ("%c = 0", "muli %c, %x", []),
    ("%c = 1", "divi %x, %c signed", []), ("%c = 1", "divi %x, %c unsigned", []), ("%c = 1", "remi %x, %c signed", []),
    ("%c = 0", "shli %x, %c", []), ("%c = 0", "shri %x, %c signed", []), ("%c = -1", "andi %x, %c", []),
    ("%c = 0", "andi %c, %x", []), ("", "andi %x, %x", []), ("%c = 0", "ori %x, %c", []), ("%c = -1", "ori %x, %c", []),
    ("", "ori %x, %x", []), ("%c = 0", "xori %x, %c", []), ("", "xori %x, %x", []), ("", "maxi %x, %x signed", []),
    ("", "mini %x, %x unsigned", []), ("%c = 1", "addi %x, %c", ["addi"]), ("%c = 0", "subi %c, %x", ["subi"]),
    ("%c = -1", "muli %x, %c", ["muli"]), ("%c = 2", "divi %x, %c signed", ["divi"]), ("", "addi %x, %x", ["addi"]),
    ("%c = 1", "xori %x, %c", ["xori"]), ("", "mulhii %x, %x", ["mulhii"]),
    ("%c = 0", "maxi %x, %c signed", ["maxi"]), ("%c = 0", "maxi %x, %c unsigned", []),
    ("%c = 0", "mini %x, %c unsigned", []), ("%c = -1", "maxi %x, %c unsigned", []),
]  # fmt: skip


@pytest.mark.parametrize("element", ["i8", "i32", "i64"])
@pytest.mark.parametrize(("constant_c", "operation", "remaining"), INTEGER, ids=lambda value: str(value))
def test_integers(element: str, constant_c: str, operation: str, remaining: list[str]) -> None:
    definition = constant("c", constant_c.split(" = ")[1], element) if constant_c else ""
    check(f"{definition} %r = {operation} : T", element, element, remaining)


@pytest.mark.parametrize(
    ("body", "remaining"),
    [
        ("%n = negi %x : T %r = negi %n : T", []),
        ("%n = absi %x : T %r = absi %n : T", ["absi"]),
        ("%n = negi %x : T %r = absi %n : T", ["negi", "absi"]),
        ("%w = exti %x signed : T -> W %r = trunci %w : W -> T", []),
        ("%w = exti %x unsigned : T -> W %r = trunci %w : W -> T", []),
    ],
)
def test_integer_pairs(body: str, remaining: list[str]) -> None:
    check(body.replace("W", f"tile<{COUNT}xi64>"), "i32", "i32", remaining)


@pytest.mark.parametrize("number", ["1", "3", "2147483647"])
@pytest.mark.parametrize(
    ("body", "remaining"),
    [
        ("%s = addi %x, %c : T %r = subi %s, %x : T", []),
        ("%s = addi %x, %c : T %r = subi %x, %s : T", []),
        ("%s = subi %x, %c : T %r = subi %x, %s : T", []),
        ("%s = addi %x, %c : T %m = muli %s, %k : T %o = muli %k, %x : T %r = subi %m, %o : T", []),
        ("%m = muli %x, %k : T %r = subi %m, %x : T", ["muli", "subi"]),
        ("%m = muli %x, %x : T %s = addi %m, %c : T %r = subi %s, %x : T", ["muli", "addi", "subi"]),
    ],
)
def test_constant_differences(body: str, remaining: list[str], number: str) -> None:
    check(f"{constant('c', number, 'i32')} {constant('k', '-6', 'i32')} {body}", "i32", "i32", remaining)


@pytest.mark.parametrize(
    ("inner", "outer", "remaining"),
    [
        ("signed", "signed", ["exti"]),
        ("unsigned", "unsigned", ["exti"]),
        ("unsigned", "signed", ["exti"]),
        ("signed", "unsigned", ["exti", "exti"]),
    ],
)
def test_extension_twice(inner: str, outer: str, remaining: list[str]) -> None:
    extended = f"tile<{COUNT}xi32>"
    check(f"%w = exti %x {inner} : T -> {extended} %r = exti %w {outer} : {extended} -> R", "i8", "i64", remaining)


@pytest.mark.parametrize(
    ("source", "middle", "result", "remaining"),
    [("i32", "i64", "i8", ["trunci"]), ("i8", "i64", "i32", ["exti"])],
)
@pytest.mark.parametrize("sign", ["signed", "unsigned"])
def test_truncation_of_an_extension(sign: str, source: str, middle: str, result: str, remaining: list[str]) -> None:
    extended = f"tile<{COUNT}x{middle}>"
    check(f"%w = exti %x {sign} : T -> {extended} %r = trunci %w : {extended} -> R", source, result, remaining)


def test_truncation_twice() -> None:
    extended = f"tile<{COUNT}xi32>"
    check(f"%w = trunci %x : T -> {extended} %r = trunci %w : {extended} -> R", "i64", "i8", ["trunci"])


PREDICATES = ("equal", "not_equal", "less_than", "less_than_or_equal", "greater_than", "greater_than_or_equal")


@pytest.mark.parametrize("sign", ["signed", "unsigned"])
@pytest.mark.parametrize("predicate", PREDICATES)
class TestComparison:
    def test_comparison_of_a_value_with_itself(self, predicate: str, sign: str) -> None:
        check(f"%r = cmpi {predicate} %x, %x, {sign} : T -> R", "i32", "i1", [])

    @pytest.mark.parametrize(("low", "high"), [(0, 40), (-40, -1), (-40, 40)])
    @pytest.mark.parametrize("bound", [-41, -40, -1, 0, 8, 40, 41])
    def test_comparison_that_the_bounds_decide(
        self, predicate: str, sign: str, low: int, high: int, bound: int
    ) -> None:
        """Comparisons of a remainder with known bounds have equal results, whether or not they are removed."""
        text = kernel(
            f"{constant('c', str(bound), 'i32')} {constant('lo', str(low), 'i32')} {constant('hi', str(high), 'i32')}"
            f"%a = maxi %x, %lo signed : T %b = mini %a, %hi signed : T %d = addi %b, %lo : T %e = subi %d, %lo : T"
            f"%r = cmpi {predicate} %b, %c, {sign} : T -> R",
            "i32",
            "i1",
        )
        module = simplified(text)
        np.testing.assert_array_equal(stored(module, "i32", "i1"), stored(Module.parse(text), "i32", "i1"))
        if sign == "signed" and predicate in ("less_than", "greater_than_or_equal"):
            assert ("cmpi" in names(module)) == (low < bound <= high)


WIDE = f"tile<{COUNT}xi64>"
EXTENSIONS = [
    ("signed", "signed", 32), ("unsigned", "unsigned", 32), ("signed", "unsigned", 64), ("unsigned", "signed", 64),
]  # fmt: skip
NUMBERS = [
    ("signed", "12345", 32), ("signed", "-1", 32), ("signed", "-2147483648", 32), ("signed", "2147483648", 64),
    ("unsigned", "12345", 32), ("unsigned", "4294967295", 32), ("unsigned", "-1", 64), ("unsigned", "4294967296", 64),
]  # fmt: skip


@pytest.mark.parametrize("sign", ["signed", "unsigned"])
@pytest.mark.parametrize("predicate", PREDICATES)
class TestComparisonOfExtensions:
    """Comparisons in 64 bits of numbers that 32 bits hold are done in 32 bits, and have equal results."""

    def check(self, body: str, predicate: str, sign: str, bits: int) -> None:
        text = kernel(f"{body} %r = cmpi {predicate} %a, %b, {sign} : {WIDE} -> R", "i32", "i1")
        module = simplified(text)
        np.testing.assert_array_equal(stored(module, "i32", "i1"), stored(Module.parse(text), "i32", "i1"))
        # Bounds decide comparisons of zero extensions with numbers of more bits.
        assert set(re.findall(r"cmpi .* : tile<\d+xi(\d+)>", module.to_text())) <= {str(bits)}

    @pytest.mark.parametrize(("left", "right", "bits"), EXTENSIONS)
    def test_two_extensions(self, predicate: str, sign: str, left: str, right: str, bits: int) -> None:
        body = f"%a = exti %x {left} : T -> {WIDE} %b = exti %y {right} : T -> {WIDE}"
        self.check(body, predicate, sign, bits)

    def test_extensions_of_a_number_that_is_not_negative(self, predicate: str, sign: str) -> None:
        extended = f"%a = exti %h unsigned : T -> {WIDE} %b = exti %y signed : T -> {WIDE}"
        self.check(f"{constant('z', '0', 'i32')} %h = maxi %x, %z signed : T {extended}", predicate, sign, 32)

    @pytest.mark.parametrize(("extension", "number", "bits"), NUMBERS)
    def test_extension_and_number(self, predicate: str, sign: str, extension: str, number: str, bits: int) -> None:
        self.check(f"%a = exti %x {extension} : T -> {WIDE} {constant('b', number, 'i64')}", predicate, sign, bits)

    def test_extension_of_a_scalar_that_is_repeated(self, predicate: str, sign: str) -> None:
        body = f"""%n, %tn = load_ptr_tko weak %px : tile<ptr<i32>> -> tile<i32>, token
          %w = exti %n signed : tile<i32> -> tile<i64> %v = reshape %w : tile<i64> -> tile<1xi64>
          %b = broadcast %v : tile<1xi64> -> {WIDE} %a = exti %y signed : T -> {WIDE}"""
        self.check(body, predicate, sign, 32)

    def test_extension_of_a_tile_that_is_repeated_stays(self, predicate: str, sign: str) -> None:
        """The repeated tile of 64 bits has other uses, the addresses, and threads may exchange its elements."""
        body = f"""%h = extract %x[%zero] : T -> tile<2xi32> %w = exti %h signed : tile<2xi32> -> tile<2xi64>
          %v = reshape %w : tile<2xi64> -> tile<1x2xi64>
          %pairs = broadcast %v : tile<1x2xi64> -> tile<{COUNT // 2}x2xi64>
          %b = reshape %pairs : tile<{COUNT // 2}x2xi64> -> {WIDE} %a = exti %y signed : T -> {WIDE}"""
        self.check("%zero = constant <i32: 0> : tile<i32> " + body, predicate, sign, 64)


def test_time_is_linear_in_the_length_of_a_chain_of_sums() -> None:
    """The analysis caches its results; without a cache, each addition would double its work."""
    lines = ["%v0 = absi %x : T"] + [f"%v{i + 1} = addi %v{i}, %v{i} : T" for i in range(200)]
    body = "\n".join(lines) + "\n%r = maxi %v200, %y signed : T"
    assert len(names(simplified(kernel(body, "i32", "i32")))) == 202


def test_each_value_of_a_chain_is_analyzed_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each comparison asks for the bounds of its operands, which follow from those of all values before."""
    analyzed, rule = [], bounds._bounds
    monkeypatch.setattr(bounds, "_bounds", lambda value, of: (analyzed.append(None), rule(value, of))[1])
    lines = ["%v0 = absi %x : T"]
    for i in range(200):
        lines += [f"%s{i} = addi %v{i}, %y : T", f"%v{i + 1} = maxi %s{i}, %x signed : T"]
    assert len(names(simplified(kernel("\n".join(lines) + "\n%r = maxi %v200, %y signed : T", "i32", "i32")))) == 402
    assert len(analyzed) < 5 * len(lines)
