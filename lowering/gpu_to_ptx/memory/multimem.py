"""Accesses to multicast addresses: multimem.ld_reduce, multimem.st and multimem.red (PTX ISA 9.7.9.12)."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.multimem import MultimemLoadViewOp, MultimemReduceViewOp, MultimemStoreViewOp
from tilec.lowering.gpu_to_ptx.memory.access import Access, load_by, store_by
from tilec.lowering.gpu_to_ptx.memory.atomic import OPERATIONS, vector_and_type
from tilec.lowering.gpu_to_ptx.memory.element_accesses import access_order, view_accesses
from tilec.lowering.gpu_to_ptx.memory.memory import padding_value
from tilec.lowering.gpu_to_ptx.registers.elements import PtxElement
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering, lowers


@lowers(MultimemLoadViewOp)
def _load(lowering: Lowering, operation: ir.Operation) -> None:
    result, op = operation.results[0], operation.opview
    accesses = view_accesses(lowering, op, result)
    kind = accesses.kind
    padding = padding_value(lowering, operation, kind, op.padding)

    def fetch(group: list[int], one: Access) -> list[ir.Value]:
        name, type = _spelled(op.reduction, kind, len(group))
        head = f"multimem.ld_reduce.{one.space}.{name}{type}"
        return load_by(lowering, head, one, kind, len(group), [padding] * len(group))

    lowering.set(result, accesses.fetched(lowering, access_order(op), fetch))


@lowers(MultimemStoreViewOp)
def _store(lowering: Lowering, operation: ir.Operation) -> None:
    _write(lowering, operation.opview, "st", None)


@lowers(MultimemReduceViewOp)
def _reduce(lowering: Lowering, operation: ir.Operation) -> None:
    _write(lowering, operation.opview, "red", operation.opview.reduction)


def _write(lowering: Lowering, op: ir.OpView, instruction: str, reduction: str | None) -> None:
    """Writes each element once."""
    accesses, values = view_accesses(lowering, op, op.value), lowering.get(op.value)
    for group, one in accesses.ordered(lowering, access_order(op)):
        name, type = _spelled(reduction or "add", accesses.kind, len(group))
        head = f"multimem.{instruction}.{one.space}{f'.{name}' if reduction else ''}{type}"
        store_by(lowering, head, one, accesses.kind, [values[r] for r in group])


def _spelled(reduction: str, element: PtxElement, count: int) -> tuple[str, str]:
    """The operation, and the vector and type of an instruction on `count` elements: `add` and `.v2.f16x2`."""
    name, kind = OPERATIONS[reduction]
    return name, vector_and_type(element, count, "f" if element.is_float else kind)
