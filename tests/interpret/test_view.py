"""Views: addresses of the elements of tiles, and padding of out-of-bounds elements."""

from __future__ import annotations

import numpy as np
import pytest

from tilec.errors import SimulationError

MATRIX = "tensor_view<?x?xf32, strides=[?,1]>"
MAKERS = {
    "partition_view": "make_partition_view",
    "strided_view": "make_strided_view",
    "gather_scatter_view": "make_gather_scatter_view",
}
VIEWED = f"""
  %t = make_tensor_view %p, shape = [%m, %n], strides = [%s, 1] : tile<i32> -> {MATRIX}
"""


def matrix(rows: int, columns: int) -> np.ndarray:
    return np.arange(1, rows * columns + 1, dtype=np.float32).reshape(rows, columns)


def load(execute, source, view_type, index, tile, **settings):
    """The tile of a view of `source` at an index."""
    rank = len(tile)
    shape = "x".join(map(str, tile))
    strides = [1] * rank
    for axis in range(rank - 1, 0, -1):
        strides[axis - 1] = strides[axis] * tile[axis]
    result = np.full(tile, 99, np.float32)
    name = view_type.split("<")[0]
    view = view_type.replace("MATRIX", MATRIX)
    out = f"tensor_view<{shape}xf32, strides=[{','.join(map(str, strides))}]>"
    execute(
        "%p: tile<ptr<f32>>, %m: tile<i32>, %n: tile<i32>, %s: tile<i32>, %i: tile<i32>, %j: tile<i32>,"
        " %q: tile<ptr<f32>>",
        f"""{VIEWED}
        %v = {MAKERS[name]} %t : {view}
        %x, %k = load_view_tko weak %v[%i, %j] : {view}, tile<i32> -> tile<{shape}xf32>, token
        %o = make_tensor_view %q, shape = {list(tile)}, strides = {strides} : {out}
        %w = make_partition_view %o : partition_view<tile=({shape}), {out}>
        %zero = constant <i32: 0> : tile<i32>
        %e = store_view_tko weak %x, %w[{", ".join(["%zero"] * rank)}]
          : tile<{shape}xf32>, partition_view<tile=({shape}), {out}>, tile<i32> -> token""",
        source,
        source.shape[0],
        source.shape[1],
        source.strides[0] // 4,
        *index,
        result,
        **settings,
    )
    return result


def test_tile_of_a_partition_starts_at_index_times_extent(execute):
    source = matrix(12, 10)
    got = load(execute, source, "partition_view<tile=(4x2), MATRIX>", (1, 3), (4, 2))
    assert np.array_equal(got, source[4:8, 6:8])


def test_dim_map_permutes_the_tile(execute):
    source = matrix(16, 12)
    got = load(execute, source, "partition_view<tile=(4x8), MATRIX, dim_map=[1, 0]>", (2, 1), (4, 8))
    assert np.array_equal(got, source[8:16, 8:12].T)


@pytest.mark.parametrize(
    ("padding", "expected"),
    [("zero", 0.0), ("neg_zero", -0.0), ("nan", np.nan), ("pos_inf", np.inf), ("neg_inf", -np.inf)],
)
def test_out_of_bounds_elements_have_the_padding_value(execute, padding, expected):
    source = matrix(6, 5)
    got = load(execute, source, f"partition_view<tile=(4x4), padding_value = {padding}, MATRIX>", (1, 1), (4, 4))
    assert np.array_equal(got[:2, :1], source[4:, 4:])
    outside = np.concatenate([got[2:].ravel(), got[:, 1:].ravel()])
    assert np.array_equal(outside, np.full_like(outside, expected), equal_nan=True)
    assert np.isnan(expected) or (np.signbit(outside) == np.signbit(expected)).all()


