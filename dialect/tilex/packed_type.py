"""The type of a packed view; `get` raises ValueError if a type rule is violated."""

from collections.abc import Sequence
from typing import Any

from tilec.dialect.cache import cached
from tilec.dialect.constraints import DenseArray, Unconstrained
from tilec.dialect.cuda_tile.types import TensorViewType, TileType
from tilec.dialect.generic_types import parameters_problem
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.dialect.tilex.namespace import TileX
from tilec.dialect.tilex.packed_rules import packed_view_problem


class PackedViewType(TileX.Type, name="packed_view"):
    """A tensor of bytes whose rows hold elements of 2, 4 or 6 bits, as tiles of i8: one for each element."""

    tile: Unconstrained
    size: Unconstrained
    view: Unconstrained
    # IRDL cannot name a type of another dialect.
    irdl = (DenseArray, ir.IntegerAttr, Unconstrained)

    @classmethod
    def get(cls, tile_shape: Sequence[int], bits: int, tensor_view: TensorViewType) -> "PackedViewType":
        problem = packed_view_problem(tile_shape, bits, tensor_view)
        if problem is not None:
            raise ValueError(problem)
        made = tensor_view.context
        tile = ir.DenseI32ArrayAttr.get(list(tile_shape), made)
        size = ir.IntegerAttr.get(ir.IntegerType.get_signless(32, made), bits)
        return super().get(tile, size, tensor_view, context=made)

    tile_shape = property(lambda self: _facts(self)["tile_shape"])
    bits = property(lambda self: _facts(self)["bits"])
    tensor_view = property(lambda self: _facts(self)["tensor_view"])
    element = property(lambda self: self.tensor_view.element)
    tile_type = property(lambda self: TileType.get(self.tile_shape, self.element))
    dim_map = property(lambda self: range(self.rank))
    rank = property(lambda self: len(self.tile_shape))
    tile_bytes = property(lambda self: self.tile_shape[-1] * self.bits // 8, doc="The bytes of a row of a tile.")

    def spelled(self) -> str:
        tile = "x".join(map(str, self.tile_shape))
        return f"tilex.packed_view<tile=({tile}), bits={self.bits}, {spell(self.tensor_view)}>"

    @cached
    def problem(self) -> str | None:
        """The problem with a type from generic text, which MLIR does not check, or None."""
        return parameters_problem(self, lambda type: PackedViewType.get(**_facts(type)))


@cached
def _facts(type: PackedViewType) -> dict[str, Any]:
    tile, bits, view = type.params
    return {
        "tile_shape": tuple(ir.DenseI32ArrayAttr(tile)),
        "bits": ir.IntegerAttr(bits).value,
        "tensor_view": ir.TypeAttr(view).value,
    }
