"""Tile blocks that a running tile block takes over before they start (README.md, Claims)."""

from collections.abc import Mapping, Sequence

from tilec.dialect.fields import Operand, Result
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.interface import Category, Executor, Interface, Memory, Scratch
from tilec.dialect.tile_gpu.namespace import Operation
from tilec.dialect.tile_gpu.operations.channel import CLAIMS, channel_of_kernel
from tilec.dialect.tile_gpu.sets import Boolean, Channel, Integer32, SharedBuffer
from tilec.dialect.tile_gpu.types import SHARED, BufferType

# PTX ISA 9.7.13.17: a response has 16 bytes.
_RESPONSE = ((4,), "i32", SHARED, "contiguous=0 swizzle=none")
_AXES = 3


def response_type() -> BufferType:
    """The type of the buffer of a response."""
    shape, element, memory, layout = _RESPONSE
    return BufferType.get(shape, ir.Type.parse(element), memory, layout)


def _holds_response(op: ir.OpView) -> str | None:
    found = op.buffer.type
    if (tuple(found.shape), str(found.element), found.memory, found.layout) == _RESPONSE:
        return None
    with op.operation.context:
        wanted = response_type()
    return f"expected the buffer of a response, {wanted.spelled()}, but got {found.spelled()}"


class ClaimBlockOp(Operation, name="claim_block"):
    """The response, in shared memory, to the request for a tile block that has not started."""

    interface = Interface(Category.PLACED, Memory.SHARED)
    buffer: Result[SharedBuffer]
    assembly = "attr-dict : type($buffer)"
    rules = [_holds_response]


def _filled_by_claims(op: ir.OpView) -> str | None:
    producer = op.channel.owner.producer
    return None if producer == CLAIMS else f"expected a channel with producer {CLAIMS}, but got {producer}"


class TryCancelOp(Operation, name="try_cancel"):
    """Requests a tile block that has not started: the response fills the slot, in a cluster that of each CTA.

    No request may follow the use of a response that has no tile block.
    """

    interface = Interface(Category.SYNCHRONIZATION, Memory.SHARED, executor=Executor.LOAD, scratch=Scratch.NONE)
    buffer: Operand[SharedBuffer]
    channel: Operand[Channel]
    assembly = "$buffer of $channel attr-dict : type($buffer), type($channel)"
    rules = [channel_of_kernel, _holds_response, _filled_by_claims]


def claimed_types() -> list[ir.Type]:
    """The types of the results of claimed_block."""
    return [ir.IntegerType.get_signless(1), *[ir.IntegerType.get_signless(32)] * _AXES]


def _types_by_name(_operands: Mapping[str, Sequence[ir.Value]]) -> dict[str, list[ir.Type]]:
    return {name: [type] for name, type in zip(("claimed", "x", "y", "z"), claimed_types(), strict=True)}


class ClaimedBlockOp(Operation, name="claimed_block"):
    """Whether a response has a tile block, and its position in the grid; zeros if it has none."""

    interface = Interface(Category.LOAD, Memory.SHARED, scratch=Scratch.NONE)
    claimed: Result[Boolean]
    x: Result[Integer32]
    y: Result[Integer32]
    z: Result[Integer32]
    buffer: Operand[SharedBuffer]
    assembly = "$buffer attr-dict : type($buffer)"
    rules = [_holds_response]
    result_types = staticmethod(_types_by_name)

    @property
    def position(self) -> list[ir.Value]:
        """The numbers of the tile block along the axes of the grid."""
        return list(self.operation.results)[1 : 1 + _AXES]
