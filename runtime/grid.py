"""Three-dimensional extents of grids, blocks and clusters."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index

from tilec.errors import InputError

Dimensions = tuple[int, int, int]

# CUDA programming guide, "Technical Specifications per Compute Capability".
MAX_GRID = (2**31 - 1, 65535, 65535)


def dimensions(value: Sequence[int] | int, what: str, least: int = 1) -> Dimensions:
    """One to three extents, the rest 1; InputError if any extent is not an integer of at least `least`."""
    try:
        extents = tuple(map(index, value)) if isinstance(value, tuple | list) else _extents(value)
    except TypeError:
        extents = ()
    if not 1 <= len(extents) <= 3 or min(extents) < least:
        raise InputError(f"{what} needs one to three integers of at least {least}, got {value!r}")
    x, y, z = (*extents, 1, 1)[:3]
    return x, y, z


def _extents(value: object) -> tuple[int, ...]:
    """The extents of one integer, also of numpy, or of an iterable; raises TypeError for other values."""
    try:
        return (index(value),)  # type: ignore[arg-type]
    except TypeError:
        return tuple(map(index, value))  # type: ignore[call-overload]


def grid_of(
    value: Sequence[int] | int,
    cluster: Dimensions = (1, 1, 1),
    counts_clusters: bool = False,
    cluster_if_divisible: bool = False,
) -> Dimensions:
    """The blocks of a launch; InputError if they are too many or, unless `cluster_if_divisible`, not whole clusters.

    An extent may be 0, for example for an array without elements: no block runs. A grid without extents is one block.
    With `counts_clusters` the grid that is given counts clusters.
    """
    grid = (1, 1, 1) if isinstance(value, tuple) and not value else dimensions(value, "the grid", least=0)
    if counts_clusters:
        x, y, z = (extent * size for extent, size in zip(grid, cluster, strict=True))
        grid = x, y, z
    if any(extent > limit for extent, limit in zip(grid, MAX_GRID, strict=True)):
        raise InputError(f"the grid needs extents of at most {MAX_GRID}, got {grid}")
    if not cluster_if_divisible and not is_divisible(grid, cluster):
        raise InputError(f"the grid needs extents that are multiples of the cluster {cluster}, got {grid}")
    return grid


def is_divisible(grid: Dimensions, cluster: Dimensions) -> bool:
    """Whether blocks can be divided into whole clusters."""
    return all(extent % size == 0 for extent, size in zip(grid, cluster, strict=True))


def cluster_of(grid: Dimensions, cluster: Dimensions) -> Dimensions:
    """The clusters of a launch of these blocks: one block each if they cannot be divided into whole clusters."""
    return cluster if is_divisible(grid, cluster) else (1, 1, 1)
