"""Traces the body of a kernel and of the functions it calls, and builds operations.

A compile-time value is materialized only when an operation uses it; a run-time value is a `Tile`. Branches and loop
bodies are first traced into detached blocks, because the results of an `if` or a loop are known only afterwards.
"""

from __future__ import annotations

import ast
import functools
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from tilec.ast_to_tile.emitter import Emitter
from tilec.ast_to_tile.operations.convert import to_dtype
from tilec.ast_to_tile.operations.reduction_body import refuse_nested_block
from tilec.ast_to_tile.unsupported import reject_expression, reject_statement
from tilec.ast_to_tile.values.frame import Frame
from tilec.ast_to_tile.values.values import (
    Array,
    KernelValue,
    Method,
    Range,
    Record,
    Tile,
    TypedConstant,
    View,
    describe,
)
from tilec.dialect.mlir import ir
from tilec.dialect.rule_table import RuleTable
from tilec.errors import CompileError, SourceLocation, TileTypeError, TileValueError
from tilec.language.datatypes import bool_
from tilec.process.time_limit import check_time


@dataclass(frozen=True)
class Returned:
    """The statements end in `return value`."""

    value: KernelValue


@dataclass(frozen=True)
class Left:
    """The statements end in `break` or `continue`; the loop builds this terminator when its body is complete."""


Flow = Returned | Left | None


@dataclass
class Jump:
    """A block that ends with a jump out of the loop body, with the values of the names at that point."""

    block: ir.Block
    names: dict[str, KernelValue]
    node: ast.AST


@dataclass
class Loop:
    """The enclosing loop of the traced statements; `exits` are its breaks, None if `break` is not possible."""

    frame: Frame
    node: ast.AST
    repeats: list[Jump] = field(default_factory=list)
    exits: list[Jump] | None = None
    # The number of contexts that are entered outside of the loop.
    contexts: int = 0


@dataclass(eq=False)
class Context:
    """An entered context: the frame of its generator, the frame of its `with`, and the statements after the `yield`."""

    frame: Frame
    owner: Frame
    rest: Sequence[ast.stmt]


@dataclass(eq=False)
class Block:
    """A traced block that is not yet part of an operation, with the names and the flow at its end."""

    holder: ir.Operation
    block: ir.Block
    end: ir.Block
    names: dict[str, KernelValue]
    assigned_at: dict[str, ast.AST]
    flow: Flow

    def move_into(self, region: ir.Region) -> None:
        self.block.append_to(region)


# Any: the class of the node is the key of the table.
Expression = Callable[["Tracer", Any], KernelValue]
Statement = Callable[["Tracer", Any, Sequence[ast.stmt]], Flow]
EXPRESSIONS: RuleTable[type[ast.expr], Expression] = RuleTable("evaluated")
STATEMENTS: RuleTable[type[ast.stmt], Statement] = RuleTable("executed")

R = TypeVar("R")
E = TypeVar("E", bound=Expression)
S = TypeVar("S", bound=Statement)


def expression(kind: type[ast.expr]) -> Callable[[E], E]:
    """Registers the function that evaluates a kind of expression."""
    return lambda visitor: EXPRESSIONS.enter([kind], visitor, visitor)


def statement(kind: type[ast.stmt]) -> Callable[[S], S]:
    """Registers the function that executes a kind of statement; it also receives the statements that follow."""
    return lambda visitor: STATEMENTS.enter([kind], visitor, visitor)


# Calls a function with positional and keyword arguments.
Call = Callable[["Tracer", KernelValue, Sequence[KernelValue], dict[str, KernelValue]], KernelValue]


