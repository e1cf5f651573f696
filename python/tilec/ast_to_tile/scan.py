"""Builds inclusive prefix scans."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tilec.ast_to_tile import arguments
from tilec.ast_to_tile.arith import binary
from tilec.ast_to_tile.emitter import Emitter, element_attribute, tile_type
from tilec.ast_to_tile.reduce import IDENTITIES, Combine, check_options, fill_body, reducible, user_combination
from tilec.ast_to_tile.registry import implements
from tilec.ast_to_tile.values import KernelValue, Number, Tile
from tilec.dialect.mlir import ir
from tilec.language import scan as language


def prefixes(
    emitter: Emitter,
    tiles: Sequence[Tile],
    identities: Sequence[Number],
    axis: int,
    reverse: KernelValue,
    combine: Combine,
) -> list[Tile]:
    """Scans several tiles of one shape along `axis` in one operation."""
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


def _running(
    emitter: Emitter,
    name: str,
    x: KernelValue,
    axis: KernelValue,
    reverse: KernelValue,
    options: dict[str, KernelValue],
) -> Tile:
    tile = reducible(emitter, x)
    at = arguments.axis(axis, len(tile.shape))
    check_options(name, tile.dtype, options)
    identity = IDENTITIES[name](tile.dtype)
    (result,) = prefixes(
        emitter, [tile], [identity], at, reverse, lambda x, y: [binary(emitter, name, x[0], y[0], **options)]
    )
    return result


# The binary operation of each scan.
_SCANS: dict[Callable[..., object], str] = {language.cumsum: "add", language.cumprod: "mul"}


def _scan_by(name: str) -> Callable[..., Tile]:
    def build(
        emitter: Emitter, x: KernelValue, axis: KernelValue, reverse: KernelValue, **options: KernelValue
    ) -> Tile:
        return _running(emitter, name, x, axis, reverse, options)

    build.__qualname__ = f"_scan_by({name})"
    return build


for _function, _name in _SCANS.items():
    implements(_function)(_scan_by(_name))


@implements(language.scan)
def _scan(
    emitter: Emitter, x: KernelValue, axis: KernelValue, func: KernelValue, identity: KernelValue, reverse: KernelValue
) -> Tile | tuple[Tile, ...]:
    tiles, identities, combine = user_combination(emitter, x, func, identity)
    at = arguments.axis(axis, len(tiles[0].shape))
    results = tuple(prefixes(emitter, tiles, identities, at, reverse, combine))
    return results if isinstance(x, tuple) else results[0]
