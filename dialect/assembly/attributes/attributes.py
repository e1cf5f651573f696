"""Reads attributes: builtin ones of MLIR and those of Tile IR."""

from __future__ import annotations

from collections.abc import Callable

from tilec.dialect.assembly.attributes.debug_info_reader import is_debug_info, read_debug_info
from tilec.dialect.assembly.attributes.hint_integers import HINT_BITS, fits_hint
from tilec.dialect.assembly.tokens.lexer import END, is_name
from tilec.dialect.assembly.tokens.limits import MAXIMUM_DIGITS
from tilec.dialect.assembly.tokens.tokens import Tokens, shown, unescape
from tilec.dialect.cuda_tile.attributes import BoundedAttr, DivByAttr, SameElementsAttr
from tilec.dialect.cuda_tile.enums import ENUMERATIONS
from tilec.dialect.cuda_tile.types import TileType
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell

PREDICATES = ("div_by", "same_elements", "bounded")


def read_attribute(tokens: Tokens) -> ir.Attribute:
    """Reads an attribute."""
    token = tokens.peek()
    if token[:1] == '"':
        return ir.StringAttr.get(tokens.string())
    if token[:1] == "@":
        return ir.FlatSymbolRefAttr.get(tokens.symbol())
    if token[:1] == "#":
        return _named(tokens)
    if token == "[":
        return ir.ArrayAttr.get(tokens.comma_list("[", "]", lambda: read_attribute(tokens)))
    if token == "{":
        return ir.DictAttr.get(read_dictionary(tokens))
    if token in ("true", "false"):
        return ir.BoolAttr.get(tokens.next() == "true")
    if token == "unit":
        tokens.next()
        return ir.UnitAttr.get()
    if token == "-" or token[:1].isdigit():
        return read_number(tokens)
    if token in ("array", "dense"):
        return _sliced(tokens)
    if token in PREDICATES:
        return read_predicate(tokens)
    return ir.TypeAttr.get(tokens.type())


def read_dictionary(
    tokens: Tokens, read_value: Callable[[Tokens], ir.Attribute] = read_attribute
) -> dict[str, ir.Attribute]:
    """`{name = attribute, name}`; a name without a value is a unit attribute."""
    found: dict[str, ir.Attribute] = {}

    def entry() -> None:
        start, name = tokens.offset(), _key(tokens)
        if name in found:
            tokens.fail_at(start, f"duplicate key '{name}' in dictionary attribute")
        found[name] = read_value(tokens) if tokens.take("=") else ir.UnitAttr.get()

    tokens.comma_list("{", "}", entry)
    return found


def read_optional_dictionary(tokens: Tokens) -> dict[str, ir.Attribute]:
    """The dictionary of attributes that comes next, empty if none does."""
    return read_dictionary(tokens) if tokens.peek() == "{" else {}


def read_keyed_dictionary(tokens: Tokens) -> dict[str, ir.Attribute]:
    """The dictionary after the word `attributes`, empty if that does not come next."""
    return read_dictionary(tokens) if tokens.take("attributes") else {}


def _key(tokens: Tokens) -> str:
    token = tokens.peek()
    if not is_name(token) and token[:1] != '"':
        tokens.fail(f"expected a key, a bare word or a string, but got {shown(token)}")
    key = unescape(token) if token[:1] == '"' else token
    if not key or "\0" in key:
        # MLIR ends a name at its first NUL byte, and bytecode cannot express an empty one.
        tokens.fail(f"expected a non-empty key without NUL bytes, but got {token}")
    tokens.next()
    return key


def read_integer(tokens: Tokens, message: str = "expected integer value", bits: int = 64) -> int:
    """Reads a signed integer of the given width in bits, decimal or hexadecimal."""
    negative = tokens.take("-")
    token = tokens.peek()
    if not token[:1].isdigit() or "." in token:
        tokens.fail(message)
    value = to_integer(tokens, token, tokens.offset())
    tokens.next()
    value = -value if negative else value
    if not -(1 << bits - 1) <= value < 1 << bits - 1:
        tokens.fail_at(tokens.offsets[tokens.at - 1], f"integer constant out of range for {bits} bits")
    return value


def to_integer(tokens: Tokens, token: str, start: int) -> int:
    """The value of an integer token, decimal (with leading zeros) or hexadecimal."""
    if len(token) > MAXIMUM_DIGITS:
        tokens.fail_at(start, "integer constant out of range for type")
    return int(token, 16 if token.startswith("0x") else 10)


def read_number(tokens: Tokens) -> ir.Attribute:
    """Reads a number with its type; the default is a 64-bit integer or f64."""
    sign = "-" if tokens.take("-") else ""
    start, token = tokens.offset(), tokens.peek()
    if not token[:1].isdigit():
        tokens.fail(f"expected a number, but got {shown(token)}")
    tokens.next()
    type = tokens.type() if tokens.take(":") else None
    if type is None and "." not in token:
        return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), _whole(tokens, sign, token, start))
    spelled = f"{sign}{token} : {type if type is not None else 'f64'}"
    try:
        return ir.Attribute.parse(spelled)
    except ir.MLIRError:
        tokens.fail_at(start, f"'{sign}{token}' is not a value of type {'f64' if type is None else spell(type)}")