def test_out_of_bounds_elements_without_padding_are_zero_or_poison_when_checking(execute):
    source = matrix(3, 4)
    kind = "partition_view<tile=(4x4), MATRIX>"
    assert np.array_equal(load(execute, source, kind, (0, 0), (4, 4))[3], [0, 0, 0, 0])
    assert np.isnan(load(execute, source, kind, (0, 0), (4, 4), check=True)[3]).all()


def test_strided_views_overlap_and_leave_gaps(execute):
    source = matrix(16, 16)
    overlap = load(execute, source, "strided_view<tile=(4x4), traversal_strides=[2,4], MATRIX>", (3, 1), (4, 4))
    assert np.array_equal(overlap, source[6:10, 4:8])
    gap = load(execute, source, "strided_view<tile=(2x2), traversal_strides=[4,3], MATRIX>", (2, 3), (2, 2))
    assert np.array_equal(gap, source[8:10, 9:11])


def test_traversal_strides_are_indexed_by_tile_dimension(execute):
    source = matrix(16, 24)
    kind = "strided_view<tile=(4x2), traversal_strides=[4,3], MATRIX, dim_map=[1, 0]>"
    got = load(execute, source, kind, (1, 2), (4, 2))
    assert np.array_equal(got, source[6:8, 4:8].T)


def test_rows_of_the_array_may_have_gaps(execute):
    whole = matrix(8, 32)
    got = load(execute, whole[:, :10], "partition_view<tile=(4x4), padding_value = zero, MATRIX>", (1, 2), (4, 4))
    assert np.array_equal(got, np.pad(whole[4:, 8:10], ((0, 0), (0, 2))))


def test_index_is_unsigned(execute):
    """-1 is the largest index, not the tile before the first."""
    source = matrix(8, 8)
    got = load(execute, source, "partition_view<tile=(4x4), padding_value = zero, MATRIX>", (-1, 0), (4, 4))
    assert not got.any()


ROWS = "gather_scatter_view<tile=(4x2), padding_value = zero, tensor_view<8x6xf32, strides=[6,1]>, sparse_dim=0>"
GATHERED = f"""
  %t = make_tensor_view %p, shape = [8, 6], strides = [6, 1] : tensor_view<8x6xf32, strides=[6,1]>
  %v = make_gather_scatter_view %t : {ROWS}
  %o = make_tensor_view %q, shape = [4, 2], strides = [2, 1] : tensor_view<4x2xf32, strides=[2,1]>
  %w = make_partition_view %o : partition_view<tile=(4x2), tensor_view<4x2xf32, strides=[2,1]>>
  %zero = constant <i32: 0> : tile<i32>
  %three = constant <i32: 3> : tile<i32>
  %rows = constant <i64: [5, 0, -1, 5]> : tile<4xi64>
"""


def test_gather_has_row_indices_and_a_column_offset(execute):
    source, result = matrix(8, 6), np.full((4, 2), 99, np.float32)
    body = f"""{GATHERED}
    %x, %k = load_view_tko weak %v[%rows, %three] : {ROWS}, tile<4xi64>, tile<i32> -> tile<4x2xf32>, token
    %e = store_view_tko weak %x, %w[%zero, %zero]
      : tile<4x2xf32>, partition_view<tile=(4x2), tensor_view<4x2xf32, strides=[2,1]>>, tile<i32> -> token"""
    execute("%p: tile<ptr<f32>>, %q: tile<ptr<f32>>", body, source, result)
    assert np.array_equal(result, [source[5, 3:5], source[0, 3:5], [0, 0], source[5, 3:5]])


def test_scatter_drops_out_of_bounds_rows(execute):
    target, given = np.zeros((8, 6), np.float32), matrix(4, 2)
    body = f"""{GATHERED}
    %x, %k = load_view_tko weak %w[%zero, %zero]
      : partition_view<tile=(4x2), tensor_view<4x2xf32, strides=[2,1]>>, tile<i32> -> tile<4x2xf32>, token
    %e = store_view_tko weak %x, %v[%rows, %three] : tile<4x2xf32>, {ROWS}, tile<4xi64>, tile<i32> -> token"""
    execute("%p: tile<ptr<f32>>, %q: tile<ptr<f32>>", body, target, given)
    expected = np.zeros((8, 6), np.float32)
    expected[0, 3:5], expected[5, 3:5] = given[1], given[3]
    assert np.array_equal(target, expected)


