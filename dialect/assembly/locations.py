"""Reads `loc(...)`: files, names, call sites, and the scopes of Tile IR's debug info."""

from __future__ import annotations

from typing import Any

from tilec.dialect.assembly.attributes import read_attribute
from tilec.dialect.assembly.lexer import END
from tilec.dialect.assembly.tokens import Tokens, unescape
from tilec.dialect.mlir import ir

_SCOPES = ("di_file", "di_compile_unit", "di_subprogram", "di_lexical_block", "di_loc")


class LocationReader:
    """Locations may name aliases that stand at the end of the text, so these are looked up when all is read."""

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self.pending: list[tuple[ir.Operation, int]] = []

    def starts(self) -> bool:
        """Whether a location, or an attribute of debug info, comes next."""
        token = self.tokens.peek()
        return token == "loc" or token.removeprefix("#cuda_tile.") in _SCOPES

    def suffix(self, operation: ir.Operation) -> None:
        """Takes the location that may follow an operation."""
        if self.tokens.peek() != "loc" or self.tokens.peek(1) != "(":
            return
        start = self.tokens.at
        self.skip()
        if any(token[:1] == "#" for token in self.tokens.tokens[start : self.tokens.at]):
            self.pending.append((operation, start))
            return
        self.tokens.at = start
        self.place(operation, self.location())

    @staticmethod
    def place(operation: ir.Operation, location: ir.Location) -> None:
        """Puts an operation, and the arguments of its regions except a kernel's own, at a location."""
        operation.location = location
        if operation.name == "cuda_tile.entry":
            return
        for region in operation.regions:
            for block in region.blocks:
                for argument in block.arguments:
                    argument.set_location(location)

    def skip(self) -> None:
        if self.tokens.peek() == "loc" and self.tokens.peek(1) == "(":
            self.tokens.next()
            self.tokens.skip_balanced("(", ")")

    def resolve(self) -> None:
        """Gives operations the locations whose aliases may have come later."""
        end = self.tokens.at
        for operation, start in self.pending:
            self.tokens.at = start
            self.place(operation, self.location())
        self.tokens.at = end

    def scoped_or_attribute(self) -> Any:
        """What an alias of debug info stands for."""
        if self.tokens.peek() == "loc":
            return self.location()
        word = self.tokens.peek().removeprefix("#cuda_tile.")
        if word == "di_loc":
            return self._scoped()
        start = self.tokens.offset()
        self.tokens.next()
        self.tokens.skip_balanced("<", ">")
        return ir.StringAttr.get(self.tokens.text(start, self.tokens.offset_of_last_end()))

    def location(self) -> ir.Location:
        """`loc( .. )`."""
        self.tokens.expect("loc")
        self.tokens.expect("(")
        found = self._inner()
        self.tokens.expect(")")
        return found

    def _inner(self) -> ir.Location:
        token = self.tokens.peek()
        if token == "loc":
            return self.location()
        if token[:1] == '"':
            return self._file_or_name()
        if token == "unknown":
            self.tokens.next()
            return ir.Location.unknown()
        if token == "callsite":
            return self._callsite()
        if token == "fused":
            return self._fused()
        if token.removeprefix("#cuda_tile.") == "di_loc":
            return self._scoped()
        if token[:1] == "#":
            start = self.tokens.offset()
            found = self.tokens.alias(self.tokens.next(), start)
            if isinstance(found, ir.Location):
                return found
        self.tokens.fail(f"expected location, but got {'the end of the text' if token == END else repr(token)}")

    def _file_or_name(self) -> ir.Location:
        text = unescape(self.tokens.next())
        if self.tokens.take(":"):
            line = int(self.tokens.next())
            self.tokens.expect(":")
            return ir.Location.file(text, line, int(self.tokens.next()))
        if self.tokens.take("("):
            child = self._inner()
            self.tokens.expect(")")
            return ir.Location.name(text, child)
        return ir.Location.name(text)

    def _callsite(self) -> ir.Location:
        self.tokens.next()
        self.tokens.expect("(")
        callee = self._inner()
        self.tokens.expect("at")
        caller = self._inner()
        self.tokens.expect(")")
        return ir.Location.callsite(callee, [caller])

    def _fused(self) -> ir.Location:
        self.tokens.next()
        metadata = None
        if self.tokens.take("<"):
            metadata = read_attribute(self.tokens)
            self.tokens.expect(">")
        return ir.Location.fused(self.tokens.comma_list("[", "]", self._inner), metadata)

    def _scoped(self) -> ir.Location:
        """`#cuda_tile.di_loc<loc(..) in #scope>`: the place itself, with the scope's text as metadata."""
        self.tokens.next()
        self.tokens.expect("<")
        place = self._inner()
        self.tokens.expect("in")
        start = self.tokens.offset()
        scope = self.tokens.next()
        found = self.tokens.alias(scope, start)
        self.tokens.expect(">")
        return ir.Location.fused([place], found)
