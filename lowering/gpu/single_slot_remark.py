"""The remark for loads in a loop that cannot run ahead, because shared memory has one slot for them."""

from __future__ import annotations

from tilec.dialect.location import source_location
from tilec.lowering.gpu.enclosing import is_repeated
from tilec.lowering.gpu.ring_depth import loads_of, of_ring
from tilec.lowering.gpu.ring_slots import RingSlots
from tilec.remarks import Remark


def single_slot_remark(ring: RingSlots) -> Remark | None:
    """The remark at the first load of rings with one slot, if more are wanted and TMA or copies fill them in a loop."""
    loads = [load for first in ring.rings for channel in of_ring(first) for load in loads_of(channel)]
    repeated = [load for load in loads if is_repeated(load)]
    if ring.slots > 1 or ring.wanted == 1 or not repeated:
        return None
    message = (
        "the load waits until the tile before it is not used any more: shared memory has room for one slot of "
        f"{ring.size_bytes} bytes, and {ring.wanted} hide the latency of the load: use smaller tiles"
    )
    return Remark("pipeline", message, source_location(repeated[0].location))
