"""The pass simplify applies identities of floats, of their conversions and of floats of integers."""

from __future__ import annotations

import pytest
from checked_rewrites import COUNT, check, constant

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
