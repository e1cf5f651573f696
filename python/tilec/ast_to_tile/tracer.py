"""Walks the body of a kernel and of the functions it calls, and builds operations as it goes.

A value known while compiling never becomes an operation until one needs it; a value at run time is a `Tile`. Branches
and loop bodies are traced into blocks of their own first: which results an `if` or a loop needs is known only then.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tilec.ast_to_tile.convert import to_dtype
from tilec.ast_to_tile.emitter import Emitter
from tilec.ast_to_tile.frame import Frame
from tilec.ast_to_tile.unsupported import refuse_expression, refuse_statement
from tilec.ast_to_tile.values import Array, Method, Range, Tile, TiledView, TypedConstant, describe
from tilec.dialect.mlir import ir
from tilec.errors import CompileError, TileTypeError
from tilec.language.datatypes import bool_


@dataclass(frozen=True)
class Returned:
    """The statements end in `return value`."""

    value: Any


@dataclass(frozen=True)
class Left:
    """The statements end in `break` or `continue`; the loop writes the jump when its body is complete."""


Flow = Returned | Left | None


@dataclass
class Jump:
    """A place in the loop where control leaves the body, with the names as they are there."""

    block: ir.Block
    names: dict[str, Any]
    node: ast.AST


@dataclass
class Loop:
    """The loop around the statements that are traced; `exits` are its breaks, None where it cannot be left early."""

    frame: Frame
    node: ast.AST
    repeats: list[Jump] = field(default_factory=list)
    exits: list[Jump] | None = None


@dataclass(eq=False)
class Block:
    """A traced block that no operation owns yet, with the names and the flow at its end."""

    holder: ir.Operation
    block: ir.Block
    end: ir.Block
    names: dict[str, Any]
    assigned_at: dict[str, ast.AST]
    flow: Flow

    def move_into(self, region: ir.Region) -> None:
        self.block.append_to(region)


Expression = Callable[["Tracer", Any], Any]
Statement = Callable[["Tracer", Any, Sequence[ast.stmt]], Flow]
EXPRESSIONS: dict[type, Expression] = {}
STATEMENTS: dict[type, Statement] = {}


def expression(kind: type) -> Callable[[Expression], Expression]:
    """Register what gives the value of a kind of expression."""

    def register(visitor: Expression) -> Expression:
        EXPRESSIONS[kind] = visitor
        return visitor

    return register


def statement(*kinds: type) -> Callable[[Statement], Statement]:
    """Register what executes a kind of statement; it also gets the statements that follow."""

    def register(visitor: Statement) -> Statement:
        STATEMENTS.update(dict.fromkeys(kinds, visitor))
        return visitor

    return register


class Tracer:
    """The state of one compilation: the call being traced, the node operations are located at, the loops around it."""

    def __init__(self, frame: Frame, call: Callable[[Tracer, Any, Sequence[Any], dict[str, Any]], Any]) -> None:
        self.frame = frame
        self.node: ast.AST = frame.source.node
        self.loops: list[Loop] = []
        self.holders: list[ir.Operation] = []
        self.emitter = Emitter(self.location, lambda function, values: call(self, function, values, {}))
        self._locations: dict[tuple[int, int], ir.Location] = {}

    def location(self) -> ir.Location:
        """The location of what is built now."""
        key = id(self.frame), id(self.node)
        if key not in self._locations:
            self._locations[key] = self.frame.location(self.node)
        return self._locations[key]

    def evaluate(self, node: ast.expr) -> Any:
        """The value of an expression; raises CompileError at the innermost node that is wrong."""
        return self._visit(node, functools.partial(self._expression(node), self, node))

    def execute(self, statements: Sequence[ast.stmt]) -> Flow:
        """Trace statements in order, up to one that does not go on to the next."""
        for position, node in enumerate(statements):
            rest = statements[position + 1 :]
            flow = self._visit(node, functools.partial(self._statement(node), self, node, rest))
            if flow is not None:
                return flow
        return None

    def _visit(self, node: ast.AST, visit: Callable[[], Any]) -> Any:
        before, self.node = self.node, node
        frame = self.frame
        try:
            return visit()
        except CompileError as problem:
            if problem.location is None:
                problem.location = frame.place(node)
                problem.notes.extend(frame.call_chain())
            raise
        finally:
            self.node = before

    def _expression(self, node: ast.expr) -> Expression:
        return EXPRESSIONS.get(type(node), refuse_expression)

    def _statement(self, node: ast.stmt) -> Statement:
        return STATEMENTS.get(type(node), refuse_statement)

    def condition(self, node: ast.expr) -> bool | Tile:
        """A test: True or False where it is known, else a bool scalar."""
        value = self.evaluate(node)
        return self._visit(node, lambda: self.truth(value))

    def truth(self, value: Any) -> bool | Tile:
        """Whether a value counts as true."""
        if isinstance(value, TypedConstant):
            return bool(value.value)
        if isinstance(value, Array | TiledView | Range | Method):
            raise TileTypeError(f"expected a condition, got {describe(value)}")
        if not isinstance(value, Tile):
            return bool(value)
        if value.shape:
            raise TileTypeError(f"a condition must be a scalar, got {describe(value)}: choose by element with ct.where")
        return to_dtype(self.emitter, value, bool_)

    def trace(self, run: Callable[[], Flow], arguments: Sequence[ir.Type] = ()) -> Block:
        """What `run` builds, in a block of its own; names assigned by it are the block's only."""
        return self.trace_with(lambda _arguments: run(), arguments)

    def trace_with(self, run: Callable[[Sequence[ir.Value]], Flow], arguments: Sequence[ir.Type]) -> Block:
        """The same for a block with arguments, which `run` gets."""
        frame, location = self.frame, self.location()
        holder = ir.Operation.create("builtin.module", regions=1, loc=location)
        self.holders.append(holder)
        block = ir.Block.create_at_start(holder.regions[0], list(arguments), [location] * len(arguments))
        names, places = frame.names, frame.assigned_at
        frame.names, frame.assigned_at = dict(names), dict(places)
        try:
            with ir.InsertionPoint(block):
                flow = run(list(block.arguments))
                end = ir.InsertionPoint.current.block
            return Block(holder, block, end, frame.names, frame.assigned_at, flow)
        finally:
            frame.names, frame.assigned_at = names, places

    def drop_holders(self) -> None:
        """Free blocks that found no operation, before the values they use are freed."""
        for holder in reversed(self.holders):
            holder.erase()
        self.holders.clear()
