"""Which values in tensor memory may have columns that others have had before, and the candidates in order."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Sharing:
    """Whether accumulators, and operands in tensor memory, may have columns of others whose loops are over.

    Values of loops that follow each other share columns if channels can be joined (reuse_channels.py).
    That is known when the channels of a candidate exist (lowering/gpu/passes.py).
    """

    accumulators: bool = True
    operands: bool = True

    def __str__(self) -> str:
        if self.operands:
            return "accumulators and operands share columns"
        return "accumulators share columns" if self.accumulators else "each value has columns of its own"


# With less sharing, more multiplies use registers, or operands shared memory.
LADDER = (Sharing(), Sharing(operands=False), Sharing(accumulators=False, operands=False))
