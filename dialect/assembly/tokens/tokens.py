"""A cursor over the tokens of a text."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NoReturn, TypeVar

from tilec.dialect.assembly.tokens.lexer import END, tokenize
from tilec.dialect.assembly.tokens.source import Source
from tilec.dialect.assembly.types import TypeSyntaxError, parse_type
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import full_spelling

T = TypeVar("T")

_ALIAS = re.compile(r"![A-Za-z_]\w*\b(?!\.)")


class Tokens:
    """Tokens of a text and the index of the next one; `fail` raises InputError there."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.tokens, self.offsets = tokenize(source)
        self.at = 0
        self.aliases: dict[str, ir.Attribute | ir.Type] = {}

    def peek(self, ahead: int = 0) -> str:
        return self.tokens[self.at + ahead]

    def next(self) -> str:
        token = self.tokens[self.at]
        if token == END:
            self.fail("unexpected end of the text")
        self.at += 1
        return token

    def take(self, token: str) -> bool:
        if self.tokens[self.at] != token:
            return False
        self.at += 1
        return True

    def expect(self, token: str) -> None:
        found = self.tokens[self.at]
        if found != token:
            self.fail(f"expected '{token}', but got {shown(found)}")
        self.at += 1

    def offset(self) -> int:
        return self.offsets[self.at]

    def offset_of_last_end(self) -> int:
        return self.offsets[self.at - 1] + len(self.tokens[self.at - 1])

    def text(self, start: int, end: int) -> str:
        return self.source.text[start:end]

    def fail(self, message: str) -> NoReturn:
        self.source.fail(self.offsets[self.at], message)

    def fail_at(self, offset: int, message: str, *notes: tuple[int, str]) -> NoReturn:
        self.source.fail(offset, message, *notes)

    def symbol(self) -> str:
        token = self.peek()
        if token[:1] != "@":
            self.fail(f"expected a symbol name (@name), but got {shown(token)}")
        self.at += 1
        return unescape(token[1:]) if token[1] == '"' else token[1:]

    def string(self) -> str:
        """Reads a string."""
        return unescape(self.next())

    def dialect_attribute(self) -> ir.Attribute:
        """Reads an alias of an attribute of another dialect."""
        start = self.offset()
        return self.alias(self.next(), start)

    def comma_list(self, opening: str, closing: str, read: Callable[[], T]) -> list[T]:
        """Reads a comma-separated list between brackets."""
        self.expect(opening)
        if self.take(closing):
            return []
        found = self.separated(read)
        self.expect(closing)
        return found

    def separated(self, read: Callable[[], T]) -> list[T]:
        """Reads a non-empty comma-separated list."""
        found = [read()]
        while self.take(","):
            found.append(read())
        return found

    def skip_balanced(self, opening: str, closing: str) -> None:
        """Skips brackets and their content."""
        start, depth = self.offset(), 1
        self.expect(opening)
        while depth:
            token = self.next() if self.peek() != END else self.fail_at(start, f"'{opening}' without '{closing}'")
            # A whole type is one token, in which brackets are balanced.
            depth += (token == opening) - (token == closing)

    def alias(self, name: str, offset: int) -> ir.Attribute:
        if name not in self.aliases:
            self.fail_at(offset, f"undefined alias: {name}")
        return self.aliases[name]

    def type(self) -> ir.Type:
        """Reads a type."""
        start, token = self.offsets[self.at], self.tokens[self.at]
        if token[-1:] == ">" and "!" not in token:
            self.at += 1
            return self._parsed(token, start)
        if token[:1] == "!" and token in self.aliases:
            self.at += 1
            return self.aliases[token]
        if token == "(":
            return self._function_type()
        if token == END or not (token[:1].isalpha() or token[:1] == "!"):
            self.fail(f"expected a type, but got {shown(token)}")
        self.at += 1
        end = start + len(token)
        if self.peek() == "<" and not token.endswith(">"):
            self.skip_balanced("<", ">")
            end = self.offset_of_last_end()
        return self._parsed(self._expanded(start, end), start)

    def _parsed(self, text: str, start: int) -> ir.Type:
        try:
            return parse_type(text)
        except TypeSyntaxError as error:
            self.fail_at(start + error.offset, error.message)

    def _expanded(self, start: int, end: int) -> str:
        text = self.text(start, end)
        return _ALIAS.sub(self._aliased, text) if "!" in text else text

    def _aliased(self, match: re.Match[str]) -> str:
        type = self.aliases.get(match[0])
        if type is None:
            return match[0]
        return f"!{full_spelling(type)}" if hasattr(type, "spelled") else str(type)

    def _function_type(self) -> ir.Type:
        inputs = self.comma_list("(", ")", self.type)
        self.expect("->")
        results = self.comma_list("(", ")", self.type) if self.peek() == "(" else [self.type()]
        return ir.FunctionType.get(inputs, results)


def unescape(token: str) -> str:
    """The value of a string token with MLIR's escapes (`\\n`, `\\0A`, `\\\\`)."""
    return ir.StringAttr(ir.Attribute.parse(token)).value if "\\" in token else token[1:-1]


def shown(token: str) -> str:
    """A token quoted for a message."""
    return "the end of the text" if token == END else f"'{token}'"
