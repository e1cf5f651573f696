"""Arrays, their tiled views, and tiles, as a kernel sees them. These classes are never instantiated on the host."""

from __future__ import annotations

from typing import NoReturn

from tilec.errors import CompileError
from tilec.language import convert
from tilec.language import shape as shapes
from tilec.language.datatypes import DType
from tilec.language.modes import PaddingMode
from tilec.language.stub import kernel_function


def _in_kernels_only(name: str) -> NoReturn:
    raise CompileError(f"'{name}' can be read inside a kernel only")


class Array:
    """An array in global memory; loads and stores reach it through tiles."""

    @property
    def dtype(self) -> DType:
        """The element type."""
        _in_kernels_only("dtype")

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents: constants where they are known while compiling, else int32 scalars."""
        _in_kernels_only("shape")

    @property
    def strides(self) -> tuple[int, ...]:
        """The strides in elements: constants where they are known while compiling, else int32 scalars."""
        _in_kernels_only("strides")

    @property
    def ndim(self) -> int:
        """The number of dimensions, a constant."""
        _in_kernels_only("ndim")

    @kernel_function
    def slice(self, axis: int, start: int, stop: int) -> Array:  # type: ignore[empty-body]
        """The part from `start` to before `stop` along the constant `axis`; it shares the array's memory.

        Constant bounds give a constant extent. Bounds must lie in the array; a slice that ends before it starts is
        empty, and refused where both bounds are constants.
        """

    @kernel_function
    def tiled_view(  # type: ignore[empty-body]
        self,
        tile_shape: int | tuple[int, ...],
        *,
        padding_mode: PaddingMode = PaddingMode.UNDETERMINED,
        traversal_steps: int | tuple[int, ...] | None = None,
    ) -> TiledView:
        """The array as a grid of tiles.

        Tile (i, j) starts at element (i * traversal_steps[0], j * traversal_steps[1]); steps default to `tile_shape`,
        smaller ones make tiles overlap, larger ones leave gaps.
        """


class TiledView:
    """A grid of tiles over an array."""

    @property
    def dtype(self) -> DType:
        """The element type of the array."""
        _in_kernels_only("dtype")

    @property
    def tile_shape(self) -> tuple[int, ...]:
        """The extents of each tile, constants."""
        _in_kernels_only("tile_shape")

    @property
    def traversal_steps(self) -> tuple[int, ...]:
        """The distance of neighbouring tiles in elements, constants."""
        _in_kernels_only("traversal_steps")

    @kernel_function
    def num_tiles(self, axis: int) -> int:  # type: ignore[empty-body]
        """The number of tiles along `axis`, int32."""

    @kernel_function
    def load(  # type: ignore[empty-body]
        self,
        index: int | tuple[int, ...],
        *,
        check_bounds: bool = True,
        latency: int | None = None,
        allow_tma: bool | None = None,
    ) -> Tile:
        """The tile at `index` of the grid."""

    @kernel_function
    def store(
        self,
        index: int | tuple[int, ...],
        tile: Tile | float,
        *,
        check_bounds: bool = True,
        latency: int | None = None,
        allow_tma: bool | None = None,
    ) -> None:
        """Write a tile, broadcast to `tile_shape`, at `index` of the grid."""


class Tile:
    """An immutable block of elements whose shape is known at compile time; a scalar has shape ().

    Operators work element by element, and promote and broadcast their operands as ct.add, ct.less and so on do.
    """

    @property
    def dtype(self) -> DType:
        """The element type."""
        _in_kernels_only("dtype")

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents, constants."""
        _in_kernels_only("shape")

    @property
    def ndim(self) -> int:
        """The number of dimensions, a constant."""
        _in_kernels_only("ndim")

    # Functions of the language whose first parameter is the tile.
    astype = convert.astype
    extract = shapes.extract
    reshape = shapes.reshape
    permute = shapes.permute
    transpose = shapes.transpose

    @kernel_function
    def item(self) -> Tile:  # type: ignore[empty-body]
        """The only element, as a scalar."""

    def _binary(self, other: Tile | float, /) -> Tile:
        """Element by element; a number takes the type of the tile."""
        _in_kernels_only("operators of tiles")

    def _unary(self) -> Tile:
        """Element by element."""
        _in_kernels_only("operators of tiles")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __matmul__ = _binary
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = _binary
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _binary
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _binary
    __lt__ = __le__ = __gt__ = __ge__ = _binary
    __neg__ = __pos__ = __invert__ = _unary
