"""Kernels in Tile IR agree with numpy: vector addition, matrix multiplication, row softmax."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

DTYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64}


def test_vector_add_of_a_length_that_is_not_a_multiple_of_the_tile(execute):
    """The view has no padding value; out-of-bounds elements are not stored."""
    rng = np.random.default_rng(1)
    a, b, c = (
        rng.normal(size=1000).astype(np.float32),
        rng.normal(size=1000).astype(np.float32),
        np.zeros(1000, np.float32),
    )
    tensor = "tensor_view<?xf32, strides=[1]>"
    view = f"partition_view<tile=(128), {tensor}>"
    body = f"""
    %x, %y, %z = get_tile_block_id : tile<i32>
    %at = make_tensor_view %a, shape = [%n], strides = [1] : tile<i32> -> {tensor}
    %bt = make_tensor_view %b, shape = [%n], strides = [1] : tile<i32> -> {tensor}
    %ct = make_tensor_view %c, shape = [%n], strides = [1] : tile<i32> -> {tensor}
    %av = make_partition_view %at : {view}
    %bv = make_partition_view %bt : {view}
    %cv = make_partition_view %ct : {view}
    %l, %k0 = load_view_tko weak %av[%x] : {view}, tile<i32> -> tile<128xf32>, token
    %r, %k1 = load_view_tko weak %bv[%x] : {view}, tile<i32> -> tile<128xf32>, token
    %s = addf %l, %r : tile<128xf32>
    %k2 = store_view_tko weak %s, %cv[%x] : tile<128xf32>, {view}, tile<i32> -> token"""
    parameters = "%a: tile<ptr<f32>>, %b: tile<ptr<f32>>, %c: tile<ptr<f32>>, %n: tile<i32>"
    execute(parameters, body, a, b, c, 1000, grid=8, check=True)
    assert np.array_equal(c, a + b)


def matmul(element: str, accumulator: str, multiplied: str) -> tuple[str, str]:
    """A kernel with tiles of 32x32 and 16 along K; operands are converted to the type `multiplied`."""
    parameters = ", ".join(
        f"%{name}: tile<ptr<{kind}>>, " + ", ".join(f"%{name}{fact}: tile<i32>" for fact in "mnst")
        for name, kind in (("a", element), ("b", element), ("c", accumulator))
    )
    views, tensors = {}, {}
    for name, kind, tile in (("a", element, "32x16"), ("b", element, "16x32"), ("c", accumulator, "32x32")):
        tensors[name] = f"tensor_view<?x?x{kind}, strides=[?,?]>"
        views[name] = f"partition_view<tile=({tile}), padding_value = zero, {tensors[name]}>"
    made = "\n".join(
        f"""%{name}v = make_tensor_view %{name}, shape = [%{name}m, %{name}n], strides = [%{name}s, %{name}t]
          : tile<i32> -> {tensors[name]}
        %{name}p = make_partition_view %{name}v : {views[name]}"""
        for name in "abc"
    )
    convert = (
        ""
        if multiplied == element
        else f"""
        %lc = ftof %l  : tile<32x16x{element}> -> tile<32x16x{multiplied}>
        %rc = ftof %r  : tile<16x32x{element}> -> tile<16x32x{multiplied}>"""
    )
    lhs, rhs = ("%l", "%r") if not convert else ("%lc", "%rc")
    body = f"""{made}
    %x, %y, %z = get_tile_block_id : tile<i32>
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %empty = constant <{accumulator}: 0.0> : tile<32x32x{accumulator}>
    %space:2 = get_index_space_shape %ap : {views["a"]} -> tile<i32>
    %sum = for %k in (%zero to %space#1, step %one) : tile<i32>
        iter_values(%acc = %empty) -> (tile<32x32x{accumulator}>) {{
      %l, %k0 = load_view_tko weak %ap[%x, %k] : {views["a"]}, tile<i32> -> tile<32x16x{element}>, token
      %r, %k1 = load_view_tko weak %bp[%k, %y] : {views["b"]}, tile<i32> -> tile<16x32x{element}>, token
      {convert}
      %next = mmaf {lhs}, {rhs}, %acc : tile<32x16x{multiplied}>, tile<16x32x{multiplied}>, tile<32x32x{accumulator}>
      continue %next : tile<32x32x{accumulator}>
    }}
    %k2 = store_view_tko weak %sum, %cp[%x, %y] : tile<32x32x{accumulator}>, {views["c"]}, tile<i32> -> token"""
    return parameters, body


def with_extents_and_strides(array: np.ndarray) -> list:
    return [array, *array.shape, *(stride // array.itemsize for stride in array.strides)]


def multiply(execute, element, accumulator, multiplied, a, b, **settings):
    c = np.full((a.shape[0], b.shape[1]), 7, DTYPES[accumulator])
    parameters, body = matmul(element, accumulator, multiplied)
    values = [*with_extents_and_strides(a), *with_extents_and_strides(b), *with_extents_and_strides(c)]
    grid = (-(-c.shape[0] // 32), -(-c.shape[1] // 32))
    execute(parameters, body, *values, grid=grid, check=True, **settings)
    return c


@pytest.mark.parametrize("shape", [(70, 40, 33), (32, 32, 16), (5, 100, 7), (64, 1, 80)])
@pytest.mark.parametrize(
    ("element", "accumulator"), [("f16", "f32"), ("bf16", "f32"), ("f32", "f32"), ("f64", "f64"), ("f16", "f16")]
)
def test_matmul(execute, element, accumulator, shape):
    """Each step of K rounds the accumulator once, so the error is at most half a unit per step."""
    m, n, k = shape
    rng = np.random.default_rng(m)
    a, b = rng.uniform(-1, 1, (m, k)).astype(DTYPES[element]), rng.uniform(-1, 1, (k, n)).astype(DTYPES[element])
    got = multiply(execute, element, accumulator, element, a, b)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    largest = np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64)
    unit = float(ml_dtypes.finfo(DTYPES[accumulator]).eps)
    steps = -(-k // 16) + (k if element == "f64" else 0)
    assert (np.abs(got.astype(np.float64) - exact) <= steps * unit / 2 * largest * (1 + unit)).all()


@pytest.mark.parametrize("column_major", [(False, True), (True, False), (True, True)])
def test_matmul_of_column_major_operands(execute, column_major):
    rng = np.random.default_rng(3)
    a, b = rng.integers(-8, 8, (40, 24)).astype(np.float16), rng.integers(-8, 8, (24, 50)).astype(np.float16)
    order = ["F" if each else "C" for each in column_major]
    got = multiply(execute, "f16", "f32", "f16", np.asarray(a, order=order[0]), np.asarray(b, order=order[1]))
    assert np.array_equal(got, a.astype(np.float64) @ b.astype(np.float64))


@pytest.mark.parametrize("truncate", [False, True])
def test_tf32_operands_are_rounded_or_truncated(execute, truncate):
    """The last 13 bits are rounded to nearest even, or truncated as by tensor cores."""
    rng = np.random.default_rng(4)
    a, b = rng.uniform(-1, 1, (32, 48)).astype(np.float32), rng.uniform(-1, 1, (48, 32)).astype(np.float32)

    def shortened(x):
        bits = x.view(np.uint32).astype(np.uint64)
        if not truncate:
            bits = bits + 0xFFF + (bits >> 13 & 1)
        return (bits & 0xFFFFE000).astype(np.uint32).view(np.float32).astype(np.float64)

    got = multiply(execute, "f32", "f32", "tf32", a, b, truncate_tf32=truncate)
    sums = shortened(a) @ shortened(b)
    assert (np.abs(got - sums) <= 3 * 2.0**-24 * np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64)).all()


def test_low_bits_of_a_tf32_in_memory_are_ignored(execute):
    rng = np.random.default_rng(6)
    a, b = rng.uniform(1, 2, (32, 16)).astype(np.float32), rng.uniform(1, 2, (16, 32)).astype(np.float32)
    a_short, b_short = ((x.view(np.uint32) & 0xFFFFE000).view(np.float32).astype(np.float64) for x in (a, b))
    got = multiply(execute, "tf32", "f32", "tf32", a, b)
    assert np.array_equal(got, (a_short @ b_short).astype(np.float32))


def test_row_softmax(execute):
    """Rows of 100 elements in tiles of 128, with padding -inf, because e^-inf is 0."""
    rng = np.random.default_rng(5)
    source, result = rng.normal(size=(6, 100)).astype(np.float32), np.zeros((6, 100), np.float32)
    tensor = "tensor_view<?x?xf32, strides=[?,1]>"
    view = f"partition_view<tile=(2x128), padding_value = neg_inf, {tensor}>"
    body = f"""
    %x, %y, %z = get_tile_block_id : tile<i32>
    %zero = constant <i32: 0> : tile<i32>
    %pt = make_tensor_view %p, shape = [%m, %n], strides = [%n, 1] : tile<i32> -> {tensor}
    %pv = make_partition_view %pt : {view}
    %qt = make_tensor_view %q, shape = [%m, %n], strides = [%n, 1] : tile<i32> -> {tensor}
    %qv = make_partition_view %qt : {view}
    %t, %k0 = load_view_tko weak %pv[%x, %zero] : {view}, tile<i32> -> tile<2x128xf32>, token
    %m1 = reduce %t dim=1 identities=[0xFF800000 : f32] : tile<2x128xf32> -> tile<2xf32>
      (%a: tile<f32>, %b: tile<f32>) {{
      %l = maxf %a, %b : tile<f32>
      yield %l : tile<f32>
    }}
    %m2 = reshape %m1 : tile<2xf32> -> tile<2x1xf32>
    %m3 = broadcast %m2 : tile<2x1xf32> -> tile<2x128xf32>
    %d = subf %t, %m3  : tile<2x128xf32>
    %e = exp %d  : tile<2x128xf32>
    %s1 = reduce %e dim=1 identities=[0.0 : f32] : tile<2x128xf32> -> tile<2xf32> (%a: tile<f32>, %b: tile<f32>) {{
      %l = addf %a, %b : tile<f32>
      yield %l : tile<f32>
    }}
    %s2 = reshape %s1 : tile<2xf32> -> tile<2x1xf32>
    %s3 = broadcast %s2 : tile<2x1xf32> -> tile<2x128xf32>
    %r = divf %e, %s3  : tile<2x128xf32>
    %k1 = store_view_tko weak %r, %qv[%x, %zero] : tile<2x128xf32>, {view}, tile<i32> -> token"""
    parameters = "%p: tile<ptr<f32>>, %q: tile<ptr<f32>>, %m: tile<i32>, %n: tile<i32>"
    execute(parameters, body, source, result, 6, 100, grid=3, check=True)
    exponentials = np.exp(source.astype(np.float64) - source.max(axis=1, keepdims=True))
    exact = exponentials / exponentials.sum(axis=1, keepdims=True)
    # The difference (up to 8) rounds by 2^-22, exp by half a unit, the sum by seven levels of half a unit, the
    # quotient by half a unit; a unit is 2^-23.
    assert (np.abs(result - exact) <= (2.0**-22 + 9 * 2.0**-24) * 1.01 * exact).all()
