"""Vectors of printing and assertions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from program import Program, Shape, tile_type
from rational import FORMATS, encode
from sample import INTEGERS


def printed(form: str, arguments: Sequence[tuple[str, Shape, Any]], expected: str, **more: Any) -> dict[str, Any]:
    """`arguments` are element types, shapes and bits."""
    program = Program("print_tko", case=f"{form} {' '.join(element for element, _, _ in arguments)}".strip(), **more)
    tiles = [program.loaded_tile(element, bits, shape) for element, shape, bits in arguments]
    types = [tile_type(element, shape) for element, shape, _ in arguments]
    operands = f", {', '.join(tiles)}" if tiles else ""
    listed = f" : {', '.join(types)}" if types else ""
    program.let(f'print_tko "{form}"{operands}{listed} -> token')
    return {**program.record(), "printed": expected}


def codes_of(element: str, values: Sequence[Fraction | int]) -> list[int]:
    if element not in FORMATS:
        return [int(value) % (1 << int(element[1:])) for value in values]
    return [encode(FORMATS[element], (int(value < 0), Fraction(abs(value)))) for value in values]


# Formats of C that differ from Python's % (ISO C 7.21.6.1): a leading zero for octal, no sign for unsigned, no zeros
# before a precision or an infinity, hexadecimal floats without trailing zeros, the low byte of a character.
C_ONLY = (
    ("%#o", "i32", 8, "010"), ("%+u", "i32", 5, "5"), ("% x", "i8", 0xFE, "fffffffe"), ("%05.3d|", "i32", 42, "  042|"),
    ("%.0d|", "i16", 0, "|"), ("%06f", "f32", 0x7F800000, "   inf"), ("%a", "f32", 0x3FC00000, "0x1.8p+0"),
    ("%A", "f64", 0xBFD0000000000000, "-0X1P-2"), ("%.1a", "f16", 0x3E80, "0x1.ap+0"), ("%a", "f32", 0, "0x0p+0"),
    ("%a", "f32", 1, "0x1p-149"), ("%c", "i32", 256 + 72, "H"), ("%5c|", "i8", 72, "    H|"),
    ("%hhu", "i8", 0xFE, "254"), ("%hx", "i8", 0xFE, "fffe"), ("%hhd", "i32", 0x1FF, "-1"),
    ("%hd", "i64", 0x8000, "-32768"),
)  # fmt: skip


def prints() -> Iterator[dict[str, Any]]:
    """Directives whose result is the same in Python's % as in C, then those of C_ONLY, then tiles."""
    yield printed("plain text\\0A", [], "plain text\n")
    yield printed("100%%", [], "100%")
    for element in INTEGERS[1:]:
        code = codes_of(element, [-2])
        # NVIDIA's tools sign-extend integers narrower than an int for every directive, like C.
        unsigned = -2 % (1 << max(32, int(element[1:])))
        for form, text in (("%d", "-2"), ("%i", "-2"), ("%5d|", "   -2|"), ("%-5d|", "-2   |"), ("%+d", "-2")):
            yield printed(form, [(element, (), code)], text)
        for form in ("%u", "%x", "%X", "%o", "%#x", "%08X"):
            yield printed(form, [(element, (), code)], form.replace("u", "d") % unsigned)
    for form in ("%u", "%d", "%x"):
        yield printed(form, [("i1", (), [1])], "1")
    yield printed("%lld %hhd", [("i64", (), codes_of("i64", [-7])), ("i8", (), codes_of("i8", [-7]))], "-7 -7")
    yield printed("%c%c", [("i32", (), [72]), ("i8", (), [105])], "Hi")
    for element in FORMATS:
        if element == "f4E2M1FN":
            continue
        value = Fraction(1, 2) if not FORMATS[element].signed else Fraction(-3, 2)
        for form in ("%f", "%e", "%g", "%08.3f", "%+.1E"):
            yield printed(form, [(element, (), codes_of(element, [value]))], form % float(value))
    for form, element, code, text in C_ONLY:
        yield printed(form, [(element, (), [code])], text)
    infinite, nan = 0x7F800000, 0x7FC00000
    yield printed("%f %f", [("f32", (), [infinite]), ("f32", (), [infinite | 1 << 31])], "inf -inf")
    yield printed("%f", [("f32", (), [nan])], "nan")
    quarter = codes_of("f64", [Fraction(1, 4)])
    yield printed("x=%d y=%f\\0A", [("i32", (), [4]), ("f64", (), quarter)], "x=4 y=0.250000\n")
    # A tile is printed in brackets, row by row, like NVIDIA's tools.
    for element in (*INTEGERS, *FORMATS):
        values = [0, 1, 0, 1] if element == "i1" else [1, 2, 4, 2] if element in FORMATS else [1, 2, 3, 4]
        form, shown = ("%g", values) if element in FORMATS else ("%u", values)
        row = "[[{}, {}], [{}, {}]]".format(*shown)
        yield printed(form, [(element, (2, 2), codes_of(element, values))], row)
    program = Program("print_tko", case="i4", printed="[-8, 7]")
    low = program.let(f"unpack {program.loaded_tile('i8', [0x78], (1,))} : tile<1xi8> -> tile<2xi4>")
    program.let(f'print_tko "%d", {low} : tile<2xi4> -> token')
    yield program.record()


def pointer_printed(pointee: str) -> dict[str, Any]:
    case = f"a pointer to {pointee}"
    program = Program("print_tko", case=case, printed="0x1000", choice="pointers print in hex after 0x")
    address = program.constant("i64", 4096)
    pointer = program.let(f"int_to_ptr {address} : tile<i64> -> tile<ptr<{pointee}>>")
    program.let(f'print_tko "%p", {pointer} : tile<ptr<{pointee}>> -> token')
    return program.record()


def in_order() -> dict[str, Any]:
    """Tokens order prints."""
    program = Program("print_tko", case="a chain of tokens", printed="one two three")
    token = program.let("make_token : token")
    for word in ("one ", "two ", "three"):
        token = program.let(f'print_tko "{word}" token={token} -> token')
    return program.record()


def asserted(shape: Shape, bits: list[int]) -> dict[str, Any]:
    """An assertion that holds has no effect; one that fails reports its message."""
    fails = not all(bits)
    case = f"rank {len(shape)}, {'fails' if fails else 'holds'}"
    program = Program("assert", case=case, **({"fails": "never this"} if fails else {}))
    condition = program.loaded_tile("i1", bits, shape)
    program.line(f'assert {condition}, "never this" : {tile_type("i1", shape)}')
    if not fails:
        program.expect(program.constant("i32", 1), "i32", [1])
    return program.record()


def vectors() -> Iterator[dict[str, Any]]:
    yield from prints()
    yield pointer_printed("f32")
    yield pointer_printed("f4E2M1FN")
    yield in_order()
    for shape, bits in (((), [1]), ((), [0]), ((4,), [1, 1, 1, 1]), ((4,), [1, 0, 1, 0]), ((2, 2), [1, 1, 1, 0])):
        yield asserted(shape, bits)
