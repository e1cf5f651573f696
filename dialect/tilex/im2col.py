"""Views of images as the matrix of a convolution, with their loads and stores."""

from collections.abc import Sequence

from tilec.dialect.cuda_tile.accesses import tile_type_problem
from tilec.dialect.cuda_tile.attributes import Hints
from tilec.dialect.cuda_tile.operation import NoMemoryEffect
from tilec.dialect.fields import Operand, Result
from tilec.dialect.mlir import ext, ir
from tilec.dialect.spelling import quote
from tilec.dialect.tilex.namespace import Operation
from tilec.dialect.tilex.sets import AnyTile, Im2colView, ScalarInteger, TensorView, Token
from tilec.dialect.tilex.view_rules import (
    ACCESS_TAIL,
    Weak,
    operand_count_problem,
    result_count_problem,
    tensor_problem,
)


class MakeIm2colViewOp(Operation, name="make_im2col_view", traits=[ext.Pure]):
    """A tensor of images [N, spatial dimensions, C] as a matrix of output pixels by channels."""

    result: Result[Im2colView]
    tensor_view: Operand[TensorView]
    assembly = "$tensor_view attr-dict : type($result)"

    def check_types(self) -> str | None:
        return tensor_problem(self)


class GetIm2colIndexSpaceShapeOp(Operation, name="get_im2col_index_space_shape", traits=[NoMemoryEffect]):
    """The numbers of tiles of a view along its pixels and its channels, unsigned; undefined if one does not fit."""

    result: Sequence[Result[ScalarInteger]]
    src: Operand[Im2colView]
    assembly = "$src attr-dict : type($src) -> type($result)"

    def check_types(self) -> str | None:
        return result_count_problem(self, self.src.type.rank)


class GetIm2colOutputShapeOp(Operation, name="get_im2col_output_shape", traits=[NoMemoryEffect]):
    """The output extents of a view in its spatial dimensions, unsigned; undefined if one does not fit."""

    result: Sequence[Result[ScalarInteger]]
    src: Operand[Im2colView]
    assembly = "$src attr-dict : type($src) -> type($result)"

    def check_types(self) -> str | None:
        return result_count_problem(self, self.src.type.spatial_rank)


class LoadIm2colTkoOp(Operation, name="load_im2col_tko"):
    """Loads the tile at index (pixel tile, channel tile), at a tap of the window; elements outside are zero."""

    tile: Result[AnyTile]
    result_token: Result[Token]
    view: Operand[Im2colView]
    index: Sequence[Operand[ScalarInteger]]
    offset: Sequence[Operand[ScalarInteger]]
    token: Operand[Token] | None
    memory_ordering_semantics: Weak
    optimization_hints: Hints | None
    assembly = (
        f"$memory_ordering_semantics $view[$index] offset [$offset]{ACCESS_TAIL}"
        " : type($view)index_types($index) -> type($tile), type($result_token)"
    )

    def check_types(self) -> str | None:
        return _access_problem(self)


class StoreIm2colTkoOp(Operation, name="store_im2col_tko"):
    """Stores a tile where `load_im2col_tko` would read it; elements outside are dropped."""

    result_token: Result[Token]
    tile: Operand[AnyTile]
    view: Operand[Im2colView]
    index: Sequence[Operand[ScalarInteger]]
    offset: Sequence[Operand[ScalarInteger]]
    token: Operand[Token] | None
    memory_ordering_semantics: Weak
    optimization_hints: Hints | None
    assembly = (
        f"$memory_ordering_semantics $tile, $view[$index] offset [$offset]{ACCESS_TAIL}"
        " : type($tile), type($view)index_types($index) -> type($result_token)"
    )

    def check_types(self) -> str | None:
        return _access_problem(self)


def _access_problem(op: ir.OpView) -> str | None:
    view = op.view.type
    return (
        operand_count_problem("index", op.index, view.rank)
        or operand_count_problem("offset", op.offset, view.spatial_rank)
        or _offset_type_problem(op.index[0].type, op.offset[0].type)
        or tile_type_problem(view, op.tile.type)
    )


def _offset_type_problem(index: ir.Type, offset: ir.Type) -> str | None:
    if index != offset:
        return f"expects offsets of type {quote(index)}, as the index has, but got {quote(offset)}"
    return None
