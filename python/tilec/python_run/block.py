"""One tile block of a kernel that Python executes: each operation is traced, then interpreted immediately."""

from __future__ import annotations

import ast
import builtins
import functools
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType
from typing import Any

import numpy as np

from tilec.ast_to_tile.arguments import constant_int
from tilec.ast_to_tile.builtins import BUILTINS
from tilec.ast_to_tile.calls import call, closure
from tilec.ast_to_tile.control_flow.loops import loop_bounds
from tilec.ast_to_tile.control_flow.merge import carry, lower, rebuild
from tilec.ast_to_tile.entry import make_entry, parameter_values
from tilec.ast_to_tile.registry import HANDLERS
from tilec.ast_to_tile.source import Source, read
from tilec.ast_to_tile.tracer import Tracer
from tilec.ast_to_tile.values.constant_value import stored
from tilec.ast_to_tile.values.frame import MAXIMUM_DEPTH, Frame
from tilec.ast_to_tile.values.python_object import plain as constant
from tilec.ast_to_tile.values.values import (
    KernelValue,
    LocalFunction,
    Range,
    Text,
    Tile,
    TypedConstant,
    is_number,
)
from tilec.dialect.mlir import ir
from tilec.errors import TileRecursionError, TileStaticAssertionError
from tilec.language.datatypes import DType
from tilec.language.kernel import Kernel
from tilec.language.operations import control, debug
from tilec.python_run.functions import called_functions, is_rewritten, is_user_function, rewritten_function
from tilec.python_run.host_value import HostValue
from tilec.python_run.structures import changed
from tilec.runtime.interpret.machine import Machine
from tilec.runtime.interpret.prepare import Preparation
from tilec.runtime.interpret.run import entry_values
from tilec.signature import Signature

# The module of the classes of kernel values, which Python code sees as HostValue.
KERNEL_VALUES = Tile.__module__

_COMPARISONS: dict[str, type[ast.cmpop]] = {
    "==": ast.Eq,
    "!=": ast.NotEq,
    "<": ast.Lt,
    "<=": ast.LtE,
    ">": ast.Gt,
    ">=": ast.GtE,
}