def test_store_drops_out_of_bounds_elements(execute):
    target = np.zeros((6, 8), np.float32)
    kind = "partition_view<tile=(4x4), tensor_view<5x7xf32, strides=[8,1]>>"
    execute(
        "%p: tile<ptr<f32>>",
        f"""%t = make_tensor_view %p, shape = [5, 7], strides = [8, 1] : tensor_view<5x7xf32, strides=[8,1]>
        %v = make_partition_view %t : {kind}
        %one = constant <i32: 1> : tile<i32>
        %x = constant <f32: 1.0> : tile<4x4xf32>
        %k = store_view_tko weak %x, %v[%one, %one] : tile<4x4xf32>, {kind}, tile<i32> -> token""",
        target,
    )
    expected = np.zeros((6, 8), np.float32)
    expected[4:5, 4:7] = 1
    assert np.array_equal(target, expected)


@pytest.mark.parametrize(
    ("view", "expected"),
    [
        ("partition_view<tile=(4x2), TENSOR>", (16, 8)),
        ("partition_view<tile=(4x2), TENSOR, dim_map=[1, 0]>", (4, 32)),
        ("strided_view<tile=(4x2), traversal_strides=[4,3], TENSOR>", (16, 6)),
        ("strided_view<tile=(4x2), traversal_strides=[4,3], TENSOR, dim_map=[1, 0]>", (4, 22)),
        ("gather_scatter_view<tile=(4x2), TENSOR, sparse_dim=0>", (64, 16)),
    ],
)
def test_index_space(execute, view, expected):
    """The expected extents are those of NVIDIA's tools for a 64x16 tensor."""
    result = np.zeros(4, np.int64)
    kind = view.replace("TENSOR", "tensor_view<64x16xf32, strides=[16,1]>")
    maker = MAKERS[view.split("<")[0]]
    execute(
        "%p: tile<ptr<f32>>, %q: tile<ptr<i64>>",
        f"""%t = make_tensor_view %p, shape = [64, 16], strides = [16, 1] : tensor_view<64x16xf32, strides=[16,1]>
        %v = {maker} %t : {kind}
        %n:2 = get_index_space_shape %v : {kind} -> tile<i64>
        %s:2 = get_tensor_shape %t : tensor_view<64x16xf32, strides=[16,1]> -> tile<i64>
        %c = constant <i64: [0, 1]> : tile<2xi64>
        %e = reshape %n#0 : tile<i64> -> tile<1xi64>
        %f = reshape %n#1 : tile<i64> -> tile<1xi64>
        %g = reshape %s#0 : tile<i64> -> tile<1xi64>
        %h = reshape %s#1 : tile<i64> -> tile<1xi64>
        %a = cat %e, %f dim = 0 : tile<1xi64>, tile<1xi64> -> tile<2xi64>
        %b = cat %g, %h dim = 0 : tile<1xi64>, tile<1xi64> -> tile<2xi64>
        %r = cat %a, %b dim = 0 : tile<2xi64>, tile<2xi64> -> tile<4xi64>
        %q1 = reshape %q : tile<ptr<i64>> -> tile<1xptr<i64>>
        %q4 = broadcast %q1 : tile<1xptr<i64>> -> tile<4xptr<i64>>
        %o = iota : tile<4xi32>
        %at = offset %q4, %o : tile<4xptr<i64>>, tile<4xi32> -> tile<4xptr<i64>>
        %k = store_ptr_tko weak %at, %r : tile<4xptr<i64>>, tile<4xi64> -> token""",
        0,
        result,
    )
    assert tuple(result) == (*expected, 64, 16)


