"""A tile whose index lies outside the index space is padding when loaded and is not stored, however far outside it is.

The oracle multiplies the unsigned index by the step in Python, where nothing wraps.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

import tilec as ct

TILE = 64
EXTENT = 100
# Elements between the starts of tiles: adjacent tiles, then tiles that overlap, then tiles with gaps.
STEPS = [64, 16, 1, 96, 1000]
INDICES = {
    "i8": [0, 1, 127, -1, -128],
    "i16": [0, 2, 2**15 - 1, -1, -2, -(2**15)],
    "i32": [0, 1, 2, 6, 7, 99, 100, 2**25, 2**26, 2**26 + 1, 2**28, 2**31 - 1, -(2**31), -64, -7, -2, -1],
    "i64": [0, 1, 2**26, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**32 + 1, 2**58, 2**58 + 1, 2**63 - 1, -(2**63), -2, -1],
}
CASES = [(element, step) for element in INDICES for step in (STEPS if element == "i32" else STEPS[:2])]


def module(parameters: str, body: str) -> ct.Module:
    return ct.Module.parse(f"cuda_tile.module @m {{ entry @k({parameters}) {{\n{body}\nreturn\n}} }}")


def view_type(tile: str, tensor: str, steps: str) -> str:
    """A partition view if the steps are the tile, else a strided view."""
    if steps == tile:
        return f"partition_view<tile=({tile}), padding_value = zero, {tensor}>"
    return f"strided_view<tile=({tile}), traversal_strides=[{steps}], padding_value = zero, {tensor}>"


def making(view: str) -> str:
    return "make_" + view[: view.index("<")]


def given_index(element: str) -> str:
    """%i, an argument of the kernel; indices shorter than an argument can be are cut from it."""
    return "" if element in ("i32", "i64") else f"%j = trunci %i : tile<i32> -> tile<{element}>"


def argument(element: str, index: int) -> tuple[str, str, int]:
    """The type of the argument, the name of the index, and the argument in the range of its type."""
    name = "%i" if element in ("i32", "i64") else "%j"
    return ("i64" if element == "i64" else "i32"), name, index


def unsigned(element: str, index: int) -> int:
    return index & (1 << int(element[1:])) - 1


def positions(element: str, index: int, step: int) -> list[int]:
    start = unsigned(element, index) * step
    return [start + number for number in range(TILE)]


def line_program(element: str, step: int, extent: str, loads: bool) -> ct.Module:
    """Loads tile %i of a vector into %o, or stores %o as tile %i."""
    dynamic = extent.startswith("%")
    tensor = f"tensor_view<{'?' if dynamic else extent}xf32, strides=[1]>"
    view, line = view_type(str(TILE), tensor, str(step)), f"tensor_view<{TILE}xf32, strides=[1]>"
    lines = f"partition_view<tile=({TILE}), {line}>"
    type, index, _ = argument(element, 0)
    wanted, other = f"%v[{index}]", "%w[%z]"
    first, second = (wanted, other) if loads else (other, wanted)
    first_type, second_type = (view, lines) if loads else (lines, view)
    index_type = [f"tile<{element}>", "tile<i32>"]
    return module(
        f"%f: tile<ptr<f32>>, %o: tile<ptr<f32>>, %n: tile<i32>, %i: tile<{type}>",
        f"""%e = assume bounded<0, ?>, %n : tile<i32>
        %t = make_tensor_view %f, shape = [{extent}], strides = [1] : {"tile<i32> -> " if dynamic else ""}{tensor}
        %v = {making(view)} %t : {view}
        %u = make_tensor_view %o, shape = [{TILE}], strides = [1] : {line}
        %w = make_partition_view %u : {lines}
        %z = constant <i32: 0> : tile<i32>
        {given_index(element)}
        %x, %k = load_view_tko weak {first} : {first_type}, {index_type[not loads]} -> tile<{TILE}xf32>, token
        %q = store_view_tko weak %x, {second} : tile<{TILE}xf32>, {second_type}, {index_type[loads]} -> token""",
    )


def each_backend(target: str) -> list[tuple[str, dict[str, str]]]:
    return [("simulate", {"target": target}), ("interpret", {})]


@pytest.mark.covering
@pytest.mark.parametrize("extent", ["%e", str(EXTENT)], ids=["dynamic", "static"])
@pytest.mark.parametrize(("element", "step"), CASES)
def test_load_by_registers(element, step, extent, target):
    program = line_program(element, step, extent, loads=True)
    source = np.arange(1, 4097, dtype=np.float32)
    for backend, options in each_backend(target):
        for index in INDICES[element]:
            found = np.full(TILE, -1, np.float32)
            ct.run(program, (1,), [source, found, EXTENT, index], backend=backend, **options)
            expected = [source[at] if at < EXTENT else 0 for at in positions(element, index, step)]
            assert found.tolist() == expected, (backend, index)


@pytest.mark.covering
@pytest.mark.parametrize("extent", ["%e", str(EXTENT)], ids=["dynamic", "static"])
@pytest.mark.parametrize(("element", "step"), CASES)
def test_store_by_registers(element, step, extent, target):
    program = line_program(element, step, extent, loads=False)
    tile = np.arange(1, TILE + 1, dtype=np.float32)
    for backend, options in each_backend(target):
        for index in INDICES[element]:
            memory = np.full(4096, -1, np.float32)
            ct.run(program, (1,), [memory, tile, EXTENT, index], backend=backend, **options)
            expected = np.full(4096, -1, np.float32)
            for number, at in enumerate(positions(element, index, step)):
                if at < EXTENT:
                    expected[at] = tile[number]
            assert np.array_equal(memory, expected), (backend, index)


WIDE_EXTENT = 2**33
WIDE_INDICES = [2**27 - 1, 2**27, 2**58, 2**58 + 1, 2**57, 2**63 - 1, -(2**63), -2, -1]


@pytest.mark.parametrize("step", [64, 16, 1])
def test_extent_of_64_bits(step, target):
    """The extent is far greater than the memory, of which only the tiles inside the source are read."""
    tensor = "tensor_view<?xf32, strides=[1]>"
    view, line = view_type(str(TILE), tensor, str(step)), f"tensor_view<{TILE}xf32, strides=[1]>"
    program = module(
        "%f: tile<ptr<f32>>, %o: tile<ptr<f32>>, %n: tile<i64>, %i: tile<i64>",
        f"""%t = make_tensor_view %f, shape = [%n], strides = [1] : tile<i64> -> {tensor}
        %v = {making(view)} %t : {view}
        %u = make_tensor_view %o, shape = [{TILE}], strides = [1] : {line}
        %w = make_partition_view %u : partition_view<tile=({TILE}), {line}>
        %z = constant <i32: 0> : tile<i32>
        %x, %k = load_view_tko weak %v[%i] : {view}, tile<i64> -> tile<{TILE}xf32>, token
        %q = store_view_tko weak %x, %w[%z]
          : tile<{TILE}xf32>, partition_view<tile=({TILE}), {line}>, tile<i32> -> token""",
    )
    source = np.arange(1, 257, dtype=np.float32)
    for backend, options in each_backend(target):
        for index in [0, 1, *(i for i in WIDE_INDICES if unsigned("i64", i) * step >= WIDE_EXTENT)]:
            found = np.full(TILE, -1, np.float32)
            ct.run(program, (1,), [source, found, WIDE_EXTENT, index], backend=backend, **options)
            expected = [source[at] if at < len(source) else 0 for at in positions("i64", index, step)]
            assert found.tolist() == expected, (backend, index)


ROWS, COLUMNS = 100, 96
PLACES = [(0, 0), (1, 1), (0, 1), (2, 0), (0, 2), (2**26, 0), (0, 2**26), (2**26 + 1, 2**26), (2**31 - 1, 0)]
PLACES += [(-(2**31), 0), (-1, 0), (0, -1), (-1, -1), (-2, 1)]
WIDE_PLACES = [(2**32, 0), (0, 2**32 + 1), (2**58, 2**58), (2**63 - 1, 0), (-(2**63), 0), (-1, -1)]


def matrix_view(element: str, tile: str, steps: str) -> tuple[str, str]:
    """The tensor at %f of ROWS x COLUMNS, and its view %v."""
    tensor = f"tensor_view<?x?x{element}, strides=[{COLUMNS},1]>"
    view = view_type(tile, tensor, steps)
    made = f"""%b = assume div_by<16>, %f : tile<ptr<{element}>>
        %r = assume bounded<0, ?>, %m : tile<i32>
        %d = assume div_by<16>, %n : tile<i32>
        %c = assume bounded<0, ?>, %d : tile<i32>
        %t = make_tensor_view %b, shape = [%r, %c], strides = [{COLUMNS}, 1] : tile<i32> -> {tensor}
        %v = {making(view)} %t : {view}"""
    return view, made


def inside(element: str, place: tuple[int, int], steps: tuple[int, int], tile: tuple[int, int]) -> dict:
    """The elements of a tile that lie in the matrix: (row, column) of the tile to that of the matrix."""
    starts = [unsigned(element, index) * step for index, step in zip(place, steps, strict=True)]
    return {
        (r, c): (starts[0] + r, starts[1] + c)
        for r in range(tile[0])
        for c in range(tile[1])
        if starts[0] + r < ROWS and starts[1] + c < COLUMNS
    }


def places(element: str) -> list[tuple[int, int]]:
    return PLACES + (WIDE_PLACES if element == "i64" else [])


def turned(tile: tuple[int, int], element: str) -> str:
    """The tile %x, of which threads hold columns, so that TMA stores it: the array %o with its axes exchanged."""
    columns, rows = tile
    tensor = f"tensor_view<{rows}x{columns}x{element}, strides=[{columns},1]>"
    view = view_type(f"{rows}x{columns}", tensor, f"{rows}x{columns}")
    return f"""%o1 = assume div_by<16>, %o : tile<ptr<{element}>>
        %o2 = make_tensor_view %o1, shape = [{rows}, {columns}], strides = [{columns}, 1] : {tensor}
        %o3 = make_partition_view %o2 : {view}
        %o4 = constant <i32: 0> : tile<i32>
        %o5, %o6 = load_view_tko weak %o3[%o4, %o4] : {view}, tile<i32> -> tile<{rows}x{columns}x{element}>, token
        %x = permute %o5 [1, 0] : tile<{rows}x{columns}x{element}> -> tile<{columns}x{rows}x{element}>"""


@pytest.mark.parametrize("steps", ["64x64", "16,32"])
@pytest.mark.parametrize("element", ["i32", "i64"])
def test_store_by_tma(element, steps, target):
    view, made = matrix_view("f32", "64x64", steps)
    ones = np.ones((64, 64), np.float32)
    program = module(
        f"%f: tile<ptr<f32>>, %o: tile<ptr<f32>>, %m: tile<i32>, %n: tile<i32>, %i: tile<{element}>, "
        f"%j: tile<{element}>",
        f"""{made}
        {turned((64, 64), "f32")}
        %q = store_view_tko weak %x, %v[%i, %j] : tile<64x64xf32>, {view}, tile<{element}> -> token""",
    )
    assert "cp.async.bulk.tensor.2d.global" in ct.compile(program, target=target, stop="ptx").ptx
    numbers = tuple(int(step) for step in re.split("[x,]", steps))
    for backend, options in each_backend(target):
        for place in places(element):
            memory = np.zeros((ROWS, COLUMNS), np.float32)
            ct.run(program, (1,), [memory, ones, ROWS, COLUMNS, *place], backend=backend, **options)
            expected = np.zeros_like(memory)
            for at in inside(element, place, numbers, (64, 64)).values():
                expected[at] = 1
            assert np.array_equal(memory, expected), (backend, place)


@pytest.mark.parametrize("steps", ["128x64", "16,32"])
@pytest.mark.parametrize("element", ["i32", "i64"])
def test_load_by_tma(element, steps, target):
    """The tile times the identity, so that it is copied for the tensor core."""
    view, made = matrix_view("f16", "128x64", steps)
    one, out = "tensor_view<64x64xf16, strides=[64,1]>", "tensor_view<128x64xf32, strides=[64,1]>"
    ones, outs = f"partition_view<tile=(64x64), {one}>", f"partition_view<tile=(128x64), {out}>"
    program = module(
        f"%f: tile<ptr<f16>>, %m: tile<i32>, %n: tile<i32>, %i: tile<{element}>, %j: tile<{element}>,"
        "%g: tile<ptr<f16>>, %o: tile<ptr<f32>>",
        f"""{made}
        %h = assume div_by<16>, %g : tile<ptr<f16>>
        %t1 = make_tensor_view %h, shape = [64, 64], strides = [64, 1] : {one}
        %v1 = make_partition_view %t1 : {ones}
        %t2 = make_tensor_view %o, shape = [128, 64], strides = [64, 1] : {out}
        %v2 = make_partition_view %t2 : {outs}
        %z = constant <i32: 0> : tile<i32>
        %a, %k1 = load_view_tko weak %v[%i, %j] : {view}, tile<{element}> -> tile<128x64xf16>, token
        %e, %k2 = load_view_tko weak %v1[%z, %z] : {ones}, tile<i32> -> tile<64x64xf16>, token
        %y = constant <f32: 0.0> : tile<128x64xf32>
        %p = mmaf %a, %e, %y : tile<128x64xf16>, tile<64x64xf16>, tile<128x64xf32>
        %q = store_view_tko weak %p, %v2[%z, %z] : tile<128x64xf32>, {outs}, tile<i32> -> token""",
    )
    assert ct.compile(program, target=target, stop="ptx").ptx.count("cp.async.bulk.tensor.2d.shared") == 2
    numbers = tuple(int(step) for step in re.split("[x,]", steps))
    source = (np.arange(ROWS * COLUMNS) % 1021 + 1).astype(np.float16).reshape(ROWS, COLUMNS)
    identity = np.eye(64, dtype=np.float16)
    for backend, options in each_backend(target):
        for place in places(element):
            found = np.full((128, 64), -1, np.float32)
            ct.run(program, (1,), [source, ROWS, COLUMNS, *place, identity, found], backend=backend, **options)
            expected = np.zeros((128, 64), np.float32)
            for to, at in inside(element, place, numbers, (128, 64)).items():
                expected[to] = source[at]
            assert np.array_equal(found, expected), (backend, place)


@pytest.mark.parametrize("element", ["i32", "i64"])
def test_last_tile_of_the_longest_extent_is_stored_by_tma(element, target, tmp_path):
    """2**31 - 16 columns: the last tile starts 64 before 2**31, and its last 16 columns are outside."""
    extent, tile = 2**31 - 16, "64x64"
    tensor = f"tensor_view<1x{extent}xi8, strides=[{2**31},1]>"
    view = view_type(tile, tensor, tile)
    program = module(
        f"%f: tile<ptr<i8>>, %o: tile<ptr<i8>>, %i: tile<{element}>",
        f"""{turned((64, 64), "i8")}
        %b = assume div_by<16>, %f : tile<ptr<i8>>
        %t = make_tensor_view %b, shape = [1, {extent}], strides = [{2**31}, 1] : {tensor}
        %v = make_partition_view %t : {view}
        %z = constant <{element}: 0> : tile<{element}>
        %q = store_view_tko weak %x, %v[%z, %i] : tile<{tile}xi8>, {view}, tile<{element}> -> token""",
    )
    assert "cp.async.bulk.tensor.2d.global" in ct.compile(program, target=target, stop="ptx").ptx
    memory = np.asarray(np.memmap(tmp_path / "bytes", np.int8, "w+", shape=(2**31 + 64,)))
    ones = np.ones((64, 64), np.int8)
    ct.run(program, (1,), [memory, ones, 2**25 - 1], backend="simulate", target=target)
    assert memory[2**31 - 128 :].tolist() == [0] * 64 + [1] * 48 + [0] * 80


@ct.kernel
def copied(x, y, i, j):
    ct.store(y, (j, 0), ct.load(x, (i, 0), (32, 32), padding_mode=ct.PaddingMode.ZERO))


@pytest.mark.parametrize("number", [np.int32, np.uint32, np.int64])
def test_indices_of_python(number, target):
    x = np.arange(1, 64 * 32 + 1, dtype=np.float32).reshape(64, 32)
    span = np.iinfo(number)
    far = [
        value for value in (2, 2**26, 2**27, 2**31 - 1, 2**32 - 1, 2**59, -1, -(2**26)) if span.min <= value <= span.max
    ]
    for backend, options in each_backend(target):
        for index in [0, 1, *far]:
            y = np.full_like(x, -1)
            ct.launch(None, (1,), copied, (x, y, number(index), number(0)), backend=backend, **options)
            expected = x[32 * index : 32 * index + 32] if 0 <= index < 2 else np.zeros((32, 32))
            assert np.array_equal(y[:32], expected) and (y[32:] == -1).all(), (backend, index)
            y = np.full_like(x, -1)
            ct.launch(None, (1,), copied, (x, y, number(0), number(index)), backend=backend, **options)
            expected = np.full_like(x, -1)
            if 0 <= index < 2:
                expected[32 * index : 32 * index + 32] = x[:32]
            assert np.array_equal(y, expected), (backend, index)
