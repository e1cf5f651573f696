"""Continue, break and return below an `if` become structured control flow."""

from __future__ import annotations

from collections.abc import Callable

from tilec.dialect.cuda_tile.types import TileType
from tilec.dialect.mlir import ir
from tilec.lowering.tile.terminators import YIELD, leaves_early
from tilec.lowering.tile_to_gpu import emitter
from tilec.lowering.tile_to_gpu.conversion import Conversion, named_location

# The values that a block yields if it ends with this terminator.
Finish = Callable[[ir.OpView], list[ir.Value]]


def convert_block(
    operations: list[ir.OpView], types: list[ir.Type], finish: Finish, conversion: Conversion
) -> list[ir.Value]:
    """Converts a block and returns the values of `types` that it yields.

    The operations after an `if` that can leave move into its branches that continue.
    """
    for number, op in enumerate(operations[:-1]):
        if leaves_early(op):
            return _branch(op, operations[number + 1 :], types, finish, conversion)
        conversion.operation(op)
    return finish(operations[-1])


def _branch(
    op: ir.OpView, rest: list[ir.OpView], types: list[ir.Type], finish: Finish, conversion: Conversion
) -> list[ir.Value]:
    def continue_after(end: ir.OpView) -> list[ir.Value]:
        if end.operation.name != YIELD:
            return finish(end)
        for result, value in zip(op.operation.results, end.operation.operands, strict=True):
            if isinstance(result.type, TileType):
                conversion.set(result, conversion.tile(value, conversion.layouts.get(result)))
        return convert_block(rest, types, finish, conversion)

    with named_location(op):
        made = ir.Operation.create("scf.if", types, [conversion.get(op.operation.operands[0])], regions=2)
        for old, new in zip(op.operation.regions, made.regions, strict=True):
            blocks = list(old.blocks)
            with ir.InsertionPoint(new.blocks.append()):
                if blocks:
                    handed = convert_block(list(blocks[0].operations), types, continue_after, conversion)
                else:
                    handed = convert_block(rest, types, finish, conversion)
                emitter.create("scf.yield", [], handed)
    return list(made.results)