def _whole(tokens: Tokens, sign: str, token: str, start: int) -> int:
    value = to_integer(tokens, token, start)
    if value >= 1 << 64 or sign and value > 1 << 63:
        tokens.fail_at(start, "integer constant out of range for attribute")
    return -value if sign else value


def read_predicate(tokens: Tokens) -> ir.Attribute:
    """Reads the predicate of an assume: div_by, same_elements or bounded, with or without its prefix."""
    start = tokens.offset()
    word = tokens.next()
    if word[:1] == "#" and word.removeprefix("#cuda_tile.") not in PREDICATES:
        return tokens.alias(word, start)
    word = word.removeprefix("#cuda_tile.")
    if word not in PREDICATES:
        tokens.fail_at(
            start, f"unknown assume predicate attribute: {word} (expected 'div_by', 'same_elements', or 'bounded')"
        )
    tokens.expect("<")
    found = {"div_by": _div_by, "same_elements": _same_elements, "bounded": _bounded}[word](tokens)
    tokens.expect(">")
    return found


def _div_by(tokens: Tokens) -> ir.Attribute:
    divisor = read_integer(tokens)
    if not tokens.take(","):
        return DivByAttr.get(divisor)
    tokens.expect("every")
    every = read_integer(tokens)
    tokens.expect("along")
    return DivByAttr.get(divisor, every, read_integer(tokens))


def _same_elements(tokens: Tokens) -> ir.Attribute:
    return SameElementsAttr.get(tokens.comma_list("[", "]", lambda: read_integer(tokens)))


def _bounded(tokens: Tokens) -> ir.Attribute:
    lower = None if tokens.take("?") else read_integer(tokens)
    tokens.expect(",")
    return BoundedAttr.get(lower, None if tokens.take("?") else read_integer(tokens))


def read_hints(tokens: Tokens) -> ir.Attribute:
    """`<sm_100 = {latency = 3}>`: a dictionary of dictionaries by architecture."""
    found: dict[str, ir.Attribute] = {}

    def entry() -> None:
        start, key = tokens.offset(), _key(tokens)
        if key in found:
            tokens.fail_at(start, f"duplicate optimization_hints key: {key}")
        tokens.expect("=")
        value = _read_hint(tokens)
        if not isinstance(value, ir.DictAttr):
            tokens.fail_at(
                start, f"expected dictionary attribute for optimization_hints entry `{key}` got value={value}"
            )
        found[key] = value

    tokens.comma_list("<", ">", entry)
    return ir.DictAttr.get(found)


def _read_hint(tokens: Tokens) -> ir.Attribute:
    """`{latency = 3}`, whose integers without a type have 32 bits if they fit, as NVIDIA's tools print them."""
    if tokens.peek() != "{":
        return read_attribute(tokens)
    return ir.DictAttr.get(read_dictionary(tokens, _hint_value))


def _hint_value(tokens: Tokens) -> ir.Attribute:
    at = tokens.at
    found = read_attribute(tokens)
    bare = isinstance(found, ir.IntegerAttr) and ":" not in tokens.tokens[at : tokens.at]
    if bare and fits_hint(found.value):
        return ir.IntegerAttr.get(ir.IntegerType.get_signless(HINT_BITS), found.value)
    return found


def _named(tokens: Tokens) -> ir.Attribute:
    start, token = tokens.offset(), tokens.peek()
    word = token.removeprefix("#cuda_tile.")
    if word in PREDICATES:
        return read_predicate(tokens)
    if is_debug_info(token):
        return read_debug_info(tokens)
    if word == token and "." in token:
        return tokens.dialect_attribute()
    if word == token:
        tokens.next()
        return tokens.alias(token, start)
    if word == "optimization_hints":
        tokens.next()
        return read_hints(tokens)
    if word not in ENUMERATIONS:
        tokens.fail(f"unknown attribute: {token}")
    # Enumerations in the generic form: #cuda_tile.rounding<zero> is stored as the keyword.
    tokens.next()
    tokens.expect("<")
    keyword = tokens.peek()
    if keyword not in ENUMERATIONS[word]:
        tokens.fail(f"expected {token} to be one of: {', '.join(ENUMERATIONS[word])}, but got {shown(keyword)}")
    tokens.next()
    tokens.expect(">")
    return ir.StringAttr.get(keyword)


def _shaped(type: ir.Type) -> str:
    # In NVIDIA's tools tiles are shaped types; here they are not, so elements are stored as those of a tensor.
    if not isinstance(type, TileType):
        return str(type)
    return f"tensor<{''.join(f'{extent}x' for extent in type.shape)}{type.element}>"


def _sliced(tokens: Tokens) -> ir.Attribute:
    start = tokens.offset()
    tokens.next()
    tokens.skip_balanced("<", ">")
    text = tokens.text(start, tokens.offset_of_last_end())
    if text.startswith("dense") and tokens.take(":"):
        text += f" : {_shaped(tokens.type())}"
    try:
        return ir.Attribute.parse(text)
    except ir.MLIRError as error:
        tokens.fail_at(start, str(error.error_diagnostics[0].message))


def check_end(tokens: Tokens) -> None:
    """Checks that the text ends."""
    if tokens.peek() != END:
        tokens.fail(f"expected the end of the text, but got '{tokens.peek()}'")
