"""Channels and staging buffers declared at the top of a kernel, in the program order of the tiles that they hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilec.dialect.build import build
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.channel import MakeChannelOp
from tilec.dialect.tile_gpu.kernel import KernelOp
from tilec.dialect.tile_gpu.memory import SharedOp
from tilec.dialect.tile_gpu.namespace import PREFIX
from tilec.dialect.tile_gpu.types import BufferType, ChannelType
from tilec.lowering.gpu.ir.enclosing import ancestor_in


@dataclass(frozen=True)
class Position:
    """Where a tile is placed: the number of the operation in program order, and its location."""

    number: int
    location: ir.Location


class ChannelDeclarations:
    """Declares before the first operation with placed tiles; `finish` puts the declarations into program order."""

    def __init__(self, kernel: KernelOp, operations: Sequence[ir.Operation]) -> None:
        """`operations` are all below the kernel."""
        block = kernel.body.blocks[0]
        self._before = next(ancestor_in(op, block) for op in operations if _has_placed_tile(op))
        # A mark that stays before the code while the code is rewritten.
        with self._before.location, ir.InsertionPoint(self._before):
            self._mark = ir.Operation.create("arith.constant", [_i1()], [], {"value": ir.IntegerAttr.get(_i1(), 0)})
        self._made: list[tuple[int, int, ir.Operation]] = []

    def point(self) -> ir.InsertionPoint:
        """Where declarations are inserted, before all code."""
        return ir.InsertionPoint(self._mark)

    def channel(
        self,
        first: Position,
        buffers: Sequence[BufferType],
        producer: str,
        consumers: Sequence[str],
        is_ring: bool,
        shares: ir.Value | None = None,
    ) -> ir.Value:
        """A channel of one slot, for the tile that is first placed at `first`; the pipeline pass deepens rings."""
        attributes = {
            "stages": 1,
            "producer": producer,
            "consumers": ir.ArrayAttr.get([ir.StringAttr.get(name) for name in consumers]),
            "reuse": "ring" if is_ring else "once",
        }
        return self._declare(first, MakeChannelOp.OPERATION_NAME, [shares], ChannelType.get(buffers), attributes)

    def shared(self, first: Position, buffer: BufferType, shares: ir.Value | None) -> ir.Value:
        """A staging buffer, for the tile that is first placed at `first`."""
        return self._declare(first, SharedOp.OPERATION_NAME, [shares], buffer, {})

    def _declare(
        self, first: Position, name: str, operands: list[ir.Value | None], type: ir.Type, attributes: dict[str, object]
    ) -> ir.Value:
        with first.location, self.point():
            made = build(name, operands, [type], attributes)
        self._made.append((first.number, len(self._made), made))
        return made.results[0]

    def finish(self) -> None:
        for _, _, made in sorted(self._made, key=lambda entry: entry[:2]):
            made.move_before(self._mark)
        self._mark.erase()


def _has_placed_tile(op: ir.Operation) -> bool:
    return op.name.startswith(PREFIX) and any(isinstance(result.type, BufferType) for result in op.results)


def _i1() -> ir.Type:
    return ir.IntegerType.get_signless(1)
