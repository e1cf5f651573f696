"""Debug info: the functions and blocks of the user's source, and the locations inside them.

A location in a scope is MLIR's fused location of one position in a file, with the scope as its metadata; the text of
Tile IR spells it `#cuda_tile.di_loc<loc("k.py":6:7) in #scope>`.
"""

from collections.abc import Iterator
from typing import Any

from tilec.dialect.constraints import Unconstrained
from tilec.dialect.cuda_tile.namespace import CudaTile
from tilec.dialect.location import parts
from tilec.dialect.mlir import ir

# The most locations and lexical blocks that a location may have in it, so that a small file whose locations are made of
# one another cannot take forever; code inlined through a hundred calls stays below it.
NESTING_LIMIT = 256


def _number(value: int) -> ir.Attribute:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)


def _stored(at: int, kind: Any) -> property:
    """The value of a parameter that is a string or a number."""
    return property(lambda self: kind(self.params[at]).value)


def _node(at: int) -> property:
    """A parameter that is debug info itself."""
    return property(lambda self: self.params[at].maybe_downcast())


class DIFileAttr(CudaTile.Attribute, name="di_file"):
    """A source file: its name, and the directory that the name is relative to."""

    base: ir.StringAttr
    folder: ir.StringAttr

    @classmethod
    def get(cls, name: str, directory: str) -> "DIFileAttr":
        return super().get(ir.StringAttr.get(name), ir.StringAttr.get(directory))

    name = _stored(0, ir.StringAttr)
    directory = _stored(1, ir.StringAttr)


class DICompileUnitAttr(CudaTile.Attribute, name="di_compile_unit"):
    """A compile unit: the file that contains all subprograms of a kernel."""

    source: DIFileAttr

    @classmethod
    def get(cls, file: DIFileAttr) -> "DICompileUnitAttr":
        return super().get(file)

    file = _node(0)


class DISubprogramAttr(CudaTile.Attribute, name="di_subprogram"):
    """A function of the source, by its name there and by the symbol it became; a line of 0 is none."""

    source: DIFileAttr
    first: ir.IntegerAttr
    title: ir.StringAttr
    symbol: ir.StringAttr
    unit: DICompileUnitAttr
    opening: ir.IntegerAttr

    @classmethod
    def get(
        cls,
        file: DIFileAttr,
        line: int,
        name: str,
        linkage_name: str,
        compile_unit: DICompileUnitAttr,
        scope_line: int = 0,
    ) -> "DISubprogramAttr":
        names = ir.StringAttr.get(name), ir.StringAttr.get(linkage_name)
        return super().get(file, _number(line), *names, compile_unit, _number(scope_line))

    file = _node(0)
    line = _stored(1, ir.IntegerAttr)
    name = _stored(2, ir.StringAttr)
    linkage_name = _stored(3, ir.StringAttr)
    compile_unit = _node(4)
    scope_line = _stored(5, ir.IntegerAttr)


class DILexicalBlockAttr(CudaTile.Attribute, name="di_lexical_block"):
    """A block of statements in a subprogram or in another block; a column of 0 is none."""

    # A subprogram or a block. IRDL cannot refer to an attribute defined later, so the verifier of operations checks it.
    outer: Unconstrained
    source: DIFileAttr
    first: ir.IntegerAttr
    offset: ir.IntegerAttr

    @classmethod
    def get(cls, scope: "Scope", file: DIFileAttr, line: int, column: int = 0) -> "DILexicalBlockAttr":
        return super().get(scope, file, _number(line), _number(column))

    scope = _node(0)
    file = _node(1)
    line = _stored(2, ir.IntegerAttr)
    column = _stored(3, ir.IntegerAttr)


Scope = DISubprogramAttr | DILexicalBlockAttr
# The same for isinstance, which is slow for a union.
_SCOPES = (DISubprogramAttr, DILexicalBlockAttr)
# Each attribute by its mnemonic.
NODES = {cls.attr_name.removeprefix("cuda_tile."): cls for cls in (DIFileAttr, DICompileUnitAttr, *_SCOPES)}


def di_location(scope: Scope, file: str, line: int, column: int) -> ir.Location:
    """A position in a file, inside a scope."""
    return ir.Location.fused([ir.Location.file(file, line, column)], scope)


def own_scope(location: ir.Location) -> Scope | None:
    """The scope that a location itself names, not one of its parts."""
    if not isinstance(location, ir.FusedLoc) or location.metadata is None:
        return None
    metadata = location.metadata.maybe_downcast()
    return metadata if isinstance(metadata, _SCOPES) else None


def scope_and_location(location: ir.Location) -> tuple[Scope, ir.Location] | None:
    """The scope and the position of a location that `di_location` made; None for every other location."""
    scope = own_scope(location)
    if scope is None or len(location.locations) != 1 or not isinstance(location.locations[0], ir.FileLineColLoc):
        return None
    return scope, location.locations[0]


def is_call_site(location: ir.Location) -> bool:
    """Whether a location is that of code inlined from a function."""
    return isinstance(location, ir.CallSiteLoc)


def scope_of(location: ir.Location) -> Scope | None:
    """The scope of a location: that of the caller for a call site, the first scope found for a fused location."""
    return own_scope(location) or next(_scopes(location, callees=False), None)


def holds_scope(location: ir.Location) -> bool:
    """Whether a location or any of its parts names a scope."""
    return next(_scopes(location, callees=True), None) is not None


def _scopes(location: ir.Location, callees: bool) -> Iterator[Scope]:
    # Each part once: locations can be made of one another so that they are huge when written out.
    stack, seen = [location], set[ir.Attribute]()
    while stack:
        found = stack.pop()
        scope = own_scope(found)
        if scope is not None:
            yield scope
        key = found.attr
        if key not in seen:
            seen.add(key)
            inner = parts(found)
            stack += reversed(inner if callees or not is_call_site(found) else inner[1:])


def subprogram_of(location: ir.Location) -> DISubprogramAttr | None:
    """The subprogram around the scope of a location; None where it has no scope."""
    scope = scope_of(location)
    return None if scope is None else enclosing_subprogram(scope)


def enclosing_subprogram(scope: Scope) -> DISubprogramAttr | None:
    """The subprogram that a scope is or lies in; None for blocks of generic text that lie in none."""
    while isinstance(scope, DILexicalBlockAttr):
        scope = scope.scope
    return scope if isinstance(scope, DISubprogramAttr) else None
