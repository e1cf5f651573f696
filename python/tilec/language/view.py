"""Arrays, their tiled views, and tiles, as a kernel sees them. These classes are never instantiated on the host."""

from __future__ import annotations

from tilec.language.modes import PaddingMode
from tilec.language.stub import kernel_function


class Array:
    """An array in global memory; `.shape`, `.strides` (in elements, int32), `.dtype` and `.ndim` can be read."""

    @kernel_function
    def slice(self, axis, start, stop):
        """The part from `start` to before `stop` along the constant `axis`; it shares the array's memory."""

    @kernel_function
    def tiled_view(self, tile_shape, *, padding_mode=PaddingMode.UNDETERMINED, traversal_steps=None):
        """The array as a grid of tiles.

        Tile (i, j) starts at element (i * traversal_steps[0], j * traversal_steps[1]); steps default to `tile_shape`,
        smaller ones make tiles overlap, larger ones leave gaps.
        """


class TiledView:
    """A grid of tiles over an array; `.dtype`, `.tile_shape` and `.traversal_steps` can be read."""

    @kernel_function
    def num_tiles(self, axis):
        """The number of tiles along `axis`, int32."""

    @kernel_function
    def load(self, index, *, check_bounds=True, latency=None, allow_tma=None):
        """The tile at `index` of the grid."""

    @kernel_function
    def store(self, index, tile, *, check_bounds=True, latency=None, allow_tma=None):
        """Write a tile, broadcast to `tile_shape`, at `index` of the grid."""


class Tile:
    """An immutable block of elements whose shape is known at compile time; `.shape`, `.dtype`, `.ndim` can be read."""

    @kernel_function
    def item(self):
        """The only element, as a scalar."""
