"""Inclusive prefix folds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilec.ast_to_tile import arguments
from tilec.ast_to_tile.arith import binary
from tilec.ast_to_tile.emitter import Emitter, element_attribute, tile_type
from tilec.ast_to_tile.reduce import IDENTITIES, Combine, check_options, fill_body, foldable, own_fold
from tilec.ast_to_tile.registry import implements
from tilec.ast_to_tile.values import Tile
from tilec.dialect.mlir import ir
from tilec.language import scan as language


def prefixes(
    emitter: Emitter, tiles: Sequence[Tile], identities: Sequence[Any], axis: int, reverse: Any, combine: Combine
) -> list[Tile]:
    """Each tile with its elements replaced by the folds of those up to them."""
    values = [element_attribute(value, tile.dtype) for value, tile in zip(identities, tiles, strict=True)]
    attributes = {
        "dim": axis,
        "reverse": arguments.constant_bool(reverse, "reverse"),
        "identities": ir.ArrayAttr.get(values),
    }
    results = [tile_type(tile.dtype, tile.shape) for tile in tiles]
    made = emitter.build("scan", [[tile.value for tile in tiles]], [results], attributes)
    fill_body(emitter, made, tiles, combine)
    return [Tile(value, tile.dtype, tile.shape) for value, tile in zip(made.results, tiles, strict=True)]


def _running(emitter: Emitter, name: str, x: Any, axis: Any, reverse: Any, options: dict[str, Any]) -> Tile:
    tile = foldable(emitter, x)
    at = arguments.axis(axis, len(tile.shape))
    check_options(name, tile.dtype, options)
    identity = IDENTITIES[name](tile.dtype)
    (result,) = prefixes(
        emitter, [tile], [identity], at, reverse, lambda x, y: [binary(emitter, name, x[0], y[0], **options)]
    )
    return result


@implements(language.cumsum)
def _cumsum(emitter: Emitter, x: Any, axis: Any, reverse: Any, **options: Any) -> Tile:
    return _running(emitter, "add", x, axis, reverse, options)


@implements(language.cumprod)
def _cumprod(emitter: Emitter, x: Any, axis: Any, reverse: Any, **options: Any) -> Tile:
    return _running(emitter, "mul", x, axis, reverse, options)


@implements(language.scan)
def _scan(emitter: Emitter, x: Any, axis: Any, func: Any, identity: Any, reverse: Any) -> Any:
    tiles, identities, combine = own_fold(emitter, x, func, identity)
    at = arguments.axis(axis, len(tiles[0].shape))
    results = tuple(prefixes(emitter, tiles, identities, at, reverse, combine))
    return results if isinstance(x, tuple) else results[0]
