"""Vectors of constants: splats and lists of every element type."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from program import Program, Shape
from rational import FORMATS, encode
from sample import INTEGERS, NUMBERS, codes, literal

DECIMALS = ("0.0", "-0.0", "1.0", "-2.5", "1.5e0", "3.0", "-0.5", "2.0e+00")


def constant(element: str, shape: Shape, texts: Any, bits: list[int], case: str) -> dict[str, Any]:
    program = Program("constant", case=f"{case} {element} of rank {len(shape)}")
    program.expect(program.constant(element, texts, shape), element, bits, shape)
    return program.record()


def lists(element: str, spelled: Any, case: str) -> Iterator[dict[str, Any]]:
    """Constants with lists of literals; `spelled` returns eight codes and their literals."""
    bits, texts = spelled
    for at in (2, 5, 7):
        if element != "f4E2M1FN":
            yield constant(element, (), texts[at], [bits[at]], case)
        yield constant(element, (4, 2), texts[at], [bits[at]] * 8, case)
    yield constant(element, (8,), texts, bits, case)
    yield constant(element, (2, 4), [texts[:4], texts[4:]], bits, case)


def decimal(element: str) -> tuple[list[int], list[str]]:
    form = FORMATS[element]
    texts = [text for text in DECIMALS if form.signed or text[0] != "-"]
    if element == "f8E8M0FNU":
        texts = ["1.0", "2.0", "0.5", "4.0"]
    texts = (texts * 4)[:8]
    return [encode(form, (int(text[0] == "-"), abs(Fraction(text)))) for text in texts], texts


def vectors() -> Iterator[dict[str, Any]]:
    for element in NUMBERS:
        bits = codes(element, "constant", 8)
        yield from lists(element, (bits, [literal(element, code) for code in bits]), "bits")
        if element in FORMATS:
            yield from lists(element, decimal(element), "decimal")
    for element in INTEGERS[1:]:
        bits = codes(element, "hex", 8)
        yield constant(element, (8,), [f"0x{code:X}" for code in bits], bits, "hex")
