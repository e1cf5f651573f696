"""Kernels that load every tile of an im2col view at every tap of its window, or store all tiles at one tap."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

import numpy as np

NUMPY = {"f32": np.float32, "f16": np.float16, "i8": np.int8, "i64": np.int64}


@dataclass(frozen=True)
class Case:
    """A view of images in a larger allocation: dimension k has `extents[k]` elements, `strides[k]` elements apart."""

    extents: tuple[int, ...]
    strides: tuple[int, ...]
    tile: tuple[int, int]
    window: tuple[int, ...]
    dilation: tuple[int, ...]
    stride: tuple[int, ...]
    lower: tuple[int, ...]
    upper: tuple[int, ...]
    mode: str | None = None
    element: str = "f32"
    # Which extents and strides are parameters of the kernel, and the types of the parameters and of the indices.
    dynamic_extents: tuple[bool, ...] = ()
    dynamic_strides: tuple[bool, ...] = ()
    extent_type: str = "i32"
    index_type: str = "i32"
    # Whether the parameters are assumed to be signed numbers that are not negative, as those of arrays are.
    bounded: bool = False

    @property
    def outputs(self) -> list[int]:
        rows = zip(self.extents[1:-1], self.window, self.dilation, self.stride, self.lower, self.upper, strict=True)
        return [
            max(0, (extent + lower + upper - ((taps - 1) * dilation + 1)) // stride + 1)
            for extent, taps, dilation, stride, lower, upper in rows
        ]

    @property
    def grid(self) -> tuple[int, int, int]:
        """The tiles along pixels and channels, and the taps."""
        run, rows = [self.extents[0], *self.outputs], []
        if self.mode is not None and self.mode.startswith("w"):
            run, rows = [run[0], run[-1]], run[1:-1]
        tiles = math.prod(rows) * -(-math.prod(run) // self.tile[0])
        return tiles, -(-self.extents[-1] // self.tile[1]), math.prod(self.window)

    @property
    def allocated(self) -> int:
        """The elements from the first to the last one of the images."""
        return 1 + sum((extent - 1) * stride for extent, stride in zip(self.extents, self.strides, strict=True))

    @property
    def tensor(self) -> str:
        return tensor_type(self.extents, self.strides, self.element, self.dynamic_extents, self.dynamic_strides)

    @property
    def view(self) -> str:
        arrays = ("window", "dilation", "stride", "lower", "upper")
        parts = [f"tile=({self.tile[0]}x{self.tile[1]})", *(f"{name}={list(getattr(self, name))}" for name in arrays)]
        parts += [f"mode={self.mode}"] if self.mode else []
        return f"tilex.im2col_view<{', '.join([*parts, self.tensor])}>"

    @property
    def parameters(self) -> list[int]:
        """The dynamic extents and strides."""
        values, flags = [*self.extents, *self.strides], [*self._dynamic(0), *self._dynamic(1)]
        return [value for value, dynamic in zip(values, flags, strict=True) if dynamic]

    def made_view(self) -> str:
        """The operations that make the view %v."""
        given = range(len(self.parameters))
        names = iter(f"%b{k}" if self.bounded else f"%a{k}" for k in given)
        assumed = [f"%b{k} = assume bounded<0, ?>, %a{k} : tile<{self.extent_type}>" for k in given if self.bounded]

        def listed(values, flags):
            return [next(names) if dynamic else str(value) for value, dynamic in zip(values, flags, strict=True)]

        shape, strides = listed(self.extents, self._dynamic(0)), listed(self.strides, self._dynamic(1))
        types = f"tile<{self.extent_type}> -> " if self.parameters else ""
        return f"""{" ".join(assumed)}
          %t = make_tensor_view %p, shape = [{", ".join(shape)}], strides = [{", ".join(strides)}]
            : {types}{self.tensor}
          %v = tilex.make_im2col_view %t : {self.view}"""

    def _dynamic(self, which: int) -> tuple[bool, ...]:
        given = (self.dynamic_extents, self.dynamic_strides)[which]
        return given or (False,) * len(self.extents)

    def _head(self, others: str) -> str:
        scalars = "".join(f", %a{k}: tile<{self.extent_type}>" for k in range(len(self.parameters)))
        return f"entry @k(%p: tile<ptr<{self.element}>>{scalars}, {others})"

    def _taps(self) -> list[str]:
        """Operations that make the offsets %o0, .. from the number of the tap %z."""
        lines, rest = [], "%z"
        for k, taps in reversed(list(enumerate(self.window))):
            lines.append(f"%s{k} = constant <i32: {taps}> : tile<i32>")
            lines.append(f"%r{k} = remi {rest}, %s{k} unsigned : tile<i32>")
            lines.append(f"%q{k} = divi {rest}, %s{k} unsigned : tile<i32>")
            lines.append(self._index(f"o{k}", f"r{k}"))
            rest = f"%q{k}"
        return lines

    def _index(self, name: str, number: str) -> str:
        """An i32 as an index."""
        if self.index_type == "i32":
            return f"%zero{name} = constant <i32: 0> : tile<i32> %{name} = addi %{number}, %zero{name} : tile<i32>"
        conversion = "exti" if self.index_type == "i64" else "trunci"
        signedness = " unsigned" if conversion == "exti" else ""
        return f"%{name} = {conversion} %{number}{signedness} : tile<i32> -> tile<{self.index_type}>"

    def loads(self) -> str:
        """Block (x, y, z) loads tile (x, y) at tap z and stores it as tile (z * number of pixel tiles + x, y)."""
        pixels, channels = self.tile
        columns, rows = max(1, self.grid[1]) * channels, max(1, self.grid[0] * self.grid[2]) * pixels
        out = tensor_type((rows, columns), (columns, 1), self.element)
        written = f"partition_view<tile=({pixels}x{channels}), {out}>"
        offsets = ", ".join(f"%o{k}" for k in range(len(self.window)))
        return f"""cuda_tile.module @m {{ {self._head(f"%q: tile<ptr<{self.element}>>")} {{
          {self.made_view()}
          %x, %y, %z = get_tile_block_id : tile<i32>
          {self._index("i", "x")} {self._index("j", "y")}
          {" ".join(self._taps())}
          %f, %ft = tilex.load_im2col_tko weak %v[%i, %j] offset [{offsets}]
            : {self.view}, tile<{self.index_type}> -> tile<{pixels}x{channels}x{self.element}>, token
          %tiles = constant <i32: {self.grid[0]}> : tile<i32>
          %zx = muli %z, %tiles : tile<i32> %row = addi %zx, %x : tile<i32>
          %o = make_tensor_view %q, shape = [{rows}, {columns}], strides = [{columns}, 1] : {out}
          %w = make_partition_view %o : {written}
          %k = store_view_tko weak %f, %w[%row, %y]
            : tile<{pixels}x{channels}x{self.element}>, {written}, tile<i32> -> token
          return }} }}"""

    def stores(self, tap: tuple[int, ...]) -> str:
        """Block (x, y) loads tile (x, y) of a matrix and stores it through the view at a tap."""
        pixels, channels = self.tile
        rows, columns = max(1, self.grid[0]) * pixels, self.grid[1] * channels
        matrix = tensor_type((rows, columns), (columns, 1), self.element)
        read = f"partition_view<tile=({pixels}x{channels}), {matrix}>"
        taps = [f"%o{k} = constant <{self.index_type}: {o}> : tile<{self.index_type}>" for k, o in enumerate(tap)]
        offsets = ", ".join(f"%o{k}" for k in range(len(tap)))
        return f"""cuda_tile.module @m {{ {self._head(f"%q: tile<ptr<{self.element}>>")} {{
          {self.made_view()}
          %x, %y, %z = get_tile_block_id : tile<i32>
          {self._index("i", "x")} {self._index("j", "y")}
          {" ".join(taps)}
          %o = make_tensor_view %q, shape = [{rows}, {columns}], strides = [{columns}, 1] : {matrix}
          %w = make_partition_view %o : {read}
          %f, %ft = load_view_tko weak %w[%x, %y]
            : {read}, tile<i32> -> tile<{pixels}x{channels}x{self.element}>, token
          %k = tilex.store_im2col_tko weak %f, %v[%i, %j] offset [{offsets}]
            : tile<{pixels}x{channels}x{self.element}>, {self.view}, tile<{self.index_type}> -> token
          return }} }}"""

    def shapes(self) -> str:
        """Stores the index space and the output extents."""
        count = 2 + len(self.window)
        values = ["%m0", "%m1", *(f"%e{k}" for k in range(count - 2))]
        stores = "\n".join(
            f"""%k{n} = constant <i32: {n}> : tile<i32>
            %a_{n} = offset %q, %k{n} : tile<ptr<i64>>, tile<i32> -> tile<ptr<i64>>
            %s_{n} = store_ptr_tko weak %a_{n}, {value} : tile<ptr<i64>>, tile<i64> -> token"""
            for n, value in enumerate(values)
        )
        return f"""cuda_tile.module @m {{ {self._head("%q: tile<ptr<i64>>")} {{
          {self.made_view()}
          %m0, %m1 = tilex.get_im2col_index_space_shape %v : {self.view} -> tile<i64>
          {", ".join(values[2:])} = tilex.get_im2col_output_shape %v : {self.view} -> tile<i64>
          {stores}
          return }} }}"""


def tensor_type(extents, strides, element, dynamic_extents=(), dynamic_strides=()) -> str:
    def listed(values, dynamic):
        flags = dynamic or (False,) * len(values)
        return ["?" if flag else str(value) for value, flag in zip(values, flags, strict=True)]

    shape = "x".join([*listed(extents, dynamic_extents), element])
    return f"tensor_view<{shape}, strides=[{','.join(listed(strides, dynamic_strides))}]>"


def random_case(seed: int) -> Case:
    """A small view whose parameters are drawn from all that the dialect allows."""
    chosen = random.Random(seed)
    spatial = chosen.choice((1, 1, 2, 2, 3))

    def each(low: int, high: int) -> tuple[int, ...]:
        return tuple(chosen.randint(low, high) for _ in range(spatial))

    extents = (chosen.randint(1, 3), *each(1, 7), chosen.choice((1, 3, 4, 8, 13)))
    mode = chosen.choice((None, None, "im2col", "w"))
    flags = [tuple(chosen.random() < 0.5 for _ in extents) for _ in range(2)]
    return Case(
        extents=extents,
        strides=_strides(chosen, extents),
        tile=(chosen.choice((2, 4, 8, 16, 32)), chosen.choice((1, 4, 8))),
        window=each(1, 3),
        dilation=each(1, 3),
        stride=each(1, 3),
        lower=each(-2, 3),
        upper=each(-2, 3),
        mode=mode,
        element=chosen.choice(list(NUMPY)),
        dynamic_extents=flags[0],
        dynamic_strides=flags[1],
        extent_type=chosen.choice(("i32", "i64", "i16")),
        index_type=chosen.choice(("i8", "i16", "i32", "i64")),
        bounded=chosen.random() < 0.5,
    )


def _strides(chosen: random.Random, extents: tuple[int, ...]) -> tuple[int, ...]:
    """Strides of dimensions in any order, with gaps between them."""
    order = list(range(len(extents)))
    if chosen.random() < 0.3:
        chosen.shuffle(order)
    strides, step = [0] * len(extents), chosen.choice((1, 1, 1, 2))
    for k in reversed(order):
        strides[k] = step
        step *= extents[k]
        step += chosen.choice((0, 0, 1, 8))
        step = -(-step // 8) * 8 if chosen.random() < 0.3 else step
    return tuple(strides)
