"""The SSA names visible at a position in the text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NoReturn

from tilec.dialect.assembly.tokens.tokens import Tokens, shown
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import quote


class Scope:
    """Values by name; the names defined in a region disappear at its end."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens
        self._values: dict[str, ir.Value] = {}
        self._opened: list[list[str]] = [[]]
        # The last definition of each name, including closed regions.
        self._definitions: dict[str, int] = {}

    def open(self) -> None:
        self._opened.append([])

    def close(self) -> None:
        for name in self._opened.pop():
            del self._values[name]

    def define(self, name: str, values: Sequence[ir.Value], offset: int) -> None:
        """Binds `%name`, or `%name#i` for several values; a name cannot be bound twice."""
        if name in self._values:
            before = self._definitions[name], "previously defined here"
            self._tokens.fail_at(offset, f"redefinition of SSA value '{name}'", before)
        self._definitions[name] = offset
        self._values[name] = values[0]
        self._opened[-1].append(name)
        if len(values) > 1:
            numbered = {f"{name}#{index}": value for index, value in enumerate(values)}
            self._values.update(numbered)
            self._opened[-1] += numbered

    def use(self) -> ir.Value:
        """Reads a name and returns its value."""
        tokens = self._tokens
        name = tokens.tokens[tokens.at]
        value = self._values.get(name)
        if value is None:
            self._refuse(name)
        tokens.at += 1
        return value

    def _refuse(self, name: str) -> NoReturn:
        tokens = self._tokens
        if name[:1] != "%":
            tokens.fail(f"expected SSA operand, but got {shown(name)}")
        tokens.fail_at(tokens.offset(), f"use of undeclared SSA value name '{name}'", *self._elsewhere(name))

    def _elsewhere(self, name: str) -> Iterator[tuple[int, str]]:
        """The definition of a name that is not visible, if there is one."""
        pack, _, index = name.partition("#")
        if pack in self._values:
            yield self._definitions[pack], f"'{pack}' has no value {index}"
        elif pack in self._definitions:
            yield self._definitions[pack], "it is defined here, in a region that has ended"
        else:
            for at in range(self._tokens.at + 1, len(self._tokens.tokens)):
                if self._tokens.tokens[at] == pack and self._is_definition(at):
                    yield self._tokens.offsets[at], "it is defined here, after its use"
                    return

    def _is_definition(self, at: int) -> bool:
        """Whether the names from a token on, as in `%a:2, %b = `, are bound."""
        tokens = self._tokens.tokens
        while tokens[at][:1] == "%" or tokens[at] in (",", ":") or tokens[at].isdigit():
            at += 1
        return tokens[at] == "="

    def check(self, at: int, value: ir.Value, expected: ir.Type) -> None:
        """Checks that the value named by the token `at` has the type in the text."""
        if value.type != expected:
            name = self._tokens.tokens[at]
            self._tokens.fail_at(
                self._tokens.offsets[at],
                f"use of value '{name}' expects different type than prior uses: "
                f"{quote(expected)} vs {quote(value.type)}",
                (self._definitions[name.partition("#")[0]], f"it is defined here, as {quote(value.type)}"),
            )
