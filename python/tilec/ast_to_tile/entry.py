"""Compiles a kernel for one signature to a verified `cuda_tile` module."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import TYPE_CHECKING

from tilec.ast_to_tile import statements  # noqa: F401  (each module registers the functions of its op group)
from tilec.ast_to_tile.calls import call, closure
from tilec.ast_to_tile.control_flow.token_order import order_memory
from tilec.ast_to_tile.emitter import Emitter, pointer_type, tile_type
from tilec.ast_to_tile.operations import (  # noqa: F401  (each module registers the functions of its op group)
    arange,
    arith,
    atomic,
    control,
    convert,
    debug,
    foreign_pointer,
    grid_dependency,
    im2col,
    math,
    memory,
    mma,
    nested_tuples,
    packed,
    prefetch,
    raw_memory,
    reduce,
    scan,
    shape,
    sparse_access,
    view,
)
from tilec.ast_to_tile.source import read
from tilec.ast_to_tile.tracer import Returned, Tracer
from tilec.ast_to_tile.values.array_values import ArrayList, array_value
from tilec.ast_to_tile.values.frame import Frame
from tilec.ast_to_tile.values.values import KernelValue, Record, Tile
from tilec.ast_to_tile.verify import verify
from tilec.dialect.build import build
from tilec.dialect.mlir import context, ir
from tilec.language import datatypes
from tilec.process.recursion_limit import deep_recursion
from tilec.runtime.arguments.arguments import (
    Argument,
    ArrayArgument,
    ConstantArgument,
    ListArgument,
    RecordArgument,
    ScalarArgument,
    TupleArgument,
    leaves,
)
from tilec.signature import Signature, dtype_named, python_value

if TYPE_CHECKING:
    from tilec.language.kernel_declaration import KernelDeclaration


@deep_recursion()
def kernel_to_tile(kernel: KernelDeclaration, signature: Signature, checks: bool = False) -> ir.Module:
    """The module with the entry of one kernel; raises CompileError with the source location.

    With `checks` the promises of the kernel that Tile IR does not express are asserted.
    """
    source = read(kernel.function)
    outer = {**kernel.function.__globals__, **closure(kernel.function)}
    frame = Frame(kernel.name, source, source.body, {}, outer, is_kernel=True)
    with context(), ir.Location.unknown():
        tracer = Tracer(frame, call, checks)
        module = ir.Module.create(tracer.location())
        module.operation.attributes["sym_name"] = ir.StringAttr.get("kernels")
        try:
            with ir.InsertionPoint(module.body):
                entry = make_entry(tracer, kernel, signature)
            with ir.InsertionPoint(entry.regions[0].blocks[0]):
                _trace_body(tracer, signature, entry)
        finally:
            tracer.drop_holders()
        order_memory(entry)
        verify(module)
        return module


def make_entry(tracer: Tracer, kernel: KernelDeclaration, signature: Signature) -> ir.Operation:
    """The entry of a kernel, with an empty block of its parameters."""
    flat = [parameter for argument in leaves(signature.arguments) for parameter in _parameters(argument)]
    types = [type for _, type in flat]
    attributes: dict[str, KernelValue] = {
        "sym_name": kernel.name,
        "function_type": ir.FunctionType.get(types, []),
        "tilec.signature": ir.StringAttr.get(signature.to_json()),
    }
    hints = kernel.hints.by_target()
    if hints:
        attributes["optimization_hints"] = ir.DictAttr.get({target: _hints(table) for target, table in hints.items()})
    entry = build("entry", [], [], attributes, loc=tracer.location())
    # NameLoc locations preserve the names of the parameters.
    locations = [ir.Location.name(name, tracer.location()) for name, _ in flat]
    ir.Block.create_at_start(entry.regions[0], types, locations)
    return entry


def _hints(table: dict[str, int]) -> ir.Attribute:
    i32 = ir.IntegerType.get_signless(32)
    return ir.DictAttr.get({key: ir.IntegerAttr.get(i32, value) for key, value in table.items()})


def _parameters(argument: Argument) -> list[tuple[str, ir.Type]]:
    """The entry arguments of one kernel argument: for an array its pointer, extents and strides."""
    if isinstance(argument, ScalarArgument):
        return [(argument.name, tile_type(dtype_named(argument.element)))]
    if isinstance(argument, ListArgument):
        pointer, length = argument.value_names()
        return [(pointer, pointer_type(datatypes.int64)), (length, tile_type(datatypes.int32))]
    if not isinstance(argument, ArrayArgument):
        return []
    pointer = pointer_type(dtype_named(argument.element))
    index = tile_type(dtype_named(argument.index))
    extents = [(f"{argument.name}.shape[{axis}]", index) for axis in range(argument.rank)]
    strides = [(f"{argument.name}.strides[{axis}]", index) for axis in range(argument.rank)]
    return [(argument.name, pointer), *extents, *strides]


def _trace_body(tracer: Tracer, signature: Signature, entry: ir.Operation) -> None:
    tracer.frame.names |= parameter_values(tracer, signature, entry)
    tracer.frame.locals |= frozenset(signature.names)
    flow = tracer.execute(tracer.frame.body)
    if not isinstance(flow, Returned):
        tracer.emitter.build("return")


def parameter_values(tracer: Tracer, signature: Signature, entry: ir.Operation) -> dict[str, KernelValue]:
    """The value of each parameter of the Python function, from the parameters of its entry."""
    values = iter(entry.regions[0].blocks[0].arguments)
    return {argument.name: _value(tracer.emitter, argument, values) for argument in signature}


def _value(emitter: Emitter, argument: Argument, values: Iterator[ir.Value]) -> KernelValue:
    """The value of a parameter; properties in the signature become assumptions on the entry arguments."""
    if isinstance(argument, ScalarArgument):
        return Tile(next(values), dtype_named(argument.element), ())
    if isinstance(argument, ConstantArgument):
        return python_value(argument.value)
    if isinstance(argument, ListArgument):
        return ArrayList(argument.name, argument.element, next(values), Tile(next(values), datatypes.int32, ()))
    if isinstance(argument, TupleArgument):
        return tuple(_value(emitter, item, values) for item in argument.items)
    if isinstance(argument, RecordArgument):
        return _record(argument, [_value(emitter, item, values) for item in argument.items])
    if not isinstance(argument, ArrayArgument):
        raise AssertionError(f"a Python signature has no {type(argument).__name__}")
    return array_value(emitter, argument, values)


def _record(argument: RecordArgument, values: list[KernelValue]) -> KernelValue:
    """An instance of the class with kernel values as fields; its own constructor, which takes others, does not run."""
    if argument.kind is None:
        return SimpleNamespace(**dict(zip(argument.field_names(), values, strict=True)))
    if issubclass(argument.kind, tuple):
        return tuple.__new__(argument.kind, values)
    return Record(argument.kind, tuple(values))