def test_violated_inbounds_is_an_error_when_checking(execute):
    kind = "partition_view<tile=(4), tensor_view<6xf32, strides=[1]>>"
    body = f"""%t = make_tensor_view %p, shape = [6], strides = [1] : tensor_view<6xf32, strides=[1]>
    %v = make_partition_view %t : {kind}
    %one = constant <i32: 1> : tile<i32>
    %x, %k = load_view_tko weak %v[%one] inbounds = [true] : {kind}, tile<i32> -> tile<4xf32>, token"""
    source = np.ones(6, np.float32)
    execute("%p: tile<ptr<f32>>", body, source)
    with pytest.raises(SimulationError, match="index 0 is marked as within bounds of 6 elements, got 7"):
        execute("%p: tile<ptr<f32>>", body, source, check=True)


@pytest.mark.parametrize("index", [0, 1])
def test_two_elements_of_f4_share_a_byte(execute, index):
    """Tile `index` of four elements is copied to the other index; the first element is the low half of a byte."""
    source = np.array([0x21, 0x43, 0x65, 0x87], np.uint8)
    target = np.zeros(4, np.uint8)
    tensor = "tensor_view<8xf4E2M1FN, strides=[1]>"
    kind = f"partition_view<tile=(4), {tensor}>"
    execute(
        "%p: tile<ptr<f4E2M1FN>>, %q: tile<ptr<f4E2M1FN>>, %i: tile<i32>, %j: tile<i32>",
        f"""%s = make_tensor_view %p, shape = [8], strides = [1] : {tensor}
        %v = make_partition_view %s : {kind}
        %t = make_tensor_view %q, shape = [8], strides = [1] : {tensor}
        %w = make_partition_view %t : {kind}
        %x, %k = load_view_tko weak %v[%i] : {kind}, tile<i32> -> tile<4xf4E2M1FN>, token
        %e = store_view_tko weak %x, %w[%j] : tile<4xf4E2M1FN>, {kind}, tile<i32> -> token""",
        source,
        target,
        index,
        1 - index,
    )
    expected = np.zeros(4, np.uint8)
    expected[2 * (1 - index) :][:2] = source[2 * index :][:2]
    assert np.array_equal(target, expected)


@pytest.mark.parametrize(
    ("first", "extent", "stride", "message"),
    [
        (1, 4, 8, "a pair lies in two bytes"),
        (0, 4, 7, "a pair lies in two bytes"),
        (0, 3, 8, "the extent of dimension 1, whose elements share bytes, must be even, got 3"),
    ],
    ids=["base", "stride", "extent"],
)
def test_access_of_a_part_of_a_byte_is_undefined(execute, first, extent, stride, message):
    """Tile IR 5.2.1: loads and stores of f4E2M1FN refer to pairs of elements in one byte."""
    tensor = "tensor_view<2x?xf4E2M1FN, strides=[?,1]>"
    body = f"""%b = offset %p, %o : tile<ptr<f4E2M1FN>>, tile<i32> -> tile<ptr<f4E2M1FN>>
    %s = make_tensor_view %b, shape = [2, %n], strides = [%m, 1] : tile<i32> -> {tensor}
    %v = make_partition_view %s : partition_view<tile=(2x4), {tensor}>
    %i = constant <i32: 0> : tile<i32>
    %x, %k = load_view_tko weak %v[%i, %i] : partition_view<tile=(2x4), {tensor}>, tile<i32>
        -> tile<2x4xf4E2M1FN>, token"""
    parameters = "%p: tile<ptr<f4E2M1FN>>, %o: tile<i32>, %n: tile<i32>, %m: tile<i32>"
    source = np.zeros(8, np.uint8)
    execute(parameters, body, source, first, extent, stride)
    with pytest.raises(SimulationError, match=message):
        execute(parameters, body, source, first, extent, stride, check=True)


