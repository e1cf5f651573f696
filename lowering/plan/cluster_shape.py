"""How the CTAs of a cluster divide the multiplies of a tile block: their rows, their columns, or both.

    mmaf : 256x64, 64x512 -> 256x512 with num_ctas=4   ->   2 pairs of CTAs, which have 256 columns each

A shape is taken by the cycles of the multiplies of one CTA, of the tensor pipe, of the port of shared memory and of L2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.registers import REGISTER_FILE
from tilec.dialect.walk import operations_named
from tilec.lowering.matrix_unit import accumulates_in_registers
from tilec.lowering.model.constants import device_of
from tilec.lowering.model.step import Multiply, pipe_use
from tilec.lowering.plan.matrix.pairs import COLUMN_STEP, NARROW_ROWS, PAIR
from tilec.lowering.target import TENSOR_LANES, Target
from tilec.lowering.tile.analysis.tile_operations import MULTIPLIES, PLAIN_MULTIPLIES
from tilec.lowering.tile.divide.divided_dimensions import is_chained
from tilec.lowering.tile_to_gpu.access.alignment import element_bits

# The columns of a CTA are at least a row of the widest swizzle of 16-bit elements.
LEAST_COLUMNS = 64
# A division of columns has to pay: stores have shorter rows. Parts in turn have an epilogue each.
_GAIN = 0.95
_BITS_PER_BYTE = 8
_REGISTER_BITS = 32
# The rest is for addresses, for values that are computed from the accumulators, and for the threads that load.
MOST_REGISTERS = REGISTER_FILE // 4 * 3


@dataclass(frozen=True)
class ClusterShape:
    """The numbers of CTAs that divide the rows and the columns of each multiply. CTA n has rows number n % rows."""

    rows: int
    columns: int = 1

    @property
    def ctas(self) -> int:
        return self.rows * self.columns


def cluster_shapes(entry: ir.OpView, ctas: int, target: Target) -> Iterator[ClusterShape]:
    """The shapes of clusters of `ctas` CTAs, a power of two, the best one first; a division of the rows is among them.

    The operations of the entry may allow only some of them.
    """
    by_rows = ClusterShape(ctas)
    multiplies = operations_named(entry, MULTIPLIES)
    are_plain = all(op.operation.name in PLAIN_MULTIPLIES and op.acc.type.rank == 2 for op in multiplies)
    # All CTAs would compute the first multiplies of a chain (chain_room.py).
    if ctas == 1 or not are_plain or any(map(is_chained, multiplies)):
        yield by_rows
        return
    shapes = [ClusterShape(ctas >> shift, 1 << shift) for shift in range(ctas.bit_length())]
    cycles = {shape: found for shape in shapes if (found := _cycles_of(multiplies, shape, target)) is not None}
    limit = cycles.get(by_rows, float("inf")) * _GAIN
    better = [shape for shape, found in cycles.items() if shape != by_rows and found < limit]
    yield from sorted(better, key=cycles.__getitem__)
    yield by_rows


def _cycles_of(multiplies: list[ir.OpView], shape: ClusterShape, target: Target) -> float | None:
    found = [_cycles(op, shape, target) for op in multiplies]
    return None if None in found else sum(each for each in found if each is not None)


def _cycles(op: ir.OpView, shape: ClusterShape, target: Target) -> float | None:
    """The cycles of a multiply with the tile of one CTA; None if no unit has the full rate with it."""
    rows, columns = (
        extent // count for extent, count in zip(op.acc.type.shape, (shape.rows, shape.columns), strict=True)
    )
    is_pair = target.multiplies_in_pairs and shape.rows % PAIR == 0
    least_rows = NARROW_ROWS if is_pair else target.multiplied_rows
    if rows < least_rows or columns < LEAST_COLUMNS or is_pair and columns % COLUMN_STEP:
        return None
    parts = parts_of_accumulator(rows, columns, element_bits(op.acc.type.element), target)
    if columns // parts < LEAST_COLUMNS:
        return None
    bits, depth = element_bits(op.rhs.type.element), op.lhs.type.shape[1]
    tile, ctas, device = columns // parts, PAIR if is_pair else 1, device_of(target.name)
    use = pipe_use(Multiply(rows=ctas * rows, columns=tile, depth=depth, element_bits=bits, pair=is_pair), device)
    row_bytes = depth * bits / _BITS_PER_BYTE
    port = (
        use.shared_bytes + (rows + tile / ctas) * row_bytes * device.shared_write_share
    ) / device.shared_bytes_per_cycle
    # CTAs that divide rows or columns alone share the other operand: each loads a part for all.
    shared_by_rows = shape.rows if shape.columns == 1 else ctas
    shared_by_columns = shape.columns if shape.rows == 1 else 1
    loaded = (rows / shared_by_columns + tile / shared_by_rows) * row_bytes / device.l2_bytes_per_cycle
    cycles = parts * max(use.cycles, port, loaded)
    return cycles if parts == 1 else cycles / _GAIN**2


def parts_of_accumulator(rows: int, columns: int, bits: int, target: Target) -> int:
    """The parts, a power of two, in which a CTA has to compute an accumulator of its own, by its rows and columns."""
    if accumulates_in_registers(target):
        needed, room = rows * columns * bits // _REGISTER_BITS, MOST_REGISTERS
    else:
        needed, room = columns * max(1, rows // TENSOR_LANES), target.tensor_memory_columns
    return 1 << max(0, (-(-needed // room) - 1).bit_length())