class Tracer:
    """The state of one compilation: the traced call, the current syntax node, and the enclosing loops."""

    def __init__(self, frame: Frame, call: Call, checks: bool = False) -> None:
        self.frame = frame
        self.node: ast.AST = frame.source.node
        self.loops: list[Loop] = []
        self.contexts: list[Context] = []
        self.holders: list[ir.Operation] = []
        self.emitter = Emitter(
            self.location, self.warn, lambda function, values: call(self, function, values, {}), checks
        )
        self._locations: dict[tuple[Frame, ast.AST], ir.Location] = {}
        self._warned: set[tuple[str, SourceLocation]] = set()

    def location(self) -> ir.Location:
        """The location of the operations that are currently built."""
        key = self.frame, self.node
        if key not in self._locations:
            self._locations[key] = self.frame.location(self.node)
        return self._locations[key]

    def warn(self, message: str, category: type[Warning]) -> None:
        """Gives a Python warning at the traced line, once per compilation: loop bodies can be traced repeatedly.

        Raises TileValueError if the filters of the program make the warning an error.
        """
        location = self.frame.source_location(self.node)
        if (message, location) in self._warned:
            return
        self._warned.add((message, location))
        try:
            warnings.warn_explicit(message, category, location.file, location.line)
        except category as problem:
            raise TileValueError(message) from problem

    def evaluate(self, node: ast.expr) -> KernelValue:
        """The value of an expression; raises CompileError at the innermost invalid node."""
        return self.visit(node, functools.partial(self._expression(node), self, node))

    def execute(self, statements: Sequence[ast.stmt]) -> Flow:
        """Traces statements in order, up to the first that leaves the sequence."""
        for position, node in enumerate(statements):
            rest = statements[position + 1 :]
            check_time()
            flow = self.visit(node, functools.partial(self._statement(node), self, node, rest))
            if flow is not None:
                return flow
        return None

    def visit(self, node: ast.AST, visit: Callable[[], R]) -> R:
        """The result of `visit`, whose errors and operations without a location get that of the node."""
        before, self.node = self.node, node
        frame = self.frame
        try:
            return visit()
        except CompileError as problem:
            if problem.location is None:
                problem.location = frame.source_location(node)
                problem.notes.extend(frame.call_chain())
            raise
        finally:
            self.node = before

    def _expression(self, node: ast.expr) -> Expression:
        return EXPRESSIONS.get(type(node), reject_expression)

    def _statement(self, node: ast.stmt) -> Statement:
        return STATEMENTS.get(type(node), reject_statement)

    def condition(self, node: ast.expr) -> bool | Tile:
        """The value of a test: True or False if it is constant, else a bool scalar."""
        value = self.evaluate(node)
        return self.visit(node, lambda: self.truth(value))

    def truth(self, value: KernelValue) -> bool | Tile:
        """The truth value of a kernel value."""
        if isinstance(value, TypedConstant):
            return bool(value.value)
        if isinstance(value, Record) and hasattr(value.kind, "__bool__"):
            return self.truth(self.emitter.call(value.kind.__bool__, [value]))
        if isinstance(value, Array | View | Range | Method | Record):
            raise TileTypeError(f"expected a condition, got {describe(value)}")
        if not isinstance(value, Tile):
            return bool(value)
        if value.shape:
            raise TileTypeError(f"a condition must be a scalar, got {describe(value)}: select by element with ct.where")
        return to_dtype(self.emitter, value, bool_)

    def trace(self, run: Callable[[], Flow], arguments: Sequence[ir.Type] = ()) -> Block:
        """Traces `run` into a detached block; assignments in it do not change the names of the frame."""
        return self.trace_with(lambda _arguments: run(), arguments)

    def trace_with(self, run: Callable[[Sequence[ir.Value]], Flow], arguments: Sequence[ir.Type]) -> Block:
        """Traces `run` into a detached block with arguments, which are passed to `run`."""
        if self.emitter.reduction is not None:
            refuse_nested_block(self.emitter.reduction, self.node)
        frame, location = self.frame, self.location()
        holder = ir.Operation.create("builtin.module", regions=1, loc=location)
        self.holders.append(holder)
        block = ir.Block.create_at_start(holder.regions[0], list(arguments), [location] * len(arguments))
        contexts = list(self.contexts)
        with self.restored_names([frame, *(context.frame for context in contexts)]), ir.InsertionPoint(block):
            flow = run(list(block.arguments))
            end = ir.InsertionPoint.current.block
            self.contexts[:] = contexts
            return Block(holder, block, end, frame.names, frame.assigned_at, flow)

    @contextmanager
    def restored_names(self, frames: Sequence[Frame]) -> Iterator[None]:
        """Gives the frames copies of their names, and their own names back at the end."""
        before = {frame: (frame.names, frame.assigned_at) for frame in frames}
        for frame, (names, assigned_at) in before.items():
            frame.names, frame.assigned_at = dict(names), dict(assigned_at)
        try:
            yield
        finally:
            for frame, (names, assigned_at) in before.items():
                frame.names, frame.assigned_at = names, assigned_at

    def drop_holders(self) -> None:
        """Erases blocks that were not moved into an operation, before the values they use are erased."""
        for holder in reversed(self.holders):
            holder.erase()
        self.holders.clear()
