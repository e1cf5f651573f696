"""Builds the operations of `ct.mma`, `ct.matmul`, `ct.mma_scaled` and `ct.mma_sparse`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tilec.ast_to_tile import arguments
from tilec.ast_to_tile.arguments import BadArgument
from tilec.ast_to_tile.emitter import Emitter, element_type, tile_type
from tilec.ast_to_tile.operations.arith import common_dtype
from tilec.ast_to_tile.operations.convert import signedness, to_dtype
from tilec.ast_to_tile.operations.shape import broadcast, common_shape, reshape
from tilec.ast_to_tile.registry import implements
from tilec.ast_to_tile.values.values import KernelValue, Shape, Tile
from tilec.dialect.spelling import spell
from tilec.dialect.tilex.sparse_rules import GROUPS, INTERLEAVED_ROWS, is_interleaved, word_elements
from tilec.errors import TileTypeError
from tilec.language import datatypes
from tilec.language.datatypes import DType
from tilec.language.operations import mma as language

# The accumulator types of each input type; ct.matmul uses the first (Tile IR, table of mmaf and mmai).
ACCUMULATORS: dict[DType, tuple[DType, ...]] = {
    datatypes.float16: (datatypes.float16, datatypes.float32),
    datatypes.bfloat16: (datatypes.float32,),
    datatypes.float32: (datatypes.float32,),
    datatypes.tfloat32: (datatypes.float32,),
    datatypes.float64: (datatypes.float64,),
    datatypes.float8_e4m3fn: (datatypes.float16, datatypes.float32),
    datatypes.float8_e5m2: (datatypes.float16, datatypes.float32),
    **dict.fromkeys(datatypes.PACKED_FLOATS, (datatypes.float16, datatypes.float32)),
    datatypes.int8: (datatypes.int32,),
    datatypes.uint8: (datatypes.int32,),
}
_INTEGER_INPUTS = (datatypes.int8, datatypes.uint8)
# The floats that may be multiplied by each other, with one set of accumulators; they support use_fast_acc.
_NARROW_INPUTS = (datatypes.float8_e4m3fn, datatypes.float8_e5m2, *datatypes.PACKED_FLOATS)


def _check_types(lhs: DType, rhs: DType, accumulator: DType | None) -> None:
    if lhs not in ACCUMULATORS:
        known = ", ".join(map(str, ACCUMULATORS))
        raise BadArgument("x", f"expected elements of {known}, got {lhs}")
    if lhs is not rhs and not any({lhs, rhs} <= set(inputs) for inputs in (_INTEGER_INPUTS, _NARROW_INPUTS)):
        raise BadArgument("y", f"expected elements of {lhs} like x, got {rhs}: convert one with astype()")
    if accumulator is not None and accumulator not in ACCUMULATORS[lhs]:
        known = " or ".join(map(str, ACCUMULATORS[lhs]))
        raise BadArgument("acc", f"expected an accumulator of {known} for inputs of {lhs}, got {accumulator}")


def _product_shapes(lhs: Shape, rhs: Shape) -> tuple[Shape, Shape, Shape]:
    """The shapes of both operands and of the result after broadcasting the batch axes.

    Raises CompileError if the K dimensions differ.
    """
    if lhs[-1] != rhs[-2]:
        raise TileTypeError(
            f"shapes {lhs} and {rhs} cannot be multiplied: x has {lhs[-1]} columns, y has {rhs[-2]} rows"
        )
    batch = common_shape(lhs[:-2], rhs[:-2])
    return (*batch, *lhs[-2:]), (*batch, *rhs[-2:]), (*batch, lhs[-2], rhs[-1])


def _multiply(emitter: Emitter, operands: Sequence[Tile], acc: Tile, fast: bool = False) -> Tile:
    x, y = operands
    if x.dtype in _INTEGER_INPUTS:
        signs = {"signedness_lhs": signedness(x.dtype), "signedness_rhs": signedness(y.dtype)}
        return emitter.tile("mmai", [x, y, acc], acc.dtype, acc.shape, **signs)
    # mmaf of Tile IR has operands of one type, of at least 8 bits.
    name = "mmaf" if x.dtype is y.dtype and x.dtype not in datatypes.PACKED_FLOATS else "tilex.mmaf"
    return emitter.tile(name, [x, y, acc], acc.dtype, acc.shape, fast_acc=fast)


@implements(language.mma)
def _mma(emitter: Emitter, x: KernelValue, y: KernelValue, acc: KernelValue, use_fast_acc: KernelValue) -> Tile:
    lhs, rhs, accumulator = arguments.tile(x, "x"), arguments.tile(y, "y"), arguments.tile(acc, "acc")
    for tile, parameter in ((lhs, "x"), (rhs, "y")):
        if len(tile.shape) not in (2, 3):
            raise BadArgument(parameter, f"expected a tile of two or three dimensions, got {tile}")
    lhs_shape, rhs_shape, shape = _product_shapes(lhs.shape, rhs.shape)
    if accumulator.shape != shape:
        raise BadArgument("acc", f"expected shape {shape} for x of {lhs.shape} and y of {rhs.shape}, got {accumulator}")
    _check_types(lhs.dtype, rhs.dtype, accumulator.dtype)
    fast = arguments.constant_bool(use_fast_acc, "use_fast_acc")
    if fast and lhs.dtype not in _NARROW_INPUTS:
        known = " or ".join(map(str, _NARROW_INPUTS))
        raise BadArgument("use_fast_acc", f"expected inputs of {known}, got {lhs.dtype}")
    operands = broadcast(emitter, lhs, lhs_shape), broadcast(emitter, rhs, rhs_shape)
    return _multiply(emitter, operands, accumulator, fast)


@implements(language.matmul)
def matmul(emitter: Emitter, x: KernelValue, y: KernelValue) -> Tile:
    """x @ y; a one-dimensional tile is a row as the left operand and a column as the right operand."""
    lhs, rhs = arguments.tile(x, "x"), arguments.tile(y, "y")
    for tile, parameter in ((lhs, "x"), (rhs, "y")):
        if not 1 <= len(tile.shape) <= 3:
            raise BadArgument(parameter, f"expected a tile of one to three dimensions, got {tile}")
    dtype = common_dtype(lhs, rhs)
    if dtype in datatypes.PACKED_FLOATS:
        raise TileTypeError(f"'ct.matmul' and '@' do not support {dtype}: use ct.mma with an accumulator")
    _check_types(dtype, dtype, None)
    row = (1, *lhs.shape) if len(lhs.shape) == 1 else lhs.shape
    column = (*rhs.shape, 1) if len(rhs.shape) == 1 else rhs.shape
    lhs_shape, rhs_shape, shape = _product_shapes(row, column)
    operands = [
        broadcast(emitter, reshape(emitter, to_dtype(emitter, tile, dtype), flat), full)
        for tile, flat, full in ((lhs, row, lhs_shape), (rhs, column, rhs_shape))
    ]
    product = _multiply(emitter, operands, emitter.constant(0, ACCUMULATORS[dtype][0], shape))
    kept = shape[:-2] + shape[-2:-1] * (len(lhs.shape) > 1) + shape[-1:] * (len(rhs.shape) > 1)
    return reshape(emitter, to_dtype(emitter, product, dtype), kept)


# The block sizes along K of each input type and scale type (Tile IR, table of mmaf_scaled).
_Scaled = Mapping[tuple[DType, DType], tuple[int, ...]]
SCALED: _Scaled = {
    (datatypes.float8_e4m3fn, datatypes.float8_e8m0fnu): (32,),
    (datatypes.float8_e5m2, datatypes.float8_e8m0fnu): (32,),
    (datatypes.float4_e2m1fn, datatypes.float8_e8m0fnu): (16, 32),
    (datatypes.float4_e2m1fn, datatypes.float8_e5m3fnu): (16, 32),
    (datatypes.float4_e2m1fn, datatypes.float8_e4m3fn): (16,),
}
# The same of tilex.mmaf_scaled, for operands of different element types, or of 6 bits.
_MIXED_SCALED = {(dtype, datatypes.float8_e8m0fnu): (32,) for dtype in _NARROW_INPUTS}


@implements(language.mma_scaled)
def _mma_scaled(
    emitter: Emitter, x: KernelValue, x_scale: KernelValue, y: KernelValue, y_scale: KernelValue, acc: KernelValue
) -> Tile:
    names = ("x", "x_scale", "y", "y_scale", "acc")
    lhs, lhs_scale, rhs, rhs_scale, accumulator = (
        arguments.tile(value, name) for value, name in zip((x, x_scale, y, y_scale, acc), names, strict=True)
    )
    for tile, parameter in ((lhs, "x"), (rhs, "y")):
        if len(tile.shape) not in (2, 3):
            raise BadArgument(parameter, f"expected a tile of two or three dimensions, got {tile}")
    lhs_shape, rhs_shape, shape = _product_shapes(lhs.shape, rhs.shape)
    if (accumulator.dtype, accumulator.shape) != (datatypes.float32, shape):
        raise BadArgument("acc", f"expected a float32 tile of shape {shape}, got {accumulator}")
    is_mixed = rhs.dtype is not lhs.dtype or lhs.dtype in datatypes.SIX_BIT_FLOATS
    if is_mixed and not {lhs.dtype, rhs.dtype} <= set(_NARROW_INPUTS):
        raise BadArgument("y", f"expected elements of {lhs.dtype} like x, got {rhs.dtype}: convert one with astype()")
    scaled = _MIXED_SCALED if is_mixed else SCALED
    lhs_scales = _check_scale(lhs, lhs_scale, len(lhs.shape) - 1, "x_scale", scaled)
    rhs_scales = _check_scale(rhs, rhs_scale, len(rhs.shape) - 2, "y_scale", scaled)
    if rhs_scale.dtype is not lhs_scale.dtype or rhs_scales != lhs_scales:
        expected = f"{lhs_scales} scales of {lhs_scale.dtype} along K like x_scale"
        raise BadArgument("y_scale", f"expected {expected}, got {rhs_scales} of {rhs_scale.dtype}")
    operands = [
        broadcast(emitter, lhs, lhs_shape),
        broadcast(emitter, rhs, rhs_shape),
        accumulator,
        broadcast(emitter, lhs_scale, (*lhs_shape[:-1], lhs_scales)),
        broadcast(emitter, rhs_scale, (*rhs_shape[:-2], rhs_scales, rhs_shape[-1])),
    ]
    return emitter.tile("tilex.mmaf_scaled" if is_mixed else "mmaf_scaled", operands, datatypes.float32, shape)


def _check_scale(tile: Tile, scale: Tile, axis: int, parameter: str, scaled: _Scaled) -> int:
    """The number of scales along K, the dimension `axis` of the tile; raises BadArgument for invalid scales."""
    block_sizes = scaled.get((tile.dtype, scale.dtype))
    if block_sizes is None:
        scales = " or ".join(str(rhs) for lhs, rhs in scaled if lhs is tile.dtype)
        if not scales:
            inputs = ", ".join(dict.fromkeys(str(lhs) for lhs, _ in scaled))
            raise BadArgument(parameter.removesuffix("_scale"), f"expected elements of {inputs}, got {tile.dtype}")
        raise BadArgument(parameter, f"expected scales of {scales} for elements of {tile.dtype}, got {scale.dtype}")
    valid = len(scale.shape) == len(tile.shape) and all(
        scales == extent for at, (scales, extent) in enumerate(zip(scale.shape, tile.shape, strict=True)) if at != axis
    )
    if not valid or tile.shape[axis] // scale.shape[axis] not in block_sizes:
        sizes = " or ".join(map(str, block_sizes))
        shapes = " or ".join(
            str((*tile.shape[:axis], tile.shape[axis] // size, *tile.shape[axis + 1 :])) for size in block_sizes
        )
        expected = f"scales of shape {shapes}, one per {sizes} elements along K of {tile}"
        raise BadArgument(parameter, f"expected {expected}, got {scale}")
    return scale.shape[axis]


_METADATA = (datatypes.uint32, datatypes.int32)


@implements(language.mma_sparse)
def _mma_sparse(emitter: Emitter, x: KernelValue, metadata: KernelValue, y: KernelValue, acc: KernelValue) -> Tile:
    names = ("x", "metadata", "y", "acc")
    lhs, words, rhs, accumulator = (
        arguments.tile(value, name) for value, name in zip((x, metadata, y, acc), names, strict=True)
    )
    for tile, parameter in ((lhs, "x"), (words, "metadata"), (rhs, "y")):
        if len(tile.shape) != 2:
            raise BadArgument(parameter, f"expected a tile of two dimensions, got {tile}")
    element = _sparse_element(lhs.dtype)
    _check_types(lhs.dtype, rhs.dtype, accumulator.dtype)
    (rows, kept), step = lhs.shape, word_elements(element)
    depth = 2 * kept
    if rhs.shape[0] != depth:
        raise BadArgument("y", f"expected {depth} rows, two for each column of x, got {rhs}")
    if accumulator.shape != (rows, rhs.shape[1]):
        raise BadArgument("acc", f"expected shape {(rows, rhs.shape[1])} for x of {lhs.shape}, got {accumulator}")
    if depth % step:
        expected = f"expected at least {step // 2} columns, since a word of metadata covers {step} elements along K"
        raise BadArgument("x", f"{expected}, got {lhs}")
    if is_interleaved(element) and rows % INTERLEAVED_ROWS:
        expected = f"expected at least {INTERLEAVED_ROWS} rows, since its metadata is stored in blocks of that many"
        raise BadArgument("x", f"{expected}, got {lhs}")
    if words.dtype not in _METADATA or words.shape != (rows, depth // step):
        raise BadArgument("metadata", f"expected a tile of uint32 of shape {(rows, depth // step)}, got {words}")
    type = tile_type(accumulator.dtype, accumulator.shape)
    signs = {f"{side}_unsigned": tile.dtype is datatypes.uint8 for side, tile in (("lhs", lhs), ("rhs", rhs))}
    operands = [tile.value for tile in (lhs, rhs, accumulator, words)]
    made = emitter.build("tilex.mma_sparse", operands, [type], signs)
    return Tile(made.results[0], accumulator.dtype, accumulator.shape)


def _sparse_element(dtype: DType) -> str:
    """The spelling of the element type of a sparse operand; raises BadArgument for other types."""
    element = spell(element_type(dtype))
    if element in GROUPS:
        return element
    known = ", ".join(str(each) for each in ACCUMULATORS if spell(element_type(each)) in GROUPS)
    hint = ": convert x and y with astype(ct.tfloat32)" if dtype is datatypes.float32 else ""
    raise BadArgument("x", f"expected elements of {known}, got {dtype}{hint}")
