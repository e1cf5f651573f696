"""Views of rows of packed elements smaller than a byte, with their loads and stores."""

from collections.abc import Sequence

from tilec.dialect.cuda_tile.accesses import tile_type_problem
from tilec.dialect.cuda_tile.attributes import Hints
from tilec.dialect.cuda_tile.operation import NoMemoryEffect
from tilec.dialect.fields import Operand, Result
from tilec.dialect.mlir import ext, ir
from tilec.dialect.tilex.namespace import Operation
from tilec.dialect.tilex.sets import AnyTile, PackedView, ScalarInteger, TensorView, Token
from tilec.dialect.tilex.view_rules import (
    ACCESS_TAIL,
    Weak,
    operand_count_problem,
    result_count_problem,
    tensor_problem,
)


class MakePackedViewOp(Operation, name="make_packed_view", traits=[ext.Pure]):
    """A tensor of bytes, whose innermost dimension holds packed elements, as tiles of i8."""

    result: Result[PackedView]
    tensor_view: Operand[TensorView]
    assembly = "$tensor_view attr-dict : type($result)"

    def check_types(self) -> str | None:
        return tensor_problem(self)


class GetPackedIndexSpaceShapeOp(Operation, name="get_packed_index_space_shape", traits=[NoMemoryEffect]):
    """The number of tiles of a view along each dimension, unsigned; undefined if one does not fit."""

    result: Sequence[Result[ScalarInteger]]
    src: Operand[PackedView]
    assembly = "$src attr-dict : type($src) -> type($result)"

    def check_types(self) -> str | None:
        return result_count_problem(self, self.src.type.rank)


class LoadPackedTkoOp(Operation, name="load_packed_tko"):
    """Loads the tile at an index: element e of a row is its bits [e * bits, (e + 1) * bits); zero outside."""

    tile: Result[AnyTile]
    result_token: Result[Token]
    view: Operand[PackedView]
    index: Sequence[Operand[ScalarInteger]]
    token: Operand[Token] | None
    memory_ordering_semantics: Weak
    optimization_hints: Hints | None
    assembly = (
        f"$memory_ordering_semantics $view[$index]{ACCESS_TAIL}"
        " : type($view)index_types($index) -> type($tile), type($result_token)"
    )

    def check_types(self) -> str | None:
        return _access_problem(self)


class StorePackedTkoOp(Operation, name="store_packed_tko"):
    """Stores the low bits of the elements where `load_packed_tko` would read them; elements outside are dropped."""

    result_token: Result[Token]
    tile: Operand[AnyTile]
    view: Operand[PackedView]
    index: Sequence[Operand[ScalarInteger]]
    token: Operand[Token] | None
    memory_ordering_semantics: Weak
    optimization_hints: Hints | None
    assembly = (
        f"$memory_ordering_semantics $tile, $view[$index]{ACCESS_TAIL}"
        " : type($tile), type($view)index_types($index) -> type($result_token)"
    )

    def check_types(self) -> str | None:
        return _access_problem(self)


def _access_problem(op: ir.OpView) -> str | None:
    view = op.view.type
    return operand_count_problem("index", op.index, view.rank) or tile_type_problem(view, op.tile.type)
