"""Extents, strides and indices beyond 32 bits are exact in views, pointers and queries of views."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tilec

FAR = 2**32


def module(parameters: str, body: str) -> tilec.Module:
    return tilec.Module.parse(f"cuda_tile.module @m {{ entry @k({parameters}) {{\n{body}\nreturn\n}} }}")


def results(program: tilec.Module, arguments: list, output: int, target: str) -> list[np.ndarray]:
    """The output array after a run in the simulator and after a run in the interpreter."""
    found = []
    for backend, options in (("simulate", {"target": target}), ("interpret", {})):
        arguments[output][:] = 0
        tilec.run(program, (1,), arguments, backend=backend, **options)
        found.append(arguments[output].copy())
    return found


def copy_of_tile(extent: str, index: str, index_type: str = "i64") -> tilec.Module:
    """Copies tile `index` of 64 elements of a vector of `extent` elements (a number, or %n) to %o."""
    tensor = f"tensor_view<{'?' if extent == '%n' else extent}xf32, strides=[1]>"
    view, out = f"partition_view<tile=(64), padding_value = zero, {tensor}>", "tensor_view<64xf32, strides=[1]>"
    given = "tile<i64> -> " if extent == "%n" else ""
    return module(
        "%f: tile<ptr<f32>>, %o: tile<ptr<f32>>, %n: tile<i64>, %i: tile<i64>",
        f"""%t = make_tensor_view %f, shape = [{extent}], strides = [1] : {given}{tensor}
        %v = make_partition_view %t : {view}
        %to = make_tensor_view %o, shape = [64], strides = [1] : {out}
        %vo = make_partition_view %to : partition_view<tile=(64), {out}>
        %z = constant <i32: 0> : tile<i32>
        {index}
        %x, %k = load_view_tko weak %v[%j] : {view}, tile<{index_type}> -> tile<64xf32>, token
        %q = store_view_tko weak %x, %vo[%z] : tile<64xf32>, partition_view<tile=(64), {out}>, tile<i32> -> token""",
    )


SOURCE = np.arange(1, 65, dtype=np.float32)
NARROW = "%j = trunci %i : tile<i64> -> tile<i32>"
WIDE = "%j = assume div_by<1>, %i : tile<i64>"


@pytest.mark.parametrize("index", [NARROW, WIDE], ids=["i32 index", "i64 index"])
@pytest.mark.parametrize("extent", [40, 2**31 - 1, 2**31, FAR - 1, FAR, FAR + 4, 2**62])
@pytest.mark.parametrize("is_static", [False, True], ids=["dynamic", "static"])
def test_extent_is_exact(is_static, extent, index, target):
    program = copy_of_tile(str(extent) if is_static else "%n", index, "i32" if index == NARROW else "i64")
    expected = np.where(np.arange(64) < extent, SOURCE, 0)
    for found in results(program, [SOURCE, np.zeros(64, np.float32), extent, 0], 1, target):
        assert np.array_equal(found, expected)


@pytest.mark.parametrize("index", [1, FAR, FAR // 64, 2**57, -1, -FAR])
def test_index_out_of_bounds_does_not_wrap(index, target):
    for found in results(copy_of_tile("%n", WIDE), [SOURCE, np.zeros(64, np.float32), 64, index], 1, target):
        assert not found.any()


@pytest.mark.parametrize("extent", [64, 2**31, FAR + 65, 2**40])
def test_shape_and_index_space_queries(extent, target):
    tensor = "tensor_view<?xf32, strides=[1]>"
    program = module(
        "%f: tile<ptr<f32>>, %o: tile<ptr<i64>>, %n: tile<i64>",
        f"""%t = make_tensor_view %f, shape = [%n], strides = [1] : tile<i64> -> {tensor}
        %v = make_partition_view %t : partition_view<tile=(64), {tensor}>
        %e = get_tensor_shape %t : {tensor} -> tile<i64>
        %c = get_index_space_shape %v : partition_view<tile=(64), {tensor}> -> tile<i64>
        %one = constant <i64: 1> : tile<i64>
        %k1 = store_ptr_tko weak %o, %e : tile<ptr<i64>>, tile<i64> -> token
        %p = offset %o, %one : tile<ptr<i64>>, tile<i64> -> tile<ptr<i64>>
        %k2 = store_ptr_tko weak %p, %c : tile<ptr<i64>>, tile<i64> -> token""",
    )
    for found in results(program, [SOURCE, np.zeros(2, np.int64), extent], 1, target):
        assert found.tolist() == [extent, -(-extent // 64)]


@pytest.fixture(scope="module")
def sparse(tmp_path_factory):
    """An array of 2**33 bytes in a sparse file, of which only pages that are written take memory."""
    mapped = np.memmap(tmp_path_factory.mktemp("sparse") / "bytes", np.int8, "w+", shape=(2 * FAR,))
    return np.asarray(mapped)


STRIDES = [(kind, stride) for kind in ("static", "dynamic i64") for stride in (FAR, FAR + 64, 2**31, 2**31 - 64)]


@pytest.mark.parametrize(("kind", "stride"), [*STRIDES, ("dynamic i32", 2**31), ("dynamic i32", 2**31 - 64)])
def test_stride_is_exact(kind, stride, sparse, target):
    sparse[:16], sparse[stride : stride + 16] = np.arange(16), np.arange(50, 66)
    known, element = ("?", kind.split()[-1]) if kind != "static" else (str(stride), "i64")
    tensor, out = f"tensor_view<2x16xi8, strides=[{known},1]>", "tensor_view<2x16xi8, strides=[16,1]>"
    view, out_view = (f"partition_view<tile=(2x16), {one}>" for one in (tensor, out))
    given, name = ("", str(stride)) if kind == "static" else (f"tile<{element}> -> ", "%s")
    program = module(
        "%f: tile<ptr<i8>>, %o: tile<ptr<i8>>, %n: tile<i64>",
        f"""%s = {"trunci" if element == "i32" else "assume div_by<1>,"} %n : tile<i64>{
            " -> tile<i32>" if element == "i32" else ""
        }
        %t = make_tensor_view %f, shape = [2, 16], strides = [{name}, 1] : {given}{tensor}
        %v = make_partition_view %t : {view}
        %to = make_tensor_view %o, shape = [2, 16], strides = [16, 1] : {out}
        %vo = make_partition_view %to : {out_view}
        %z = constant <i32: 0> : tile<i32>
        %x, %k = load_view_tko weak %v[%z, %z] : {view}, tile<i32> -> tile<2x16xi8>, token
        %q = store_view_tko weak %x, %vo[%z, %z] : tile<2x16xi8>, {out_view}, tile<i32> -> token""",
    )
    for found in results(program, [sparse, np.zeros(32, np.int8), stride], 1, target):
        assert found.tolist() == [*range(16), *range(50, 66)]


def test_ptxas_accepts_64_bit_views(target):
    for extent in ("%n", str(2**40)):
        assert tilec.compile(copy_of_tile(extent, WIDE), target=target, stop="cubin").cubin


def test_pointer_offsets_beyond_32_bits(sparse, target):
    sparse[FAR + 3 : FAR + 7] = [9, 8, 7, 6]
    program = module(
        "%f: tile<ptr<i8>>, %o: tile<ptr<i8>>, %n: tile<i64>",
        """%f1 = reshape %f : tile<ptr<i8>> -> tile<1xptr<i8>>
        %fb = broadcast %f1 : tile<1xptr<i8>> -> tile<4xptr<i8>>
        %n1 = reshape %n : tile<i64> -> tile<1xi64>
        %nb = broadcast %n1 : tile<1xi64> -> tile<4xi64>
        %i = iota : tile<4xi64>
        %j = addi %i, %nb : tile<4xi64>
        %p = offset %fb, %j : tile<4xptr<i8>>, tile<4xi64> -> tile<4xptr<i8>>
        %x, %k = load_ptr_tko weak %p : tile<4xptr<i8>> -> tile<4xi8>, token
        %o1 = reshape %o : tile<ptr<i8>> -> tile<1xptr<i8>>
        %ob = broadcast %o1 : tile<1xptr<i8>> -> tile<4xptr<i8>>
        %q = offset %ob, %i : tile<4xptr<i8>>, tile<4xi64> -> tile<4xptr<i8>>
        %k2 = store_ptr_tko weak %q, %x : tile<4xptr<i8>>, tile<4xi8> -> token""",
    )
    for found in results(program, [sparse, np.zeros(4, np.int8), FAR + 3], 1, target):
        assert found.tolist() == [9, 8, 7, 6]


def gather_of_rows(index_type: str) -> tilec.Module:
    """The rows of %r of a tensor of %n rows that are all the same row in memory, since its stride is zero."""
    tensor, indices = "tensor_view<?x4xf32, strides=[?,1]>", f"tensor_view<8x{index_type}, strides=[1]>"
    gather, out = (
        f"gather_scatter_view<tile=(8x4), padding_value = zero, {tensor}, sparse_dim=0>",
        ("tensor_view<8x4xf32, strides=[4,1]>"),
    )
    return module(
        f"%f: tile<ptr<f32>>, %o: tile<ptr<f32>>, %r: tile<ptr<{index_type}>>, %n: tile<i64>, %s: tile<i64>",
        f"""%t = make_tensor_view %f, shape = [%n, 4], strides = [%s, 1] : tile<i64> -> {tensor}
        %v = make_gather_scatter_view %t : {gather}
        %l = make_tensor_view %r, shape = [8], strides = [1] : {indices}
        %vl = make_partition_view %l : partition_view<tile=(8), {indices}>
        %to = make_tensor_view %o, shape = [8, 4], strides = [4, 1] : {out}
        %vo = make_partition_view %to : partition_view<tile=(8x4), {out}>
        %z = constant <i32: 0> : tile<i32>
        %rows, %k0 = load_view_tko weak %vl[%z] : partition_view<tile=(8), {indices}>, tile<i32>
          -> tile<8x{index_type}>, token
        %x, %k = load_view_tko weak %v[%rows, %z] : {gather}, tile<8x{index_type}>, tile<i32> -> tile<8x4xf32>, token
        %q = store_view_tko weak %x, %vo[%z, %z] : tile<8x4xf32>, partition_view<tile=(8x4), {out}>, tile<i32>
          -> token""",
    )


@pytest.mark.parametrize(("dtype", "index_type"), [("u1", "i8"), ("u2", "i16"), ("u4", "i32"), ("u8", "i64")])
@pytest.mark.parametrize("extent", [200, 2**31 - 1, 2**31, FAR - 1, FAR, FAR + 4, 2**62])
def test_sparse_index_is_exact_and_unsigned(extent, dtype, index_type, target):
    numbers = [0, 127, 128, 255, 2**31 - 1, 2**31, FAR - 1, FAR + 3]
    rows = np.array([number % 2 ** (8 * np.dtype(dtype).itemsize) for number in numbers], dtype)
    row = np.array([1, 2, 3, 4], np.float32)
    expected = np.where((rows < extent)[:, None], row, 0)
    arguments = [row, np.zeros((8, 4), np.float32), rows.view(dtype.replace("u", "i")), extent, 0]
    for found in results(gather_of_rows(index_type), arguments, 1, target):
        assert np.array_equal(found, expected)


MATRIX = """%z = constant <i32: 0> : tile<i32>
    %p = assume div_by<16>, %o : tile<ptr<f32>>
    {extent}
    %t = make_tensor_view %p, shape = [%e, 64], strides = [64, 1]
      : tile<{type}> -> tensor_view<?x64xf32, strides=[64,1]>
    %v = make_partition_view %t : partition_view<tile=(64x64), tensor_view<?x64xf32, strides=[64,1]>>
    %x, %l = load_view_tko weak %v[%z, %z] : partition_view<tile=(64x64), tensor_view<?x64xf32, strides=[64,1]>>, \
