"""The pass simplify applies each identity and preserves results bitwise; other operations are unchanged.

The values are all pairs of special values of the type (infinities, zeros of both signs, subnormals, NaN, the limits of
the integers). After floating-point arithmetic, all NaN compare equal.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

from tilec.lowering.tile.analysis import bounds
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


# Operations that may change the bits of a NaN.
ARITHMETIC = re.compile(r"\b(addf|subf|mulf|divf|fma|maxf|minf|ceil|floor|ftof|fpowf)\b")


def constant(name: str, number: str, element: str) -> str:
    return f"%{name} = constant <{element}: {number}> : tile<{COUNT}x{element}> "


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


@pytest.mark.parametrize(
    ("source", "body", "remaining"),
    [
        ("f16", "%a = ftof %x : T -> W %b = ftof %y : T -> W %m = mulf %a, %b : W", ["mulf"]),
        (
            "i8",
            "%a = itof %x signed : T -> W %b = itof %y unsigned : T -> W %m = mulf %a, %b : W",
            ["itof"] * 2 + ["mulf"],
        ),
        (
            "i8",
            "%a = itof %x unsigned : T -> W %b = itof %y unsigned : T -> W %m = subf %a, %b : W",
            ["itof"] * 2 + ["subf"],
        ),
        (
            "i32",
            "%a = itof %x signed : T -> W %b = itof %y signed : T -> W %m = mulf %a, %b : W",
            ["itof"] * 2 + ["mulf", "ftof"],
        ),
        ("f16", "%a = ftof %x : T -> W %b = ftof %y : T -> W %m = maxf %a, %b : W", ["maxf"]),
        ("f16", "%a = ftof %x : T -> W %b = ftof %y : T -> W %m = minf %a, %b propagate_nan : W", ["minf"]),
        (
            "f16",
            "%a = ftof %x : T -> W %b = ftof %y : T -> W %c = cmpf less_than ordered %a, %b : W -> B "
            "%m = select %c, %a, %b : B, W",
            ["cmpf", "select"],
        ),
        (
            "f16",
            "%a = ftof %x : T -> W %b = ftof %y : T -> W %z = constant <f32: -0.5> : W "
            "%c = cmpf greater_than unordered %a, %z : W -> B %m = select %c, %b, %z : B, W",
            ["cmpf", "select"],
        ),
        (
            "f16",
            "%a = ftof %x : T -> W %b = ftof %y : T -> W %z = constant <f32: 0.1> : W "
            "%c = cmpf greater_than unordered %a, %z : W -> B %m = select %c, %b, %z : B, W",
            ["ftof"] * 2 + ["cmpf", "select", "ftof"],
        ),
    ],
)
def test_operations_rounded_to_16_bits(source: str, body: str, remaining: list[str]) -> None:
    """All pairs, with products that are subnormal, that are rounded, and that exceed f16."""
    wide, mask = f"tile<{COUNT}xf32>", f"tile<{COUNT}xi1>"
    check(body.replace("W", wide).replace("B", mask) + f" %r = ftof %m : {wide} -> R", source, "f16", remaining)


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


_OF_FLOATS = ["exti", "exti", "itof", "itof"]


@pytest.mark.parametrize(
    ("middle", "operation", "signedness", "result", "remaining"),
    [
        ("i32", "subi %a, %b", "signed", "f16", [*_OF_FLOATS, "subf"]),
        ("i16", "addi %a, %b", "signed", "f16", [*_OF_FLOATS, "addf"]),
        ("i64", "subi %a, %b", "signed", "f32", [*_OF_FLOATS, "subf"]),
        # Negative differences are large unsigned numbers.
        ("i32", "subi %a, %b", "unsigned", "f32", ["exti", "exti", "subi", "itof"]),
        ("i32", "muli %a, %b", "signed", "f16", ["exti", "exti", "muli", "itof"]),
    ],
)
def test_floats_of_sums(middle: str, operation: str, signedness: str, result: str, remaining: list[str]) -> None:
    wide = f"tile<{COUNT}x{middle}>"
    extended = f"%a = exti %x signed : T -> {wide} %b = exti %y signed : T -> {wide}"
    check(f"{extended} %d = {operation} : {wide} %r = itof %d {signedness} : {wide} -> R", "i8", result, remaining)


@pytest.mark.parametrize("operation", ["subi", "addi"])
def test_sums_that_wrap_or_have_more_bits_than_the_float_stay(operation: str) -> None:
    check(f"%d = {operation} %x, %y : T %r = itof %d signed : T -> R", "i8", "f16", [operation, "itof"])
    check(f"%d = {operation} %x, %y : T %r = itof %d signed : T -> R", "i32", "f32", [operation, "itof"])


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


ONE, MINUS, ZERO, NEGATIVE_ZERO, TWO = "1.0", "-1.0", "0.0", "-0.0", "2.0"
FLOAT = [
    (NEGATIVE_ZERO, "addf %x, %c", "", []), (NEGATIVE_ZERO, "addf %c, %x", "", []), (ZERO, "subf %x, %c", "", []),
    (NEGATIVE_ZERO, "addf %x, %c", "zero", []), (NEGATIVE_ZERO, "addf %x, %c", "positive_inf", []),
    (ZERO, "addf %x, %c", "negative_inf", []), (NEGATIVE_ZERO, "subf %x, %c", "negative_inf", []),
    (ZERO, "subf %x, %c", "zero", []), (ONE, "mulf %x, %c", "", []), (ONE, "mulf %c, %x", "negative_inf", []),
    (MINUS, "mulf %x, %c", "", ["negf"]), (ONE, "divf %x, %c", "", []), (TWO, "divf %x, %c", "", ["mulf"]),
    ("-0.25", "divf %x, %c", "positive_inf", ["mulf"]), ("1024.0", "divf %x, %c", "zero", ["mulf"]),
    (ONE, "fma %x, %c, %y", "", ["addf"]), (ONE, "fma %c, %x, %y", "zero", ["addf"]),
    (NEGATIVE_ZERO, "fma %x, %y, %c", "", ["mulf"]), (ZERO, "fma %x, %y, %c", "negative_inf", ["mulf"]),
    (TWO, "fpowf %x, %c", "", ["mulf"]),
    # Operations that are kept: a zero of the other sign, a divisor that is not a power of two.
    ("3.0", "fpowf %x, %c", "", ["fpowf"]),
    (ZERO, "addf %x, %c", "", ["addf"]), (NEGATIVE_ZERO, "addf %x, %c", "negative_inf", ["addf"]),
    (NEGATIVE_ZERO, "subf %x, %c", "", ["subf"]), (ZERO, "subf %x, %c", "negative_inf", ["subf"]),
    (ZERO, "mulf %x, %c", "", ["mulf"]), ("3.0", "divf %x, %c", "", ["divf"]), (ONE, "divf %c, %x", "", ["divf"]),
    (ZERO, "fma %x, %y, %c", "", ["fma"]), (NEGATIVE_ZERO, "fma %x, %y, %c", "negative_inf", ["fma"]),
    (ZERO, "subf %c, %x", "", ["subf"]),
]  # fmt: skip


@pytest.mark.parametrize("element", ["f16", "f32"])
@pytest.mark.parametrize(("number", "operation", "rounding", "remaining"), FLOAT, ids=lambda value: str(value))
def test_floats(element: str, number: str, operation: str, rounding: str, remaining: list[str]) -> None:
    mode = f" rounding<{rounding}>" if rounding else ""
    check(f"{constant('c', number, element)} %r = {operation}{mode} : T", element, element, remaining)


@pytest.mark.parametrize("operation", ["addf %x, %c", "subf %x, %d", "mulf %x, %e", "divf %x, %e", "maxf %x, %x"])
def test_operation_with_flush_to_zero_is_kept(operation: str) -> None:
    constants = constant("c", NEGATIVE_ZERO, "f32") + constant("d", ZERO, "f32") + constant("e", ONE, "f32")
    check(f"{constants} %r = {operation} flush_to_zero : T", "f32", "f32", [operation.split(" ")[0]])


@pytest.mark.parametrize("mode", ["approx", "full"])
def test_fast_division_is_kept(mode: str) -> None:
    check(f"{constant('c', TWO, 'f32')} %r = divf %x, %c rounding<{mode}> : T", "f32", "f32", ["divf"])


@pytest.mark.parametrize(
    ("number", "remaining"),
    # The reciprocal of 2**127 is subnormal; the subnormal 2**-127 has a reciprocal with different rounding in f32.
    [("0x7F000000", ["divf"]), ("0x00400000", ["divf"]), ("0x7E800000", ["mulf"]), ("0x00800000", ["mulf"])],
)
def test_division_by_limits_of_the_range(number: str, remaining: list[str]) -> None:
    check(f"{constant('c', number, 'f32')} %r = divf %x, %c : T", "f32", "f32", remaining)


@pytest.mark.parametrize("element", ["f16", "f32"])
@pytest.mark.parametrize(
    ("body", "remaining"),
    [
        ("%n = negf %x : T %r = negf %n : T", []),
        ("%n = negf %x : T %r = absf %n : T", ["absf"]),
        ("%n = absf %x : T %r = absf %n : T", ["absf"]),
        ("%n = absf %x : T %r = negf %n : T", ["absf", "negf"]),
        ("%n = floor %x : T %r = ceil %n : T", ["floor"]),
        ("%n = ceil %x : T %r = ceil %n : T", ["ceil"]),
        ("%r = maxf %x, %x : T", []),
        ("%r = minf %x, %x propagate_nan : T", []),
        ("%r = maxf %x, %y : T", ["maxf"]),
    ],
)
def test_float_pairs(element: str, body: str, remaining: list[str]) -> None:
    check(body, element, element, remaining)


@pytest.mark.parametrize(
    ("source", "middle", "remaining"),
    [("f16", "f32", []), ("f16", "tf32", []), ("f32", "f64", []), ("f32", "f16", ["ftof", "ftof"]),
     ("f16", "bf16", ["ftof", "ftof"]), ("f32", "bf16", ["ftof", "ftof"])],
)  # fmt: skip
def test_exact_conversion_and_its_inverse(source: str, middle: str, remaining: list[str]) -> None:
    extended = f"tile<{COUNT}x{middle}>"
    check(f"%w = ftof %x : T -> {extended} %r = ftof %w : {extended} -> R", source, source, remaining)


def test_inverse_conversion_to_a_saturating_format_is_kept() -> None:
    """Infinity of f8E5M2 is converted back to the largest number."""
    small, extended = f"tile<{COUNT}xf8E5M2>", f"tile<{COUNT}xf16>"
    body = f"""%s = bitcast %x : T -> {small} %w = ftof %s : {small} -> {extended} %b = ftof %w : {extended} -> {small}
      %r = bitcast %b : {small} -> R"""
    check(body, "i8", "i8", ["bitcast", "ftof", "ftof", "bitcast"])


M, N = "tile<16x32xi32>", "tile<32x16xi32>"
SHAPE = [
    (f"%m = reshape %x : T -> {M} %r = reshape %m : {M} -> T", []),
    (f"%m = reshape %x : T -> {M} %p = permute %m [1, 0] : {M} -> {N} %q = permute %p [1, 0] : {N} -> {M}"
     f" %r = reshape %q : {M} -> T", []),
    (f"%m = reshape %x : T -> {M} %p = permute %m [0, 1] : {M} -> {M} %r = reshape %p : {M} -> T", []),
    (f"%m = reshape %x : T -> {M} %p = permute %m [1, 0] : {M} -> {N} %r = reshape %p : {N} -> T", ["permute"]),
    ("%m = reshape %x : T -> tile<4x4x32xi32> %p = permute %m [1, 2, 0] : tile<4x4x32xi32> -> tile<4x32x4xi32>"
     " %q = permute %p [1, 2, 0] : tile<4x32x4xi32> -> tile<32x4x4xi32> %r = reshape %q : tile<32x4x4xi32> -> T",
     ["permute"]),
    ("%z = constant <i32: 0> : tile<i32> %r = extract %x[%z] : T -> T", []),
    ("%z = constant <i32: 1> : tile<i32> %c = cat %x, %y dim = 0 : T, T -> tile<1024xi32>"
     " %r = extract %c[%z] : tile<1024xi32> -> T", []),
    ("%z = constant <i32: 0> : tile<i32> %c = cat %x, %y dim = 0 : T, T -> tile<1024xi32>"
     " %r = extract %c[%z] : tile<1024xi32> -> T", []),
    ("%z = constant <i32: 0> : tile<i32> %r = insert %x, %y[%z] : T, T", []),
    ("%f = bitcast %x : T -> tile<512xf32> %r = bitcast %f : tile<512xf32> -> T", []),
    ("%b = pack %x : T -> tile<2048xi8> %r = unpack %b : tile<2048xi8> -> T", []),
    ("%c = constant <i1: true> : tile<512xi1> %r = select %c, %x, %y : tile<512xi1>, T", []),
    ("%c = constant <i1: false> : tile<512xi1> %r = select %c, %x, %y : tile<512xi1>, T", []),
    ("%c = cmpi less_than %x, %y, signed : T -> tile<512xi1> %r = select %c, %x, %x : tile<512xi1>, T", []),
    ("%c = cmpi less_than %x, %y, signed : T -> tile<512xi1> %r = select %c, %x, %y : tile<512xi1>, T",
     ["cmpi", "select"]),
]  # fmt: skip


@pytest.mark.parametrize(("body", "remaining"), SHAPE)
def test_operations_that_move_elements(body: str, remaining: list[str]) -> None:
    check(body, "i32", "i32", remaining)


def test_select_between_true_and_false_is_its_condition() -> None:
    bits = f"tile<{COUNT}xi1>"
    constants = f"%t = constant <i1: true> : {bits} %f = constant <i1: false> : {bits}"
    body = f"{constants} %c = cmpi less_than %x, %y, signed : T -> {bits} %r = select %c, %t, %f : {bits}, {bits}"
    check(body, "i32", "i1", ["cmpi"])


def test_broadcast_twice() -> None:
    body = """%i = constant <i32: 0> : tile<i32> %p = extract %x[%i] : T -> tile<1xi32>
      %q = reshape %p : tile<1xi32> -> tile<1x1xi32> %b = broadcast %q : tile<1x1xi32> -> tile<16x1xi32>
      %d = broadcast %b : tile<16x1xi32> -> tile<16x32xi32>
      %e = reshape %d : tile<16x32xi32> -> T %r = addi %e, %y : T"""
    expected = simplified(kernel("%r = addi %x, %y : T", "i32", "i32")).to_text()
    assert simplified(kernel(body, "i32", "i32")).to_text().count("broadcast") == expected.count("broadcast") + 1
    check(body, "i32", "i32", ["extract", "addi"])


MASK = f"tile<{COUNT}xi1>"


class TestMasks:
    def kernel(self, mask: str, padding: str = "") -> str:
        loads = f"%v, %tv = load_ptr_tko weak %a3, %m{padding} : tile<{COUNT}xptr<i32>>, {MASK}"
        types = f", tile<{COUNT}xi32>" if padding else ""
        body = f"%m = constant <i1: {mask}> : {MASK} {loads}{types} -> T, token %r = addi %v, %y : T"
        return kernel(body, "i32", "i32")

    def test_true_mask_is_removed_with_its_padding(self) -> None:
        module = simplified(self.kernel("true", ", %y"))
        assert "i1" not in module.to_text()

    def test_load_with_a_false_mask_is_its_padding(self) -> None:
        text = self.kernel("false", ", %y")
        module = simplified(text)
        assert module.to_text().count("load_ptr_tko") == Module.parse(text).to_text().count("load_ptr_tko") - 1
        np.testing.assert_array_equal(stored(module, "i32", "i32"), stored(Module.parse(text), "i32", "i32"))

    def test_load_with_a_false_mask_without_padding_is_kept(self) -> None:
        text = self.kernel("false")
        assert simplified(text).to_text().count("load_ptr_tko") == Module.parse(text).to_text().count("load_ptr_tko")

    @pytest.mark.parametrize(("mask", "remaining"), [("true", "weak %2, %lhs : "), ("false", None)])
    def test_stores(self, mask: str, remaining: str | None) -> None:
        text = f"""cuda_tile.module @m {{ entry @k(%p: tile<4xptr<i32>>, %v: tile<4xi32>) {{
          %m = constant <i1: {mask}> : tile<4xi1>
          %t = store_ptr_tko weak %p, %v, %m : tile<4xptr<i32>>, tile<4xi32>, tile<4xi1> -> token
          %u = store_ptr_tko weak %p, %v token = %t : tile<4xptr<i32>>, tile<4xi32> -> token }} }}"""
        text = text.replace("%p: tile<4xptr<i32>>, %v: tile<4xi32>", "%q: tile<ptr<i32>>, %w: tile<i32>").replace(
            "%m = ",
            "%q1 = reshape %q : tile<ptr<i32>> -> tile<1xptr<i32>> %p = broadcast %q1 : tile<1xptr<i32>> ->"
            " tile<4xptr<i32>> %w1 = reshape %w : tile<i32> -> tile<1xi32> %v = broadcast %w1 : tile<1xi32> ->"
            " tile<4xi32> %m = ",
        )
        assert simplified(text).to_text().count("store_ptr_tko") == (2 if remaining else 1)
        assert "tile<4xi1>" not in simplified(text).to_text()


def test_pass_is_idempotent() -> None:
    for body, _ in SHAPE:
        text = kernel(body, "i32", "i32")
        once = simplified(text)
        again = Module.parse(once.to_text())
        run(again.ir, ("simplify", "canonicalize"), evaluate=evaluate)
        assert again.to_text() == once.to_text()


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
