"""Loops and branches without the values of some types, which are no longer used."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tilec.dialect.mlir import ir

Dropped = Callable[[ir.Type], bool]


def drop_values(op: ir.Operation, is_dropped: Dropped, stand_in: Callable[[ir.Type], ir.Value]) -> ir.Operation:
    """Replaces an scf.for, scf.if or scf.while, whose arguments that it drops only itself may still use.

    Operations around it that still use a dropped result get a `stand_in` of its type until they drop it too.
    """
    operands = [value for value in op.operands if not is_dropped(value.type)]
    kept = [number for number, result in enumerate(op.results) if not is_dropped(result.type)]
    attributes = {name: op.attributes[name] for name in op.attributes}
    types = [op.results[number].type for number in kept]
    with op.location, ir.InsertionPoint(op):
        made = ir.Operation.create(op.name, types, operands, attributes, regions=len(op.regions))
    for old, new in zip(op.regions, made.regions, strict=True):
        if len(old.blocks):
            block = old.blocks[0]
            _drop_from_terminator(block, is_dropped)
            _drop_arguments(block, is_dropped)
            block.append_to(new)
    for number, result in zip(kept, made.results, strict=True):
        op.results[number].replace_all_uses_with(result)
    for result in op.results:
        if is_dropped(result.type):
            result.replace_all_uses_with(stand_in(result.type))
    op.erase()
    return made


def _drop_from_terminator(block: ir.Block, is_dropped: Dropped) -> None:
    end = block.operations[len(block.operations) - 1].operation
    operands: Sequence[ir.Value] = [value for value in end.operands if not is_dropped(value.type)]
    if len(operands) == len(end.operands):
        return
    with end.location, ir.InsertionPoint(end):
        ir.Operation.create(end.name, [], operands)
    end.erase()


def _drop_arguments(block: ir.Block, is_dropped: Dropped) -> None:
    for number in reversed(range(len(block.arguments))):
        if is_dropped(block.arguments[number].type):
            block.erase_argument(number)