tile<i32> -> tile<64x64xf32>, token
    %y = permute %x [1, 0] : tile<64x64xf32> -> tile<64x64xf32>
    %k = store_view_tko weak %y, %v[%z, %z]
      : tile<64x64xf32>, partition_view<tile=(64x64), tensor_view<?x64xf32, strides=[64,1]>>, tile<i32> -> token"""


@pytest.mark.parametrize(
    ("type", "extent", "uses_tma"),
    [
        ("i32", "%e = assume bounded<0, ?>, %n : tile<i32>", True),
        ("i64", "%e = assume bounded<0, 2147483647>, %n : tile<i64>", True),
        ("i64", "%e = assume bounded<0, ?>, %n : tile<i64>", False),
    ],
)
def test_tma_is_used_if_coordinates_fit_32_bits(type, extent, uses_tma, target):
    program = module(f"%o: tile<ptr<f32>>, %n: tile<{type}>", MATRIX.format(extent=extent, type=type))
    ptx = tilec.compile(program, target=target, stop="ptx").ptx
    assert ("cp.async.bulk.tensor" in ptx) == uses_tma


def test_i32_extents_are_compared_in_32_bits(target):
    program = module(
        "%o: tile<ptr<f32>>, %n: tile<i32>",
        MATRIX.format(extent="%e = assume bounded<0, ?>, %n : tile<i32>", type="i32"),
    )
    ptx = tilec.compile(program, target=target, stop="ptx", hints={"tma": False}).ptx
    assert re.search(r"setp\.lt\.u32", ptx) and not re.search(r"setp\.lt\.u64|mul\.lo\.s64", ptx)
