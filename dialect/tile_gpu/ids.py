"""The ids of loops, branches and multiplies: which operation of `tile_to_gpu` they derive from (README.md, Ids)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TypeAlias

from tilec.dialect.mlir import ir
from tilec.dialect.operation import OPERATIONS
from tilec.dialect.tile_gpu.namespace import PREFIX
from tilec.dialect.walk import operations_inside

LOOPS = ("scf.for", "scf.while")
BRANCH = "scf.if"
CONTROL_FLOW = (*LOOPS, BRANCH)
# Operations with their names, each of which takes a call of the bindings.
NamedOperations: TypeAlias = "Sequence[tuple[ir.Operation, str]]"
# The attribute of the control flow of MLIR; multiplies have a field.
ID = f"{PREFIX}id"
_FIELD = "id"


def id_of(op: ir.Operation) -> int | None:
    """The id of a loop, a branch or a multiply; None if it has none."""
    name = _attribute(op)
    return ir.IntegerAttr(op.attributes[name]).value if name in op.attributes else None


def set_id(op: ir.Operation, id: int) -> None:
    """Gives a loop, a branch or a multiply an id."""
    op.attributes[_attribute(op)] = ir.IntegerAttr.get(ir.IntegerType.get_signless(32, op.context), id)


def copy_id(op: ir.Operation, copy: ir.Operation) -> None:
    """Gives the copy of an operation its id, if it has one."""
    id = id_of(op)
    if id is not None:
        set_id(copy, id)


def number_operations(kernel: ir.Operation, *, with_branches: bool) -> None:
    """Gives each loop and multiply without an id an id of its own, in program order; branches too if wanted."""
    names = {*CONTROL_FLOW, *_with_field()}
    ids = {op: id_of(op) for op in operations_inside(kernel) if op.name in names}
    following = 1 + max((id for id in ids.values() if id is not None), default=-1)
    for op, id in ids.items():
        if id is None and (with_branches or op.name != BRANCH):
            set_id(op, following)
            following += 1


def id_problem(operations: NamedOperations) -> str | None:
    """The loop or multiply without an id in a kernel where others have one, as text, or None."""
    names = {*LOOPS, *_with_field()}
    found = [(name, id_of(op) is not None) for op, name in operations if name in names]
    lost = [name for name, has_id in found if not has_id]
    if not lost or len(lost) == len(found):
        return None
    return f"expected an id of each loop and multiply, or of none, but '{lost[0]}' has none"


def _attribute(op: ir.Operation) -> str:
    return ID if op.name in CONTROL_FLOW else _FIELD


@cache
def _with_field() -> frozenset[str]:
    """The names of the operations with an id of their own: the multiplies."""
    return frozenset(name for name, each in OPERATIONS.items() if _FIELD in each.attribute_fields)
