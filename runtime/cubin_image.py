"""A cubin and what ptxas reports about it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Cubin:
    """A cubin and the log of ptxas; the counts cover the whole module, spills are in bytes per thread.

    `warnings` contains the warnings of ptxas and its notes C75xx about serialised or dropped instructions.
    """

    content: bytes = field(repr=False)
    log: str = field(repr=False)
    registers: int
    spill_bytes: int
    warnings: tuple[str, ...]
    # The name and version of the assembler.
    assembler: str = ""
