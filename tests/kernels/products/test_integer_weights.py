"""Products with weights of 8 and 4 bits in many wordings: results as numpy's, and equal code for equal computations.

All operands are small integers and powers of two, so that each product and each sum is exact, and the oracle
multiplies the same numbers. Weights have all 256 bytes, and all pairs of nibbles.
"""

from __future__ import annotations

import re
from collections import Counter

import ml_dtypes
import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct

TARGETS = ("sm_100a", "sm_90a")
ROWS, COLUMNS, DEPTH, GROUPS = 64, 64, 64, 3
FLOATS = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
# The forms of weights of 8 bits: without a zero point, where the product may be scaled after it, and with one.
PLAIN = ("rhs_of_rows", "rhs_of_columns", "lhs_of_rows", "lhs_of_columns")
WITH_ZERO = ("zero_of_floats", "zero_of_integers", "zero_of_single_floats", "zero_in_columns")
OF_COLUMNS = ("rhs_of_columns", "lhs_of_columns", "zero_in_columns")
# For each form of nibbles, whether they are signed, and whether the bytes are.
NIBBLE_FORMS = {
    "masks": (False, False),
    "mask_of_the_upper_bits": (False, False),
    "remainder_and_quotient": (False, False),
    "remainder_of_words": (False, False),
    "words": (False, False),
    "less_8": (True, True),
    "inverted_sign": (True, True),
    "shifts": (True, True),
}


# ---- 8 bits


def weights_of_bytes(A, Q, S, Z, k, form: str):
    """The weights of a group of the depth: [N, K], or [K, N] in the forms of columns."""
    if form in ("rhs_of_columns", "lhs_of_columns"):
        return ct.load(Q, (k, 0), (DEPTH, COLUMNS)).astype(A.dtype)
    if form == "zero_in_columns":
        q = ct.load(Q, (k, 0), (DEPTH, COLUMNS))
        s, z = ct.load(S, (k, 0), (1, COLUMNS)), ct.load(Z, (k, 0), (1, COLUMNS))
        return (q.astype(ct.int16) - z.astype(ct.int16)).astype(A.dtype) * s
    q = ct.load(Q, (0, k), (COLUMNS, DEPTH))
    if form in ("rhs_of_rows", "lhs_of_rows"):
        return q.astype(A.dtype)
    s, z = ct.load(S, (0, k), (COLUMNS, 1)), ct.load(Z, (0, k), (COLUMNS, 1))
    if form == "zero_of_floats":
        return (q.astype(A.dtype) - z.astype(A.dtype)) * s
    if form == "zero_of_single_floats":
        return ((q.astype(ct.float32) - z.astype(ct.float32)) * s.astype(ct.float32)).astype(A.dtype)
    return (q.astype(ct.int32) - z.astype(ct.int32)).astype(A.dtype) * s


@ct.kernel
def product_of_bytes(A, Q, S, Z, R, form: ct.Constant[str]):
    """The product with weights as the right operand or, transposed, as the left one."""
    is_left, of_columns = form in ("lhs_of_rows", "lhs_of_columns"), form in OF_COLUMNS
    total = ct.zeros((COLUMNS, ROWS) if is_left else (ROWS, COLUMNS), ct.float32)
    for k in range(GROUPS):
        w, a = weights_of_bytes(A, Q, S, Z, k, form), ct.load(A, (0, k), (ROWS, DEPTH))
        if is_left:
            total = ct.mma(ct.transpose(w) if of_columns else w, ct.transpose(a), total)
        else:
            total = ct.mma(a, w if of_columns else ct.transpose(w), total)
    ct.store(R, (0, 0), ct.transpose(total) if is_left else total)


# ---- 4 bits


