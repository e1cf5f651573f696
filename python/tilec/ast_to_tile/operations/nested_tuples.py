"""Builds the tile of `ct.astile`: the scalars of nested tuples."""

from __future__ import annotations

from collections.abc import Iterator

from tilec.ast_to_tile import arguments
from tilec.ast_to_tile.arguments import BadArgument
from tilec.ast_to_tile.emitter import Emitter
from tilec.ast_to_tile.operations.convert import named_type_value, to_dtype
from tilec.ast_to_tile.operations.shape import reshape
from tilec.ast_to_tile.registry import implements
from tilec.ast_to_tile.values.values import Constant, KernelValue, Operand, Shape, Tile, describe
from tilec.language.datatypes import DType
from tilec.language.operations import shape as language


@implements(language.astile)
def _astile(emitter: Emitter, value: KernelValue, dtype: KernelValue) -> Tile:
    element, shape = arguments.dtype(dtype), _shape(value)
    scalars = list(_scalars(value))
    constants = [scalar for scalar in scalars if not isinstance(scalar, Tile)]
    if shape and len(constants) == len(scalars):
        return _constant_tile(emitter, constants, element, shape)
    tiles = [to_dtype(emitter, scalar, element) for scalar in scalars]
    return reshape(emitter, _concatenated(emitter, tiles) if shape else tiles[0], shape)


def _shape(value: KernelValue) -> Shape:
    """The extents of nested tuples; raises BadArgument if they do not make a tile."""
    if not isinstance(value, tuple):
        return ()
    if not value or len(value) & (len(value) - 1):
        raise BadArgument("value", f"expected tuples whose length is a power of two, got a tuple of {len(value)}")
    shapes = list(map(_shape, value))
    if any(shape != shapes[0] for shape in shapes):
        raise BadArgument("value", f"expected items of one shape, got {', '.join(map(str, shapes))}")
    return (len(value), *shapes[0])


def _scalars(value: KernelValue) -> Iterator[Operand]:
    """The scalars of nested tuples, those of the innermost tuples next to each other."""
    if isinstance(value, tuple):
        for item in value:
            yield from _scalars(item)
        return
    scalar = arguments.tile_like(value, "value")
    if isinstance(scalar, Tile) and scalar.shape:
        raise BadArgument("value", f"expected scalars, got {describe(value)}")
    yield scalar


def _constant_tile(emitter: Emitter, constants: list[Constant], dtype: DType, shape: Shape) -> Tile:
    values = [arguments.at("value", named_type_value, emitter, item, dtype) for item in constants]
    return emitter.elements(values, dtype, shape)


def _concatenated(emitter: Emitter, scalars: list[Tile]) -> Tile:
    rows = [reshape(emitter, scalar, (1,)) for scalar in scalars]
    while len(rows) > 1:
        rows = [_joined(emitter, first, second) for first, second in zip(rows[::2], rows[1::2], strict=True)]
    return rows[0]


def _joined(emitter: Emitter, first: Tile, second: Tile) -> Tile:
    return emitter.tile("cat", [first, second], first.dtype, (first.shape[0] * 2,), dim=0)
