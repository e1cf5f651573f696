"""Divides the rows or columns of all multiplies of an entry into parts that the tile block computes in turn.

    mmaf %a, %b, %c : 256x64, 64x256 -> 256x256
    ->  for %part in (0 to 2, step 1) { mmaf %a, %b, %c : 128x64, 64x256 -> 128x256 }

The parts are those that the CTAs of a cluster compute (divide_rows.py): they are independent of each other, so that any
order of them is right.
"""

from __future__ import annotations

from collections.abc import Callable

from tilec.dialect.build import build
from tilec.dialect.cuda_tile.types import TileType
from tilec.dialect.mlir import ir
from tilec.dialect.walk import operations_below
from tilec.lowering.tile.analysis.constants import integer_splat
from tilec.lowering.tile.analysis.tile_operations import returns, terminator
from tilec.lowering.tile.divide.divide_rows import divide_rows, remove_argument
from tilec.lowering.tile.divide.divided_dimensions import Divided, NotDivisibleError
from tilec.lowering.tile.simplify.hoist_invariants import hoist_invariants

# A program sees how often they run.
_ONCE = ("cuda_tile.alloca", "cuda_tile.assert", "cuda_tile.print_tko")


def compute_in_turn(
    entry: ir.OpView, parts: int, along: int, least: int, check: Callable[[ir.OpView, Divided], None]
) -> None:
    """Changes an entry in place: each part has at least `least` rows or columns of every multiply.

    Raises NotDivisibleError as `divide_rows` does, and for operations that must run once.
    """
    _check_runs(entry)
    divide_rows(entry, parts, least, check, along)
    block = entry.body.blocks[0]
    number = block.arguments[len(block.arguments) - 1]
    loop = _loop_around(entry, parts)
    number.replace_all_uses_with(loop.regions[0].blocks[0].arguments[0])
    remove_argument(entry, number.arg_number)
    hoist_invariants(entry)


def _check_runs(entry: ir.OpView) -> None:
    """Raises NotDivisibleError for operations that must run once, or that would end all parts."""
    for op in operations_below(entry):
        if op.operation.name in _ONCE:
            word = op.operation.name.removeprefix("cuda_tile.")
            raise NotDivisibleError(f"'{word}' would run once for each part", op)
    last = terminator(entry.body.blocks[0])
    for end in returns(entry):
        if end.operation != last.operation:
            raise NotDivisibleError("an early 'return' ends all parts", end)


def _loop_around(entry: ir.OpView, parts: int) -> ir.Operation:
    """Moves the operations of an entry, but for its terminator, into a loop over the numbers of the parts."""
    block = entry.body.blocks[0]
    *operations, end = block.operations
    type = TileType.get((), ir.IntegerType.get_signless(32))
    with ir.InsertionPoint(end.operation), entry.location:
        bounds = [integer_splat(type, number) for number in (0, parts, 1)]
        loop = build("for", [*bounds, []])
        body = loop.regions[0].blocks.append(type, arg_locs=[entry.location])
        with ir.InsertionPoint(body):
            last = build("continue")
    for op in operations:
        op.operation.move_before(last)
    return loop