class BlockRun(dict[Any, Any]):
    """The state of a running tile block; as a mapping, it replaces the functions that kernels call.

    Operations that are traced into the entry are interpreted as soon as the call or the operator that built them is
    complete, so that bodies of reductions are complete too.
    """

    def __init__(self, kernel: Kernel, signature: Signature, machine: Machine, values: Sequence[int | float]) -> None:
        super().__init__()
        self._machine = machine
        self._preparation = Preparation()
        self._pending: list[ir.Operation] = []
        # The slots of the results of interpreted operations.
        self._executed: set[int] = set()
        self._frames: dict[object, Frame] = {}
        self._nodes: dict[object, ast.AST] = {}
        self._locations: dict[object, ir.Location] = {}
        self._sources: dict[CodeType, tuple[str, Source]] = {}
        self.function = self._rewritten(kernel.function)
        source = read(kernel.function)
        self._base = Frame(kernel.name, source, [], {}, {}, is_kernel=True)
        self._position_frame: Frame = self._base
        self._position_node: ast.AST = source.node
        self._tracer = Tracer(self._base, call)
        self._build = self._tracer.emitter.build
        self._tracer.emitter.build = self._recorded  # type: ignore[method-assign]
        # Nodes of single operators do not live long enough for the locations that the tracer keeps by node.
        self._tracer.emitter.locate = self._location
        module = ir.Module.create(self._location())
        with ir.InsertionPoint(module.body):
            entry = make_entry(self._tracer, kernel, signature)
        self._module, self._block = module, entry.regions[0].blocks[0]
        arguments = self._preparation.block(self._block).arguments
        self._extend()
        for slot, value in zip(arguments, entry_values(self._block, kernel.name, values), strict=True):
            machine.values[slot] = value
        with ir.InsertionPoint(self._block):
            self._parameters = parameter_values(self._tracer, signature, entry)
        self._interpret()

    def run(self) -> None:
        """Executes the kernel's Python function."""
        with ir.InsertionPoint(self._block):
            self.function(**{name: self._wrapped(value) for name, value in self._parameters.items()})

    # The interface of rewritten functions (tilec.python_run.rewriting).

    def __missing__(self, function: object) -> object:
        chosen = self._replacement(function)
        if isinstance(function, FunctionType | type | BuiltinFunctionType):
            self[function] = chosen
        return chosen

    def _replacement(self, function: object) -> object:
        if isinstance(function, HostValue):
            return function
        if function is control.static_iter:
            return self._static_items
        if function is control.static_eval:
            # Python has evaluated the argument.
            return lambda expr, /: expr
        if function is control.static_assert:
            return self._static_assert
        if isinstance(function, DType) or function is range:
            return functools.partial(self._call, function)
        if function in (print, debug.print):
            return builtins.print
        if isinstance(function, type | BuiltinFunctionType) and (function in BUILTINS or function in HANDLERS):
            return functools.partial(self._builtin, function)
        function = getattr(function, "in_kernel", function)
        if isinstance(function, FunctionType) and is_user_function(function) and not is_rewritten(function):
            return self._rewritten(function)
        return function

    def truth(self, value: object) -> object:
        """The boolean that `and` and `or` combine."""
        return value if isinstance(value, bool) else self._wrapped(self._traced(lambda: self._truth(value)))

    def _truth(self, value: object) -> KernelValue:
        return self._tracer.truth(self._plain(value))

    def negated(self, value: object) -> object:
        return self.evaluate(ast.UnaryOp(ast.Not(), ast.Name("value")), value=value)

    def compared(self, values: Sequence[object], *operators: str) -> object:
        names = [f"value{position}" for position in range(len(values))]
        nodes: list[ast.expr] = [ast.Name(name) for name in names]
        node = ast.Compare(nodes[0], [_COMPARISONS[each]() for each in operators], nodes[1:])
        return self.evaluate(node, **dict(zip(names, values, strict=True)))

    def selected(self, condition: object, value: object, otherwise: object) -> object:
        if not isinstance(condition, HostValue):
            return value if condition else otherwise
        node = ast.IfExp(ast.Name("condition"), ast.Name("value"), ast.Name("otherwise"))
        return self.evaluate(node, condition=condition, value=value, otherwise=otherwise)

    def typed(self, value: object) -> object:
        """A value that a loop carries: numbers become scalars of their default element type."""
        plain = self._plain(value)
        if not isinstance(plain, tuple | TypedConstant) and not is_number(plain):
            return value
        plan = carry(plain)
        return self._wrapped(self._traced(lambda: rebuild(plan, iter(lower(self._tracer.emitter, plan, plain)))))

    # The interface of values (tilec.python_run.host_value).

    def evaluate(self, node: ast.expr, **values: object) -> Any:
        """The value of an expression of the kernel language whose names have these values."""
        names = {name: self._plain(value) for name, value in values.items()}
        return self._wrapped(self._traced(lambda: self._tracer.evaluate(self._located(node)), names))

    def call(self, function: object, arguments: Sequence[object], keywords: Mapping[str, object]) -> Any:
        """The result of a call of a function of the language or of a Python builtin."""
        positional = {f"argument{position}": value for position, value in enumerate(arguments)}
        named = {f"keyword_{name}": value for name, value in keywords.items()}
        node = ast.Call(
            ast.Name("function"),
            [ast.Name(name) for name in positional],
            [ast.keyword(name, ast.Name(f"keyword_{name}")) for name in keywords],
        )
        return self.evaluate(node, function=function, **positional, **named)

    def _call(self, function: object, *arguments: object, **keywords: object) -> Any:
        return self.call(function, arguments, keywords)

    def _builtin(self, function: Callable[..., Any], *arguments: object, **keywords: object) -> Any:
        """A Python builtin: that of the language if an argument is a value of the kernel."""
        if any(isinstance(value, HostValue) for value in arguments):
            return self.call(function, arguments, keywords)
        if any(isinstance(value, tuple) for value in arguments):
            return self.call(function, arguments, keywords)
        return function(*arguments, **keywords)

    def _static_assert(self, condition: object, message: object = None, /) -> None:
        if not condition:
            text = "" if message is None else f": {message}"
            self._traced(functools.partial(_raise, TileStaticAssertionError(f"static assertion failed{text}")))

    def _static_items(self, iterable: object) -> Iterator[Any]:
        plain = self._plain(iterable)
        if isinstance(plain, Range):
            return iter(range(*(constant_int(bound, "iterable") for bound in (plain.start, plain.stop, plain.step))))
        return (self._wrapped(item) for item in plain)  # type: ignore[attr-defined]

    def counters(self, bounds: Range) -> Iterator[HostValue]:
        """The counters of a loop, each a scalar of the type of the bounds."""
        scalars = self._traced(lambda: loop_bounds(self._tracer, bounds))
        start, stop, step = (int(self.elements(bound)) for bound in scalars)
        for counter in range(start, stop, step):
            constant = TypedConstant(counter, scalars[0].dtype)
            yield self._wrapped(self._traced(functools.partial(self._tracer.emitter.as_tile, constant)))

    def decided(self, value: HostValue) -> bool:
        truth = self._traced(lambda: self._truth(value))
        return truth if isinstance(truth, bool) else bool(self.elements(truth))

    def elements(self, value: object) -> np.ndarray:
        """The elements of a tile or constant as numpy holds them."""
        if isinstance(value, TypedConstant):
            return np.asarray(stored(value.value, value.dtype))
        if not isinstance(value, Tile):
            raise TypeError("only tiles and scalars have elements")
        tile = np.asarray(self._machine.values[self._preparation.slot(value.value)])
        return tile.view(f"u{tile.dtype.itemsize}") if _is_unsigned(value.dtype) else tile

    def text(self, value: HostValue, specification: str) -> str:
        """The text that `print` in a kernel writes for a value."""
        plain = value.kernel_value
        if not isinstance(plain, Tile | TypedConstant):
            return repr(value)
        written: list[str] = []
        before, self._machine.write = self._machine.write, written.append
        try:
            tile = self._tracer.emitter.as_tile(plain)
            self._interpret()
            self.call(debug.print, (Text(((tile, specification),)),), {"end": ""})
        finally:
            self._machine.write = before
        return "".join(written)

    # Tracing and interpretation.

    def _traced(self, trace: Callable[[], Any], names: dict[str, KernelValue] | None = None) -> Any:
        """The result of tracing at the line that Python executes; the new operations are interpreted."""
        frame, node = self._position()
        tracer = self._tracer
        before, frame.names = frame.names, names or {}
        tracer.frame, tracer.node = frame, node
        self._position_frame, self._position_node = frame, node
        try:
            result = tracer.visit(node, trace)
            self._interpret()
            return result
        finally:
            frame.names = before
            self._pending.clear()

    def _recorded(self, *arguments: Any, **keywords: Any) -> ir.Operation:
        operation = self._build(*arguments, **keywords)
        if operation.block == self._block:
            self._pending.append(operation)
        return operation

    def _interpret(self) -> None:
        with np.errstate(all="ignore"):
            for operation in self._pending:
                if self._executed.isdisjoint(map(self._preparation.slot, operation.results)):
                    self._execute(operation)
        self._pending.clear()

    def _execute(self, operation: ir.Operation) -> None:
        """Interprets an operation after those that compute its operands and that the emitter has not built."""
        for operand in operation.operands:
            owner = operand.owner
            if not isinstance(owner, ir.Block) and self._preparation.slot(operand) not in self._executed:
                self._execute(owner.operation)
        step = self._preparation.step(operation.opview)
        self._extend()
        self._machine.execute(step)
        self._executed.update(step.results)

    def _extend(self) -> None:
        missing = self._preparation.slot_count - len(self._machine.values)
        self._machine.values.extend([None] * missing)

    # Positions in the source.

    def _rewritten(self, function: FunctionType) -> FunctionType:
        made = rewritten_function(function, self)
        self._register(made.__code__, function.__name__, read(function))
        self[function] = made
        for called in called_functions(function):
            # Before the call, so that a debugger that steps into the call does not stop here.
            self[called]
        return made

    def _register(self, code: CodeType, name: str, source: Source) -> None:
        self._sources[code] = name, source
        for inner in code.co_consts:
            if isinstance(inner, CodeType):
                self._register(inner, inner.co_name, source)

    def _position(self) -> tuple[Frame, ast.AST]:
        """The frame and the node of the innermost rewritten function that Python executes."""
        frames: list[FrameType] = []
        frame: FrameType | None = sys._getframe()
        while frame is not None:
            if frame.f_code in self._sources:
                frames.append(frame)
            frame = frame.f_back
        traced: Frame = self._base
        node: ast.AST = self._base.source.node
        caller: Frame | None = None
        for each in reversed(frames):
            traced = self._frame(each.f_code, caller, node)
            caller, node = traced, self._node(each)
        if len(frames) > MAXIMUM_DEPTH:
            problem = f"calls are nested deeper than {MAXIMUM_DEPTH}: '{traced.name}' calls itself without end"
            raise TileRecursionError(problem)
        return traced, node

    def _frame(self, code: CodeType, caller: Frame | None, called_at: ast.AST) -> Frame:
        if caller is None:
            return self._base
        key = code, id(caller), id(called_at)
        if key not in self._frames:
            name, source = self._sources[code]
            self._frames[key] = Frame(name, source, [], {}, {}, caller, called_at)
        return self._frames[key]

    def _node(self, frame: FrameType) -> ast.AST:
        """A node with the position of the instruction; the same one for the same instruction."""
        key = frame.f_code, frame.f_lasti
        if key not in self._nodes:
            positions = list(frame.f_code.co_positions())[max(frame.f_lasti, 0) // 2]
            line, end_line, column, end_column = positions
            name = ast.Name("position")
            name.lineno, name.end_lineno = line or frame.f_lineno, end_line
            name.col_offset, name.end_col_offset = column or 0, end_column
            self._nodes[key] = name
        return self._nodes[key]

    def _location(self) -> ir.Location:
        if self._tracer.frame is not self._position_frame:
            # Inside a function that an operation traces.
            return self._tracer.frame.location(self._tracer.node)
        key = id(self._position_frame), id(self._position_node)
        if key not in self._locations:
            self._locations[key] = self._position_frame.location(self._position_node)
        return self._locations[key]

    def _located(self, node: ast.expr) -> ast.expr:
        """The node with the position that Python executes, on every inner node that has none."""
        position = self._tracer.node
        for inner in ast.walk(node):
            if isinstance(inner, ast.expr | ast.keyword):
                ast.copy_location(inner, position)
            if isinstance(inner, ast.Name | ast.Attribute | ast.Subscript):
                inner.ctx = ast.Load()
        return node

    # Values of the kernel and of Python.

    def _wrapped(self, value: KernelValue) -> Any:
        if type(value).__module__ == KERNEL_VALUES:
            return HostValue(value, self)
        return changed(value, self._wrapped)

    def _plain(self, value: object) -> KernelValue:
        if isinstance(value, HostValue):
            return value.kernel_value
        if isinstance(value, FunctionType) and is_rewritten(value):
            return self._traceable(value)
        return constant(changed(value, self._plain))

    def _traceable(self, function: FunctionType) -> KernelValue:
        """The function for an operation that traces it, such as ct.reduce: its source, with the values it reads."""
        name, source = self._sources.get(function.__code__, (function.__name__, None))
        found = read(function)
        values = {key: self._plain(value) for key, value in closure(function).items()}
        outer = {**function.__globals__, **values}
        return LocalFunction(found.node, Frame(name, source or found, [], {}, outer, is_kernel=True))


def _raise(error: TileStaticAssertionError) -> None:
    raise error


def _is_unsigned(dtype: DType) -> bool:
    return not (dtype.is_float or dtype.is_boolean or dtype.signed) and dtype.is_arithmetic
