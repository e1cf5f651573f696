"""Mutations of what one pass over tile_gpu leaves for the passes after it.

They change roles, columns, groups, barriers, slots, registers and schedules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest

import pytest
from attribute_mutations import Change

from tilec.dialect.build import build
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.attribute_names import SCHEDULE
from tilec.dialect.tile_gpu.operations.channel import COPIES, TMA
from tilec.dialect.tile_gpu.operations.kernel import COMPUTE_ROLES, KernelOp
from tilec.dialect.tile_gpu.operations.shape import EMULATED, POLYNOMIAL_PARTS
from tilec.dialect.tile_gpu.registers import BUDGET_STEP, LEAST_BUDGET, REGISTER_FILE, registers_per_thread
from tilec.dialect.tile_gpu.types import TENSOR, BufferType
from tilec.dialect.walk import operations_below
from tilec.errors import CompileError
from tilec.lowering.gpu.channels.ring_depth import MAXIMUM_STAGES
from tilec.lowering.gpu.ir.operation_role import clear_compute_role, compute_role, role_of, set_compute_role
from tilec.lowering.gpu.kernel_pass import Context
from tilec.lowering.gpu.passes import table_of

_PLACE, _ROLES = "tile_gpu.place", "tile_gpu.roles"


def _role(kernel: KernelOp) -> Iterator[Change]:
    """An operation of threads belongs to another role that computes; to a new one if there is one role."""
    operations = [op.operation for op in operations_below(kernel)]
    roles = COMPUTE_ROLES[: max(len({compute_role(op) for op in operations}), 2)]
    for op in operations:
        if role_of(op) in roles and not op.name.endswith((".return", ".yield", ".condition")):
            name = f"{op.name.removeprefix('tile_gpu.')} of {compute_role(op)}"
            yield from ((f"{name} in {role}", partial(_move, op, role)) for role in roles if role != compute_role(op))


def _move(op: ir.Operation, role: str) -> None:
    clear_compute_role(op)
    set_compute_role(op, role)


def _over(kernel: KernelOp) -> Iterator[Change]:
    """The lhs of a multiply has columns of its own, or those of another tile."""
    for op in _operations(kernel, _PLACE):
        if op.opview.over is not None:
            yield "none", partial(_place_over, op, None)
            others = (value for value in _tensor_memory_before(op) if value != op.opview.over)
            yield from (("another tile", partial(_place_over, op, other)) for other in others)


def _tensor_memory_before(op: ir.Operation) -> list[ir.Value]:
    """The tiles in tensor memory that are defined in the block of an operation, before it."""
    before = [other.operation for other in op.block.operations if other.operation.is_before_in_block(op)]
    values = [*op.block.arguments, *(result for other in before for result in other.results)]
    return [value for value in values if isinstance(value.type, BufferType) and value.type.memory == TENSOR]


def _place_over(op: ir.Operation, other: ir.Value | None) -> None:
    with op.location, ir.InsertionPoint(op):
        made = build(_PLACE, [op.opview.value, other], [op.results[0].type], {"group": op.opview.group})
    set_compute_role(made, compute_role(op))
    op.results[0].replace_all_uses_with(made.results[0])
    op.erase()


def _group(kernel: KernelOp) -> Iterator[Change]:
    """Another placed tile may share the slots of a tile, or none may."""
    for op in _operations(kernel, _PLACE):
        if op.opview.group is None:
            yield "one for all", partial(_set_number, op, "group", 0)
        else:
            yield "none", partial(op.attributes.__delitem__, "group")


def _wanted(kernel: KernelOp) -> Iterator[Change]:
    """A ring of TMA or copies wants one slot, or as many as possible; `pipeline` keeps what a ring wants."""
    for op in _operations(kernel, "tile_gpu.make_channel"):
        if op.opview.producer in (TMA, COPIES) and op.opview.reuse == "ring":
            yield from ((str(slots), partial(_set_number, op, "wanted", slots)) for slots in (1, MAXIMUM_STAGES))


def _registers(kernel: KernelOp) -> Iterator[Change]:
    """All roles have the most registers, a role has the fewest, or more registers than there are."""
    for op in _operations(kernel, _ROLES):
        warps = list(op.opview.warps)
        most = registers_per_thread(sum(warps)) // BUDGET_STEP * BUDGET_STEP
        yield "as many for all", partial(_set_numbers, op, "registers", [most] * len(warps))
        fewest = [LEAST_BUDGET if name in COMPUTE_ROLES else most for name in op.opview.bodies]
        yield f"{LEAST_BUDGET} for roles that compute", partial(_set_numbers, op, "registers", fewest)
        yield "more than there are", partial(_set_numbers, op, "registers", [REGISTER_FILE] * len(warps))


def _read_before_next(kernel: KernelOp) -> Iterator[Change]:
    """A place whose slot has no empty barrier, and one that has it."""
    for op in _operations(kernel, _PLACE):
        if op.opview.read_before_next:
            yield "removed", partial(op.attributes.__delitem__, "read_before_next")
        else:
            yield "set", partial(op.attributes.__setitem__, "read_before_next", ir.UnitAttr.get(op.context))


def _polynomials(kernel: KernelOp) -> Iterator[Change]:
    """Polynomials compute no element of an exponential, or most of them."""
    for op in _operations(kernel, "tile_gpu.math"):
        if "polynomials" in op.attributes:
            yield "none", partial(op.attributes.__delitem__, "polynomials")
        elif op.opview.function in EMULATED:
            yield "most", partial(_set_number, op, "polynomials", POLYNOMIAL_PARTS - 1)


def _schedule(kernel: KernelOp) -> Iterator[Change]:
    """An operation is another iteration ahead, or none, or follows the next one, or has no schedule."""
    operations = [op.operation for op in operations_below(kernel) if SCHEDULE in op.operation.attributes]
    for op, following in zip_longest(operations, operations[1:]):
        name = op.name.removeprefix("tile_gpu.")
        ahead, order = op.attributes[SCHEDULE]
        yield f"{name} one more ahead", partial(_set_numbers, op, SCHEDULE, [ahead + 1, order])
        if ahead:
            yield f"{name} none ahead", partial(_set_numbers, op, SCHEDULE, [0, order])
        if following is not None and following.block == op.block:
            yield f"{name} behind {following.name.removeprefix('tile_gpu.')}", partial(_exchange, op, following)
        yield f"{name} without", partial(op.attributes.__delitem__, SCHEDULE)


def _exchange(op: ir.Operation, other: ir.Operation) -> None:
    """Exchanges the orders of two operations."""
    (ahead, order), (others_ahead, others_order) = op.attributes[SCHEDULE], other.attributes[SCHEDULE]
    _set_numbers(op, SCHEDULE, [ahead, others_order])
    _set_numbers(other, SCHEDULE, [others_ahead, order])


def _operations(kernel: KernelOp, name: str) -> list[ir.Operation]:
    return [op.operation for op in operations_below(kernel) if op.operation.name == name]


def _set_number(op: ir.Operation, name: str, value: int) -> None:
    op.attributes[name] = ir.IntegerAttr.get(ir.IntegerType.get_signless(32, op.context), value)


def _set_numbers(op: ir.Operation, name: str, values: list[int]) -> None:
    op.attributes[name] = ir.DenseI32ArrayAttr.get(values, op.context)


# By the name of what changes: the pass after which it changes, and the changes.
PASS_MUTATIONS: dict[str, tuple[str, Callable[[KernelOp], Iterator[Change]]]] = {
    "role": ("assign-roles", _role),
    "over": ("assign-roles", _over),
    "group": ("assign-roles", _group),
    "read_before_next": ("assign-roles", _read_before_next),
    "wanted": ("partition-roles", _wanted),
    "registers": ("register-budgets", _registers),
    "polynomials": ("emulate-exponentials", _polynomials),
    "schedule": ("advance-multiplies", _schedule),
}


@dataclass(frozen=True)
class PassMutation:
    """Change number `change` of an entry of PASS_MUTATIONS; None changes nothing."""

    name: str
    change: int | None


@contextmanager
def changed_pass(mutation: PassMutation, found: list[str]) -> Iterator[None]:
    """The passes with a change after one of them; `found` gets the descriptions of all changes.

    Raises CompileError where the verifier rejects the change.
    """
    after, changes_of = PASS_MUTATIONS[mutation.name]
    table = table_of(after)
    record = table[after]

    def run_and_change(kernel: KernelOp, context: Context) -> None:
        record.run(kernel, context)
        changes = list(changes_of(kernel))
        found[:] = [description for description, _ in changes]
        if mutation.change is not None:
            changes[mutation.change][1]()
            _verify(kernel)

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(table, after, replace(record, run=run_and_change))
        yield


def _verify(kernel: KernelOp) -> None:
    try:
        kernel.operation.verify()
    except ir.MLIRError as error:
        raise CompileError(str(error)) from error
