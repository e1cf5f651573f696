"""Addresses of tensor maps: parameters of the kernel, or entries of the table of maps of a list, in global memory."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.kernel import KernelOp
from tilec.dialect.tile_gpu.operations.tensor_map import ListWordOp, words_of
from tilec.dialect.tile_gpu.operations.tma import TmaLoadOp, TmaPrefetchOp, TmaStoreOp
from tilec.dialect.walk import is_within, operations_named
from tilec.lowering.gpu.ir.enclosing import path_to
from tilec.lowering.gpu_to_ptx.registers.elements import element_named
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering, lowers

_COPIES = tuple(op.OPERATION_NAME for op in (TmaLoadOp, TmaPrefetchOp, TmaStoreOp))
_MAP_BYTES = 128
_WORD_BYTES = 8
_FOR, _IF = "scf.for", "scf.if"
_LOOPS = (_FOR, "scf.while")


@lowers(ListWordOp)
def _list_word(lowering: Lowering, operation: ir.Operation) -> None:
    """A number that only dead code reads: the launcher computes what the tensor maps need."""
    lowering.set(operation.results[0], [lowering.constant(element_named("i64"), 0)])


def acquisitions(kernel: KernelOp) -> dict[ir.Operation | ir.Block, list[ir.OpView]]:
    """The copies of a kernel that read maps of lists, by the place where the warp that issues them acquires their map.

    CUDA programming guide, "Tensor maps in global memory": the proxy by which TMA reads maps needs a fence after the
    host wrote them. It is before a counting loop in which all copies have one map, at the start of what a loop with a
    condition repeats, which may repeat nothing, or else before the copy.
    """
    found: dict[ir.Operation | ir.Block, list[ir.OpView]] = {}
    for op in operations_named(kernel, _COPIES):
        if _is_listed(op):
            found.setdefault(_place(op), []).append(op)
    return found


def _place(op: ir.OpView) -> ir.Operation | ir.Block:
    path = path_to(op.operation)
    loop = next((number for number in reversed(range(len(path) - 1)) if path[number].name in _LOOPS), None)
    if loop is None or is_within(op.coordinates[-1], path[loop]):
        return op.operation
    if path[loop].name == _FOR:
        return path[loop]
    # The condition of a loop is that of a branch at its start.
    repeated = path[loop + 1]
    return path[loop + 2].block if repeated.name == _IF else repeated.block


def acquire_maps(lowering: Lowering, place: ir.Operation | ir.Block) -> None:
    """Acquires the maps of the copies of a place, each once."""
    copies = {(op.map, op.coordinates[-1]): op for op in lowering.acquisitions.get(place, ())}
    for op in copies.values():
        with lowering.issuing() as elected:
            text = f"@$0 fence.proxy.tensormap::generic.acquire.sys [$1], {_MAP_BYTES};"
            lowering.b.execute(text, (), elected, _address(lowering, op))


def map_address(lowering: Lowering, op: ir.OpView) -> ir.Value:
    """The generic address of the map of a copy; one in global memory is acquired."""
    acquire_maps(lowering, op.operation)
    return _address(lowering, op)


def own_coordinates(op: ir.OpView) -> list[ir.Value]:
    """The coordinates of a copy in its tensor."""
    return list(op.coordinates)[: len(op.map.owner.extents)]


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
