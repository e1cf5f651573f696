"""The registers that a thread needs for the code of a role: its tiles and scalars that are live at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from functools import partial
from graphlib import TopologicalSorter

from tilec.dialect.cache import cached
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.categories import GLOBAL_LOADS
from tilec.dialect.tile_gpu.interface import interface_of
from tilec.dialect.tile_gpu.operations.channel import ReleaseOp
from tilec.dialect.tile_gpu.operations.copy import CopyGlobalOp
from tilec.dialect.tile_gpu.operations.matrix import WgmmaOp, WgmmaWaitOp
from tilec.dialect.tile_gpu.operations.memory import LoadSharedOp, StoreSharedOp, StoreTensorMemoryOp
from tilec.dialect.tile_gpu.operations.placed import PlaceOp
from tilec.dialect.tile_gpu.operations.reduce import ReduceOp
from tilec.dialect.tile_gpu.operations.shape import (
    BroadcastOp,
    CatOp,
    ConvertLayoutOp,
    ExtractOp,
    IotaOp,
    MathOp,
    PackOp,
    ReshapeOp,
    SplatOp,
    TransposeOp,
)
from tilec.dialect.tile_gpu.operations.view import LoadGlobalOp, StoreGlobalOp, StoreViewOp
from tilec.dialect.tile_gpu.sets import is_register_tile, is_scalar
from tilec.dialect.tile_gpu.types import TENSOR
from tilec.dialect.walk import operations_of, owner_of, reached, terminator_of, users_of
from tilec.lowering.gpu.ir.slots import GET, step_of_buffer
from tilec.lowering.gpu.ir.tile_size import element_bits, layout_of, thread_elements
from tilec.lowering.instruction_choice import selects_words
from tilec.lowering.live_registers import RegisterPeak, ValueRegisters, register_peak

REGISTER_BITS = 32
# Results that ptxas has in immediates, or computes again where they are used.
_WITHOUT_REGISTERS = ("arith.constant", IotaOp.OPERATION_NAME, SplatOp.OPERATION_NAME)
# Results that are computed again if that is true of their operands.
_NUMBERING = ("arith.addi", BroadcastOp.OPERATION_NAME, ReshapeOp.OPERATION_NAME)
# Results in the registers of the first operand, but for parts of which a thread has more elements than of the whole.
_RENAMED = tuple(op.OPERATION_NAME for op in (BroadcastOp, ExtractOp, ReshapeOp, TransposeOp, WgmmaWaitOp))
_COPY = CopyGlobalOp.OPERATION_NAME
# Operations that move or compute elements one by one.
_PASSED_ON = ("arith.", "math.", *(op.OPERATION_NAME for op in (MathOp, BroadcastOp, ReshapeOp, TransposeOp)))
# Operations that use one element of a tile after the other, besides those that are elementwise.
_READS_ELEMENTS = (
    *(op.OPERATION_NAME for op in (LoadGlobalOp, StoreViewOp, StoreSharedOp, StoreGlobalOp, PackOp)),
    _COPY,
)
# The operands of a loop before its initial values.
_BOUNDS = ("lower", "upper", "step")
_FLOATS_OF_INTEGERS = ("arith.sitofp", "arith.uitofp")
# Stores of operands of multiplies, and operations that move elements to them.
_PLACES = tuple(op.OPERATION_NAME for op in (PlaceOp, StoreSharedOp, StoreTensorMemoryOp))
_MOVED = tuple(op.OPERATION_NAME for op in (BroadcastOp, CatOp, ConvertLayoutOp, ExtractOp, ReshapeOp, TransposeOp))
_LOAD_SHARED, _RELEASE = LoadSharedOp.OPERATION_NAME, ReleaseOp.OPERATION_NAME
# The registers of an element of a mask of copies: ptxas 13.0 has no predicates for a loop, and compares i64 again.
_COMPARED = 2


def tile_peak(block: ir.Block) -> RegisterPeak:
    """The most registers of a thread that values are in at once, in a block of tile_gpu."""
    operations = operations_of(block)
    converted = _converted_tiles(operations)
    registers = partial(_registers_of, copied=_copied_elements(operations), converted=converted)
    sources = partial(_sources, converted=converted)
    return register_peak(block, ValueRegisters(registers, sources, beside=_packed_lhs))


def _registers_of(value: ir.Value, copied: Mapping[ir.Value, int], converted: Set[ir.Value]) -> int:
    """The registers of one thread that hold a value. Predicates and values of other memories have none.

    `copied` is that of _copied_elements(), and `converted` that of _converted_tiles().
    """
    type = value.type
    if not is_register_tile(type):
        return _registers(type) if is_scalar(type) and not _is_computed_again(value) else 0
    if _is_computed_again(value) or _is_read_where_used(value):
        return 0
    if value in copied:
        return copied[value] * (_registers(type.element_type) or _COMPARED)
    packed, separate = packed_registers(type), _separate_registers(type)
    return packed if packed != separate and (value in converted or _is_stored_in_cells(value)) else separate


@cached
def _separate_registers(type: ir.Type) -> int:
    """The registers of a thread that hold a tile whose elements share none."""
    return thread_elements(type) * _registers(type.element_type)


def _copied_elements(operations: Iterable[ir.Operation]) -> dict[ir.Value, int]:
    """The tiles from which only copies among some operations follow, with the elements of each that a thread computes.

    A copy reads the address, and the element of the mask, of the first element that it copies.
    """
    copies = [op for op in operations if op.name == _COPY]
    tiles = {tile for copy in copies for value in copy.operands for tile in reached(value, _passed_operands)}
    users = {tile: users_of(tile) for tile in tiles if is_register_tile(tile.type)}
    results = {tile: {result for op in using for result in op.results} for tile, using in users.items()}
    found: dict[ir.Value, int] = {}
    for tile in TopologicalSorter({tile: made & users.keys() for tile, made in results.items()}).static_order():
        needed = [_elements_for(op, tile, found) for op in users[tile]]
        if None not in needed:
            found[tile] = max(each for each in needed if each is not None)
    return found


def _converted_tiles(operations: Iterable[ir.Operation]) -> set[ir.Value]:
    """The tiles that threads load, and those that they compute from them alone, until they store floats or choices.

    The floats are those of integers, and bytes choose. Memory has several elements in a word. Conversions of their bits
    to floats, choices, arithmetic of 16-bit floats and stores keep them together.
    """
    found = set[ir.Value]()
    for op in operations:
        if op.name in _PLACES:
            tiles = list(reached(op.operands[0], _computed_from))
            if _are_in_words(tiles) and all(map(_is_of_loads, tiles)):
                found.update(tiles)
    return found


def _are_in_words(tiles: Iterable[ir.Value]) -> bool:
    """Whether some of these tiles are floats of integers, or words of bytes choose elements of tiles of words."""
    owners = [op for op in map(owner_of, tiles) if op is not None]
    if any(op.name in _FLOATS_OF_INTEGERS for op in owners):
        return True
    loads = [op for op in owners if op.name in GLOBAL_LOADS]
    bits = [
        op.opview.vector * element_bits(op.results[0].type.element_type) for op in loads if "vector" in op.attributes
    ]
    return any(map(selects_words, owners)) and len(bits) == len(loads) and all(each >= REGISTER_BITS for each in bits)


def _computed_from(tile: ir.Value) -> list[ir.Value]:
    """The tiles whose elements an operation moves, or from which it computes elements one by one.

    A tile that a loop carries is computed from its initial value and from the value for the next iteration.
    """
    op = owner_of(tile)
    if op is None:
        loop, number = tile.owner.owner.operation, list(tile.owner.arguments).index(tile)
        if loop.name != "scf.for" or not number:
            return []
        return [loop.operands[len(_BOUNDS) + number - 1], terminator_of(tile.owner).operands[number - 1]]
    if op.name not in _MOVED and not interface_of(op.name).is_elementwise:
        return []
    return [operand for operand in op.operands if is_register_tile(operand.type)]


def _is_of_loads(tile: ir.Value) -> bool:
    """Whether a tile is loaded or computed, or carried by a loop as loaded, or as elements that share registers."""
    op = owner_of(tile)
    if op is None:
        sources = [owner_of(source) for source in _computed_from(tile)]
        is_loaded = bool(sources) and all(source is not None and source.name in GLOBAL_LOADS for source in sources)
        return is_loaded or packed_registers(tile.type) != _separate_registers(tile.type)
    known = (*GLOBAL_LOADS, *_WITHOUT_REGISTERS)
    return op.name in known or op.name in _MOVED or interface_of(op.name).is_elementwise


def _elements_for(user: ir.Operation, tile: ir.Value, copied: Mapping[ir.Value, int]) -> int | None:
    """The elements of a tile that a thread computes for an operation; None if it uses all of them."""
    own = thread_elements(tile.type)
    if user.name == _COPY:
        return own // user.opview.vector
    needed = copied.get(user.results[0]) if user.name.startswith(_PASSED_ON) else None
    return None if needed is None else min(own, needed)


def _passed_operands(value: ir.Value) -> Sequence[ir.Value]:
    """The operands whose elements an operation moves, or from which it computes elements one by one."""
    owner = value.owner
    return list(owner.operands) if not isinstance(owner, ir.Block) and owner.name.startswith(_PASSED_ON) else ()


@cached
def packed_registers(type: ir.Type) -> int:
    """The registers of a thread that hold a tile whose elements share registers, as loops carry them."""
    return -(-thread_elements(type) * element_bits(type.element_type) // REGISTER_BITS)


def _packed_lhs(op: ir.Operation) -> list[tuple[ir.Value, int]]:
    """The left operand, or its metadata, of a multiply that reads it from registers while it writes its sums."""
    if op.name != WgmmaOp.OPERATION_NAME:
        return []
    lhs = op.opview.lhs if op.opview.metadata is None else op.opview.metadata
    if not is_register_tile(lhs.type):
        return []
    bits = layout_of(lhs.type).register_count * element_bits(lhs.type.element_type)
    return [(lhs, -(-bits // REGISTER_BITS))]


def _is_computed_again(value: ir.Value) -> bool:
    """Whether each use computes the elements again: numbers of elements, and their sums with scalars."""
    seen, waiting = {value}, [value]
    while waiting:
        part = waiting.pop()
        owner = part.owner
        if isinstance(owner, ir.Block):
            return False
        if is_register_tile(part.type) and owner.name in _NUMBERING:
            found = [operand for operand in dict.fromkeys(owner.operands) if operand not in seen]
            seen.update(found)
            waiting += found
        elif owner.name not in _WITHOUT_REGISTERS:
            return False
    return True


def _is_read_where_used(value: ir.Value) -> bool:
    """Whether each element of a tile is read from its slot where it is used, as the slot is released after all uses."""
    op = owner_of(value)
    step = step_of_buffer(op.operands[0]) if op is not None and op.name == _LOAD_SHARED else None
    if op is None or step is None or step.name != GET:
        return False
    own = [user for user in users_of(step.operands[0]) if user.name == _RELEASE and user.block == op.block]
    released = [user for user in own if op.is_before_in_block(user)]
    moved = reached(value, lambda part: [user.results[0] for user in users_of(part) if _is_renamed(user)])
    users = [user for part in moved for user in users_of(part) if not _is_renamed(user)]
    return len(released) == 1 and all(user.block == op.block and user.is_before_in_block(released[0]) for user in users)


def _is_stored_in_cells(value: ir.Value) -> bool:
    """Whether threads only store a tile in tensor memory, from registers that hold several of its elements."""
    users = users_of(value)
    stores = [op for op in users if op.name == StoreTensorMemoryOp.OPERATION_NAME]
    places = [op for op in users if op.name == PlaceOp.OPERATION_NAME and op.results[0].type.memory == TENSOR]
    return 0 < len(users) == len(stores) + len(places)


@cached
def _registers(element: ir.Type) -> int:
    return 0 if str(element) == "i1" else max(1, element_bits(element) // REGISTER_BITS)


def _sources(value: ir.Value, converted: Set[ir.Value]) -> Sequence[ir.Value] | None:
    owner = value.owner
    if isinstance(owner, ir.Block) or not is_register_tile(value.type):
        return None
    if _is_renamed(owner):
        return [owner.operands[0]]
    if value in converted and isinstance(value.type.element_type, ir.IntegerType):
        # Integers that become floats are bits of the loaded words (gpu_to_ptx/arithmetic/bit_fields.py).
        return _computed_from(value) or None
    return list(owner.operands) if _is_temporary(value, owner) else None


def _is_renamed(op: ir.Operation) -> bool:
    """Whether the result of an operation is in the registers of its first operand."""
    if op.name != ExtractOp.OPERATION_NAME or not is_register_tile(op.results[0].type):
        return op.name in _RENAMED
    return thread_elements(op.results[0].type) <= thread_elements(op.operands[0].type)


def _is_temporary(value: ir.Value, owner: ir.Operation) -> bool:
    """Whether each element of a tile is computed where it is used, so that the tile is never complete."""
    if not interface_of(owner.name).is_elementwise:
        return False
    users = users_of(value)
    if len(users) == 1 and users[0].name == ReduceOp.OPERATION_NAME:
        return True
    block = owner.operation.block
    are_elementwise = (interface_of(user.name).is_elementwise or user.name in _READS_ELEMENTS for user in users)
    return all(are_elementwise) and all(user.block == block for user in users)
