"""tcgen05.mma with .block_scale: scale factors that tcgen05.cp puts into tensor memory multiply blocks along K.

The reference computes with fractions: elements and factors are decoded by ml_dtypes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from truncated_sums import exponent_of, to_f32, toward_zero

from tilec.runtime.ptxsim import _native as ptxsim

COLUMNS = 64  # columns of D that are read back
INITIAL = 0x4B000000  # 2**23 as f32, the value of every cell of D before the product
ROW_BYTES = 32  # of K per instruction
REGISTERS = "{" + ", ".join(f"%r{100 + i}" for i in range(COLUMNS)) + "}"
E4M3, E5M2, E8M0 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.float8_e8m0fnu
E2M1 = ml_dtypes.float4_e2m1fn

# Offsets in shared memory of A, B and the factors of A and B; the size of all.
A, B, A_SCALES, B_SCALES, SIZE = 0, 8192, 16384, 20480, 24576
# Columns of tensor memory of the factors; D begins at column 0.
A_COLUMN, B_COLUMN = 256, 264

# p0 is the image of shared memory; p1 receives 128 x 64 cells of D from column FIRST on.
BODY = (
    f"""
.shared .align 1024 .b8 image[{SIZE}];
.shared .align 8 .b64 full;
.shared .align 8 .b64 done;
.shared .align 4 .b32 address;
mov.u32 %r0, %tid.x;
shr.u32 %r1, %r0, 5;
setp.eq.u32 %p0, %r0, 0;
setp.eq.u32 %p1, %r1, 0;
mov.u32 %r2, full;
mov.u32 %r3, done;
mov.u32 %r4, address;
mov.u32 %r6, image;
@%p0 mbarrier.init.shared::cta.b64 [%r2], 1;
@%p0 mbarrier.init.shared::cta.b64 [%r3], 1;
fence.mbarrier_init.release.cluster;
@%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r4], 512;
@%p1 tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
bar.sync 0;
ld.shared.u32 %r14, [%r4];
shl.b32 %r16, %r1, 21;
add.u32 %r17, %r14, %r16;
add.u32 %r17, %r17, FIRST;
add.u32 %r20, %r14, {A_COLUMN};
add.u32 %r21, %r14, {B_COLUMN};
"""
    + "\n".join(f"mov.b32 %r{100 + i}, {INITIAL:#x};" for i in range(COLUMNS))
    + f"""
tcgen05.st.sync.aligned.32x32b.x64.b32 [%r17], {REGISTERS};
tcgen05.wait::st.sync.aligned;
ld.param.u64 %rd1, [p0];
@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], {SIZE};
@%p0 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r6], [%rd1], {SIZE}, [%r2];
arrived:
mbarrier.try_wait.parity.shared::cta.b64 %p5, [%r2], 0;
@!%p5 bra arrived;
tcgen05.fence::before_thread_sync;
bar.sync 0;
tcgen05.fence::after_thread_sync;
shr.u32 %r6, %r6, 4;
cvt.u64.u32 %rd2, %r6;
"""
    # Without swizzle: 128 bytes from one 16-byte column to the next, 256 (two columns) from eight rows to the next.
    # The factors are one 16-byte column: eight rows are 128 bytes.
    + "".join(
        f"add.u64 %rd{3 + i}, %rd2, {(offset >> 4) | (128 >> 4) << 16 | (stride >> 4) << 32 | 1 << 46:#x};\n"
        for i, (offset, stride) in enumerate([(A, 256), (B, 256), (A_SCALES, 128), (B_SCALES, 128)])
    )
    + f"""
mov.b32 %r15, INSTRUCTION;
setp.ne.u32 %p3, %r0, %r0;
setp.eq.u32 %p4, %r0, %r0;
@!%p0 bra issued;
PRODUCT
tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r3];
issued:
poll:
mbarrier.try_wait.parity.shared::cta.b64 %p5, [%r3], 0;
@!%p5 bra poll;
tcgen05.fence::after_thread_sync;
tcgen05.ld.sync.aligned.32x32b.x64.b32 {REGISTERS}, [%r17];
tcgen05.wait::ld.sync.aligned;
ld.param.u64 %rd7, [p1];
mul.wide.u32 %rd8, %r0, 256;
add.u64 %rd7, %rd7, %rd8;
"""
    + "\n".join(f"st.global.b32 [%rd7+{4 * i}], %r{100 + i};" for i in range(COLUMNS))
    + """
