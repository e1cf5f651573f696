"""Builds inclusive prefix scans."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tilec.ast_to_tile import arguments
from tilec.ast_to_tile.emitter import AttributeValue, Emitter
from tilec.ast_to_tile.operations.reduce import (
    Combine,
    combined_along,
    operation_combination,
    reducible,
    user_combination,
)
from tilec.ast_to_tile.registry import implements, implements_each
from tilec.ast_to_tile.values.values import KernelValue, Number, Tile
from tilec.language.operations import scan as language


def _prefixes(
    emitter: Emitter,
    tiles: Sequence[Tile],
    identities: Sequence[Number],
    axis: KernelValue,
    reverse: KernelValue,
    combine: Combine,
) -> list[Tile]:
    """Scans several tiles of one shape along `axis` in one operation."""
    shape = tiles[0].shape
    attributes: dict[str, AttributeValue] = {
        "dim": arguments.axis(axis, len(shape)),
        "reverse": arguments.constant_bool(reverse, "reverse"),
    }
    return combined_along(emitter, "scan", tiles, shape, identities, attributes, combine)


# The binary operation of each scan.
_SCANS: dict[Callable[..., object], str] = {language.cumsum: "add", language.cumprod: "mul"}


def _scan_by(
    name: str, emitter: Emitter, x: KernelValue, axis: KernelValue, reverse: KernelValue, **options: KernelValue
) -> Tile:
    tile = reducible(emitter, x)
    identity, combine = operation_combination(emitter, name, tile.dtype, options)
    (result,) = _prefixes(emitter, [tile], [identity], axis, reverse, combine)
    return result


implements_each(_SCANS, _scan_by)


@implements(language.scan)
def _scan(
    emitter: Emitter, x: KernelValue, axis: KernelValue, func: KernelValue, identity: KernelValue, reverse: KernelValue
) -> Tile | tuple[Tile, ...]:
    tiles, identities, combine = user_combination(emitter, x, func, identity)
    results = tuple(_prefixes(emitter, tiles, identities, axis, reverse, combine))
    return results if isinstance(x, tuple) else results[0]
