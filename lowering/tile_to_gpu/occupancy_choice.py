"""How many blocks share an SM, if a chain of multiplies computes the operands of the next ones.

While the threads of one block compute exponentials, the tensor cores multiply for another block. Each has half of the
registers and of the memory of an SM, so that no role of its own scales accumulators. The cost model decides, also
against a hint: with rings of one slot, two blocks of 128x128 keys with 128 columns take more time than one, but two of
64x128 on sm_90a 1,312 modelled cycles per step in place of 2,184.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilec.compile_options import CompileOptions
from tilec.dialect.build import copied
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.kernel import KernelOp
from tilec.dialect.walk import operations_named
from tilec.errors import UnsupportedError
from tilec.lowering.kernel_hints import OCCUPANCY, blocks_of_hint, kernel_hint, unfollowed_occupancy, unfollowed_reason
from tilec.lowering.matrix_unit import accumulates_in_registers
from tilec.lowering.plan.chain_room import known_room
from tilec.lowering.plan.followed_hints import entry_options
from tilec.lowering.plan.matrix.row_loads import slot_bytes
from tilec.lowering.plan.operand_sides import is_read_transposed
from tilec.lowering.plan.ring_tiles import bytes_of_loops
from tilec.lowering.target import Target, share_of_block
from tilec.lowering.tile.analysis.tile_operations import LOADS, PLAIN_MULTIPLIES, in_loop
from tilec.lowering.tile.divide.divided_dimensions import is_chained
from tilec.lowering.tile_to_gpu.convolution_choice import Compiler
from tilec.lowering.tile_to_gpu.kernel import convert
from tilec.remarks import Remark

_BLOCKS = 2
_SLOTS = 2
# A block of at most as many rows has one warpgroup of wgmma, or half of the lanes of tcgen05: several are compared even
# without a hint and if rings have one slot. Two blocks of 128 rows were slower in all kernels tried.
_FEW_ROWS = 64
# The share of the time that two blocks have to save without a hint, and that those of a hint may cost.
_LEAST_GAIN = _MOST_LOSS = 0.05


def asked_blocks(entry: ir.OpView, target: Target, options: CompileOptions) -> int | None:
    """The blocks to compare with one block: those of the hint, or two; None without a choice, or after it."""
    if kernel_hint(entry, OCCUPANCY) is not None:
        return None
    followed = entry_options(entry, target, options)
    asked = followed.occupancy
    if followed.num_ctas not in (None, 1):
        return None
    repeated = [op for op in operations_named(entry, PLAIN_MULTIPLIES) if in_loop(op)]
    if asked == 1 or asked is None and accumulates_in_registers(target) and not _have_few_rows(repeated, target):
        return None
    return (asked or _BLOCKS) if len(repeated) > 1 else None


def set_blocks(module: ir.Module, blocks: int) -> None:
    """Sets the blocks of the entry of a module, in place; 0 if no number is asked for."""
    (entry,) = operations_named(module, ("cuda_tile.entry",))
    number = ir.IntegerType.get_signless(32, module.context)
    entry.operation.attributes[OCCUPANCY] = ir.IntegerAttr.get(number, blocks)


def choose_occupancy(module: ir.Module, blocks: int, is_hint: bool, compiler: Compiler, remarks: list[Remark]) -> None:
    """Sets the blocks of the entry of a module, which has none so far, to `blocks` if they are faster by the model.

    Without a chain of multiplies, or if a cluster divides it, the plan follows a hint.
    """
    (entry,) = operations_named(module, ("cuda_tile.entry",))
    room = known_room(entry)
    is_divided = room is not None and room.shape.ctas > 1
    chain = [op for op in operations_named(entry, PLAIN_MULTIPLIES) if in_loop(op) and is_chained(op)]
    if is_divided or not chain:
        del entry.operation.attributes[OCCUPANCY]
        return
    if _have_few_rows(chain, compiler.target) or _has_slots(entry, share_of_block(compiler.target, blocks)):
        refusal = _refusal(module, blocks, is_hint, compiler)
    else:
        refusal = f"with the memory of {blocks} blocks, loops have one slot for the tiles that they load"
    if refusal is None:
        set_blocks(module, blocks)
    elif not is_hint:
        del entry.operation.attributes[OCCUPANCY]
    else:
        remarks.append(unfollowed_occupancy(blocks, refusal, entry.operation))


def _have_few_rows(multiplies: Sequence[ir.OpView], target: Target) -> bool:
    """Whether the products have few rows, those that are computed transposed few columns."""
    return all(op.acc.type.shape[-1 if is_read_transposed(op, target) else -2] <= _FEW_ROWS for op in multiplies)


def _refusal(module: ir.Module, blocks: int, is_hint: bool, compiler: Compiler) -> str | None:
    """The reason for one block of a module on an SM; None if several lose at most this share of the time."""
    several = copied(module)
    set_blocks(several, blocks)
    try:
        cycles, _ = _cycles(several, blocks, compiler)
    except UnsupportedError as error:
        return error.message
    try:
        one, sharing = _cycles(module, 1, compiler)
    except UnsupportedError:
        return None
    # Rings may leave memory for several blocks of a kernel that is planned for one (share_processor.py).
    most_loss = _MOST_LOSS if is_hint else 0.0 if sharing > 1 else -_LEAST_GAIN
    loss = cycles / one - 1 if one else -1.0
    return None if loss <= most_loss else f"by the model {blocks} blocks on an SM take {loss:.0%} more time than one"


def _has_slots(entry: ir.OpView, target: Target) -> bool:
    """Whether shared memory has two slots for each tile that a loop loads: with one, multiplies wait for loads."""
    tiles = [load.operation.results[0] for load in operations_named(entry, LOADS)]
    always = sum(slot_bytes(tile) for tile in tiles if not in_loop(tile.owner.opview))
    rings = bytes_of_loops(tile for tile in tiles if in_loop(tile.owner.opview))
    return bool(always + _SLOTS * rings <= target.shared_bytes)


def _cycles(module: ir.Module, blocks: int, compiler: Compiler) -> tuple[float, int]:
    """The cycles of a tile block planned for this number of blocks on an SM, and the number that share it.

    Raises UnsupportedError if the plan does not leave room for as many.
    """
    target, options = compiler.target, compiler.options
    found = list[Remark]()
    made = convert(module, target=target.name, options=options, remarks=found, count_columns=compiler.count_columns)
    has_room = blocks in (1, _blocks(made))
    cycles = compiler.count_cycles(made, target, options, found) if has_room else 0.0
    if blocks not in (1, _blocks(made)):
        raise UnsupportedError(unfollowed_reason(blocks, found) or "an SM has no room for them")
    return cycles, _blocks(made)


def _blocks(module: ir.Module) -> int:
    (kernel,) = operations_named(module, (KernelOp.OPERATION_NAME,))
    return blocks_of_hint(kernel)
