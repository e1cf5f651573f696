"""Vectors of reduce and scan as whole programs: bodies of several operations, several operands, every element type.

The order of a reduce is unspecified, so each body is exact, associative and commutative on these values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

from float_vectors import value
from integer_vectors import read, signed
from program import Program, Shape, tile_type
from rational import FORMATS, decode, encode
from sample import INTEGERS, NUMBERS, codes, literal
from shape_vectors import flat

Row = tuple[int, ...]
SHAPE = (2, 4, 8)
COUNT = prod(SHAPE)
FLOATS = ("f16", "bf16", "f32", "f64")


def reduced(
    columns: Sequence[list[int]], shape: Shape, dim: int, combine: Callable[[Row, Row], Row], reverse: bool | None
) -> list[list[int]]:
    """Results in row-major order, of a reduce (reverse is None) without `dim`; combine takes (element, accumulator)."""
    rows = list(zip(*columns, strict=True))
    extents = shape[:dim] + shape[dim + 1 :]
    prefixes, totals = list(rows), []
    for rest in product(*map(range, extents)):
        offsets = [flat((*rest[:dim], at, *rest[dim:]), shape) for at in range(shape[dim])]
        for before, offset in zip(offsets[:: -1 if reverse else 1], offsets[:: -1 if reverse else 1][1:], strict=False):
            prefixes[offset] = combine(rows[offset], prefixes[before])
        totals.append(prefixes[offsets[-1]])
    rows = totals if reverse is None else prefixes
    return [list(column) for column in zip(*rows, strict=True)]


def reduction(
    case: str,
    columns: Sequence[tuple[str, list[int]]],
    identities: Sequence[str],
    body: Sequence[str],
    combine: Callable[[Row, Row], Row],
    dim: int,
    reverse: bool | None,
    shape: Shape = SHAPE,
) -> dict[str, Any]:
    """A program with one reduction; `columns` are the element types and bits of the operands.

    In the body, %x0 and %y0 are an element and its accumulator.
    """
    operation = "reduce" if reverse is None else "scan"
    program = Program(operation, case=f"{case}, dim {dim}{'' if reverse is None else f', reverse {reverse}'}")
    results = reduced([bits for _, bits in columns], shape, dim, combine, reverse)
    kept = shape[:dim] + shape[dim + 1 :] if reverse is None else shape
    elements = [element for element, _ in columns]
    operands = [loaded_tile(program, element, bits, shape) for element, bits in columns]
    direction = "" if reverse is None else f"reverse={str(reverse).lower()} "
    text = f"dim={dim} {direction}identities=[{', '.join(identities)}]"
    operand_types, result_types = (
        ", ".join(tile_type(element, extents) for element in elements) for extents in (shape, kept)
    )
    scalars = [f"%{name}{at}: {tile_type(element)}" for at, element in enumerate(elements) for name in "xy"]
    names = [f"%r{at}" for at in range(len(elements))]
    program.line(f"{', '.join(names)} = {operation} {', '.join(operands)} {text} : {operand_types} -> {result_types}")
    program.line(f"({', '.join(scalars)}) {{")
    for line in body:
        program.line(line)
    program.line("}")
    for name, element, bits in zip(names, elements, results, strict=True):
        expect_tile(program, name, element, bits, kept)
    return program.record()


def loaded_tile(program: Program, element: str, bits: list[int], shape: Shape) -> str:
    """A tile loaded from memory; two elements of i4 share a byte."""
    if element != "i4":
        return program.loaded_tile(element, bits, shape)
    count = len(bits)
    stored = [low | high << 4 for low, high in zip(bits[0::2], bits[1::2], strict=True)]
    packed = program.loaded_tile("i8", stored, (count // 2,))
    line = program.let(f"unpack {packed} : {tile_type('i8', (count // 2,))} -> {tile_type('i4', (count,))}")
    return program.let(f"reshape {line} : {tile_type('i4', (count,))} -> {tile_type('i4', shape)}")


def expect_tile(program: Program, name: str, element: str, bits: list[int], shape: Shape) -> None:
    if element != "i4":
        program.expect(name, element, bits, shape)
        return
    wide = program.let(f"exti {name} unsigned : {tile_type('i4', shape)} -> {tile_type('i8', shape)}")
    program.expect(wide, "i8", bits, shape)


def directions() -> Iterator[tuple[int, bool | None]]:
    yield from product(range(3), (None, False, True))


# Bodies of one operation on integers: text, function of (a, b, width), identity.
INTEGER_BODIES: dict[str, tuple[str, Callable[[int, int, int], int], Callable[[int], int]]] = {
    "addi": ("", lambda a, b, _: a + b, lambda _: 0),
    "muli": ("", lambda a, b, _: a * b, lambda _: 1),
    "andi": ("", lambda a, b, _: a & b, lambda width: (1 << width) - 1),
    "ori": ("", lambda a, b, _: a | b, lambda _: 0),
    "xori": ("", lambda a, b, _: a ^ b, lambda _: 0),
    "maxi": (" signed", lambda a, b, w: max(signed(a, w), signed(b, w)), lambda width: 1 << width - 1),
    "mini": (" unsigned", lambda a, b, _: min(a, b), lambda width: (1 << width) - 1),
}


def integers() -> Iterator[dict[str, Any]]:
    for at, (name, element) in enumerate(product(INTEGER_BODIES, INTEGERS)):
        text, meaning, identity = INTEGER_BODIES[name]
        width = int(element[1:])
        body = [f"%r = {name} %x0, %y0{text} : {tile_type(element)}", f"yield %r : {tile_type(element)}"]
        identities = [spelled(element, identity(width))]
        for dim, reverse in list(directions())[at % 3 :: 3]:

            def combine(x: Row, y: Row, meaning: Any = meaning, width: int = width) -> Row:
                return (meaning(x[0], y[0], width) % (1 << width),)

            columns = [(element, codes(element, f"fold{name}", COUNT))]
            yield reduction(f"{name} {element}", columns, identities, body, combine, dim, reverse)


def spelled(element: str, code: int) -> str:
    return literal(element, code) if element == "i1" else f"{literal(element, code)} : {element}"


# Bodies on floats whose results are exact in every order: sums and products of these values, minima and maxima.
FLOAT_BODIES: dict[str, tuple[Callable[[Fraction, Fraction], Fraction], tuple[int, ...], str]] = {
    "addf": (lambda a, b: a + b, (0, 1, 2, 3, -1, -2, -3, 5), "0.0"),
    "mulf": (lambda a, b: a * b, (1, -1, 2, 1, 1, -1, 1, 1), "1.0"),
    "maxf": (max, (3, -7, 12, 1, 0, 9, -30, 5), "0xFF80"),
    "minf": (min, (3, -7, 12, 1, 0, 9, -30, 5), "0x7F80"),
}


def infinite(element: str, sign: int) -> str:
    form = FORMATS[element]
    code = ((1 << form.exponent_bits) - 1) << form.fraction_bits
    return literal(element, (code | sign << form.bits - 1) << form.shift)


def floats() -> Iterator[dict[str, Any]]:
    for at, (name, element) in enumerate(product(FLOAT_BODIES, FLOATS)):
        exact, values, identity = FLOAT_BODIES[name]
        form = FORMATS[element]
        if identity.startswith("0x"):
            identity = infinite(element, int(name == "maxf"))
        body = [f"%r = {name} %x0, %y0 : {tile_type(element)}", f"yield %r : {tile_type(element)}"]

        def combine(x: Row, y: Row, exact: Any = exact, form: Any = form) -> Row:
            result = exact(value(decode(form, x[0])), value(decode(form, y[0])))
            return (encode(form, (int(result < 0), abs(result))),)

        numbers = [Fraction(values[position * 5 % 8]) for position in range(COUNT)]
        columns = [(element, [encode(form, (int(number < 0), abs(number))) for number in numbers])]
        for dim, reverse in list(directions())[at % 3 :: 3]:
            yield reduction(f"{name} {element}", columns, [f"{identity} : {element}"], body, combine, dim, reverse)


def largest(element: str) -> Iterator[dict[str, Any]]:
    """The maximum of a type without arithmetic, compared as f64 or as i32."""
    if element == "i4":
        wide, widen, compare = "i32", "exti {} signed", "cmpi greater_than %a, %b, signed"
        bits, identity = codes("i4", "largest", COUNT), "-8 : i4"

        def rank(code: int) -> Any:
            return read(code, 4, "signed")
    else:
        form = FORMATS[element]
        wide, widen, compare = "f64", "ftof {}", "cmpf greater_than ordered %a, %b"
        powers = [Fraction(2) ** (position * 5 % 7 - 3) for position in range(COUNT)]
        bits = [encode(form, (int(form.signed and at % 3 == 0), power), "zero") for at, power in enumerate(powers)]
        identity = f"{'-8.0' if form.signed else '0.125'} : {element}"

        def rank(code: int) -> Any:
            return value(decode(form, code))

    body = [
        f"%a = {widen.format('%x0')} : {tile_type(element)} -> {tile_type(wide)}",
        f"%b = {widen.format('%y0')} : {tile_type(element)} -> {tile_type(wide)}",
        f"%c = {compare} : {tile_type(wide)} -> tile<i1>",
        f"%r = select %c, %x0, %y0 : tile<i1>, {tile_type(element)}",
        f"yield %r : {tile_type(element)}",
    ]

    def combine(x: Row, y: Row) -> Row:
        return max(x, y, key=lambda row: rank(row[0]))

    for dim, reverse in ((0, None), (2, None), (1, False), (2, True)):
        yield reduction(f"the largest {element}", [(element, bits)], [identity], body, combine, dim, reverse)


def argmax() -> Iterator[dict[str, Any]]:
    """The largest value and its index; the first index if several are equal."""
    bits = [encode(FORMATS["f32"], (0, Fraction(at * 7 % 5))) for at in range(COUNT)]
    body = [
        "%g = cmpf greater_than ordered %x0, %y0 : tile<f32> -> tile<i1>",
        "%e = cmpf equal ordered %x0, %y0 : tile<f32> -> tile<i1>",
        "%l = cmpi less_than %x1, %y1, signed : tile<i32> -> tile<i1>",
        "%b = andi %e, %l : tile<i1>",
        "%c = ori %g, %b : tile<i1>",
        "%v = select %c, %x0, %y0 : tile<i1>, tile<f32>",
        "%i = select %c, %x1, %y1 : tile<i1>, tile<i32>",
        "yield %v, %i : tile<f32>, tile<i32>",
    ]
    columns = [("f32", bits), ("i32", list(range(COUNT)))]
    identities = [f"{infinite('f32', 1)} : f32", f"{2**31 - 1} : i32"]

    def combine(x: Row, y: Row) -> Row:
        return max(x, y, key=lambda row: (row[0], -row[1]))

    for dim, reverse in directions():
        yield reduction("value and place", columns, identities, body, combine, dim, reverse)


def linear_functions() -> Iterator[dict[str, Any]]:
    """A scan with an associative body that is not commutative: (a, b) and (c, d) give (a * c, b * c + d)."""
    columns = [("i32", codes("i32", "factor", COUNT)), ("i32", codes("i32", "term", COUNT))]
    body = [
        "%f = muli %y0, %x0 : tile<i32>",
        "%m = muli %y1, %x0 : tile<i32>",
        "%t = addi %m, %x1 : tile<i32>",
        "yield %f, %t : tile<i32>, tile<i32>",
    ]

    def combine(x: Row, y: Row) -> Row:
        return y[0] * x[0] % 2**32, (y[1] * x[0] + x[1]) % 2**32

    for dim, reverse in product(range(3), (False, True)):
        yield reduction("lines composed", columns, ["1 : i32", "0 : i32"], body, combine, dim, reverse)


def body_with_an_if() -> Iterator[dict[str, Any]]:
    """A body with an if, which skips zeros."""
    columns = [("i32", [code if at % 3 else 0 for at, code in enumerate(codes("i32", "branch", COUNT))])]
    body = [
        "%z = constant <i32: 0> : tile<i32>",
        "%c = cmpi equal %x0, %z, signed : tile<i32> -> tile<i1>",
        "%r = if %c -> (tile<i32>) { yield %y0 : tile<i32> } else {",
        "%s = addi %x0, %y0 : tile<i32>",
        "yield %s : tile<i32>",
        "}",
        "yield %r : tile<i32>",
    ]
    for dim, reverse in ((0, None), (2, None), (1, False)):
        yield reduction("a branch", columns, ["0 : i32"], body, lambda x, y: ((x[0] + y[0]) % 2**32,), dim, reverse)


def ranks() -> Iterator[dict[str, Any]]:
    """Rank 1, reduced to rank 0, and extents of 1, 32, 64 and 256."""
    body = ["%r = addi %x0, %y0 : tile<i32>", "yield %r : tile<i32>"]
    shapes: tuple[tuple[Shape, int], ...] = (((8,), 0), ((1,), 0), ((1, 4), 0), ((4, 1), 1), ((256,), 0), ((2, 64), 1))
    for shape, dim in (*shapes, ((64, 2), 0), ((32, 32), 0)):
        for reverse in (None, False, True):
            columns = [("i32", codes("i32", "rank", prod(shape)))]
            case = f"shape {'x'.join(map(str, shape))}"
            yield reduction(
                case, columns, ["0 : i32"], body, lambda x, y: ((x[0] + y[0]) % 2**32,), dim, reverse, shape
            )


def vectors() -> Iterator[dict[str, Any]]:
    yield from integers()
    yield from floats()
    for element in (*(name for name in NUMBERS if name not in (*INTEGERS, *FLOATS, "f4E2M1FN")), "i4"):
        yield from largest(element)
    yield from argmax()
    yield from linear_functions()
    yield from body_with_an_if()
    yield from ranks()
