"""Type constraints of the operations of tilex.

A definition in IRDL cannot name the types of another dialect, so types of `cuda_tile` are unconstrained there.
"""

from __future__ import annotations

from dataclasses import replace

from tilec.dialect.constraints import Unconstrained
from tilec.dialect.cuda_tile import sets
from tilec.dialect.cuda_tile.types import PartitionViewType, StridedViewType
from tilec.dialect.fields import TypeSet
from tilec.dialect.tilex.im2col_type import Im2colViewType
from tilec.dialect.tilex.packed_type import PackedViewType
from tilec.dialect.tilex.sparse_rules import GROUPS

AnyTile = replace(sets.AnyTile, irdl=Unconstrained)
ScalarInteger = replace(sets.ScalarInteger, irdl=Unconstrained)
TensorView = replace(sets.TensorView, irdl=Unconstrained)
Token = replace(sets.Token, irdl=Unconstrained)
SparseInput = replace(sets.tile_of("SparseInput", tuple(GROUPS)), irdl=Unconstrained)
SparseAccumulator = replace(sets.tile_of("SparseAccumulator", ("f16", "f32", "i32")), irdl=Unconstrained)
MetadataTile = replace(sets.Int32Tile, irdl=Unconstrained)
Im2colView = TypeSet("Im2colView", "an im2col_view", lambda type: isinstance(type, Im2colViewType), Im2colViewType)
TiledView = TypeSet(
    "TiledView",
    "a partition_view or strided_view",
    lambda type: isinstance(type, PartitionViewType | StridedViewType),
    Unconstrained,
)
PackedView = TypeSet("PackedView", "a packed_view", lambda type: isinstance(type, PackedViewType), PackedViewType)
