"""Builds the print operations of `ct.print` and `ct.printf`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tilec.ast_to_tile import arguments
from tilec.ast_to_tile.arguments import BadArgument
from tilec.ast_to_tile.emitter import Emitter
from tilec.ast_to_tile.registry import implements
from tilec.ast_to_tile.structured_value import is_static
from tilec.ast_to_tile.values import KernelValue, Number, Text, Tile, describe, is_number
from tilec.dialect.cuda_tile.types import TokenType
from tilec.errors import TileTypeError
from tilec.language import debug as language
from tilec.language.datatypes import DType

# %[flags][width][.precision][length]specifier, or %%.
_DIRECTIVE = re.compile(r"%(?:%|[-+ #0]*\d*(?:\.\d+)?(?:hh|h|ll|l|j|z|t|L)?([diuoxXeEfFgGaA]))")
_FLOATS = "eEfFgGaA"


def _emit(emitter: Emitter, format: str, tiles: list[Tile]) -> None:
    emitter.build("print_tko", [[tile.value for tile in tiles], None], [TokenType.get()], {"str": format})


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
    separator, terminator = _constant_string(sep, "sep"), _constant_string(end, "end")
    formats, tiles = [], []
    for item in args:
        text, values = _formatted(emitter, item)
        formats.append(text)
        tiles += values
    _emit(emitter, separator.replace("%", "%%").join(formats) + terminator.replace("%", "%%"), tiles)


def _constant_string(value: KernelValue, parameter: str) -> str:
    if not isinstance(value, str):
        raise BadArgument(parameter, f"expected a constant string, got {describe(value)}")
    return value


def _formatted(emitter: Emitter, item: KernelValue) -> tuple[str, list[Tile]]:
    """The printf format of one argument of `print`, and the tiles that the format prints."""
    if isinstance(item, Text):
        parts = [_formatted(emitter, piece) for piece in item.pieces if isinstance(piece, str)]
        texts = iter(parts)
        formats = [
            next(texts)[0] if isinstance(piece, str) else _directive(piece[0].dtype, piece[1]) for piece in item.pieces
        ]
        return "".join(formats), [piece[0] for piece in item.pieces if not isinstance(piece, str)]
    if isinstance(item, Tile):
        return _directive(item.dtype, ""), [item]
    if isinstance(item, tuple) and is_printable(item) and not _is_constant(item):
        return _formatted(emitter, joined([(item, "")]))
    if not _is_constant(item):
        raise BadArgument("args", f"expected strings, constants and tiles, got {describe(item)}")
    return str(_untyped(item)).replace("%", "%%"), []


def _directive(dtype: DType, specification: str) -> str:
    """The printf directive for an element type; only format specifications that printf supports are accepted."""
    if not specification:
        long = "ll" if dtype.bitwidth == 64 and not dtype.is_float else ""
        return "%f" if dtype.is_float else f"%{long}{'d' if dtype.signed or dtype.is_boolean else 'u'}"
    kind = specification[-1]
    directive = f"%{specification}"
    if not _DIRECTIVE.fullmatch(directive) or dtype.is_float != (kind in _FLOATS):
        raise BadArgument("args", f"expected a printf format for {dtype}, got ':{specification}'")
    return directive


def joined(pieces: Sequence[tuple[KernelValue, str]]) -> str | Text:
    """The value of an f-string: a string if all values are constants, else a Text.

    Args:
        pieces: the values and their format specifications.
    """
    if all(_is_constant(value) for value, _ in pieces):
        return "".join(format(_plain(value), specification) for value, specification in pieces)
    items = [item for value, specification in pieces for item in _items(value, specification)]
    return Text(
        tuple(
            (value, specification) if isinstance(value, Tile) else format(_plain(value), specification)
            for value, specification in items
        )
    )


def is_printable(value: KernelValue) -> bool:
    """Whether `print` and f-strings take the value: a constant, a tile, an f-string, or a tuple of these."""
    if isinstance(value, tuple):
        return all(map(is_printable, value))
    return isinstance(value, Tile | Text) or is_static(value)


def _is_constant(value: KernelValue) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_constant, value))
    return not isinstance(value, Text) and is_static(value)


def _items(value: KernelValue, specification: str) -> Iterator[tuple[KernelValue, str]]:
    """The pieces of a value; those of a tuple with tiles are its items and the punctuation of Python."""
    if isinstance(value, Tile) or _is_constant(value):
        yield value, specification
        return
    if specification:
        raise TileTypeError(f"a format specification needs a tile or a number, got {describe(value)}")
    if isinstance(value, Text):
        yield from ((piece, "") if isinstance(piece, str) else piece for piece in value.pieces)
    if not isinstance(value, tuple):
        return
    for at, item in enumerate(value):
        yield ", " if at else "(", ""
        if _is_constant(item):
            yield repr(_untyped(item)), ""
        elif isinstance(item, Text):
            yield from (("'", ""), *_items(item, ""), ("'", ""))
        else:
            yield from _items(item, "")
    yield ",)" if len(value) == 1 else ")", ""


def _plain(value: KernelValue) -> Number | str:
    number = _untyped(value)
    return number if is_number(number) or isinstance(number, str) else str(number)


def _untyped(value: KernelValue) -> KernelValue:
    """The constant with numbers in place of typed constants, also in tuples."""
    return tuple(map(_untyped, value)) if type(value) is tuple else arguments.known(value)
