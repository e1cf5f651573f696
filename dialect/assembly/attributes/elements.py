"""Constant elements: `<f32: [[1.0, 2.0], [3.0, 4.0]]> : tile<2x2xf32>`."""

from __future__ import annotations

from typing import Any

from tilec.dialect.assembly.attributes.attributes import to_integer
from tilec.dialect.assembly.tokens.tokens import Tokens
from tilec.dialect.assembly.types import element_type
from tilec.dialect.cache import recent
from tilec.dialect.cuda_tile.element import ELEMENT_BITS, INTEGERS, NUMBERS
from tilec.dialect.cuda_tile.types import TileType
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell


def read_elements(tokens: Tokens) -> tuple[ir.Attribute, TileType]:
    """Reads elements and the type of their tile."""
    start = tokens.offset()
    tokens.expect("<")
    if tokens.peek() not in NUMBERS:
        tokens.fail(f"expect element type to be one of {' or '.join(NUMBERS)}, but got '{tokens.peek()}'")
    name = tokens.next()
    tokens.expect(":")
    literal_start = tokens.offset()
    shape = _literal(tokens, name)
    literal = tokens.text(literal_start, tokens.offset_of_last_end())
    tokens.expect(">")
    tokens.expect(":")
    type_start, tile = tokens.offset(), tokens.type()
    if not isinstance(tile, TileType):
        tokens.fail_at(type_start, f"expected a tile type, but got '{spell(tile)}'")
    if tile.element != element_type(name):
        tokens.fail_at(
            start, f"mismatch between the element type: '{name}' and the tile element type {spell(tile.element)}"
        )
    if shape is not None and shape != tile.shape:
        tokens.fail_at(
            start, f"inferred shape of elements literal ({_listed(shape)}) does not match type ({_listed(tile.shape)})"
        )
    try:
        return _dense(literal, tile), tile
    except ir.MLIRError as error:
        tokens.fail_at(literal_start, error.error_diagnostics[0].message)


def _listed(shape: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, shape))}]"


@recent(4096)
def _dense(literal: str, tile: TileType) -> ir.Attribute:
    shape = "".join(f"{extent}x" for extent in tile.shape)
    return ir.Attribute.parse(f"dense<{literal}> : tensor<{shape}{tile.element}>")


def _literal(tokens: Tokens, element: str) -> tuple[int, ...] | None:
    """Skips a literal and returns its shape, or None for a scalar or raw bytes, which fit any shape."""
    if tokens.peek() == "[":
        return _list(tokens, element)
    if tokens.peek()[:1] == '"':
        tokens.next()
        return None
    _scalar(tokens, element)
    return None


def _list(tokens: Tokens, element: str) -> tuple[int, ...]:
    start = tokens.offset()
    shapes: list[Any] = tokens.comma_list(
        "[", "]", lambda: _list(tokens, element) if tokens.peek() == "[" else _scalar(tokens, element)
    )
    if not shapes:
        tokens.fail_at(start, "dense attribute cannot be empty")
    if any(shape != shapes[0] for shape in shapes):
        tokens.fail_at(start, "tensor literal is invalid; ranks are not consistent between elements")
    return (len(shapes), *shapes[0])


def _scalar(tokens: Tokens, element: str) -> tuple[()]:
    start = tokens.offset()
    negative = tokens.take("-")
    token = tokens.next()
    if token in ("true", "false"):
        if element != "i1":
            tokens.fail_at(start, "expected integer value" if element in INTEGERS else "expected floating point value")
    elif not token[0].isdigit():
        tokens.fail_at(start, "expected integer value" if element in INTEGERS else "expected floating point value")
    elif element in INTEGERS:
        _check_integer(tokens, start, token, negative, ELEMENT_BITS[element])
    elif "." not in token and not token.startswith("0x"):
        tokens.fail_at(start, "unexpected decimal integer literal for a floating point value")
    return ()


def _check_integer(tokens: Tokens, start: int, token: str, negative: bool, bits: int) -> None:
    if "." in token:
        tokens.fail_at(start, "expected integer value")
    value = to_integer(tokens, token, start) * (-1 if negative else 1)
    # Signed and unsigned readings of the bits are accepted; for 64 bits only signed, except in hexadecimal.
    highest = (1 << bits) - 1 if bits < 64 or token.startswith("0x") else (1 << 63) - 1
    if not -(1 << (bits - 1)) <= value <= highest:
        tokens.fail_at(start, "integer constant out of range for type")


def spell_elements(value: ir.Attribute) -> str:
    """Prints elements with their type."""
    literal, tile = spell_literal(value)
    return f"<{spell(ir.RankedTensorType(value.type).element_type)}: {literal}> : {tile}"


def spell_literal(value: ir.Attribute) -> tuple[str, str]:
    """The elements without their type, and the type of their tile."""
    tensor = ir.RankedTensorType(value.type)
    text = str(value)
    shape = "".join(f"{extent}x" for extent in tensor.shape)
    return text[len("dense<") : text.rindex("> : ")], f"tile<{shape}{spell(tensor.element_type)}>"
