"""Views of f4E2M1FN, two elements in a byte: every operation that moves elements preserves their bits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

import tilec

Shape = tuple[int, int]
MODULE = """
!X = tensor_view<?x?xf4E2M1FN, strides=[{strides}]>
!Z = tensor_view<?x?xf4E2M1FN, strides=[?,1]>
!S = {kind}<tile=({tile}),{steps} padding_value = {padding}, !X>
!D = partition_view<tile=({result}), !Z>
entry @k(%p: tile<ptr<f4E2M1FN>>, %q: tile<ptr<f4E2M1FN>>,
         %m: tile<i32>, %n: tile<i32>, %u: tile<i32>, %v: tile<i32>) {{
  %x = assume div_by<16>, %p : tile<ptr<f4E2M1FN>>
  %e = assume div_by<{divisor}>, {inner} : tile<i32>
  %i, %j, %k = get_tile_block_id : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %0 = make_tensor_view %x, shape = [{extents}], strides = [{named_strides}] : tile<i32> -> !X
  %1 = make_tensor_view %q, shape = [%u, %v], strides = [%v, 1] : tile<i32> -> !Z
  %s = make_{kind} %0 : !S
  %d = make_partition_view %1 : !D
  %a, %t = load_view_tko weak %s[%i, %j] : !S, tile<i32> -> tile<{tile}xf4E2M1FN>, token
  {body}
  store_view_tko weak %b, %d[%i, %j] : tile<{result}xf4E2M1FN>, !D, tile<i32> -> token
  return
}}
"""


def spelled(shape: Shape) -> str:
    return "x".join(map(str, shape))


def type_of(shape: tuple[int, ...]) -> str:
    return f"tile<{'x'.join(map(str, shape))}xf4E2M1FN>"


def packed(codes: np.ndarray) -> np.ndarray:
    """The bytes of elements, the first of two in the low half."""
    return np.ascontiguousarray(codes[..., 0::2] | codes[..., 1::2] << 4)


def codes_of(stored: np.ndarray) -> np.ndarray:
    return np.stack([stored & 15, stored >> 4], axis=-1).reshape(*stored.shape[:-1], -1)


@dataclass(frozen=True)
class Source:
    """How tiles are loaded; in a view by columns the elements of a column are adjacent in memory."""

    tile: Shape
    divisor: int = 2
    padding: str = "zero"
    steps: Shape | None = None
    by_columns: bool = False

    def module(self, body: str, result: Shape) -> tilec.Module:
        text = MODULE.format(
            tile=spelled(self.tile),
            result=spelled(result),
            body=body,
            kind="partition_view" if self.steps is None else "strided_view",
            steps="" if self.steps is None else f" traversal_strides=[{self.steps[0]},{self.steps[1]}],",
            padding=self.padding,
            divisor=self.divisor,
            strides="1,?" if self.by_columns else "?,1",
            inner="%m" if self.by_columns else "%n",
            extents="%e, %n" if self.by_columns else "%m, %e",
            named_strides="1, %e" if self.by_columns else "%e, 1",
        )
        return tilec.Module.parse(text)


def moved(source: Source, body: str, x: np.ndarray, result: Shape, grid: Shape, target: str) -> list[np.ndarray]:
    """The elements that the simulator and the interpreter store, one tile of `result` per block."""
    compiled = tilec.compile(source.module(body, result), target=target)
    stored = packed(x.T if source.by_columns else x)
    shape = (grid[0] * result[0], grid[1] * result[1])
    found = []
    for backend in ("simulate", "interpret"):
        z = np.full((shape[0], shape[1] // 2), 0xEE, np.uint8)
        tilec.run(compiled, grid, [stored.reshape(-1), z.reshape(-1), *x.shape, *shape], backend=backend)
        found.append(codes_of(z))
    return found


def elements(shape: Shape, seed: int = 2) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 16, shape).astype(np.uint8)


def same(tile: Shape) -> str:
    return f"%b = reshape %a : {type_of(tile)} -> {type_of(tile)}"


def transposed(tile: Shape) -> str:
    return f"%b = permute %a [1, 0] : {type_of(tile)} -> {type_of(tile[::-1])}"


@pytest.mark.parametrize(
    ("tile", "divisor"),
    [((16, 64), 32), ((64, 16), 8), ((1, 256), 4), ((8, 2), 2), ((32, 128), 64), ((128, 4), 2), ((1, 2), 2)],
)
def test_copy(tile, divisor, target):
    x = elements((2 * tile[0], 2 * tile[1]))
    for z in moved(Source(tile, divisor), same(tile), x, tile, (2, 2), target):
        assert np.array_equal(z, x)


@pytest.mark.parametrize(("tile", "divisor"), [((64, 16), 32), ((16, 64), 8), ((2, 8), 2), ((256, 2), 16)])
def test_copy_of_columns(tile, divisor, target):
    """The load and the store share bytes along different dimensions."""
    x = elements((2 * tile[0], 2 * tile[1]))
    for z in moved(Source(tile, divisor, by_columns=True), same(tile), x, tile, (2, 2), target):
        assert np.array_equal(z, x)


@dataclass(frozen=True)
class Movement:
    """A body from %a to %b for a tile of 16x64, the shape of %b, and the same in numpy."""

    body: str
    result: Shape
    exact: Callable[[np.ndarray], np.ndarray]


A, HALF = type_of((16, 64)), type_of((16, 32))
PARTS = f"""%l = extract %a[%zero, %zero] : {A} -> {HALF}
  %r = extract %a[%zero, %one] : {A} -> {HALF}"""
ZERO = "%zero = constant <i32: 0> : tile<i32>\n  "
MOVEMENTS = {
    "permute": Movement(transposed((16, 64)), (64, 16), lambda x: x.T),
    "reshape": Movement(f"%b = reshape %a : {A} -> {type_of((8, 128))}", (8, 128), lambda x: x.reshape(8, 128)),
    "cat": Movement(
        f"%b = cat %a, %a dim = 1 : {A}, {A} -> {type_of((16, 128))}", (16, 128), lambda x: np.concatenate([x, x], 1)
    ),
    "cat of rows": Movement(
        f"%b = cat %a, %a dim = 0 : {A}, {A} -> {type_of((32, 64))}", (32, 64), lambda x: np.concatenate([x, x])
    ),
    "extract and cat": Movement(
        f"{ZERO}{PARTS}\n  %b = cat %r, %l dim = 1 : {HALF}, {HALF} -> {A}", (16, 64), lambda x: np.roll(x, 32, 1)
    ),
    "extract at an index": Movement(
        f"%c = extract %a[%one, %j] : {A} -> {type_of((8, 2))}\n  %b = reshape %c : {type_of((8, 2))} -> "
        f"{type_of((2, 8))}",
        (2, 8),
        lambda x: x[8:, :2].reshape(2, 8),
    ),
    "broadcast of a column": Movement(
        f"{ZERO}%c = extract %a[%zero, %one] : {A} -> {type_of((16, 1))}\n  %e8 = broadcast %c : {type_of((16, 1))} -> "
        f"{type_of((16, 8))}\n  %b = extract %e8[%one, %zero] : {type_of((16, 8))} -> {type_of((1, 8))}",
        (1, 8),
        lambda x: np.broadcast_to(x[1, 1], (1, 8)),
    ),
    "broadcast": Movement(
        f"{ZERO}%c = extract %a[%one, %zero] : {A} -> {type_of((1, 64))}\n  %b = broadcast %c : {type_of((1, 64))} -> "
        f"{type_of((4, 64))}",
        (4, 64),
        lambda x: np.broadcast_to(x[1], (4, 64)),
    ),
    "constant": Movement(
        f"%c = constant <f4E2M1FN: -1.5> : {A}\n  %b = cat %c, %a dim = 0 : {A}, {A} -> {type_of((32, 64))}",
        (32, 64),
        lambda x: np.concatenate([np.full_like(x, 11), x]),
    ),
    "loop": Movement(
        f"%h = permute %a [1, 0] : {A} -> {type_of((64, 16))}\n  %y = reshape %h : {type_of((64, 16))} -> {A}\n"
        f"  {ZERO}%three = constant <i32: 3> : tile<i32>\n"
        f"  %b, %c = for %l in (%zero to %three, step %one) : tile<i32> iter_values(%f = %a, %g = %y)"
        f" -> ({A}, {A}) {{\n    continue %g, %f : {A}, {A}\n  }}",
        (16, 64),
        lambda x: x.T.reshape(16, 64),
    ),
    "if": Movement(
        f"%less = cmpi less_than %i, %one, signed : tile<i32> -> tile<i1>\n"
        f"  %h = reshape %a : {A} -> {type_of((32, 32))}\n"
        f"  %y = permute %h [1, 0] : {type_of((32, 32))} -> {type_of((32, 32))}\n"
        f"  %g = reshape %y : {type_of((32, 32))} -> {A}\n"
        f"  %b = if %less -> ({A}) {{ yield %g : {A} }} else {{ yield %a : {A} }}",
        (16, 64),
        lambda x: x.reshape(32, 32).T.reshape(16, 64),
    ),
    "bytes": Movement(
        f"%c = reshape %a : {A} -> {type_of((1024,))}\n  %h = pack %c : {type_of((1024,))} -> tile<512xi8>\n"
        f"  %g = xori %h, %h : tile<512xi8>\n  %y = subi %h, %g : tile<512xi8>\n"
        f"  %o = unpack %y : tile<512xi8> -> {type_of((1024,))}\n  %b = reshape %o : {type_of((1024,))} -> {A}",
        (16, 64),
        lambda x: x,
    ),
    "integers": Movement(
        f"%c = reshape %a : {A} -> {type_of((1024,))}\n  %h = pack %c : {type_of((1024,))} -> tile<512xi8>\n"
        f"  %g = unpack %h : tile<512xi8> -> tile<1024xi4>\n"
        f"  %y = exti %g unsigned : tile<1024xi4> -> tile<1024xi8>\n  %l = muli %y, %y : tile<1024xi8>\n"
        f"  %r = trunci %l : tile<1024xi8> -> tile<1024xi4>\n  %s8 = pack %r : tile<1024xi4> -> tile<512xi8>\n"
        f"  %o = unpack %s8 : tile<512xi8> -> {type_of((1024,))}\n  %b = reshape %o : {type_of((1024,))} -> {A}",
        (16, 64),
        lambda x: x * x & 15,
    ),
}


@pytest.mark.parametrize("by_columns", [False, True], ids=["rows", "columns"])
@pytest.mark.parametrize("name", MOVEMENTS)
def test_movement(name, by_columns, target):
    movement, x = MOVEMENTS[name], elements((16, 64))
    source = Source((16, 64), 16, by_columns=by_columns)
    for z in moved(source, movement.body, x, movement.result, (1, 1), target):
        assert np.array_equal(z, movement.exact(x))


@pytest.mark.parametrize(("padding", "code"), [("zero", 0), ("neg_zero", 8)])
@pytest.mark.parametrize("by_columns", [False, True], ids=["rows", "columns"])
def test_elements_out_of_bounds_have_the_padding(padding, code, by_columns, target):
    x = elements((22, 54))
    exact = np.full((32, 64), code)
    exact[:22, :54] = x
    for z in moved(Source((16, 32), 2, padding, by_columns=by_columns), same((16, 32)), x, (16, 32), (2, 2), target):
        assert np.array_equal(z, exact)


def test_tiles_of_a_strided_view_overlap(target):
    x = elements((20, 40))
    blocks = [[np.pad(x, 64)[64 + 3 * i : 72 + 3 * i, 64 + 6 * j : 80 + 6 * j] for j in range(4)] for i in range(3)]
    for z in moved(Source((8, 16), 2, steps=(3, 6)), same((8, 16)), x, (8, 16), (3, 4), target):
        assert np.array_equal(z, np.block(blocks))


def test_store_leaves_elements_out_of_bounds(target):
    """The bytes after the tensor, and rows and columns of a tile beyond it, keep their contents."""
    tile = (16, 32)
    compiled = tilec.compile(Source(tile).module(same(tile), tile), target=target)
    x = elements(tile)
    for backend in ("simulate", "interpret"):
        z = np.full(10 * 11 + 6, 0xEE, np.uint8)
        tilec.run(compiled, (1, 1), [packed(x).reshape(-1), z, *tile, 10, 22], backend=backend)
        assert np.array_equal(codes_of(z[:110].reshape(10, 11)), x[:10, :22])
        assert (z[110:] == 0xEE).all()


STATIC = """
!X = tensor_view<{rows}x{columns}xf4E2M1FN, strides=[{stride},1]>
!Z = tensor_view<{rows}x{columns}xf4E2M1FN, strides=[{stride},1]>
!S = partition_view<tile=(64x64), padding_value = neg_zero, !X>
!D = partition_view<tile=(64x64), !Z>
entry @k(%p: tile<ptr<f4E2M1FN>>, %q: tile<ptr<f4E2M1FN>>) {{
  %x = assume div_by<16>, %p : tile<ptr<f4E2M1FN>>
  %z = assume div_by<16>, %q : tile<ptr<f4E2M1FN>>
  %i, %j, %k = get_tile_block_id : tile<i32>
  %0 = make_tensor_view %x, shape = [{rows}, {columns}], strides = [{stride}, 1] : !X
  %1 = make_tensor_view %z, shape = [{rows}, {columns}], strides = [{stride}, 1] : !Z
  %s = make_partition_view %0 : !S
  %d = make_partition_view %1 : !D
  %a, %t = load_view_tko weak %s[%j, %i] : !S, tile<i32> -> tile<64x64xf4E2M1FN>, token
  %b = permute %a [1, 0] : tile<64x64xf4E2M1FN> -> tile<64x64xf4E2M1FN>
  store_view_tko weak %b, %d[%i, %j] : tile<64x64xf4E2M1FN>, !D, tile<i32> -> token
  return
}}
"""


@pytest.mark.parametrize(("rows", "columns"), [(128, 128), (100, 96), (100, 90)])
def test_store_by_tma(rows, columns, target):
    """A transposed tile is packed into a staging buffer, which TMA copies; elements out of bounds are dropped.

    TMA writes 16 bytes as a whole, so rows of 45 bytes are stored by threads.
    """
    stride = 128
    compiled = tilec.compile(
        tilec.Module.parse(STATIC.format(rows=rows, columns=columns, stride=stride)), target=target
    )
    assert ("cp.async.bulk.tensor.2d.global.shared::cta" in compiled.ptx) == (columns != 90)
    x, exact = elements((rows, stride)), np.full((rows, stride), 14, np.uint8)
    padded = np.full((128, 128), 8)
    padded[:rows, :columns] = x[:, :columns]
    exact[:, :columns] = padded.T[:rows, :columns]
    for backend in ("simulate", "interpret"):
        z = np.full((rows, stride // 2), 0xEE, np.uint8)
        tilec.run(compiled, (2, 2), [packed(x).reshape(-1), z.reshape(-1)], backend=backend)
        assert np.array_equal(codes_of(z), exact)
