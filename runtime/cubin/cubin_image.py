"""A cubin and what ptxas reports about it."""

from __future__ import annotations

from tilec.frozen import Frozen

# The message of ptxas that calls in the code serialize multiplies of warpgroups.
SERIALIZED = "(C7509)"


class Cubin(Frozen, hidden=("content", "log")):
    """A cubin and the log of ptxas; the counts cover the whole module, spills are in bytes per thread.

    `warnings` contains the warnings of ptxas and its notes C75xx about serialised or dropped instructions.
    """

    content: bytes
    log: str
    registers: int
    spill_bytes: int
    warnings: tuple[str, ...]
    # The name and version of the assembler.
    assembler: str = ""
