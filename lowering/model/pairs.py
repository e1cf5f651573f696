"""A tile of a matrix multiply in one block and in a pair of blocks: which of them is faster."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tilec.lowering.model.constants import Device
from tilec.lowering.model.matmul import Matmul, predict_matmul
from tilec.lowering.target import Target

# Extents of a product that fills all SMs several times; those of a launch are unknown when a kernel is compiled.
EXTENT = 4096
# The size of the staging buffer of stores, which divides a tile into slices.
_STAGING_BYTES = 32768


@dataclass(frozen=True)
class PairTimes:
    """The predicted times of a product of EXTENT rows, columns and depth, in microseconds."""

    block: float
    pair: float

    @property
    def pair_is_faster(self) -> bool:
        """Whether two blocks that multiply together take less time than one."""
        return self.pair < self.block

    def __str__(self) -> str:
        extents = "x".join([str(EXTENT)] * 3)
        return f"a product of {extents} takes {self.pair:.0f} us with pairs of blocks and {self.block:.0f} us without"


def pair_times(tile: tuple[int, int, int], element_bits: int, target: Target, device: Device) -> PairTimes:
    """The times with tiles of `tile` rows, columns and elements along K per step, of all blocks that compute a tile."""
    block = Matmul(
        device=device.name,
        rows=EXTENT,
        columns=EXTENT,
        depth=EXTENT,
        tile=tile,
        stages=1,
        element_bits=element_bits,
    )
    block, pair = (_with_ring(each, target) for each in (block, replace(block, pair=True)))
    return PairTimes(predict_matmul(block).microseconds, predict_matmul(pair).microseconds)


def _with_ring(matmul: Matmul, target: Target) -> Matmul:
    """As many slots as shared memory has room for."""
    slots = int((target.shared_bytes - _STAGING_BYTES) // matmul.step_bytes)
    return replace(matmul, stages=max(1, slots))
