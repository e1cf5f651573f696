"""Reads `loc(...)`: file positions, names, call sites, and positions in debug info scopes."""

from __future__ import annotations

from collections.abc import Callable

from tilec.dialect.assembly.attributes.attributes import read_attribute
from tilec.dialect.assembly.attributes.debug_info_reader import (
    is_debug_info,
    read_debug_info,
    read_line_or_column,
    read_scope,
)
from tilec.dialect.assembly.tokens.lexer import END
from tilec.dialect.assembly.tokens.tokens import Tokens, unescape
from tilec.dialect.cuda_tile.debug_info import NESTING_LIMIT, DILexicalBlockAttr, own_scope, scope_and_location
from tilec.dialect.location import KERNELS, parts
from tilec.dialect.mlir import ir

Setter = Callable[[ir.Location], None]

_SCOPED = "#cuda_tile.di_loc"
# The limit for locations written inline; aliases may nest to any depth.
_DEPTH_LIMIT = 100


class LocationReader:
    """Reads locations; aliases defined at the end of the text are resolved when everything is read."""

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self._pending: list[tuple[int, Setter]] = []
        # A stack for the operations being read, innermost last; operations have no stable hash.
        self._followers: list[Setter] = []
        self._sizes: dict[ir.Attribute, int] = {}
        self._depth = 0

    def starts(self) -> bool:
        """Whether the next token starts a location or an attribute of debug info."""
        token = self.tokens.peek()
        return token in ("loc", _SCOPED) or is_debug_info(token)

    def begin(self) -> int:
        """Starts an operation; the result is passed to `suffix` at its end."""
        return len(self._followers)

    def suffix(self, operation: ir.Operation, begun: int = 0) -> None:
        """Reads the optional location after an operation."""
        followers = self._followers[begun:]
        del self._followers[begun:]
        self.take(lambda location: _set_locations(operation, location, followers))

    def take(self, set_location: Setter) -> bool:
        """Reads an optional location, passes it to `set_location`, perhaps later, and returns if there is one."""
        if self.tokens.peek() != "loc" or self.tokens.peek(1) != "(":
            return False
        start = self.tokens.at
        self.skip()
        if any(token[:1] == "#" for token in self.tokens.tokens[start : self.tokens.at]):
            self._pending.append((start, set_location))
        else:
            self.tokens.at = start
            set_location(self.location())
        return True

    def follow(self, set_location: Setter) -> None:
        """Uses the location of the enclosing operation, if the text has one, for an item without a location."""
        self._followers.append(set_location)

    def skip(self) -> None:
        if self.tokens.peek() == "loc" and self.tokens.peek(1) == "(":
            self.tokens.next()
            self.tokens.skip_balanced("(", ")")

    def resolve(self) -> None:
        """Resolves the locations whose aliases were defined later."""
        end = self.tokens.at
        for start, set_location in self._pending:
            self.tokens.at = start
            set_location(self.location())
        self.tokens.at = end

    def scoped_or_attribute(self) -> ir.Location | ir.Attribute:
        """The location or attribute that an alias of debug info is defined as."""
        if self.tokens.peek() == "loc":
            return self.location()
        return self._scoped() if self.tokens.peek() == _SCOPED else read_debug_info(self.tokens)

    def location(self) -> ir.Location:
        """`loc( .. )`."""
        self.tokens.expect("loc")
        self.tokens.expect("(")
        found = self._inner()
        self.tokens.expect(")")
        return found

    def _inner(self) -> ir.Location:
        start = self.tokens.offset()
        self._depth += 1
        if self._depth > _DEPTH_LIMIT:
            self.tokens.fail_at(start, f"a location is nested more than {_DEPTH_LIMIT} levels deep, name its parts")
        found = self._any()
        self._depth -= 1
        key = found.attr
        if key not in self._sizes:
            self._sizes[key] = self._size(found)
        if self._sizes[key] > NESTING_LIMIT:
            self._too_large(start)
        return found

    def _size(self, location: ir.Location) -> int:
        if scope_and_location(location) is not None:
            return 1 + _blocks(location)
        return 1 + _blocks(location) + sum(self._sizes.get(part.attr, 1) for part in parts(location))

    def _too_large(self, start: int) -> None:
        self.tokens.fail_at(start, f"a location has more than {NESTING_LIMIT} locations and blocks in it")

    def _any(self) -> ir.Location:
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
        if token == _SCOPED:
            return self._scoped()
        if token[:1] == "#":
            start = self.tokens.offset()
            found = self.tokens.alias(self.tokens.next(), start)
            if isinstance(found, ir.Location):
                return found
            self.tokens.fail_at(start, f"expected location, but got '{token}'")
        self.tokens.fail(f"expected location, but got {'the end of the text' if token == END else repr(token)}")

    def _file_or_name(self) -> ir.Location:
        text = unescape(self.tokens.next())
        if self.tokens.take(":"):
            return self._file(text)
        if self.tokens.take("("):
            child = self._inner()
            self.tokens.expect(")")
            return ir.Location.name(text, child)
        return ir.Location.name(text)

    def _file(self, name: str) -> ir.Location:
        """`"k.py":1:2`, or a range: `"k.py":1:2 to 3:4`, `"k.py":1:2 to :4` on one line."""
        line = read_line_or_column(self.tokens)
        self.tokens.expect(":")
        column = read_line_or_column(self.tokens)
        if not self.tokens.take("to"):
            return ir.Location.file(name, line, column)
        last = line if self.tokens.peek() == ":" else read_line_or_column(self.tokens)
        self.tokens.expect(":")
        return ir.Location.file(name, line, column, last, read_line_or_column(self.tokens))

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
        """`#cuda_tile.di_loc<loc(..) in #scope>`."""
        self.tokens.next()
        self.tokens.expect("<")
        start = self.tokens.offset()
        position = self._inner()
        if not isinstance(position, ir.FileLineColLoc):
            self.tokens.fail_at(start, f"expected a file, line and column in a scope, but got {position}")
        self.tokens.expect("in")
        scope = read_scope(self.tokens)
        self.tokens.expect(">")
        return ir.Location.fused([position], scope)


def _set_locations(operation: ir.Operation, location: ir.Location, followers: list[Setter]) -> None:
    """Sets the location of an operation, its region arguments (except a kernel's) and its omitted terminator."""
    operation.location = location
    for follower in followers:
        follower(location)
    if operation.name in KERNELS:
        return
    for region in operation.regions:
        for block in region.blocks:
            for argument in block.arguments:
                argument.set_location(location)


def _blocks(location: ir.Location) -> int:
    """The number of lexical blocks around a location, up to a limit."""
    scope, count = own_scope(location), 0
    while isinstance(scope, DILexicalBlockAttr) and count <= NESTING_LIMIT:
        scope, count = scope.scope, count + 1
    return count
