"""Parses the text form of signatures; tilec.signature describes the grammar."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NoReturn, TypeVar

from tilec.errors import InputError, Note
from tilec.language.datatypes import ALL, DType, by_element, by_name
from tilec.runtime.arguments.arguments import (
    Argument,
    ArrayArgument,
    ConstantArgument,
    ListArgument,
    RecordArgument,
    ScalarArgument,
    TupleArgument,
)
from tilec.specialization.argument_values import DEFAULT_ALIGNMENT, constant_value, elements_per

_TOKEN = re.compile(
    r"""\s*(?:
    (?P<float>-?(?:\d+\.\d*|\.\d+)(?:[eE][-+]?\d+)?|-?\d+[eE][-+]?\d+|-?inf\b|nan\b)
  | (?P<integer>-?\d+)
  | (?P<identifier>[A-Za-z_]\w*)
  | (?P<string>'[^']*'|"[^"]*")
  | (?P<mark>[:=,?%()\[\]{}])
  | (?P<end>$)
)""",
    re.VERBOSE,
)
_CONSTANTS = {"True": True, "False": False, "None": None}

_BYTE_BITS = 8
_MAX_I64 = 2**63 - 1
# Python converts no longer texts.
_MOST_DIGITS = 4300

T = TypeVar("T")


def arguments_of_text(text: str) -> tuple[Argument, ...]:
    """The arguments in the order of the text; raises InputError with a caret into the text."""
    return _Reader(text).arguments()


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self._advance()

    def arguments(self) -> tuple[Argument, ...]:
        if self.kind == "end":
            return ()
        arguments = [self._argument()]
        while self._take(","):
            arguments.append(self._argument())
        if self.kind != "end":
            self._fail("expected ',' or the end of the signature")
        return tuple(arguments)

    def _argument(self) -> Argument:
        name = self._expect("identifier", "the name of a parameter")
        return self._named(name, name)

    def _named(self, shown: str, name: str) -> Argument:
        """The rest of an argument or a field after its name; `name` is its path."""
        if self._take("="):
            return self._constant_argument(name)
        self._need(":", f"':' and a type, or '=' and a constant, after '{shown}'")
        return self._type(name)

    def _constant_argument(self, name: str) -> Argument:
        if self._take("("):
            return TupleArgument(name, self._items(name, self._constant_argument, ")"))
        return ConstantArgument(name, constant_value(self._constant()))

    def _type(self, name: str) -> Argument:
        if self._take("("):
            return TupleArgument(name, self._items(name, self._item, ")"))
        if self.kind == "identifier" and self.token == "list":
            self._advance()
            return ListArgument(name, self._array(f"{name}[?]", self._list_element()))
        if self.kind == "identifier" and self.text[self.position : self.position + 1] == "{":
            return self._record(name)
        element = self._element()
        if not self._take("["):
            return ScalarArgument(name, element.element)
        return self._array(name, element)

    def _item(self, name: str) -> Argument:
        return self._constant_argument(name) if self._take("=") else self._type(name)

    def _items(self, name: str, read: Callable[[str], Argument], end: str) -> tuple[Argument, ...]:
        """The items of a tuple; a comma may precede the closing parenthesis."""
        items: list[Argument] = []
        while not self._take(end):
            items.append(read(f"{name}[{len(items)}]"))
            if not self._take(","):
                self._need(end, f"',' or '{end}'")
                break
        return tuple(items)

    def _record(self, name: str) -> RecordArgument:
        class_name = self._expect("identifier", "")
        self._need("{", "'{'")

        def field() -> Argument:
            shown = self._expect("identifier", "the name of a field")
            return self._named(shown, f"{name}.{shown}")

        return RecordArgument(name, class_name, () if self._take("}") else tuple(self._list(field, "}")))

    def _list_element(self) -> DType:
        element = self._element()
        self._need("[", "'[' and extents: lists contain arrays")
        return element

    def _array(self, name: str, element: DType) -> ArrayArgument:
        extents = [] if self._take("]") else self._list(lambda: self._extent("an extent"), "]")
        strides: list[tuple[int | None, int | None]] | None = None
        alignment, index = DEFAULT_ALIGNMENT, "i32"
        while self.kind == "identifier":
            start, clause = self.start, self._expect("identifier", "")
            if clause == "strides":
                self._need("(", "'(' after 'strides'")
                strides = [] if self._take(")") else self._list(lambda: self._extent("a stride"), ")")
            elif clause == "align":
                alignment = self._alignment()
            elif clause == "index":
                index = self._index()
            else:
                self._fail(f"expected 'strides', 'align' or 'index', got '{clause}'", start)
        if strides is None:
            strides = [(None, None)] * (len(extents) - 1) + [(1, None)] * bool(extents)
        if len(strides) != len(extents):
            counts = f"{len(extents)} extents and {len(strides)} strides"
            self._fail(f"'{name}' has {counts}: expected one stride per extent")
        return ArrayArgument(
            name,
            element.element,
            tuple(value for value, _ in extents),
            tuple(value for value, _ in strides),
            alignment,
            tuple(_divisor(extent, 1) for extent in extents),
            tuple(_divisor(stride, elements_per(alignment, element)) for stride in strides),
            index,
        )

    def _index(self) -> str:
        start, index = self.start, self._expect("identifier", "i32 or i64 after 'index'")
        if index not in ("i32", "i64"):
            self._fail(f"expected i32 or i64 after 'index', got '{index}'", start)
        return index

    def _list(self, item: Callable[[], T], end: str) -> list[T]:
        items = [item()]
        while not self._take(end):
            self._need(",", f"',' or '{end}'")
            items.append(item())
        return items

    def _extent(self, expected: str) -> tuple[int | None, int | None]:
        """The value and the divisor of an extent or stride; each is None if the text does not specify it."""
        if self.kind == "integer":
            start, value = self.start, self._integer("")
            if value < 0:
                self._fail(f"expected {expected} of at least 0, got {value}", start)
            return value, None
        self._need("?", f"{expected}: an integer, '?' or '?%n'")
        if not self._take("%"):
            return None, None
        start, divisor = self.start, self._integer("a divisor after '%'")
        if divisor < 1:
            self._fail(f"expected a divisor of at least 1, got {divisor}", start)
        return None, divisor

    def _integer(self, expected: str) -> int:
        """An integer of the fields of an array, which have 64 bits."""
        start, token = self.start, self._expect("integer", expected)
        # 2^63 has 19 digits; the other digit is for a sign.
        if len(token) > 20 or int(token) > _MAX_I64:
            self._fail("expected an integer less than 2^63", start)
        return int(token)

    def _alignment(self) -> int:
        start, alignment = self.start, self._integer("a number of bytes after 'align'")
        if alignment < 1 or alignment & (alignment - 1):
            self._fail(f"expected an alignment that is a power of two, got {alignment}", start)
        return alignment

    def _element(self) -> DType:
        start, name = self.start, self._expect("identifier", "an element type")
        dtype = by_element(name) or by_name(name)
        if dtype is None:
            names = ", ".join(dtype.element for dtype in ALL if dtype.bitwidth >= _BYTE_BITS)
            self._fail(f"unknown element type '{name}', expected one of: {names}", start)
        if dtype.bitwidth < _BYTE_BITS:
            reader = "ct.unpack_from_bytes" if dtype.bitwidth == 4 else "ct.packed_view"
            bytes_instead = f"pass their bytes as u8 and use {reader}"
            self._fail(f"elements of {dtype.element} share bytes and cannot be arguments: {bytes_instead}", start)
        return dtype

    def _constant(self) -> bool | int | float | str | None | DType:
        start, kind, text = self.start, self.kind, self.token
        self._advance()
        if kind == "integer":
            if len(text) > _MOST_DIGITS:
                self._fail(f"expected a constant of at most {_MOST_DIGITS} digits, got {len(text)}", start)
            return int(text)
        if kind == "float":
            return float(text)
        if kind == "string":
            return text[1:-1]
        if kind == "identifier" and text in _CONSTANTS:
            return _CONSTANTS[text]
        dtype = by_element(text) or by_name(text) if kind == "identifier" else None
        if dtype is None:
            self._fail("expected a constant: a number, True, False, None, a string or an element type", start)
        return dtype

    def _advance(self) -> None:
        match = _TOKEN.match(self.text, self.position)
        if match is None:
            rest = self.text[self.position :]
            self.start = self.position + len(rest) - len(rest.lstrip())
            self._fail(f"unexpected character {self.text[self.start]!r}")
        self.kind = str(match.lastgroup)
        self.token = match.group(self.kind)
        self.start = match.start(self.kind)
        self.position = match.end()

    def _take(self, mark: str) -> bool:
        if self.kind == "mark" and self.token == mark:
            self._advance()
            return True
        return False

    def _need(self, mark: str, expected: str) -> None:
        if not self._take(mark):
            self._fail(f"expected {expected}")

    def _expect(self, kind: str, expected: str) -> str:
        if self.kind != kind:
            self._fail(f"expected {expected}")
        token = self.token
        self._advance()
        return token

    def _fail(self, problem: str, start: int | None = None) -> NoReturn:
        column = self.start if start is None else start
        caret = Note(f"in the signature\n    {self.text}\n    {' ' * column}^")
        raise InputError(f"signature, column {column + 1}: {problem}", notes=[caret])


def _divisor(extent: tuple[int | None, int | None], default: int) -> int:
    value, divisor = extent
    if value is not None:
        return 1
    return default if divisor is None else divisor