tcgen05.fence::before_thread_sync;
bar.sync 0;
@%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r14, 512;
"""
)

COPY_A = "tcgen05.cp.cta_group::1.32x128b.warpx4 [%r20], %rd5;\n"
COPY_B = "tcgen05.cp.cta_group::1.32x128b.warpx4 [%r21], %rd6;\n"


@dataclass(frozen=True)
class Form:
    """A kind with the number of scale factors along K, and the types of elements and factors with their codes."""

    kind: str
    blocks: int
    element: type
    code: int
    scale: type
    scale_code: int

    @property
    def depth(self) -> int:
        return 64 if self.element is E2M1 else 32


FORMS = {
    "mxf8 e4m3": Form("mxf8f6f4", 1, E4M3, 0, E8M0, 1),
    "mxf8 e5m2": Form("mxf8f6f4", 1, E5M2, 1, E8M0, 1),
    "mxf4": Form("mxf4", 2, E2M1, 1, E8M0, 1),
    "mxf4nvf4 2X": Form("mxf4nvf4", 2, E2M1, 1, E8M0, 1),
    "mxf4nvf4 4X of ue8m0": Form("mxf4nvf4", 4, E2M1, 1, E8M0, 1),
    "nvf4": Form("mxf4nvf4", 4, E2M1, 1, E4M3, 0),
}


def packed(matrix: np.ndarray) -> np.ndarray:
    """The bytes of a matrix, two elements of four bits per byte."""
    codes = matrix.view(np.uint8)
    return codes[:, 0::2] & 15 | (codes[:, 1::2] & 15) << 4 if matrix.dtype == E2M1 else codes


def operand_image(matrix: np.ndarray) -> np.ndarray:
    """Core matrices of 8 rows by 16 bytes, two along K, then the next eight rows."""
    data = packed(matrix)
    return data.reshape(len(data) // 8, 8, 2, 16).transpose(0, 2, 1, 3).ravel()


def scale_image(scales: np.ndarray, first: int) -> np.ndarray:
    """Groups of 128 rows as 32 rows of 16 bytes: byte 4 * (row / 32) + first + block; other bytes are NaN."""
    rows, blocks = scales.shape
    image = np.full((-(-rows // 128), 32, 4, 4), 0xFF, np.uint8)
    for row in range(rows):
        image[row // 128, row % 32, row % 128 // 32, first : first + blocks] = scales.view(np.uint8)[row]
    return image.ravel()


def instruction_descriptor(form: Form, rows: int, columns: int, ids: Sequence[int] = (0, 0)) -> int:
    codes = form.code << 7 | form.code << 10 | form.scale_code << 23
    return codes | ids[1] << 4 | ids[0] << 29 | columns >> 3 << 17 | rows >> 7 << 27


def suffix(form: Form) -> str:
    return f"kind::{form.kind}.block_scale.scale_vec::{form.blocks}X"


@pytest.fixture
def product(simulate, aligned):
    """Runs one instruction on A (128 x K), B (N x K) and their factors; returns 64 columns of D as words."""

    def run(
        form, a, b, a_scales, b_scales, *,
        ids=(0, 0), accumulate=False, first=0, copies=None, operation=None, b_image=None,
    ):  # fmt: skip
        memory = np.zeros(SIZE, np.uint8)
        b_factors = scale_image(b_scales, ids[1]) if b_image is None else b_image
        images = (operand_image(a), operand_image(b), scale_image(a_scales, ids[0]), b_factors)
        for offset, image in zip((A, B, A_SCALES, B_SCALES), images, strict=True):
            memory[offset : offset + image.size] = image
        predicate = "%p4" if accumulate else "%p3"
        mma = f"tcgen05.mma.cta_group::1.{suffix(form)} [%r14], %rd3, %rd4, %r15, [%r20], [%r21], {predicate};"
        body = BODY.replace("INSTRUCTION", hex(instruction_descriptor(form, 128, len(b), ids)))
        body = body.replace("PRODUCT", (COPY_A + COPY_B if copies is None else copies) + (operation or mma))
        got = np.zeros((128, COLUMNS), np.uint32)
        simulate(body.replace("FIRST", str(first)), aligned(memory), got, block=128)
        return got

    return run


def whole_numbers(form: Form, columns: int, seed: int = 0) -> tuple[np.ndarray, ...]:
    """Elements and factors that are small integers or powers of two, so that every sum is exact in f32."""
    rng = np.random.default_rng(seed)
    a, b = (rng.integers(-3, 4, (count, form.depth)).astype(form.element) for count in (128, columns))
    scales = [(2.0 ** rng.integers(-2, 3, (count, form.blocks))).astype(form.scale) for count in (128, columns)]
    return a, b, *scales


def scaled(form: Form, matrix: np.ndarray, scales: np.ndarray) -> np.ndarray:
    return matrix.astype(np.float64) * np.repeat(scales.astype(np.float64), form.depth // form.blocks, axis=1)


def as_f32(words: np.ndarray) -> np.ndarray:
    return words.view(np.float32)


# The id of a scale factor is the byte of the first one in its word, a multiple of their number.
SCALE_IDS = [
    pytest.param(form, ids, id=f"{name}-{ids}")
    for name, form in FORMS.items()
    for ids in [(0, 0), (1, 3), (2, 0), (0, 2)]
    if not any(first % form.blocks for first in ids)
]


@pytest.mark.parametrize(("form", "ids"), SCALE_IDS)
def test_products_of_whole_numbers_are_exact(product, form, ids):
    a, b, a_scales, b_scales = whole_numbers(form, 64)
    got = product(form, a, b, a_scales, b_scales, ids=ids)
    np.testing.assert_array_equal(as_f32(got), scaled(form, a, a_scales) @ scaled(form, b, b_scales).T)


@pytest.mark.parametrize("form", [FORMS["mxf8 e4m3"], FORMS["nvf4"]], ids=["mxf8", "nvf4"])
def test_256_columns_have_scale_factors_in_eight_columns(product, form):
    a, b, a_scales, b_scales = whole_numbers(form, 256)
    copies = COPY_A + COPY_B + "add.u32 %r22, %r21, 4;\nadd.u64 %rd9, %rd6, 32;\n"
    copies += COPY_B.replace("%r21", "%r22").replace("%rd6", "%rd9")
    got = product(form, a, b, a_scales, b_scales, first=192, copies=copies)
    np.testing.assert_array_equal(as_f32(got), scaled(form, a, a_scales) @ scaled(form, b, b_scales)[192:].T)


def test_lanes_use_their_own_copy_of_the_scale_factors(product):
    """Lanes 96 to 127 have other factors of B, which change only rows 96 to 127."""
    form = FORMS["mxf8 e4m3"]
    a, b, a_scales, b_scales = whole_numbers(form, 64)
    others = np.roll(b_scales, 1)
    image = np.concatenate([scale_image(factors, 0) for factors in (b_scales, b_scales, b_scales, others)])
    copies = COPY_A + "tcgen05.cp.cta_group::1.128x128b [%r21], %rd6;\n"
    got = product(form, a, b, a_scales, b_scales, copies=copies, b_image=image)
    left = scaled(form, a, a_scales)
    np.testing.assert_array_equal(as_f32(got)[:96], left[:96] @ scaled(form, b, b_scales).T)
    np.testing.assert_array_equal(as_f32(got)[96:], left[96:] @ scaled(form, b, others).T)


@pytest.mark.parametrize("form", [FORMS["mxf8 e4m3"], FORMS["mxf4"], FORMS["nvf4"]], ids=["mxf8", "mxf4", "nvf4"])
def test_factor_nan_makes_its_row_or_column_nan(product, form):
    a, b, a_scales, b_scales = whole_numbers(form, 64)
    a_scales[5, -1] = np.nan
    b_scales[7, 0] = np.nan
    got = product(form, a, b, a_scales, b_scales)
    expected = scaled(form, a, a_scales) @ scaled(form, b, b_scales).T
    np.testing.assert_array_equal(as_f32(got), expected)
    assert (got[5] == 0x7FFFFFFF).all()


def test_sign_of_ue4m3_is_ignored(product):
    form = FORMS["nvf4"]
    a, b, a_scales, b_scales = whole_numbers(form, 64)
    got = product(form, a, b, -a_scales, b_scales)
    np.testing.assert_array_equal(as_f32(got), scaled(form, a, a_scales) @ scaled(form, b, b_scales).T)


def test_packed_a_in_tensor_memory(product):
    """tcgen05.cp copies A to columns 272 to 279: eight elements of four bits per cell."""
    form = FORMS["mxf4"]
    a, b, a_scales, b_scales = whole_numbers(form, 64)
    copy = "add.u32 %r30, %r14, 272;\ntcgen05.cp.cta_group::1.128x256b [%r30], %rd3;\n"
    mma = f"tcgen05.mma.cta_group::1.{suffix(form)} [%r14], [%r30], %rd4, %r15, [%r20], [%r21], %p3;"
    got = product(form, a, b, a_scales, b_scales, operation=copy + mma)
    np.testing.assert_array_equal(as_f32(got), scaled(form, a, a_scales) @ scaled(form, b, b_scales).T)


# ---- rounding


def rounded_sum(terms: Sequence[tuple[Fraction, int]], fraction_bits: int) -> float:
    """The sum of terms truncated relative to the largest of their exponents, then truncated to f32."""
    unit = Fraction(2) ** (max(exponent for _, exponent in terms) - fraction_bits)
    total = sum((toward_zero(value, unit) for value, _ in terms), Fraction(0))
    return to_f32(total)


SMALLEST = {E4M3: -6, E5M2: -14, E8M0: -127}


def fractions(row: np.ndarray) -> list[Fraction]:
    return [Fraction(float(value)) for value in row]


def terms_of_one_block(form, x, y, x_scale, y_scale):
    """Products with the exponents of elements and factors; a zero has no exponent."""
    factor = x_scale[0] * y_scale[0]
    at = exponent_of(factor, -254)
    for left, right in zip(x, y, strict=True):
        if left * right:
            least = SMALLEST[form.element]
            yield left * right * factor, exponent_of(left, least) + exponent_of(right, least) + at


def terms_of_groups(form, x, y, x_scale, y_scale):
    """Exact sums of sixteen products with the exponents of their factors."""
    per_scale = form.depth // form.blocks
    for start in range(0, form.depth, 16):
        left, right = x_scale[start // per_scale], y_scale[start // per_scale]
        exact = sum((p * q for p, q in zip(x[start : start + 16], y[start : start + 16], strict=True)), Fraction(0))
        least = SMALLEST[form.scale]
        yield exact * left * right, exponent_of(left, least) + exponent_of(right, least)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_sums_with_the_accumulator_are_truncated_toward_zero(product, form):
    rng = np.random.default_rng(form.blocks)
    a, b = (rng.standard_normal((rows, form.depth)).astype(form.element) for rows in (128, 64))
    spread = 6 if form.scale is E4M3 else 18
    a_scales, b_scales = (
        np.exp2(rng.uniform(-spread, spread, (rows, form.blocks))).astype(form.scale) for rows in (128, 64)
    )
    got = as_f32(product(form, a, b, a_scales, b_scales, accumulate=True))
    terms, bits = (terms_of_one_block, 25) if form.blocks == 1 else (terms_of_groups, 35)
    for m in range(0, 128, 9):
        for n in range(0, 64, 7):
            parts = terms(form, *map(fractions, (a[m], b[n], a_scales[m], b_scales[n])))
            assert got[m, n] == rounded_sum([(Fraction(2**23), 23), *parts], bits), (m, n)


# ---- descriptors


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_valid_instruction_descriptors(form):
    for rows, group in ((128, 1), (128, 2), (256, 2)):
        bits = instruction_descriptor(form, rows, 64)
        assert ptxsim.instruction_descriptor_error(bits, form.kind, group, form.blocks) == ""


@pytest.mark.parametrize(
    ("name", "rows", "columns", "more", "message"),
    [
        ("mxf8 e4m3", 256, 64, 0, "M 128 with block scaling, got 256"),
        ("mxf8 e4m3", 128, 0, 0, "N that the kind and cta_group support, got 0"),
        ("mxf8 e4m3", 128, 64, 1, "bits 0, 1, 3, 6, 24 to 26 and 31"),
        ("mxf8 e4m3", 128, 64, 1 << 31, "bits 0, 1, 3, 6, 24 to 26 and 31"),
        ("mxf8 e4m3", 128, 64, 1 << 24, "bits 0, 1, 3, 6, 24 to 26 and 31"),
        ("mxf8 e4m3", 128, 24, 1 << 16, "N to be a multiple of 16 per CTA for a transposed B"),
        ("mxf4", 128, 64, 1 << 29, "ids that are multiples of 2, got 1"),
        ("nvf4", 128, 64, 2 << 4, "ids that are multiples of 4, got 2"),
        ("mxf4", 128, 64, 1 << 15, "K-major matrices of 4-bit"),
        ("mxf4", 128, 64, 1 << 8, "type codes of A and B that the kind supports, got 3 and 1"),
    ],
)
def test_invalid_instruction_descriptors(name, rows, columns, more, message):
    form = FORMS[name]
    bits = instruction_descriptor(form, rows, columns) | more
    assert message in ptxsim.instruction_descriptor_error(bits, form.kind, 1, form.blocks)


def test_ue4m3_needs_blocks_of_16():
    bits = instruction_descriptor(FORMS["mxf4"], 128, 64) & ~(1 << 23)
    assert "UE8M0" in ptxsim.instruction_descriptor_error(bits, "mxf4", 1, 2)
    assert "UE8M0" in ptxsim.instruction_descriptor_error(bits, "mxf4nvf4", 1, 2)


def test_factors_at_another_lane_are_reported(product):
    form = FORMS["mxf8 e4m3"]
    mma = f"add.u32 %r20, %r20, 0x200000;\ntcgen05.mma.cta_group::1.{suffix(form)} " \
          "[%r14], %rd3, %rd4, %r15, [%r20], [%r21], %p3;"  # fmt: skip
    with pytest.raises(ptxsim.Trap, match="scale factors at lane 0, got lane 32"):
        product(form, *whole_numbers(form, 64), operation=mma)