# Padding encodings of tileiras 13.5, read from its machine code; None if it does not compile the padding.
NARROW_PADDING = {
    "f8E4M3FN": {"zero": 0x00, "neg_zero": 0x80, "nan": 0x7F, "pos_inf": None, "neg_inf": None},
    "f8E5M2": {"zero": 0x00, "neg_zero": 0x80, "nan": 0x7F, "pos_inf": 0x7C, "neg_inf": 0xFC},
    "f8E8M0FNU": {"zero": 0x00, "neg_zero": None, "nan": 0xFF, "pos_inf": None, "neg_inf": None},
    "f4E2M1FN": {"zero": 0x00, "neg_zero": 0x88, "nan": None, "pos_inf": None, "neg_inf": None},
    "fnv8E5M3FNU": {"zero": 0x00, "neg_zero": None, "nan": 0xFF, "pos_inf": None, "neg_inf": None},
}


@pytest.mark.parametrize(
    ("element", "padding", "code"), [(e, p, code) for e, codes in NARROW_PADDING.items() for p, code in codes.items()]
)
def test_padding_of_narrow_floats(execute, element, padding, code):
    """Two elements are in bounds; two f4E2M1FN elements are one byte."""
    tensor, inside = f"tensor_view<?x{element}, strides=[1]>", 1 if element == "f4E2M1FN" else 2
    source, result = np.full(8, 0x33, np.uint8), np.full(8 * inside // 2, 0x11, np.uint8)
    body = f"""%zero = constant <i32: 0> : tile<i32>
    %two = constant <i32: 2> : tile<i32>
    %eight = constant <i32: 8> : tile<i32>
    %s = make_tensor_view %p, shape = [%two], strides = [1] : tile<i32> -> {tensor}
    %d = make_tensor_view %q, shape = [%eight], strides = [1] : tile<i32> -> {tensor}
    %v = make_partition_view %s : partition_view<tile=(8), padding_value = {padding}, {tensor}>
    %w = make_partition_view %d : partition_view<tile=(8), {tensor}>
    %x, %t = load_view_tko weak %v[%zero]
      : partition_view<tile=(8), padding_value = {padding}, {tensor}>, tile<i32> -> tile<8x{element}>, token
    %u = store_view_tko weak %x, %w[%zero]
      : tile<8x{element}>, partition_view<tile=(8), {tensor}>, tile<i32> -> token"""
    parameters = f"%p: tile<ptr<{element}>>, %q: tile<ptr<{element}>>"
    if code is None:
        with pytest.raises(
            SimulationError, match=f"{element} cannot represent the padding value {padding} of this vie"
        ):
            execute(parameters, body, source, result)
        return
    execute(parameters, body, source, result)
    assert result.tolist() == [0x33] * inside + [code] * (len(result) - inside)


def test_stride_is_unsigned_and_addresses_wrap(execute):
    """-1 is 2**64 - 1, which moves back by one element without checking."""
    source, result = np.arange(8, dtype=np.int32), np.zeros(4, np.int32)
    kind = "partition_view<tile=(4), tensor_view<4xi32, strides=[?]>>"
    kept = "partition_view<tile=(4), tensor_view<4xi32, strides=[1]>>"
    body = f"""%back = constant <i64: -1> : tile<i64> %zero = constant <i32: 0> : tile<i32>
    %five = constant <i32: 5> : tile<i32>
    %last = offset %p, %five : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %t = make_tensor_view %last, shape = [4], strides = [%back] : tile<i64> -> tensor_view<4xi32, strides=[?]>
    %v = make_partition_view %t : {kind}
    %x, %k = load_view_tko weak %v[%zero] : {kind}, tile<i32> -> tile<4xi32>, token
    %u = make_tensor_view %q, shape = [4], strides = [1] : tensor_view<4xi32, strides=[1]>
    %w = make_partition_view %u : {kept}
    %e = store_view_tko weak %x, %w[%zero] : tile<4xi32>, {kept}, tile<i32> -> token"""
    execute("%p: tile<ptr<i32>>, %q: tile<ptr<i32>>", body, source, result)
    assert result.tolist() == [5, 4, 3, 2]
