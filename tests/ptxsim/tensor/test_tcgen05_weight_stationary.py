"""tcgen05.mma.ws: its shapes and lanes, and the zero-column mask, which clears columns of B and shifts it."""

from __future__ import annotations

from dataclasses import dataclass

import ml_dtypes
import numpy as np
import pytest
from sparse_operands import operands
from tensor_operations import placed, program

from tilec.runtime.ptxsim import _native as ptxsim


@dataclass(frozen=True)
class Kind:
    """A kind with the type of its elements, their code, and the code and type of D."""

    name: str
    element: type
    code: int
    result_code: int = 1
    result: type = np.float32

    @property
    def depth(self) -> int:
        return 32 // np.dtype(self.element).itemsize


KINDS = {
    "f16": Kind("f16", np.float16, 0),
    "bf16": Kind("f16", ml_dtypes.bfloat16, 1),
    "tf32": Kind("tf32", np.float32, 2),
    "e4m3": Kind("f8f6f4", ml_dtypes.float8_e4m3fn, 0),
    "s8": Kind("i8", np.int8, 1, 2, np.int32),
}
F16 = KINDS["f16"]
MAXIMUM_SHIFTS = (0, 8, 16, 32)
MMA = "tcgen05.mma.ws.cta_group::1.kind::{kind}{usage} [%r14], {a}, %rd11, %r15, {accumulate}{mask};\n"


def instruction(kind: Kind, rows: int, columns: int, *, maximum_shift: int = 0, bits: int = 0) -> int:
    types = kind.result_code << 4 | kind.code << 7 | kind.code << 10
    return types | columns >> 3 << 17 | rows >> 4 << 24 | MAXIMUM_SHIFTS.index(maximum_shift) << 30 | bits


def mask_of(starts=(), first=(), skip=1, use=1, shift=0, *, enabled: bool = True) -> int:
    """A descriptor: by part the columns that are dropped from the start, and whether it begins with zeros."""
    bits = sum(start << 8 * part for part, start in enumerate(starts))
    bits |= sum(zeros << 32 + part for part, zeros in enumerate(first))
    return bits | enabled << 39 | (skip - 1) << 40 | (use - 1) << 48 | shift << 56


def product_of(cells: np.ndarray, rows: int) -> np.ndarray:
    """D from its cells: group g of `rows` lanes has part g of the columns."""
    return np.concatenate([cells[first : first + rows] for first in range(0, 128, rows)], 1)


@pytest.fixture
def multiply(simulate, aligned):
    """D of one instruction. B has `columns` + `shift` rows along N."""

    def run(kind: Kind, a, b, *, columns: int, bits: int, mask: int | None = None, operation: str = MMA, before="",
            a_operand="%rd10", accumulate="%p3", usage="", extra=(), **options):  # fmt: skip
        rows = len(a)
        image, offsets, descriptors = placed(a, b, *extra)
        text = before + f"mov.b32 %r15, {bits:#x};\n"
        if mask is not None:
            text += f"mov.b64 %rd20, {mask:#x};\n"
        text += operation.format(kind=kind.name, usage=usage, a=a_operand, accumulate=accumulate,
                                 mask="" if mask is None else ", %rd20")  # fmt: skip
        read = columns * min(rows, 128) // 128
        got = np.zeros((128, read), kind.result)
        body = program(image.size, descriptors, offsets, text, read, clear=True)
        simulate(body, aligned(image), got, block=128, **options)
        return product_of(got, rows)

    return run


