"""Reads the attributes of debug info: `#cuda_tile.di_file<"k.py" in "/src">` and the attributes that contain it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import UnionType

from tilec.dialect.assembly.tokens.lexer import END, is_name
from tilec.dialect.assembly.tokens.tokens import Tokens, unescape
from tilec.dialect.cuda_tile.debug_info import (
    NODES,
    DICompileUnitAttr,
    DIFileAttr,
    DILexicalBlockAttr,
    DISubprogramAttr,
    Scope,
)
from tilec.dialect.mlir import ir

_PREFIX = "#cuda_tile."
# The limit for attributes written inline; aliases may nest to any depth.
_DEPTH_LIMIT = 64
# The limit of line numbers in the bindings of MLIR.
_NUMBER_LIMIT = 1 << 31


@dataclass(frozen=True)
class _Parameter:
    """A parameter of a struct: its reader and its default."""

    read: Callable[[Tokens, int], ir.Attribute]
    default: ir.Attribute = None


def is_debug_info(token: str) -> bool:
    """Whether a token starts an attribute of debug info."""
    return token[:1] == "#" and token.removeprefix(_PREFIX) in NODES


def read_debug_info(tokens: Tokens, depth: int = 0) -> ir.Attribute:
    """Reads an attribute of debug info, selected by its name."""
    mnemonic = tokens.next().removeprefix(_PREFIX)
    return _body(tokens, mnemonic, depth)


def read_scope(tokens: Tokens, depth: int = 0) -> ir.Attribute:
    """Reads a subprogram, a lexical block, or an alias of one."""
    return _node(tokens, depth, Scope, "a subprogram or a lexical block", None)


def _body(tokens: Tokens, mnemonic: str, depth: int) -> ir.Attribute:
    if depth > _DEPTH_LIMIT:
        tokens.fail(f"debug info is nested more than {_DEPTH_LIMIT} levels deep: use aliases for its parts")
    tokens.expect("<")
    if mnemonic == "di_file":
        name = _string(tokens, depth)
        tokens.expect("in")
        found = DIFileAttr.get(name, _string(tokens, depth))
        tokens.expect(">")
        return found
    made, parameters = _STRUCTS[mnemonic]
    return made.get(**_struct(tokens, parameters, depth))


def _struct(tokens: Tokens, parameters: dict[str, _Parameter], depth: int) -> dict[str, ir.Attribute]:
    """`name = value, ..` in any order, by parameter name."""
    found: dict[str, ir.Attribute] = {}
    while True:
        name = tokens.peek()
        if not is_name(name):
            tokens.fail("expected a parameter name in struct")
        if name in found or name not in parameters:
            tokens.fail(f"duplicate or unknown struct parameter name: {name}")
        tokens.next()
        tokens.expect("=")
        found[name] = parameters[name].read(tokens, depth)
        if not tokens.take(","):
            break
    for name, parameter in parameters.items():
        if found.setdefault(name, parameter.default) is None:
            tokens.fail(f"struct is missing required parameter: {name}")
    tokens.expect(">")
    return {_PYTHON.get(name, name): value for name, value in found.items()}


def _node(
    tokens: Tokens, depth: int, kind: type[ir.Attribute] | UnionType, description: str, mnemonic: str | None
) -> ir.Attribute:
    start, token = tokens.offset(), tokens.peek()
    if mnemonic is not None and token == "<":
        return _body(tokens, mnemonic, depth + 1)
    if is_debug_info(token):
        found = read_debug_info(tokens, depth + 1)
    elif token[:1] == "#":
        found = tokens.alias(tokens.next(), start)
    else:
        tokens.fail(f"expected {description}, but got {'the end of the text' if token == END else repr(token)}")
    if not isinstance(found, kind):
        tokens.fail_at(start, f"expected {description}, but got '{token}'")
    return found


def _string(tokens: Tokens, _depth: int) -> str:
    if tokens.peek()[:1] != '"':
        tokens.fail(f"expected a string, but got '{tokens.peek()}'")
    return unescape(tokens.next())


def read_line_or_column(tokens: Tokens) -> int:
    """Reads a line or a column number."""
    token = tokens.peek()
    if not token.isdecimal():
        tokens.fail(f"expected a line or a column, but got '{token}'")
    if len(token) > len(str(_NUMBER_LIMIT)) or int(token) >= _NUMBER_LIMIT:
        tokens.fail(f"expected a line or a column below {_NUMBER_LIMIT}, but got '{token}'")
    tokens.next()
    return int(token)


def _typed(kind: type[ir.Attribute] | UnionType, description: str, mnemonic: str | None = None) -> _Parameter:
    return _Parameter(lambda tokens, depth: _node(tokens, depth, kind, description, mnemonic))


_TEXT = _Parameter(_string)
_LINE, _OPTIONAL_LINE = (
    _Parameter(lambda tokens, _depth: read_line_or_column(tokens), default) for default in (None, 0)
)
_FILE = _typed(DIFileAttr, "a file", "di_file")
_UNIT = _typed(DICompileUnitAttr, "a compile unit", "di_compile_unit")
_SCOPE = _typed(Scope, "a subprogram or a lexical block")
_PYTHON = {"linkageName": "linkage_name", "compileUnit": "compile_unit", "scopeLine": "scope_line"}
_STRUCTS: dict[str, tuple[type[ir.Attribute], dict[str, _Parameter]]] = {
    "di_compile_unit": (DICompileUnitAttr, {"file": _FILE}),
    "di_subprogram": (
        DISubprogramAttr,
        {
            "file": _FILE,
            "line": _LINE,
            "name": _TEXT,
            "linkageName": _TEXT,
            "compileUnit": _UNIT,
            "scopeLine": _OPTIONAL_LINE,
        },
    ),
    "di_lexical_block": (
        DILexicalBlockAttr,
        {"scope": _SCOPE, "file": _FILE, "line": _LINE, "column": _OPTIONAL_LINE},
    ),
}
