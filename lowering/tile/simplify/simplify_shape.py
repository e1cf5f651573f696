"""Merges or removes data movement: reshape(reshape(x)), inverse permutes, extract of the whole tile."""

from __future__ import annotations

from tilec.dialect.build import build
from tilec.dialect.cuda_tile.types import PointerType
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.lowering.tile.analysis.constants import splat
from tilec.lowering.tile.analysis.replacing import Rule
from tilec.lowering.tile.analysis.tile_operations import producer


def _merged(op: ir.OpView) -> ir.Value | None:
    """f(x) of the same type is x; f(f(x)) is f(x)."""
    if op.source.type == op.result.type:
        return op.source
    inner = producer(op.source, op.operation.name.removeprefix("cuda_tile."))
    if inner is None or inner.source.type == op.result.type:
        return None if inner is None else inner.source
    return build(op.operation.name, [inner.source], [op.result.type]).result


def _permute(op: ir.OpView) -> ir.Value | None:
    permutation = list(op.permutation)
    if permutation == sorted(permutation):
        return op.source
    inner = producer(op.source, "permute")
    if inner is None:
        return None
    first = list(inner.permutation)
    composed = [first[dimension] for dimension in permutation]
    return build("permute", [inner.source], [op.result.type], {"permutation": composed}).result


def _extract(op: ir.OpView) -> ir.Value | None:
    """extract of a whole tile is the tile; extract of one half of a cat is an operand."""
    if op.source.type == op.result.type:
        # Zero is the only defined index.
        return op.source
    whole = producer(op.source, "cat")
    if whole is None or whole.lhs.type != op.result.type or whole.rhs.type != op.result.type:
        return None
    part = splat(list(op.indices)[whole.dim])
    return whole.lhs if part == 0 else whole.rhs if part == 1 else None


def _select(op: ir.OpView) -> ir.Value | None:
    if op.val_if_true == op.val_if_false:
        return op.val_if_true
    condition = splat(op.cond)
    if condition is not None:
        return op.val_if_true if condition else op.val_if_false
    if op.cond.type == op.result.type and (splat(op.val_if_true), splat(op.val_if_false)) == (1, 0):
        return op.cond
    negation = producer(op.cond, "xori")
    # A loop is split at a mask whose comparison has one use: the negation is another one until it is erased.
    if negation is None or splat(negation.rhs) != 1 or producer(negation.lhs, "cmpi") is not None:
        return None
    return build("select", [negation.lhs, op.val_if_false, op.val_if_true], [op.result.type]).result


def _inverse(op: ir.OpView) -> ir.Value | None:
    """pack and unpack of each other; tf32 is excluded, because its bytes hold more bits than it."""
    inner = producer(op.source, "unpack" if op.operation.name == "cuda_tile.pack" else "pack")
    if inner is None or inner.source.type != op.result.type:
        return None
    return None if "tf32" in (spell(inner.source.type.element), spell(inner.result.type.element)) else inner.source


def _pointers(op: ir.OpView) -> ir.Value | None:
    """ptr_to_int, int_to_ptr and ptr_to_ptr keep an address, unless it may point into a byte (f4E2M1FN)."""
    if op.source.type == op.result.type:
        return op.source
    inner = producer(op.source, *_ADDRESSES)
    if inner is None or _points_into_bytes(inner.source, inner.result):
        return None
    if inner.source.type == op.result.type:
        return inner.source
    if op.operation.name == inner.operation.name == "cuda_tile.ptr_to_ptr" and not _points_into_bytes(op.result):
        return build("ptr_to_ptr", [inner.source], [op.result.type]).result
    return None


_ADDRESSES = ("ptr_to_int", "int_to_ptr", "ptr_to_ptr")


def _points_into_bytes(*values: ir.Value) -> bool:
    elements = [value.type.element for value in values]
    return any(isinstance(element, PointerType) and spell(element.element) == "f4E2M1FN" for element in elements)


RULES: dict[str, Rule] = {
    **dict.fromkeys(("broadcast", "reshape", "bitcast"), _merged),
    "permute": _permute,
    "extract": _extract,
    "insert": lambda op: op.source if op.source.type == op.result.type else None,
    "select": _select,
    **dict.fromkeys(("pack", "unpack"), _inverse),
    **dict.fromkeys(_ADDRESSES, _pointers),
    "offset": lambda op: op.ptr if splat(op.offset) == 0 else None,
}