def matrices(kind: Kind, rows: int, columns: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    return tuple(random.integers(-4, 5, (count, kind.depth)).astype(kind.element) for count in (rows, columns))


def exact(kind: Kind, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a.astype(np.int64) @ b.astype(np.int64).T).astype(kind.result)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("rows", [32, 64, 128])
@pytest.mark.parametrize("columns", [64, 128, 256])
def test_lanes_of_each_shape(multiply, name, rows, columns):
    kind = KINDS[name]
    a, b = matrices(kind, rows, columns, rows + columns)
    got = multiply(kind, a, b, columns=columns, bits=instruction(kind, rows, columns))
    np.testing.assert_array_equal(got, exact(kind, a, b))


# Vectors: the fields of a mask, and its bits from the last column to the first.
MASKS = [
    ({"first": (0,)}, "0011100001110000"),
    ({"first": (1,)}, "1100001110000111"),
    ({"first": (1,), "starts": (1,)}, "1110000111000011"),
    ({"first": (0,), "starts": (2,)}, "0000111000011100"),
    ({"first": (0,), "starts": (1,)}, "0001110000111000"),
]


def zeros_of(text: str, columns: int) -> np.ndarray:
    """The columns of zeros, from the bits of sixteen columns and a period of seven."""
    bits = np.array([letter == "1" for letter in reversed(text)])
    return bits[np.array([column if column < 16 else 2 + (column - 2) % 7 for column in range(columns)])]


@pytest.mark.parametrize(("fields", "text"), MASKS)
@pytest.mark.parametrize("rows", [32, 64, 128])
def test_masked_columns_are_zero(multiply, fields, text, rows):
    """Spans of 3 columns of zeros and 4 of B. With M 64 and 32, each part of the columns has its own start."""
    parts = 128 // rows
    fields = {name: value * parts for name, value in fields.items()}
    a, b = matrices(F16, rows, 128, rows)
    mask = mask_of(**fields, skip=3, use=4)
    got = multiply(F16, a, b, columns=128, bits=instruction(F16, rows, 128), mask=mask)
    expected = exact(F16, a, b)
    assert expected.any(axis=0).all()
    expected[:, np.tile(zeros_of(text, 128 // parts), parts)] = 0
    np.testing.assert_array_equal(got, expected)


def test_each_part_of_the_columns_has_its_own_start(multiply):
    """M 32 has four parts of 16 columns. Starts 0, 1, 2 and 3 with zeros first, then use first."""
    a, b = matrices(F16, 32, 64, 7)
    mask = mask_of((0, 1, 2, 3), (1, 0, 1, 0), skip=3, use=4)
    got = multiply(F16, a, b, columns=64, bits=instruction(F16, 32, 64), mask=mask)
    pattern = [[1, 1, 1, 0, 0, 0, 0], [0, 0, 0, 1, 1, 1, 0], [1, 0, 0, 0, 0, 1, 1], [0, 1, 1, 1, 0, 0, 0]]
    zero = np.concatenate([np.resize(part, 16) for part in pattern]).astype(bool)
    np.testing.assert_array_equal(got, np.where(zero, 0, exact(F16, a, b)))


def test_start_counts_beyond_the_first_span_are_unconfirmed(multiply):
    """The last column of the first span is the first one: one column of zeros, then four of B."""
    a, b = matrices(F16, 128, 64, 2)
    options = {"columns": 64, "bits": instruction(F16, 128, 64), "mask": mask_of((255,), (1,), skip=3, use=4)}
    with pytest.raises(ptxsim.Trap, match="start count 255 in a first span of 3 columns") as trap:
        multiply(F16, a, b, **options)
    assert trap.value.kind == "unconfirmed"
    got = multiply(F16, a, b, allow_unconfirmed=True, **options)
    zero = np.array([column == 0 or (column - 1) % 7 >= 4 for column in range(64)])
    np.testing.assert_array_equal(got, np.where(zero, 0, exact(F16, a, b)))


def test_a_mask_that_is_not_enabled_keeps_all_columns(multiply):
    a, b = matrices(F16, 128, 64, 1)
    mask = mask_of((3,), (1,), skip=3, use=4, enabled=False)
    got = multiply(F16, a, b, columns=64, bits=instruction(F16, 128, 64), mask=mask)
    np.testing.assert_array_equal(got, exact(F16, a, b))


@pytest.mark.parametrize("name", ["f16", "s8"])
@pytest.mark.parametrize(("rows", "maximum", "shift"), [(128, 8, 2), (128, 32, 32), (64, 32, 17), (32, 16, 16)])
def test_shift_of_b(multiply, name, rows, maximum, shift):
    kind = KINDS[name]
    a, b = matrices(kind, rows, 64 + 32, shift)
    bits = instruction(kind, rows, 64, maximum_shift=maximum)
    got = multiply(kind, a, b, columns=64, bits=bits, mask=mask_of(shift=shift, enabled=False))
    np.testing.assert_array_equal(got, exact(kind, a, b[shift : shift + 64]))


def test_shift_of_an_mn_major_b(multiply):
    """Rows of 16 bytes along N: a shift of 3 starts inside of one. LBO is the step along K, SBO that along N."""
    a, b = matrices(F16, 128, 64 + 8, 3)
    # Eight columns of 8 rows along K each, those of the next 8 columns after them, then the next 8 rows along K.
    stored = np.ascontiguousarray(b.reshape(9, 8, 2, 8).transpose(2, 0, 3, 1)).reshape(144, 8)
    before = f"and.b64 %rd11, %rd11, 0x3fff;\nor.b64 %rd11, %rd11, {(9 * 128 >> 4) << 16 | 8 << 32 | 1 << 46:#x};\n"
    bits = instruction(F16, 128, 64, maximum_shift=8, bits=1 << 16)
    got = multiply(F16, a, stored, columns=64, bits=bits, before=before,
                   mask=mask_of(shift=3, enabled=False))  # fmt: skip
    np.testing.assert_array_equal(got, exact(F16, a, b[3:67]))


def direct(a: np.ndarray, x: np.ndarray, shift: int, left: int) -> np.ndarray:
    """The convolution of images [N, W, C] at tap `shift`, by output pixel; outside of an image there are zeros."""
    images, width, _ = x.shape
    result = np.zeros((images * width, len(a)), np.int64)
    for n in range(images):
        for q in range(width):
            if 0 <= q + shift - left < width:
                result[n * width + q] = a.astype(np.int64) @ x[n, q + shift - left].astype(np.int64)
    return result


@pytest.mark.parametrize("first", [0, 4, 8])
def test_a_window_of_three_taps_over_one_run_of_pixels(multiply, first):
    """64 output pixels from pixel `first` of image 0, of 9 pixels: one run of 66 pixels serves three taps.

    Tap s reads the run from s on. The mask clears the output pixels whose tap is outside of their image: the first one
    of each image for s = 0, the last one for s = 2. The mask counts the pixels of the output.
    """
    random = np.random.default_rng(first)
    x = random.integers(-3, 4, (9, 9, 16)).astype(np.float16)
    taps = random.integers(-3, 4, (3, 128, 16)).astype(np.float16)
    pixels = np.concatenate([np.zeros((1, 16), np.float16), x.reshape(81, 16)])[first : first + 66]
    run = np.zeros((96, 16), np.float16)
    run[:66] = pixels
    operations, expected = "", np.zeros((64, 128))
    for s in range(3):
        # A period has 8 columns of B and one of zeros: output 0 of each image at tap 0, output 8 at tap 2.
        start, zeros_first = {0: (max(0, first - 1), first == 0), 1: (0, 0), 2: (first % 8, first == 8)}[s]
        mask = mask_of((start,), (zeros_first,), skip=1, use=8, shift=s, enabled=s != 1)
        operations += f"mov.b64 %rd20, {mask:#x};\n"
        operations += MMA.format(kind="f16", usage=".collector::b0::" + ("fill", "use", "lastuse")[s], a=f"%rd{12 + s}",
                                 accumulate="%p4" if s else "%p3", mask=", %rd20")  # fmt: skip
        expected += direct(taps[s], x, s, 1)[first : first + 64]
    got = multiply(F16, np.zeros((128, 16), np.float16), run, columns=64, operation=operations, extra=taps,
                   bits=instruction(F16, 128, 64, maximum_shift=8))  # fmt: skip
    np.testing.assert_array_equal(got, expected.T)


@pytest.mark.parametrize("rows", [32, 64, 128])
def test_a_in_tensor_memory(multiply, rows):
    """Each group of lanes reads its copy of A; the manual does not state it for M 64 and 32."""
    a, b = matrices(F16, rows, 64, rows)
    copies = np.tile(a, (128 // rows, 1))
    before = "add.u32 %r30, %r14, 64;\ntcgen05.cp.cta_group::1.128x256b [%r30], %rd12;\n"
    options = {"columns": 64, "bits": instruction(F16, rows, 64), "before": before, "a_operand": "[%r30]"}
    got = multiply(F16, a, b, extra=[copies], allow_unconfirmed=True, **options)
    np.testing.assert_array_equal(got, exact(F16, a, b))
    if rows < 128:
        with pytest.raises(ptxsim.Trap, match=f"A in tensor memory with M {rows} of tcgen05.mma.ws"):
            multiply(F16, a, b, extra=[copies], **options)


@pytest.mark.parametrize("columns", [64, 128])
@pytest.mark.parametrize("rows", [32, 64, 128])
@pytest.mark.parametrize("element", [np.float16, np.int8])
def test_sparse_a(multiply, element, rows, columns):
    """Metadata of 32 or 64 rows is in each group of lanes, which the manual does not state."""
    kind = F16 if element is np.float16 else KINDS["s8"]
    kept, codes, dense, b = operands(element, rows, columns, rows)
    cells = np.zeros((128, 4), np.uint32)
    for row, group in np.ndindex(codes.shape):
        if element is np.float16:
            lane, column, bit = row % 8 + 16 * (row // 16) + 8 * (group // 4), 0, 4 * (group % 4) + 16 * (row // 8 % 2)
        else:
            lane, column, bit = row, group // 8, 4 * (group % 8)
        for copy in range(0, 128, rows):
            cells[copy + lane, column] |= np.uint32(codes[row, group] << bit)
    before = "add.u32 %r31, %r14, 64;\ntcgen05.cp.cta_group::1.128x128b [%r31], %rd12;\n"
    operation = MMA.replace(".ws", ".ws.sp").replace("%rd11, %r15", "%rd11, [%r31], %r15")
    options = {
        "columns": columns,
        "bits": instruction(kind, rows, columns, bits=1 << 2),
        "before": before if columns < 128 or rows < 128 else before.replace("64;", "128;"),
        "operation": operation,
        "extra": [cells],
    }
    got = multiply(kind, kept, b, allow_unconfirmed=True, **options)
    np.testing.assert_array_equal(got, dense @ b.astype(np.int64).T)
    if rows < 128:
        with pytest.raises(ptxsim.Trap, match=f"the metadata of tcgen05.mma.ws.sp with M {rows}"):
            multiply(kind, kept, b, **options)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"bits": instruction(F16, 16, 64)}, "expected M 32, 64 or 128 with .ws, got 16"),
        ({"bits": instruction(F16, 128, 32)}, "expected N 64, 128 or 256 with .ws, got 32"),
        (
            {
                "bits": instruction(F16, 128, 256, bits=1 << 2),
                "operation": MMA.replace(".ws", ".ws.sp").replace("%rd11, ", "%rd11, [%r14], "),
            },
            "expected N 64, 128 with .ws, got 256",
        ),
        ({"mask": mask_of(shift=1)}, "expected a shift of B of at most 0 columns .*, got 1"),
        (
            {"mask": mask_of(shift=9), "bits": instruction(F16, 128, 64, maximum_shift=8)},
            "expected a shift of B of at most 8 columns .*, got 9",
        ),
        (
            {"mask": mask_of(shift=17), "bits": instruction(F16, 32, 64, maximum_shift=32)},
            "expected a shift of B of at most 16 columns .*, got 17",
        ),
        ({"mask": 1 << 36}, "expected bits 36-38 and 62-63 of a zero-column mask to be zero, got 0x1000000000"),
        ({"mask": 1 << 63}, "expected bits 36-38 and 62-63 of a zero-column mask to be zero"),
    ],
)
def test_invalid_operands_are_reported(multiply, changes, message):
    a, b = matrices(F16, 128, 128, 1)
    with pytest.raises(ptxsim.Trap, match=message) as trap:
        multiply(F16, a, b, **({"columns": 64, "bits": instruction(F16, 128, 64)} | changes))
    assert trap.value.kind == "descriptor"
