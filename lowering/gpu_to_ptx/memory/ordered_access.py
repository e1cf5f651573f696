"""Memory order and scope of global accesses: qualifiers, fences, and broadcast of loaded values."""

from __future__ import annotations

from dataclasses import dataclass

from tilec.dialect.mlir import ir
from tilec.lowering.gpu_to_ptx.memory import exchange
from tilec.lowering.gpu_to_ptx.registers.elements import PtxElement
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering
from tilec.lowering.gpu_to_ptx.registers.shared_address import writable_scratch
from tilec.lowering.layout.linear_layout import LinearLayout

# Scopes of Tile IR as PTX spells them (PTX ISA 8.5): a tile block is a CTA.
SCOPES = {"tl_blk": "cta", "device": "gpu", "sys": "sys"}
# The sides of each order on which a fence stands if several relaxed accesses implement it.
_SIDES = {"acquire": ("acquire",), "release": ("release",), "acq_rel": ("acquire", "release")}


@dataclass(frozen=True)
class AccessOrder:
    """`order` and `scope` of an access operation of tile_gpu; both are None for weak accesses."""

    order: str | None
    scope: str | None

    @property
    def is_weak(self) -> bool:
        return self.order is None

    def head(self, accesses: int) -> str:
        """The qualifiers and state space of one of `accesses` instructions of a thread."""
        if self.scope is None:
            return "global"
        order = "relaxed" if accesses > 1 else self.order
        return f"{order}.{SCOPES[self.scope]}.global"

    @property
    def acquires(self) -> bool:
        """Whether later accesses must see the writes that precede the release of the accessed value."""
        return "acquire" in _SIDES.get(self.order or "", ())

    def fence(self, lowering: Lowering, side: str, accesses: int) -> None:
        """Emits the fence for several relaxed accesses, after an acquire or before a release (PTX ISA 8.8)."""
        if self.scope is not None and side in _SIDES.get(self.order or "", ()) and accesses > 1:
            lowering.b.execute(f"fence.acq_rel.{SCOPES[self.scope]};")


def access_order(op: ir.OpView) -> AccessOrder:
    """The order of an access operation of tile_gpu."""
    return AccessOrder(op.order, op.scope)


def broadcast(lowering: Lowering, kind: PtxElement, layout: LinearLayout, registers: list[ir.Value]) -> list[ir.Value]:
    """Broadcasts each element from the first thread that loaded it: another load could return another value."""
    if not layout.free_thread_mask:
        return registers
    offsets = exchange.row_major(layout.size, kind)
    base = writable_scratch(lowering, layout.size * kind.bytes)
    exchange.write(lowering, kind, base, layout, registers, offsets)
    lowering.barrier()
    return exchange.read(lowering, kind, base, layout, offsets)