def nibbles(q, form: str):
    """The lower and the upper nibbles of bytes."""
    if form == "masks":
        return q & 15, q >> 4
    if form == "mask_of_the_upper_bits":
        return q & 0xF, (q & 0xF0) >> 4
    if form == "remainder_and_quotient":
        return q % 16, q // 16
    if form == "remainder_of_words":
        return q.astype(ct.int32) % 16, q.astype(ct.int32) // 16
    if form == "words":
        return q.astype(ct.int32) & 15, (q.astype(ct.int32) >> 4) & 15
    if form == "less_8":
        return (q & 15) - 8, ((q >> 4) & 15) - 8
    if form == "inverted_sign":
        return ((q & 15) ^ 8) - 8, (((q >> 4) & 15) ^ 8) - 8
    return (q << 4) >> 4, q >> 4


@ct.kernel
def nibbles_of_rows(A, Q, S, R, form: ct.Constant[str]):
    """Two nibbles along K in a byte of [N, K / 2]."""
    total = ct.zeros((ROWS, COLUMNS), ct.float32)
    for k in range(GROUPS):
        low, high = nibbles(ct.load(Q, (0, k), (COLUMNS, DEPTH // 2)), form)
        w = ct.cat((low[:, :, None], high[:, :, None]), 2).reshape((COLUMNS, DEPTH)).astype(A.dtype)
        w = w * ct.load(S, (0, k), (COLUMNS, 1))
        total = ct.mma(ct.load(A, (0, k), (ROWS, DEPTH)), ct.transpose(w), total)
    ct.store(R, (0, 0), total)


@ct.kernel
def nibbles_of_columns(A, Q, S, R, form: ct.Constant[str]):
    """Two nibbles along K in a byte of [K / 2, N]."""
    total = ct.zeros((ROWS, COLUMNS), ct.float32)
    for k in range(GROUPS):
        low, high = nibbles(ct.load(Q, (k, 0), (DEPTH // 2, COLUMNS)), form)
        w = ct.cat((low[:, None, :], high[:, None, :]), 1).reshape((DEPTH, COLUMNS)).astype(A.dtype)
        w = w * ct.load(S, (k, 0), (1, COLUMNS))
        total = ct.mma(ct.load(A, (0, k), (ROWS, DEPTH)), w, total)
    ct.store(R, (0, 0), total)


@ct.kernel
def whole_tile(A, Q, R):
    total = ct.zeros((128, 128), ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(128, 64))):
        w = ct.load(Q, (0, k), (128, 64)).astype(A.dtype)
        total = ct.mma(ct.load(A, (0, k), (128, 64)), ct.transpose(w), total)
    ct.store(R, (0, 0), total)


@ct.kernel
def few_rows(A, Q, R, by_float32: ct.Constant[bool]):
    """Decode: 16 rows, whose products mma.sync computes."""
    total = ct.zeros((16, 128), ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(16, 128))):
        q = ct.load(Q, (0, k), (128, 128))
        w = (q.astype(ct.float32) * 0.3).astype(A.dtype) if by_float32 else q.astype(A.dtype)
        total = ct.mma(ct.load(A, (0, k), (16, 128)), ct.transpose(w), total)
    ct.store(R, (0, 0), total)


# ---- arguments


def byte_arguments(form: str, dtype: type, result: str, random: np.random.Generator) -> tuple[list, np.ndarray]:
    """The arguments and the exact product."""
    depth = GROUPS * DEPTH
    a = random.integers(-2, 3, (ROWS, depth))
    q = random.permutation(np.resize(np.arange(256), COLUMNS * depth)).astype(np.uint8).view(dtype)
    q = q.reshape(COLUMNS, depth)
    z = random.integers(0, 256, (COLUMNS, GROUPS)).astype(np.uint8).view(dtype)
    s = 2.0 ** random.integers(-1, 2, (COLUMNS, GROUPS))
    of_group = np.arange(depth) // DEPTH
    weights = q.astype(np.float64)
    if form in WITH_ZERO:
        weights = (weights - z.astype(np.float64)[:, of_group]) * s[:, of_group]
    if form in OF_COLUMNS:
        q, s, z = (np.ascontiguousarray(each.T) for each in (q, s, z))
    args = [a.astype(FLOATS[result]), q, s.astype(FLOATS[result]), z, np.zeros((ROWS, COLUMNS), np.float32), form]
    return args, a @ weights.T


def nibble_arguments(kernel, form: str, result: str) -> tuple[list, np.ndarray]:
    """The arguments and the exact product."""
    random, depth = np.random.default_rng(1), GROUPS * DEPTH
    is_signed, of_signed_bytes = NIBBLE_FORMS[form]
    a = random.integers(-2, 3, (ROWS, depth))
    q = random.permutation(np.resize(np.arange(256), COLUMNS * depth // 2)).astype(np.uint8)
    q = q.reshape(COLUMNS, depth // 2)
    numbers = np.stack((q & 15, q >> 4), 2).reshape(COLUMNS, depth).astype(np.int64)
    if is_signed:
        numbers = numbers - 8 if form == "less_8" else numbers - (numbers >> 3 << 4)
    s = 2.0 ** random.integers(-1, 2, (COLUMNS, GROUPS))
    weights = numbers * s[:, np.arange(depth) // DEPTH]
    if kernel is nibbles_of_columns:
        q, s = np.ascontiguousarray(q.T), np.ascontiguousarray(s.T)
    q = q.view(np.int8) if of_signed_bytes else q
    args = [a.astype(FLOATS[result]), q, s.astype(FLOATS[result]), np.zeros((ROWS, COLUMNS), np.float32), form]
    return args, a @ weights.T


def code_of(kernel, args: list, target: str) -> str:
    signature = ct.Signature.from_arguments(kernel, tuple(args))
    return ct.compile(kernel, target=target, signature=signature).ptx


# ---- tests


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("result", FLOATS)
@pytest.mark.parametrize("form", (*PLAIN, *WITH_ZERO))
def test_bytes(form: str, dtype: type, result: str, target: str, random: np.random.Generator) -> None:
    args, exact = byte_arguments(form, dtype, result, random)
    for (found,) in run_everywhere(product_of_bytes, (1,), tuple(args), (4,), target=target, hints={}):
        np.testing.assert_array_equal(found, exact)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("form", NIBBLE_FORMS)
@pytest.mark.parametrize("kernel", [nibbles_of_rows, nibbles_of_columns], ids=lambda kernel: kernel.__name__)
def test_nibbles(kernel, form: str, target: str) -> None:
    args, exact = nibble_arguments(kernel, form, "float16" if form != "less_8" else "bfloat16")
    for (found,) in run_everywhere(kernel, (1,), tuple(args), (3,), target=target, hints={}):
        np.testing.assert_array_equal(found, exact)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kernel", [nibbles_of_rows, nibbles_of_columns], ids=lambda kernel: kernel.__name__)
def test_all_forms_of_nibbles_are_converted_alike(kernel, target: str) -> None:
    """A pair of nibbles takes one lop3 and two operations, and no form divides."""
    counts = set()
    for form in NIBBLE_FORMS:
        args, _ = nibble_arguments(kernel, form, "float16")
        ptx = code_of(kernel, args, target)
        assert not re.search(r"cvt\.rn\.f16\.[su]", ptx)
        counts.add((ptx.count("lop3.b32"), ptx.count("f16x2"), ptx.count("st.shared")))
    assert len(counts) == 1


@pytest.mark.parametrize("target", TARGETS)
def test_differences_of_integers_are_those_of_floats(target: str, random: np.random.Generator) -> None:
    """The zero point is taken off with the hidden bit of the significand: the difference of a pair takes one sum."""
    instructions = []
    for form in ("zero_of_floats", "zero_of_integers", "zero_of_single_floats"):
        args, _ = byte_arguments(form, np.int8, "float16", random)
        ptx = code_of(product_of_bytes, args, target)
        instructions.append(Counter(re.findall(r"^ +([a-z]\S+) ", ptx, re.MULTILINE)))
    pairs = instructions[0]["mul.rn.f16x2"]
    assert instructions[0]["add.rn.f16x2"] == pairs
    assert instructions[0]["fma.rn.f16x2"] <= pairs // 4
    assert instructions[0] == instructions[1] == instructions[2]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("form", PLAIN)
def test_threads_store_whole_vectors(form: str, target: str, random: np.random.Generator) -> None:
    """Operands lie along the dimension that is contiguous in memory, so that a thread stores what it has loaded."""
    args, _ = byte_arguments(form, np.int8, "float16", random)
    ptx = code_of(product_of_bytes, args, target)
    assert "st.shared.v4.b32" in ptx
    assert "st.shared.b16" not in ptx


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("by_float32", "blocks", "threads"), [(False, 2, 160), (True, 1, 128)])
def test_registers_leave_room_for_two_blocks_of_few_rows(
    by_float32: bool, blocks: int, threads: int, target: str
) -> None:
    """One block waits for its own threads. With f32 on the way two blocks would spill beside warps that load."""
    a, q = np.zeros((16, 256), ml_dtypes.bfloat16), np.zeros((128, 256), np.int8)
    ptx = code_of(few_rows, [a, q, np.zeros((16, 128), np.float32), by_float32], target)
    assert f".minnctapersm {blocks}\n" in ptx
    assert f".reqntid {threads}," in ptx


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("by_float32", [False, True])
def test_few_rows(by_float32: bool, target: str, random: np.random.Generator) -> None:
    a, q = random.integers(-2, 3, (16, 640)), random.integers(-16, 16, (128, 640)).astype(np.int8)
    w = (q.astype(np.float32) * np.float32(0.3)).astype(ml_dtypes.bfloat16) if by_float32 else q
    args = (a.astype(ml_dtypes.bfloat16), q, np.zeros((16, 128), np.float32), by_float32)
    for (found,) in run_everywhere(few_rows, (1,), args, (2,), target=target, hints={}):
        np.testing.assert_array_equal(found, a @ w.astype(np.float64).T)


def test_one_warpgroup_converts_on_hopper() -> None:
    """A thread has the accumulators, 32 registers of the operand, and the bytes of two iterations ahead."""
    args = [np.zeros((128, 256), np.float16), np.zeros((128, 256), np.int8), np.zeros((128, 128), np.float32)]
    assert ".reqntid 160," in code_of(whole_tile, args, "sm_90a")


@ct.kernel
def few_rows_of_words(A, Q, S, R, shifts_first: ct.Constant[bool]):
    """Words of eight nibbles along the depth, as GPTQ stores them, with a factor for each column and step."""
    total = ct.zeros((16, 128), ct.float32)
    shifts = ct.arange(8, dtype=ct.int32)[None, :, None] * 4
    for k in range(ct.num_tiles(A, 1, (16, 128))):
        a = ct.load(A, (0, k), (16, 128), padding_mode=ct.PaddingMode.ZERO)
        q = ct.load(Q, (k, 0), (16, 128), padding_mode=ct.PaddingMode.ZERO)[:, None, :]
        q = (q >> shifts) & 15 if shifts_first else ((q >> shifts) % 16 + 16) % 16
        w = (q.reshape((128, 128)) - 8).astype(A.dtype) * ct.load(S, (k, 0), (1, 128), padding_mode=ct.PaddingMode.ZERO)
        total = ct.mma(a, w, total)
    ct.store(R, (0, 0), total)


@pytest.mark.parametrize("shifts_first", [True, False])
def test_words_of_nibbles_leave_room_for_two_blocks(
    shifts_first: bool, target: str, random: np.random.Generator
) -> None:
    """Nibbles are bits of the loaded words until they are floats: they take no registers as integers."""
    a, q = random.integers(-3, 4, (13, 320)), random.integers(0, 16, (320, 112))
    words = (q.reshape(40, 8, 112) << 4 * np.arange(8)[:, None]).sum(1).astype(np.uint32).view(np.int32)
    factors = random.choice([0.5, 1, 2], (3, 112))
    args = [a.astype(np.float16), words, factors.astype(np.float16), np.zeros((13, 112), np.float32), shifts_first]
    exact = a @ ((q - 8) * factors.repeat(128, 0)[:320])
    (simulated, interpreted) = run_everywhere(few_rows_of_words, (1,), args, (3,), target=target, hints={})
    for (found,) in (simulated, interpreted):
        np.testing.assert_array_equal(found, exact)
    assert ".minnctapersm 2\n" in code_of(few_rows_of_words, args, target)
