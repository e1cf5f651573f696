"""An address in shared memory and its alignment, which limits the width of accesses."""

from __future__ import annotations

from dataclasses import dataclass

from tilec.dialect.mlir import ir
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering
from tilec.lowering.layout.shared_layout import BASE_ALIGNMENT_BYTES


@dataclass(frozen=True)
class SharedAddress:
    """`register` (i32) is a multiple of `alignment` bytes, a power of two."""

    register: ir.Value
    alignment: int = BASE_ALIGNMENT_BYTES

    def plus(self, lowering: Lowering, offset: int) -> SharedAddress:
        """The address `offset` bytes further."""
        if not offset:
            return self
        moved = lowering.compute(f"add.s32 $0, $1, {offset};", "i32", self.register)
        return SharedAddress(moved, self._alignment_after(offset))

    def plus_product(self, lowering: Lowering, index: ir.Value, step: int) -> SharedAddress:
        """The address index * step bytes further."""
        moved = lowering.compute(f"mad.lo.s32 $0, $1, {step}, $2;", "i32", index, self.register)
        return SharedAddress(moved, self._alignment_after(step))

    def _alignment_after(self, step: int) -> int:
        """The lowest set bit of the alignment and of a step."""
        return min(self.alignment, step & -step)
