"""The SSA names that are visible at a place of the text."""

from __future__ import annotations

from collections.abc import Sequence

from tilec.dialect.assembly.tokens import Tokens
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import quote


class Scope:
    """Values by name; regions open and close, and what a region defined goes with it."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens
        self._values: dict[str, ir.Value] = {}
        self._opened: list[list[str]] = [[]]

    def open(self) -> None:
        self._opened.append([])

    def close(self) -> None:
        for name in self._opened.pop():
            del self._values[name]

    def define(self, name: str, values: Sequence[ir.Value], offset: int) -> None:
        """Binds `%name`, and `%name#i` where it stands for several values; a name cannot be bound twice."""
        if name in self._values:
            self._tokens.fail_at(offset, f"redefinition of SSA value '{name}'")
        for key, value in [(name, values[0])] + [(f"{name}#{i}", v) for i, v in enumerate(values) if len(values) > 1]:
            self._values[key] = value
            self._opened[-1].append(key)

    def use(self) -> ir.Value:
        """The value that the next token names."""
        tokens = self._tokens
        name = tokens.tokens[tokens.at]
        value = self._values.get(name)
        if value is None:
            tokens.fail(
                f"use of undeclared SSA value name '{name}'"
                if name[:1] == "%"
                else f"expected SSA operand, but got '{name}'"
            )
        tokens.at += 1
        return value

    def check(self, at: int, value: ir.Value, expected: ir.Type) -> None:
        """The value named by the token `at` must have the type that the text says."""
        if value.type != expected:
            self._tokens.fail_at(
                self._tokens.offsets[at],
                f"use of value '{self._tokens.tokens[at]}' expects different type than prior uses: "
                f"{quote(expected)} vs {quote(value.type)}",
            )
