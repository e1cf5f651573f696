"""The text of kernel values: `str`, `repr`, f-strings and concatenation, with tiles that are printed at run time."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from tilec.ast_to_tile.arguments import known
from tilec.ast_to_tile.emitter import Emitter
from tilec.ast_to_tile.values.records import is_generated, special_method
from tilec.ast_to_tile.values.structured_value import is_static, parts_of
from tilec.ast_to_tile.values.values import KernelValue, Record, Text, Tile, describe, is_number
from tilec.errors import TileTypeError
from tilec.language.datatypes import DType


def text_of(emitter: Emitter, value: KernelValue) -> str | Text:
    """`str(value)`; raises TileTypeError for a value without a text, such as an array."""
    if isinstance(value, str | Text):
        return value
    if isinstance(value, Record) and (method := special_method(value, "__str__")) is not None:
        return _returned(value, "__str__", emitter.call(method, [value]))
    return str(known(value)) if _is_plain_constant(value) else representation_of(emitter, value)


def representation_of(emitter: Emitter, value: KernelValue) -> str | Text:
    """`repr(value)`; raises TileTypeError for a value without a text, such as an array."""
    if isinstance(value, Tile):
        return Text(((value, ""),))
    if isinstance(value, Text):
        return _quoted(value)
    if isinstance(value, Record):
        return _record_representation(emitter, value)
    if isinstance(value, tuple):
        names = getattr(value, "_fields", None)
        items = [representation_of(emitter, item) for item in value]
        if names is not None:
            return _call_text(type(value).__name__, zip(names, items, strict=True))
        return concatenated(["(", *_separated(items), ",)" if len(value) == 1 else ")"])
    if isinstance(value, dict):
        items = [concatenated([f"{key!r}: ", representation_of(emitter, item)]) for key, item in value.items()]
        return concatenated(["{", *_separated(items), "}"])
    if not _is_plain_constant(value):
        raise TileTypeError(f"expected strings, constants and tiles, got {describe(value)}")
    return repr(known(value))


def formatted(emitter: Emitter, value: KernelValue, specification: str) -> str | Text:
    """The text of `{value:specification}` in an f-string."""
    if isinstance(value, Record) and special_method(value, "__format__") is not None:
        name = value.kind.__name__
        raise TileTypeError(f"'{name}' defines __format__, which f-strings do not call in a kernel: use its __str__")
    if isinstance(value, Tile):
        return Text(((value, specification),))
    if not specification:
        return text_of(emitter, value)
    constant = known(value)
    if not is_number(constant) and not isinstance(constant, str):
        raise TileTypeError(f"a format specification needs a tile or a number, got {describe(value)}")
    try:
        return format(constant, specification)
    except ValueError as problem:
        raise TileTypeError(f"the format specification ':{specification}' of {describe(value)}: {problem}") from problem


def concatenated(texts: Iterable[str | Text]) -> str | Text:
    """The texts one after another; a string if all are strings."""
    pieces = [piece for text in texts for piece in ((text,) if isinstance(text, str) else text.pieces)]
    constant = [piece for piece in pieces if isinstance(piece, str)]
    return "".join(constant) if len(constant) == len(pieces) else Text(tuple(pieces))


def _separated(texts: Iterable[str | Text]) -> Iterable[str | Text]:
    for at, text in enumerate(texts):
        yield concatenated([", " if at else "", text])


def _call_text(name: str, fields: Iterable[tuple[str, str | Text]]) -> str | Text:
    """`Name(field=text, ...)`."""
    return concatenated([f"{name}(", *_separated(concatenated([f"{field}=", text]) for field, text in fields), ")"])


def _record_representation(emitter: Emitter, record: Record) -> str | Text:
    name = record.kind.__qualname__
    method = special_method(record, "__repr__")
    if method is None:
        return f"<{name} object>"
    # The generated method is that of `dataclass`, which a recursion guard wraps.
    if not is_generated(getattr(method, "__wrapped__", method)):
        return _returned(record, "__repr__", emitter.call(method, [record]))
    shown = {each.name for each in dataclasses.fields(record.kind) if each.repr}
    fields = [(field, value) for field, value in record.named().items() if field in shown]
    return _call_text(name, ((field, representation_of(emitter, value)) for field, value in fields))


def _returned(record: Record, method: str, value: KernelValue) -> str | Text:
    if not isinstance(value, str | Text):
        raise TileTypeError(f"'{record.kind.__name__}.{method}' returns {describe(value)}: expected a string")
    return value


def _quoted(text: Text) -> Text:
    """The quotes and escapes of Python; run-time values contain no quotes."""
    literal = "".join(piece for piece in text.pieces if isinstance(piece, str))
    quote = '"' if "'" in literal and '"' not in literal else "'"
    # A quote of the other kind in front makes `repr` choose this one.
    other = "'" if quote == '"' else '"'
    escaped = [repr(other + piece)[2:-1] if isinstance(piece, str) else piece for piece in text.pieces]
    return Text((quote, *escaped, quote))


def _is_plain_constant(value: KernelValue) -> bool:
    """Whether the value is a compile-time constant without elements whose text has no address."""
    if parts_of(value) is not None or isinstance(value, Text) or not is_static(value):
        return False
    is_function = callable(value) and not isinstance(value, type | DType)
    return not is_function and type(value).__repr__ is not object.__repr__
