"""Inputs of the vectors: edge cases of each type, and pseudo-random values of a fixed seed."""

from __future__ import annotations

from random import Random

from rational import FORMATS, Format, largest_code, special_code

COUNT = 32


def integers(width: int, seed: str, count: int = COUNT) -> list[int]:
    """Bit patterns of a width: edge cases and pseudo-random ones, shuffled."""
    top = 1 << width
    edges = [0, 1, top - 1, top >> 1, (top >> 1) - 1, 2 % top, 3 % top, top - 2]
    random = Random(seed)
    patterns = edges + [random.getrandbits(width) for _ in range(count)]
    random.shuffle(patterns)
    return [value % top for value in patterns[:count]]


def floats(form: Format, seed: str, count: int = COUNT) -> list[int]:
    """Codes of a format: zeros, subnormals, ones, the largest, infinities, NaN, pseudo-random ones; shuffled."""
    random = Random(seed)
    edges = [0, 1 << form.shift, largest_code(form) << form.shift, special_code(form, 0, "nan")]
    if form.special == "ieee":
        edges.append(special_code(form, 0, "infinite") if not form.saturates else largest_code(form) + 1)
    one = form.bias << form.fraction_bits
    edges += [one << form.shift, (one + 1) << form.shift, ((1 << form.fraction_bits) - 1) << form.shift]
    if form.signed:
        edges += [code | 1 << form.stored - 1 for code in edges]
    anywhere = [random.getrandbits(form.bits) << form.shift for _ in range(count)]
    near = [_near(form, random) for _ in range(count)]
    patterns = edges + [code for pair in zip(anywhere, near, strict=True) for code in pair]
    patterns = patterns[: max(count, len(edges))]
    random.shuffle(patterns)
    return patterns[:count]


def _near(form: Format, random: Random) -> int:
    top = (1 << form.exponent_bits) - 1
    exponent = min(max(form.bias + random.randint(-3, 3), 0), top - 1)
    sign = random.getrandbits(1) if form.signed else 0
    code = sign << form.exponent_bits + form.fraction_bits | exponent << form.fraction_bits
    return (code | random.getrandbits(form.fraction_bits or 1) & (1 << form.fraction_bits) - 1) << form.shift


INTEGERS = ("i1", "i8", "i16", "i32", "i64")
NUMBERS = (*INTEGERS, *FORMATS)
# Element types of operations that move elements; memory cannot have elements of i4 or pointers.
POINTERS = tuple(f"ptr<{name}>" for name in NUMBERS)
MOVED = (*NUMBERS, "i4", *POINTERS)


def codes(element: str, seed: str, count: int) -> list[int]:
    """Bit patterns of any element type; pointers are multiples of the size of every element."""
    if element in FORMATS:
        return floats(FORMATS[element], f"{element}{seed}", max(count, 32))[:count]
    if element.startswith("ptr"):
        return [8 * address for address in integers(44, f"{element}{seed}", count)]
    return integers(int(element[1:]), f"{element}{seed}", count)


def literal(element: str, code: int) -> str:
    """A code as a literal: decimal for integers, the bits in hexadecimal for floats (19 bits for tf32)."""
    if element == "i1":
        return "true" if code else "false"
    if element in FORMATS:
        form = FORMATS[element]
        return f"0x{code >> form.shift:0{-(-form.bits // 4)}X}"
    width = int(element[1:])
    return str(code - (1 << width) if code >> width - 1 else code)
