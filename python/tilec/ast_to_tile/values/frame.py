"""The frame of a traced call: its names, its source, and its caller."""

from __future__ import annotations

import ast
import builtins
import difflib
import functools
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tilec.ast_to_tile.control_flow.liveness import Liveness, assigned
from tilec.ast_to_tile.source import Source
from tilec.ast_to_tile.values.python_object import plain
from tilec.ast_to_tile.values.values import KernelValue, Unusable
from tilec.dialect.cuda_tile.debug_info import DICompileUnitAttr, DIFileAttr, DISubprogramAttr, di_location
from tilec.dialect.mlir import ir
from tilec.errors import Note, SourceLocation, TileSyntaxError, TileTypeError

# Inlined recursion cannot depend on run-time values: calls nested deeper than this are taken to be endless.
MAXIMUM_DEPTH = 256


@dataclass(eq=False)
class Frame:
    """A traced call: `names` are its local variables, `outer` resolves all other names.

    `outer` is the frame of the enclosing function, or the globals and the closure of the function.
    """

    name: str
    source: Source
    body: list[ast.stmt]
    names: dict[str, KernelValue]
    outer: Frame | Mapping[str, KernelValue]
    caller: Frame | None = None
    call: ast.AST | None = None
    is_kernel: bool = False
    assigned_at: dict[str, ast.AST] = field(default_factory=dict)
    # The number of contexts that the callers have entered.
    contexts: int = 0

    def __post_init__(self) -> None:
        self.liveness = Liveness(self.body)
        self.locals = assigned(self.body) | frozenset(self.names)
        self.depth: int = 0 if self.caller is None else self.caller.depth + 1

    def lookup(self, name: str) -> KernelValue:
        """The value of a name; raises CompileError if it has none."""
        if name in self.names:
            value = self.names[name]
            if isinstance(value, Unusable):
                raise TileTypeError(value.problem, notes=list(value.notes))
            return value
        if name in self.locals:
            raise TileSyntaxError(f"'{name}' is used before it is assigned")
        if isinstance(self.outer, Frame):
            return self.outer.lookup(name)
        return self._global(name, self.outer)

    def _global(self, name: str, outer: Mapping[str, KernelValue]) -> KernelValue:
        if name in outer:
            return plain(outer[name])
        if hasattr(builtins, name):
            return getattr(builtins, name)
        close = difflib.get_close_matches(name, [*self.names, *outer], 1)
        raise TileSyntaxError(f"unknown name '{name}'" + (f", did you mean '{close[0]}'?" if close else ""))

    def visible_names(self) -> frozenset[str]:
        """The names that are local to this function or to a function that encloses it."""
        outer = self.outer.visible_names() if isinstance(self.outer, Frame) else frozenset()
        return self.locals | outer

    def globals(self) -> Mapping[str, KernelValue]:
        """The global names and the closure of the outermost function that encloses this one."""
        return self.outer.globals() if isinstance(self.outer, Frame) else self.outer

    def inner_scope(self, names: frozenset[str]) -> Frame:
        """A scope in this call with names of its own: that of a comprehension."""
        scope = Frame(self.name, self.source, [], {}, self, self.caller, self.call, self.is_kernel)
        scope.locals = names
        return scope

    def frozen(self, names: dict[str, KernelValue]) -> Frame:
        """This call after its end, with the values of its names that a function captures."""
        return Frame(self.name, self.source, self.body, names, self.outer, self.caller, self.call, self.is_kernel)

    def assign(self, name: str, value: KernelValue, node: ast.AST) -> None:
        self.names[name] = value
        self.assigned_at[name] = node

    def source_location(self, node: ast.AST) -> SourceLocation:
        return self.source.source_location(node)

    def location(self, node: ast.AST) -> ir.Location:
        """The location of a node: its line, and the call sites through which its function was inlined."""
        position = self.source_location(node)
        own = di_location(self.subprogram, position.file, position.line, position.column)
        if self.caller is None or self.call is None:
            return own
        return ir.Location.callsite(own, [self.caller.location(self.call)])

    @functools.cached_property
    def subprogram(self) -> DISubprogramAttr:
        """The debug-info subprogram; its symbol is the name of a kernel, else its name and position."""
        definition = self.source.source_location(self.source.node)
        directory, name = os.path.split(definition.file)
        symbol = self.name
        if not self.is_kernel:
            symbol = f"{self.name}@{Path(name).stem}:{definition.line}:{definition.column}"
        file = DIFileAttr.get(name, directory)
        unit = DICompileUnitAttr.get(file)
        return DISubprogramAttr.get(file, definition.line, self.name, symbol, unit, definition.line)

    def call_chain(self) -> list[Note]:
        """Notes for the enclosing calls, innermost first; repeated calls of a recursion are listed once."""
        notes: list[Note] = []
        frame = self
        while frame.caller is not None and frame.call is not None:
            note = Note(f"in the call of '{frame.name}'", frame.caller.source_location(frame.call))
            notes += [note] if note not in notes else []
            frame = frame.caller
        return notes
