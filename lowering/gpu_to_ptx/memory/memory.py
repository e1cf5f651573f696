"""Loads and stores of register tiles in global memory, vectorized, with predicates instead of branches; variables."""

from __future__ import annotations

from collections.abc import Sequence

from tilec.dialect.mlir import ir
from tilec.dialect.ptx.builder import variable
from tilec.dialect.tile_gpu.operations.global_memory import GlobalAddressOp
from tilec.dialect.tile_gpu.operations.view import LoadGlobalOp, LoadViewOp, StoreGlobalOp, StoreViewOp
from tilec.lowering.gpu_to_ptx.memory.access import Access, load, store
from tilec.lowering.gpu_to_ptx.memory.element_accesses import (
    ElementAccesses,
    access_order,
    pointer_accesses,
    view_accesses,
)
from tilec.lowering.gpu_to_ptx.registers.declarations import array_text, symbol_name, variable_address
from tilec.lowering.gpu_to_ptx.registers.elements import PtxElement, element_of
from tilec.lowering.gpu_to_ptx.registers.literals import memory_bytes
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering, lowers

_PADDINGS = {"zero": 0.0, "neg_zero": -0.0, "nan": float("nan"), "pos_inf": float("inf"), "neg_inf": float("-inf")}


def declare_global(op: ir.OpView, module: ir.Module) -> None:
    """Declares the variable of a tile_gpu.global; raises CompileError for a name that PTX cannot have."""
    content = memory_bytes(op.value, element_of(ir.RankedTensorType(op.value.type)))
    name = symbol_name(op)
    variable(module, name, array_text(name, content, op.alignment, "" if op.private else ".visible "))


@lowers(GlobalAddressOp)
def global_address(lowering: Lowering, operation: ir.Operation) -> None:
    lowering.set(operation.results[0], [variable_address(lowering, operation.opview.symbol)])


@lowers(LoadViewOp)
def load_view(lowering: Lowering, operation: ir.Operation) -> None:
    """Elements outside the view have the padding value: a false guard leaves the register unchanged."""
    result, op = operation.results[0], operation.opview
    accesses = view_accesses(lowering, op, result)
    padding = padding_value(lowering, operation, accesses.kind, op.padding)
    lowering.set(result, _loaded(lowering, op, accesses, [padding] * accesses.layout.register_count))


@lowers(LoadGlobalOp)
def load_global(lowering: Lowering, operation: ir.Operation) -> None:
    """Elements whose mask is false have the value of `other`, or zero."""
    result, op = operation.results[0], operation.opview
    accesses = pointer_accesses(lowering, op, result, op.vector)
    if op.other is None:
        other = [lowering.constant(accesses.kind, 0)] * accesses.layout.register_count
    else:
        other = lowering.get(op.other)
    lowering.set(result, _loaded(lowering, op, accesses, other))


def _loaded(
    lowering: Lowering, op: ir.OpView, accesses: ElementAccesses, otherwise: Sequence[ir.Value]
) -> list[ir.Value]:
    """The registers of a loaded tile; `otherwise` has the value of each if the predicate is false."""

    def fetch(group: list[int], one: Access) -> list[ir.Value]:
        return load(lowering, one, accesses.kind, len(group), [otherwise[r] for r in group])

    return accesses.fetched(lowering, access_order(op), fetch)


@lowers(StoreViewOp)
def store_view(lowering: Lowering, operation: ir.Operation) -> None:
    op = operation.opview
    _store(lowering, op, view_accesses(lowering, op, op.value))


@lowers(StoreGlobalOp)
def store_global(lowering: Lowering, operation: ir.Operation) -> None:
    op = operation.opview
    _store(lowering, op, pointer_accesses(lowering, op, op.value, op.vector))


def _store(lowering: Lowering, op: ir.OpView, accesses: ElementAccesses) -> None:
    """Stores each element once."""
    values = lowering.get(op.value)
    for group, one in accesses.ordered(lowering, access_order(op)):
        store(lowering, one, accesses.kind, [values[r] for r in group])


def padding_value(lowering: Lowering, operation: ir.Operation, kind: PtxElement, name: str) -> ir.Value:
    """The register of the padding of a load: a name of Tile IR, or the bits of an integer."""
    if name.startswith("0x"):
        return lowering.constant(kind, int(name, 16))
    if name not in _PADDINGS:
        raise lowering.unsupported(operation, f"unknown padding '{name}', expected one of {', '.join(_PADDINGS)}")
    if name != "zero" and not kind.is_float:
        raise lowering.unsupported(operation, f"padding '{name}' needs float elements, got {kind.name}")
    return lowering.constant(kind, _PADDINGS[name])
