"""Compiles a kernel for one signature to a verified `cuda_tile` module."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tilec.ast_to_tile import (  # noqa: F401  (each module registers the functions of its op group)
    arange,
    arith,
    atomic,
    control,
    convert,
    debug,
    grid_dependency,
    im2col,
    math,
    memory,
    mma,
    packed,
    raw_memory,
    reduce,
    scan,
    shape,
    sparse_access,
    statements,
    view,
)
from tilec.ast_to_tile.calls import call, closure
from tilec.ast_to_tile.emitter import Emitter, element_type, tile_type
from tilec.ast_to_tile.frame import Frame
from tilec.ast_to_tile.source import read
from tilec.ast_to_tile.token_order import order_memory
from tilec.ast_to_tile.tracer import Returned, Tracer
from tilec.ast_to_tile.values import KernelValue, Tile
from tilec.ast_to_tile.verify import verify
from tilec.ast_to_tile.view import make_array
from tilec.dialect.build import build
from tilec.dialect.cuda_tile.attributes import BoundedAttr, DivByAttr
from tilec.dialect.cuda_tile.types import PointerType, TileType
from tilec.dialect.mlir import context, ir
from tilec.language import datatypes
from tilec.runtime.arguments import Argument, ArrayArgument, ConstantArgument, ScalarArgument
from tilec.signature import Signature, dtype_named, python_value

if TYPE_CHECKING:
    from tilec.language.kernel import Kernel


def kernel_to_tile(kernel: Kernel, signature: Signature) -> ir.Module:
    """The module with the entry of one kernel; raises CompileError with the source location."""
    source = read(kernel.function)
    outer = {**kernel.function.__globals__, **closure(kernel.function)}
    frame = Frame(kernel.name, source, source.body, {}, outer, is_kernel=True)
    with context(), ir.Location.unknown():
        tracer = Tracer(frame, call)
        module = ir.Module.create(tracer.location())
        module.operation.attributes["sym_name"] = ir.StringAttr.get("kernels")
        try:
            with ir.InsertionPoint(module.body):
                entry = _make_entry(tracer, kernel, signature)
            with ir.InsertionPoint(entry.regions[0].blocks[0]):
                _trace_body(tracer, signature, entry)
        finally:
            tracer.drop_holders()
        order_memory(entry)
        verify(module)
        return module


def _make_entry(tracer: Tracer, kernel: Kernel, signature: Signature) -> ir.Operation:
    flat = [parameter for argument in signature for parameter in _parameters(argument)]
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
    if not isinstance(argument, ArrayArgument):
        return []
    pointer = TileType.get((), PointerType.get(element_type(dtype_named(argument.element))))
    index = tile_type(datatypes.int32)
    extents = [(f"{argument.name}.shape[{axis}]", index) for axis in range(argument.rank)]
    strides = [(f"{argument.name}.strides[{axis}]", index) for axis in range(argument.rank)]
    return [(argument.name, pointer), *extents, *strides]


def _trace_body(tracer: Tracer, signature: Signature, entry: ir.Operation) -> None:
    values = iter(entry.regions[0].blocks[0].arguments)
    for argument in signature:
        tracer.frame.names[argument.name] = _value(tracer.emitter, argument, values)
    tracer.frame.locals |= frozenset(signature.names)
    flow = tracer.execute(tracer.frame.body)
    if not isinstance(flow, Returned):
        tracer.emitter.build("return")


def _value(emitter: Emitter, argument: Argument, values: Iterator[ir.Value]) -> KernelValue:
    """The value of a parameter; properties in the signature become assumptions on the entry arguments."""
    if isinstance(argument, ScalarArgument):
        return Tile(next(values), dtype_named(argument.element), ())
    if isinstance(argument, ConstantArgument):
        return python_value(argument.value)
    if not isinstance(argument, ArrayArgument):
        raise AssertionError(f"a Python signature has no {type(argument).__name__}")
    pointer = _assume(emitter, next(values), DivByAttr.get(argument.alignment) if argument.alignment > 1 else None)
    extents = _extents(emitter, argument.shape, argument.shape_divisors, values)
    strides = _extents(emitter, argument.strides, argument.stride_divisors, values)
    return make_array(emitter, argument.name, dtype_named(argument.element), pointer, extents, strides)


def _extents(
    emitter: Emitter, known: tuple[int | None, ...], divisors: tuple[int, ...], values: Iterator[ir.Value]
) -> tuple[Tile | int, ...]:
    extents: list[Tile | int] = []
    for static, divisor in zip(known, divisors, strict=True):
        parameter = next(values)
        if static is not None:
            extents.append(static)
            continue
        bounded = _assume(emitter, parameter, BoundedAttr.get(0, None))
        # div_by takes powers of two only: the largest power of two that divides the divisor is used.
        power = divisor & -divisor
        multiple = _assume(emitter, bounded, DivByAttr.get(power) if power > 1 else None)
        extents.append(Tile(multiple, datatypes.int32, ()))
    return tuple(extents)


def _assume(emitter: Emitter, value: ir.Value, predicate: ir.Attribute | None) -> ir.Value:
    if predicate is None:
        return value
    return emitter.build("assume", [value], [value.type], {"predicate": predicate}).results[0]
