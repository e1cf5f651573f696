"""Views of images as the matrix of a convolution, with their loads and stores."""

from collections.abc import Sequence

from tilec.dialect.attributes import Enumeration
from tilec.dialect.cuda_tile.accesses import tile_type_problem
from tilec.dialect.cuda_tile.attributes import Hints
from tilec.dialect.cuda_tile.operation import NoMemoryEffect
from tilec.dialect.fields import Operand, Result
from tilec.dialect.mlir import ext, ir
from tilec.dialect.spelling import quote
from tilec.dialect.tilex.namespace import Operation
from tilec.dialect.tilex.sets import AnyTile, Im2colView, ScalarInteger, TensorView, Token

# Accesses by TMA and gathers are not ordered but by tokens.
Weak = Enumeration("weak")
TAIL = "{ token = $token}{ optimization_hints = $optimization_hints} attr-dict"


class MakeIm2colViewOp(Operation, name="make_im2col_view", traits=[ext.Pure]):
    """A tensor of images [N, spatial dimensions, C] as a matrix of output pixels by channels."""

    result: Result[Im2colView]
    tensor_view: Operand[TensorView]
    assembly = "$tensor_view attr-dict : type($result)"

    def check_types(self) -> str | None:
        return tensor_problem(self)


def tensor_problem(op: ir.OpView) -> str | None:
    """The problem with the tensor view from which a view is made, or None."""
    given, inner = op.tensor_view.type, op.result.type.tensor_view
    if inner.attribute == "multicast":
        return "multicast ptr_attr is not allowed"
    if given != inner:
        wanted = f"an operand of type {quote(inner)}, the tensor_view inside the result"
        return f"expects {wanted}, but got {quote(given)}"
    return None


class GetIm2colIndexSpaceShapeOp(Operation, name="get_im2col_index_space_shape", traits=[NoMemoryEffect]):
    """The numbers of tiles of a view along its pixels and its channels, unsigned; undefined if one does not fit."""

    result: Sequence[Result[ScalarInteger]]
    src: Operand[Im2colView]
    assembly = "$src attr-dict : type($src) -> type($result)"

    def check_types(self) -> str | None:
        return results_problem(self, self.src.type.rank)


class GetIm2colOutputShapeOp(Operation, name="get_im2col_output_shape", traits=[NoMemoryEffect]):
    """The output extents of a view in its spatial dimensions, unsigned; undefined if one does not fit."""

    result: Sequence[Result[ScalarInteger]]
    src: Operand[Im2colView]
    assembly = "$src attr-dict : type($src) -> type($result)"

    def check_types(self) -> str | None:
        return results_problem(self, self.src.type.spatial_rank)


def results_problem(op: ir.OpView, count: int) -> str | None:
    """The problem with the number of results, or None."""
    if len(op.results) != count:
        return f"expects {count} results for {quote(op.src.type)}, but got {len(op.results)}"
    return None


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
        f"$memory_ordering_semantics $view[$index] offset [$offset]{TAIL}"
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
        f"$memory_ordering_semantics $tile, $view[$index] offset [$offset]{TAIL}"
        " : type($tile), type($view)index_types($index) -> type($result_token)"
    )

    def check_types(self) -> str | None:
        return _access_problem(self)


def _access_problem(op: ir.OpView) -> str | None:
    view = op.view.type
    for name, values, count in (("index", op.index, view.rank), ("offset", op.offset, view.spatial_rank)):
        if len(values) != count:
            return f"expected {count} {name} operands (based on the view), but got {len(values)}"
    if op.index[0].type != op.offset[0].type:
        wanted = f"offsets of type {quote(op.index[0].type)}, as the index has"
        return f"expects {wanted}, but got {quote(op.offset[0].type)}"
    return tile_type_problem(view, op.tile.type)
