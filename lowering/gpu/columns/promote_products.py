"""Products of `wgmma` that are multiplied by factors and added to an accumulator are computed in parts of its columns.

before:   %p = wgmma %lhs, %rhs, zeros;  %q = wgmma_wait %p;  %r = mulf %q, %f;  %s = fma %r, %g, %acc
or:       %p = wgmma promote %lhs, %rhs, zeros;  %r = mulf %p, %f;  %s = fma %r, %g, %acc
after:    %s = wgmma promote %lhs, %rhs, %acc times [%f, %g]

Only products of as many registers as the largest accumulator of a thread: beside that, registers hold no second one.
Nor do they hold all elements of an operand that threads store beside such a product, or that needs as many registers:

before:   %e = mulf %x, %f;  %slot = put_begin;  store_shared %e, %slot
after:    %slot = put_begin;  %e = mulf %x, %f;  store_shared %e, %slot
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.interface import interface_of
from tilec.dialect.tile_gpu.operations.kernel import KernelOp
from tilec.dialect.tile_gpu.operations.matrix import WgmmaOp, WgmmaWaitOp
from tilec.dialect.tile_gpu.operations.memory import StoreSharedOp
from tilec.dialect.tile_gpu.operations.shape import MathOp
from tilec.dialect.tile_gpu.registers import LARGEST_BUDGET
from tilec.dialect.walk import operations_in, operations_inside, owner_of, reached, users_of
from tilec.lowering import emitter
from tilec.lowering.gpu.ir.operation_role import compute_role, set_compute_role
from tilec.lowering.gpu.ir.slots import PUT, channel_of_buffer, users_of_slots
from tilec.lowering.gpu.ir.tile_size import thread_elements
from tilec.lowering.gpu.kernel_pass import Context
from tilec.lowering.gpu.memory.live_tiles import packed_registers

_WAIT, _MULTIPLY, _ADD = WgmmaWaitOp.OPERATION_NAME, "arith.mulf", "math.fma"
_LEAST_REGISTERS = 128


@dataclass(frozen=True)
class _Product:
    """A multiply into zeros, the operations on its result in order, and the factors of all but the wait.

    Attributes:
        computing: operations after the multiply that compute factors or the accumulator, in order.
    """

    multiply: WgmmaOp
    users: tuple[ir.Operation, ...]
    factors: tuple[ir.Value, ...]
    computing: tuple[ir.Operation, ...]


def promote_products(kernel: KernelOp, _context: Context) -> None:
    """Rewrites a tile_gpu.kernel in place."""
    for op in operations_inside(kernel):
        if op.name != WgmmaOp.OPERATION_NAME or thread_elements(op.results[0].type) < _LEAST_REGISTERS:
            continue
        product = _product(op.opview)
        for channel in map(channel_of_buffer, (op.opview.lhs, op.opview.rhs)):
            for store in () if channel is None else users_of_slots(channel.channel, (PUT,)):
                if store.name == StoreSharedOp.OPERATION_NAME and (product or not _has_room(op, store)):
                    _compute_in_turn(store)
        if product is not None:
            _promote(product)


def _has_room(multiply: ir.Operation, store: ir.Operation) -> bool:
    """Whether a thread has registers for a stored operand beside the accumulator of a multiply."""
    operand = packed_registers(store.operands[0].type)
    return thread_elements(multiply.results[0].type) + operand < LARGEST_BUDGET


def _product(op: WgmmaOp) -> _Product | None:
    if len(op.factors) or not emitter.is_zero(op.accumulator):
        return None
    users, factors, last = list[ir.Operation](), list[ir.Value](), op.operation
    # The result of a multiply that promotes is complete.
    if not op.promote:
        wait = _only_user(last)
        if wait is None or wait.name != _WAIT or wait.opview.pending:
            return None
        users, last = [wait], wait
    while (user := _only_user(last)) is not None and user.name in (_MULTIPLY, _ADD):
        value, operands = last.results[0], list(user.operands)
        if value not in operands[:2]:
            return None
        factors.append(operands[1 - operands.index(value)])
        users.append(user)
        last = user
        if user.name == _ADD:
            moved = _computing((*factors, operands[2]), op.operation)
            return None if moved is None else _Product(op, tuple(users), tuple(factors), tuple(moved))
    return None


def _only_user(op: ir.Operation) -> ir.Operation | None:
    users = users_of(op.results[0])
    return users[0] if len(list(op.results[0].uses)) == 1 and users[0].block == op.block else None


def _computing(values: Sequence[ir.Value], op: ir.Operation) -> list[ir.Operation] | None:
    """The operations from another one on that compute values, in program order; None if one may not precede it."""
    block = operations_in(op.block)
    later = block[block.index(op) :]
    needed = {owner_of(each) for value in values for each in reached(value, partial(_operands_of_results, later))}
    found = [each for each in later if each in needed]
    return found if all(interface_of(each.name).is_pure for each in found) else None


def _operands_of_results(operations: Sequence[ir.Operation], value: ir.Value) -> Sequence[ir.Value]:
    owner = owner_of(value)
    return list(owner.operands) if owner is not None and owner in operations else ()


def _promote(product: _Product) -> None:
    op, sum = product.multiply, product.users[-1]
    for computing in product.computing:
        computing.move_before(op.operation)
    with ir.InsertionPoint(op.operation), op.location:
        operands = [sum.operands[2], op.lhs, op.rhs, op.metadata, list(product.factors)]
        kept = {name: getattr(op, name) for name in ("negated", "shifted", "period", "pitch")}
        made = emitter.gpu(WgmmaOp, operands, [op.result.type], kind=op.kind, id=op.id, promote=True, **kept)
    set_compute_role(made, compute_role(op.operation))
    sum.results[0].replace_all_uses_with(made.result)
    for each in (*reversed(product.users), op.operation):
        each.erase()


def _compute_in_turn(store: ir.Operation) -> None:
    """Lets threads compute the elements of an operand where they store them, instead of all before.

    ptxas keeps elements in registers that are computed before a loop, or before the wait for the slot.
    """
    computed, begin = (owner_of(operand) for operand in store.operands)
    if begin is None or computed is None or not begin.block == computed.block == store.block:
        return
    made = begin.operands[0].owner.operation
    if made.block == begin.block and computed.is_before_in_block(made):
        if len(made.operands):
            return
        made.move_before(computed)
    begin.move_before(computed)
    wide = owner_of(computed.operands[0]) if computed.name == _MULTIPLY else None
    is_conversion = wide is not None and wide.name == MathOp.OPERATION_NAME and wide.opview.function == "ftof.rn"
    if wide is None or not is_conversion or wide.block == computed.block or len(list(wide.results[0].uses)) > 1:
        return
    with ir.InsertionPoint(computed), computed.location:
        operands, type = [wide.operands[0], computed.operands[1]], computed.results[0].type
        scaled = emitter.gpu(MathOp, operands, [type], function="scale.rn")
    set_compute_role(scaled, compute_role(computed))
    computed.results[0].replace_all_uses_with(scaled.result)
    for op in (computed, wide):
        op.erase()
