"""What tensor copies do to values: fills outside of the tensor, conversions by the element type, reductions."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from tensor_copies import UNIT_BYTES, load, store

from tilec.runtime.ptxsim import _native as ptxsim

FLOATS = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f32.ftz": np.float32, "tf32": np.float32,
    "tf32.ftz": np.float32, "f64": np.float64,
}  # fmt: skip
DTYPES = FLOATS | {
    "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "s32": np.int32, "u64": np.uint64, "s64": np.int64,
}  # fmt: skip
COUNT = 64


@pytest.fixture
def map_of(encode_tensor_map):
    def make(array: np.ndarray, element: str, **changes):
        fields = {"extents": array.shape, "strides": (), "box": (COUNT,)}
        return encode_tensor_map(array.ctypes.data, element, **{**fields, **changes})

    return make


@pytest.fixture
def loaded(simulate, map_of, aligned):
    """The image of a load at `first` of a tensor of one dimension."""

    def run(array: np.ndarray, element: str, first: int = 0, **options: object) -> np.ndarray:
        image = aligned(np.zeros(COUNT, array.dtype))
        fields = {"fill_nan": options.pop("fill_nan", False)}
        text, threads = load((first,), image.nbytes), image.nbytes // UNIT_BYTES
        simulate(text, map_of(array, element, **fields), image, block=threads, map_targets=[array], **options)
        return image

    return run


@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.parametrize("first", [-32, 48])
def test_zero_fill(loaded, aligned, element, first):
    """5.5.3.3: elements outside of the tensor are zero, whatever the element type."""
    array = aligned(np.arange(1, COUNT + 1).astype(DTYPES[element]))
    image = loaded(array, element, first, allow_unconfirmed=element.endswith("ftz"))
    inside = slice(32, 64) if first < 0 else slice(0, 16)
    np.testing.assert_array_equal(image[inside], array[: 64 + first] if first < 0 else array[first:])
    image[inside] = 0
    assert not image.view(np.uint8).any()


@pytest.mark.parametrize("element", FLOATS)
@pytest.mark.parametrize("first", [-24, 40])
def test_nan_fill(loaded, aligned, element, first):
    """5.5.3.3, OOB-NaN: a NaN of the element type. Each two bytes are 0x7FF7, which NVIDIA does not document."""
    array = aligned(np.arange(1, COUNT + 1).astype(DTYPES[element]))
    image = loaded(array, element, first, fill_nan=True, allow_unconfirmed=True)
    outside = slice(0, 24) if first < 0 else slice(24, 64)
    assert np.isnan(image[outside].astype(np.float64)).all()
    assert (image[outside].view(np.uint16) == 0x7FF7).all()
    assert np.isfinite(np.delete(image.astype(np.float64), outside)).all()


def test_nan_fill_is_unconfirmed_in_loads_alone(simulate, loaded, map_of, aligned):
    """5.5.3.3: the fill mode has no effect on stores, which drop elements outside of the tensor."""
    array, image = aligned(np.zeros(COUNT, np.float32)), aligned(np.ones(COUNT, np.float32))
    with pytest.raises(ptxsim.Trap, match="the bit pattern of the NaN fill") as trap:
        loaded(array, "f32", fill_nan=True)
    assert trap.value.kind == "unconfirmed"
    simulate(store((8,), 256), map_of(array, "f32", fill_nan=True), image, block=16, map_targets=[array])
    np.testing.assert_array_equal(array, [0] * 8 + [1] * 56)


@pytest.mark.parametrize("element", [name for name in DTYPES if name not in FLOATS])
def test_nan_fill_of_integers_is_refused(map_of, aligned, element):
    """CUDA driver API: NaN fill requires a float type."""
    array = aligned(np.zeros(COUNT, DTYPES[element]))
    error = ptxsim.tensor_map_error(map_of(array, element, fill_nan=True))
    assert error == f"expected a float element type with the NaN fill, got {element}"


# f32, and the same as f32.ftz, tf32 and tf32.ftz: the least normal number is 2^-126, 0x00800000, and is kept.
CONVERTED = [
    (0x007FFFFF, 0x00000000, 0x00800000, 0x00000000), (0x807FFFFF, 0x80000000, 0x80800000, 0x80000000),
    (0x00000001, 0x00000000, 0x00000000, 0x00000000), (0x80001001, 0x80000000, 0x80002000, 0x80000000),
    (0x00800000, 0x00800000, 0x00800000, 0x00800000), (0x00801000, 0x00801000, 0x00800000, 0x00800000),
    (0x3F803000, 0x3F803000, 0x3F804000, 0x3F804000), (0x7F800000, 0x7F800000, 0x7F800000, 0x7F800000),
    (0xFF800001, 0xFF800001, 0xFF800001, 0xFF800001), (0x80000000, 0x80000000, 0x80000000, 0x80000000),
]  # fmt: skip


@pytest.mark.parametrize(("column", "element"), [*enumerate(["f32", "f32.ftz", "tf32", "tf32.ftz"])])
def test_loads_convert_to_the_element_type(loaded, aligned, column, element):
    """5.5.1, .tf32 rounds to nearest even; the *_FTZ types flush subnormal numbers, which is unconfirmed in loads."""
    given, expected = (np.resize(np.array(CONVERTED, np.uint32)[:, i], COUNT) for i in (0, column))
    array = aligned(given.view(np.float32))
    if element.endswith("ftz"):
        message = f"the conversion of values by a load through a tensor map of element type {element}"
        with pytest.raises(ptxsim.Trap, match=message) as trap:
            loaded(array, element)
        assert trap.value.kind == "unconfirmed"
    image = loaded(array, element, allow_unconfirmed=element.endswith("ftz"))
    np.testing.assert_array_equal(image.view(np.uint32), expected)


@pytest.mark.parametrize("element", ["f32.ftz", "tf32", "tf32.ftz"])
def test_stores_of_converted_types_are_unconfirmed(simulate, map_of, aligned, element):
    array, image = aligned(np.zeros(COUNT, np.float32)), aligned(np.ones(COUNT, np.float32))
    message = f"the conversion of values by a store through a tensor map of element type {element}"
    with pytest.raises(ptxsim.Trap, match=message) as trap:
        simulate(store((0,), 256), map_of(array, element), image, block=16, map_targets=[array])
    assert trap.value.kind == "unconfirmed"
    simulate(store((0,), 256), map_of(array, element), image, block=16, map_targets=[array], allow_unconfirmed=True)
    np.testing.assert_array_equal(array, image)


# PTX ISA 9.7.9.27.1.3. and, or and xor are of .b32 and .b64, which are not types of tensor maps.
WORDS = ("u32", "s32", "u64", "s64")
REDUCED = {
    "add": ("u32", "s32", "u64", "f16", "bf16", "f32", "f32.ftz"),
    "min": (*WORDS, "f16", "bf16"), "max": (*WORDS, "f16", "bf16"),
    "inc": ("u32",), "dec": ("u32",),
    "and": WORDS, "or": WORDS, "xor": WORDS,
}  # fmt: skip
# x is in global memory, y in shared memory. PTX ISA, red: .inc and .dec wrap at y.
MODELS = {
    "add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "inc": lambda x, y: np.where(x >= y, 0, x + 1), "dec": lambda x, y: np.where((x == 0) | (x > y), y, x - 1),
}  # fmt: skip


def numbers(element: str, seed: int) -> np.ndarray:
    """Integers of all bits, or halves whose sums are exact."""
    random, dtype = np.random.default_rng(seed), np.dtype(DTYPES[element])
    if element in FLOATS:
        return (random.integers(-32, 33, COUNT) / 2).astype(dtype)
    info = np.iinfo(dtype)
    values = random.integers(info.min, info.max, COUNT, dtype, endpoint=True)
    return np.where(random.integers(0, 2, COUNT) > 0, values % 5, values).astype(dtype)


@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.parametrize("operation", REDUCED)
def test_reduction_by_element_type(simulate, map_of, aligned, operation, element):
    """9.7.9.27.1.3: the operations of each element type. All others are refused. Elements outside are dropped."""
    array, given = aligned(numbers(element, 1)), aligned(numbers(element, 2))
    expected, threads = array.copy(), given.nbytes // UNIT_BYTES
    arguments = (store((16,), given.nbytes, operation=operation), map_of(array, element), given)
    if element not in REDUCED[operation]:
        with pytest.raises(ptxsim.Trap, match=f"an element type that the reduction supports, got {element}") as trap:
            simulate(*arguments, block=threads, map_targets=[array])
        assert trap.value.kind == "descriptor"
        return
    simulate(*arguments, block=threads, map_targets=[array])
    with np.errstate(over="ignore"):
        expected[16:] = MODELS[operation](expected[16:], given[:48]).astype(expected.dtype)
    np.testing.assert_array_equal(array, expected)


@pytest.mark.parametrize(("element", "sum_bits"), [("f32", 0x00000003), ("f32.ftz", 0x00000000)])
def test_sums_of_subnormals(simulate, map_of, aligned, element, sum_bits):
    """Only f32.ftz flushes: the flush of cp.reduce.async.bulk.add.f32 is not that of tensors. 2^-149 times 1 + 2."""
    array, given = (aligned(np.full(COUNT, bits, np.uint32).view(np.float32)) for bits in (1, 2))
    simulate(store((0,), 256, operation="add"), map_of(array, element), given, block=16, map_targets=[array])
    assert set(array.view(np.uint32)) == {sum_bits}


@pytest.mark.parametrize("element", ["f16", "bf16"])
def test_sums_round_to_nearest_even(simulate, map_of, aligned, element):
    """A half of a unit in the last place rounds to the even neighbour, and three quarters round up."""
    dtype = DTYPES[element]
    unit = 2.0 ** (-10 if element == "f16" else -7)
    cases = [(1, unit / 2, 1), (1, unit * 3 / 4, 1 + unit), (1 + unit, unit / 2, 1 + 2 * unit), (-0.0, 0.0, 0.0)]
    x, y, expected = (
        np.resize(np.array(column, np.float64).astype(dtype), COUNT) for column in zip(*cases, strict=True)
    )
    array, given = aligned(x), aligned(y)
    simulate(store((0,), 128, operation="add"), map_of(array, element), given, block=8, map_targets=[array])
    np.testing.assert_array_equal(array.view(np.uint16), expected.view(np.uint16))


@pytest.mark.parametrize("operation", ["min", "max"])
@pytest.mark.parametrize("element", ["f16", "bf16"])
def test_extremes_ignore_nan(simulate, map_of, aligned, element, operation):
    """PTX ISA, min: the result of a number and a NaN is the number."""
    x = np.resize(np.array([np.nan, 2, np.nan, -3]).astype(DTYPES[element]), COUNT)
    y = np.resize(np.array([1, np.nan, np.nan, -4]).astype(DTYPES[element]), COUNT)
    array, given = aligned(x), aligned(y)
    simulate(store((0,), 128, operation=operation), map_of(array, element), given, block=8, map_targets=[array])
    np.testing.assert_array_equal(array[:4].astype(np.float32), [1, 2, np.nan, -4 if operation == "min" else -3])


@pytest.mark.parametrize(("first", "stored"), [((0, 0), slice(0, 4)), ((0, 6), slice(6, 8))])
def test_stores_drop_rows_outside(simulate, encode_tensor_map, aligned, first, stored):
    """9.7.9.27.1.2: elements outside of the tensor are not written."""
    matrix, image = aligned(np.zeros((8, 8), np.uint16)), aligned(np.ones((4, 8), np.uint16))
    map_bytes = encode_tensor_map(matrix.ctypes.data, "u16", (8, 8), (16,), (8, 4))
    simulate(store(first, 64), map_bytes, image, block=4, map_targets=[matrix])
    expected = np.zeros_like(matrix)
    expected[stored] = 1
    np.testing.assert_array_equal(matrix, expected)


@pytest.mark.parametrize("operation", [None, "add"])
@pytest.mark.parametrize(("first", "dimension"), [((-8, 0), 0), ((0, -1), 1)])
def test_negative_coordinates_of_stores_are_refused(simulate, encode_tensor_map, aligned, first, dimension, operation):
    """9.7.9.27.1.1: the first coordinates of a copy to global memory are not negative."""
    matrix, image = aligned(np.zeros((8, 8), np.uint32)), aligned(np.ones((4, 8), np.uint32))
    map_bytes = encode_tensor_map(matrix.ctypes.data, "u32", (8, 8), (32,), (8, 4))
    message = f"coordinates of at least 0 in a tensor store, got {first[dimension]} in dimension {dimension}"
    with pytest.raises(ptxsim.Trap, match=message):
        simulate(store(first, 128, operation=operation), map_bytes, image, block=8, map_targets=[matrix])
    simulate(store((0, 0), 128, operation=operation), map_bytes, image, block=8, map_targets=[matrix])


@pytest.fixture
def require_alignment(simulate, map_of, aligned):
    """Runs a copy at an offset, which is misaligned unless it is a multiple of the alignment."""

    def run(text: str, offset: int, alignment: int, message: str) -> None:
        array, image = aligned(np.arange(COUNT, dtype=np.uint32)), aligned(np.zeros(COUNT, np.uint32))
        options = {"block": 16, "map_targets": [array]}
        if offset % alignment == 0:
            simulate(text, map_of(array, "u32"), image, **options)
            return
        with pytest.raises(ptxsim.Trap, match=message) as trap:
            simulate(text, map_of(array, "u32"), image, **options)
        assert trap.value.kind == "misaligned"

    return run


@pytest.mark.parametrize("offset", [0, 16, 64, 128])
def test_alignment_of_shared_memory(require_alignment, offset):
    """CUDA C++ Programming Guide: 128 bytes, in loads and in stores."""
    for text in (load((0,), 256, offset=offset), store((0,), 256, offset=offset)):
        require_alignment(text, offset, 128, "needs a shared address aligned to 128 bytes")


@pytest.mark.parametrize("offset", [0, 4, 8])
def test_alignment_of_the_mbarrier(require_alignment, offset):
    """PTX ISA 9.7.13.15.1: an mbarrier object has 8 bytes, and their alignment."""
    text = load((0,), 256, barrier_offset=offset)
    require_alignment(text, offset, 8, "needs an address aligned to 8 bytes")
