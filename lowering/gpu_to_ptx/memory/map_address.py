"""Addresses of tensor maps: parameters of the kernel, or entries of the table of maps of a list, in global memory."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.tensor_map import ListWordOp, words_of
from tilec.dialect.tile_gpu.operations.tma import TmaLoadOp, TmaPrefetchOp, TmaStoreOp
from tilec.dialect.walk import is_within, operations_named
from tilec.lowering.gpu.ir.enclosing import path_to
from tilec.lowering.gpu_to_ptx.registers.elements import element_named
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering, lowers

_COPIES = tuple(op.OPERATION_NAME for op in (TmaLoadOp, TmaPrefetchOp, TmaStoreOp))
_MAP_BYTES = 128
_WORD_BYTES = 8
_LOOPS = ("scf.for", "scf.while")


@lowers(ListWordOp)
def _list_word(lowering: Lowering, operation: ir.Operation) -> None:
    """A number that only dead code reads: the launcher computes what the tensor maps need."""
    lowering.set(operation.results[0], [lowering.constant(element_named("i64"), 0)])


def map_address(lowering: Lowering, op: ir.OpView) -> ir.Value:
    """The generic address of the map of a copy; one in global memory is acquired."""
    address = _address(lowering, op)
    if _is_listed(op) and _acquired_before(op) == op.operation:
        _acquire(lowering, address)
    return address


def own_coordinates(op: ir.OpView) -> list[ir.Value]:
    """The coordinates of a copy in its tensor."""
    return list(op.coordinates)[: len(op.map.owner.extents)]


def acquire_maps(lowering: Lowering, loop: ir.Operation) -> None:
    """Acquires the maps of lists that copies of a loop read, and that are the same in each iteration.

    CUDA programming guide, "Tensor maps in global memory": the proxy by which TMA reads maps needs a fence after the
    host wrote them. Before an inner loop there is one for all its copies, and none if the block skips the loop.
    """
    found: dict[tuple[ir.Value, ir.Value], ir.OpView] = {}
    for op in operations_named(loop, _COPIES):
        if _is_listed(op) and _acquired_before(op) == loop:
            found.setdefault((op.map, op.coordinates[-1]), op)
    for op in found.values():
        _acquire(lowering, _address(lowering, op))


def table_word(lowering: Lowering, op: ir.OpView, value: ir.Value) -> ir.Value:
    """The register of the base, an extent or a stride of the tensor of a store, which may be in the table of a list."""
    word = value.owner
    if not isinstance(word, ListWordOp):
        return lowering.scalar(value)
    number = lowering.compute(f"mul.wide.s32 $0, $1, {word.words * _WORD_BYTES};", "i64", _number(lowering, op))
    address = lowering.compute("add.s64 $0, $1, $2;", "i64", lowering.scalar(word.table), number)
    return lowering.b.execute(f"ld.global.b64 $0, [$1+{word.word * _WORD_BYTES}];", lowering.b.i64, address)


def _is_listed(op: ir.OpView) -> bool:
    return words_of(op.map.owner) is not None


def _acquired_before(op: ir.OpView) -> ir.Operation:
    """The innermost loop around a copy if the copy has the same map in each iteration, else the copy."""
    loops = [around for around in path_to(op.operation)[:-1] if around.name in _LOOPS]
    return op.operation if not loops or is_within(op.coordinates[-1], loops[-1]) else loops[-1]


def _address(lowering: Lowering, op: ir.OpView) -> ir.Value:
    if not _is_listed(op):
        symbol = lowering.b.compute(f"mov.b64 $0, {lowering.maps[op.map]};", lowering.b.i64)
        return lowering.b.compute("cvta.param.u64 $0, $1;", lowering.b.i64, symbol)
    table = lowering.b.compute(f"ld.param.b64 $0, [{lowering.maps[op.map]}];", lowering.b.i64)
    number = lowering.compute(f"mul.wide.s32 $0, $1, {_MAP_BYTES};", "i64", _number(lowering, op))
    return lowering.compute("add.s64 $0, $1, $2;", "i64", table, number)


def _number(lowering: Lowering, op: ir.OpView) -> ir.Value:
    """The number of the array in its list."""
    return lowering.scalar(op.coordinates[-1])


def _acquire(lowering: Lowering, address: ir.Value) -> None:
    with lowering.issuing() as elected:
        text = f"@$0 fence.proxy.tensormap::generic.acquire.sys [$1], {_MAP_BYTES};"
        lowering.b.execute(text, (), elected, address)
