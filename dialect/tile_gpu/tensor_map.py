"""Tensor maps: the descriptors of TMA."""

from collections.abc import Sequence

from tilec.dialect.attributes import Enumeration, Integers32, Text
from tilec.dialect.fields import Operand, Result
from tilec.dialect.mlir import ext
from tilec.dialect.tile_gpu.namespace import Operation
from tilec.dialect.tile_gpu.sets import Index, Integer64, TensorMap

SWIZZLES = ("none", "32B", "64B", "128B", "128B_atom_32B")
Swizzle = Enumeration(*SWIZZLES)
Fill = Enumeration("zero", "nan")


class MakeTensorMapOp(Operation, name="make_tensor_map", traits=[ext.Pure]):
    """A TMA descriptor over kernel arguments: innermost dimension first, strides in elements from the second on."""

    result: Result[TensorMap]
    base: Operand[Integer64]
    extents: Sequence[Operand[Index]]
    strides: Sequence[Operand[Index]]
    element: Text
    box: Integers32
    swizzle: Swizzle
    fill: Fill
    assembly = "$element $base[$extents] strides [$strides] box [$box] swizzle word($swizzle) fill $fill attr-dict"

    def check(self) -> str | None:
        if len(self.extents) != len(self.box) or len(self.strides) != len(self.box) - 1:
            return f"expected {len(self.box)} extents and {len(self.box) - 1} strides for box {list(self.box)}"
        return None
