"""Builds the print operations of `ct.print` and `ct.printf`."""

from __future__ import annotations

import re

from tilec.ast_to_tile import arguments
from tilec.ast_to_tile.arguments import BadArgument, at
from tilec.ast_to_tile.emitter import Emitter, check_groups
from tilec.ast_to_tile.registry import implements
from tilec.ast_to_tile.values.value_text import concatenated, text_of
from tilec.ast_to_tile.values.values import KernelValue, Text, Tile, describe
from tilec.dialect.cuda_tile.types import TokenType
from tilec.dialect.fields import MANY_RUNS
from tilec.language.datatypes import DType
from tilec.language.operations import debug as language

# %[flags][width][.precision][length]specifier, or %%.
_DIRECTIVE = re.compile(r"%(?:%|[-+ #0]*\d*(?:\.\d+)?(?:hh|h|ll|l|j|z|t|L)?([diuoxXeEfFgGaA]))")
_FLOATS = "eEfFgGaA"
# The format specifications of Python for numbers, as far as printf has them; each group may be empty.
_SPECIFICATION = re.compile(
    r"(?P<align>[<>]?)(?P<sign>[-+ ]?)(?P<alternate>#?)(?P<zero>0?)(?P<width>\d*)(?P<precision>(?:\.\d+)?)"
    r"(?P<kind>[diuoxXeEfFgGaA]?)"
)


def _emit(emitter: Emitter, format: str, tiles: list[Tile]) -> None:
    values = [tile.value for tile in tiles]
    check_groups([value.type for value in values], "'print' and 'ct.printf' take", MANY_RUNS)
    emitter.build("print_tko", [values, None], [TokenType.get()], {"str": format})


@implements(language.printf)
def _printf(emitter: Emitter, format: KernelValue, args: tuple[KernelValue, ...]) -> None:
    text = _constant_string(format, "format")
    found = list(_DIRECTIVE.finditer(text))
    if _DIRECTIVE.sub("", text).count("%"):
        raise BadArgument("format", "expected directives of the form %[flags][width][.precision]specifier")
    kinds = [match.group(1) for match in found if match.group(1)]
    tiles = [emitter.as_tile(arguments.tile_like(item, "args")) for item in args]
    if len(kinds) != len(tiles):
        counts = f"{len(kinds)} directives for {len(tiles)} values"
        raise BadArgument("format", f"expected one directive per value, got {counts}")
    for kind, tile in zip(kinds, tiles, strict=True):
        if tile.dtype.is_float != (kind in _FLOATS):
            raise BadArgument("format", f"expected a directive for {tile.dtype}, got %{kind}")
    _emit(emitter, text, tiles)


@implements(language.print, print)
def _print(emitter: Emitter, args: tuple[KernelValue, ...], sep: KernelValue, end: KernelValue) -> None:
    separator, terminator = _string(sep, "sep"), _string(end, "end")
    texts = [at("args", text_of, emitter, item) for item in args]
    separated = [piece for text in texts for piece in (separator, text)][1:]
    _emit(emitter, *_format(concatenated([*separated, terminator])))


def _constant_string(value: KernelValue, parameter: str) -> str:
    if not isinstance(value, str):
        raise BadArgument(parameter, f"expected a constant string, got {describe(value)}")
    return value


def _string(value: KernelValue, parameter: str) -> str | Text:
    if not isinstance(value, str | Text):
        raise BadArgument(parameter, f"expected a string, got {describe(value)}")
    return value


def _format(text: str | Text) -> tuple[str, list[Tile]]:
    """The printf format of a text, and the tiles that the format prints."""
    pieces = (text,) if isinstance(text, str) else text.pieces
    tiles = [piece[0] for piece in pieces if not isinstance(piece, str)]
    directives = [
        piece.replace("%", "%%") if isinstance(piece, str) else _directive(piece[0].dtype, piece[1]) for piece in pieces
    ]
    return "".join(directives), tiles


def _directive(dtype: DType, specification: str) -> str:
    """The printf directive for an element type and a format specification of Python that printf can follow."""
    found = _SPECIFICATION.fullmatch(specification)
    default = "f" if dtype.is_float else "d" if dtype.signed or dtype.is_boolean else "u"
    kind = (found and found["kind"]) or default
    # Python fills aligned numbers with zeros on either side; printf pads them after the sign.
    if found is None or found["align"] and found["zero"] or dtype.is_float != (kind in _FLOATS):
        raise BadArgument("args", f"expected a printf format for {dtype}, got ':{specification}'")
    flags = ("-" if found["align"] == "<" else "") + found["sign"].replace("-", "") + found["alternate"] + found["zero"]
    long = "ll" if dtype.bitwidth == 64 and not dtype.is_float else ""
    return f"%{flags}{found['width']}{found['precision']}{long}{kind}"
