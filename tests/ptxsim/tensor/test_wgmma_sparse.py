"""wgmma.mma_async.sp: which elements along K the metadata in registers keeps, and the metadata that is refused.

The registers of metadata are those of PTX ISA 9.7.15.5.2, as the fragments of CUTLASS (ELayout_64x16, 64x32 and 64x64).
"""

from __future__ import annotations

from dataclasses import dataclass

import ml_dtypes
import numpy as np
import pytest
from sparse_operands import core_matrices, first_pairs_with_infinity, kept_of, operands

from tilec.runtime.ptxsim import _native as ptxsim

ROWS, COLUMNS = 64, 16
# Offsets in shared memory of A and B; the size of both.
A, B, SIZE = 0, 2048, 3072
D = "{" + ", ".join(f"%f{i}" for i in range(8)) + "}"
SUMS = "{" + ", ".join(f"%r{100 + i}" for i in range(8)) + "}"
BODY = f"""
.shared .align 1024 .b8 image[{SIZE}];
.shared .align 8 .b64 full;
mov.u32 %r0, %tid.x;
setp.eq.u32 %p0, %r0, 0;
mov.u32 %r2, full;
mov.u32 %r6, image;
@%p0 mbarrier.init.shared::cta.b64 [%r2], 1;
fence.mbarrier_init.release.cluster;
bar.sync 0;
ld.param.u64 %rd1, [p0];
@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], {SIZE};
@%p0 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r6], [%rd1], {SIZE}, [%r2];
arrived:
mbarrier.try_wait.parity.shared::cta.b64 %p5, [%r2], 0;
@!%p5 bra arrived;
ld.param.u64 %rd2, [p1];
mul.wide.u32 %rd3, %r0, 4;
add.u64 %rd2, %rd2, %rd3;
ld.global.b32 %r1, [%rd2];
shr.u32 %r6, %r6, 4;
cvt.u64.u32 %rd4, %r6;
add.u64 %rd5, %rd4, {(B >> 4) | (128 >> 4) << 16 | (512 >> 4) << 32:#x};
add.u64 %rd4, %rd4, {(128 >> 4) << 16 | (256 >> 4) << 32:#x};
setp.ne.u32 %p3, %r0, %r0;
FENCE
wgmma.mma_async.sp.sync.aligned.m64n16kDEPTH.TYPES RESULT, %rd4, %rd5, %r1, SELECTOR, %p3IMMEDIATES;
CHANGE
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;
ld.param.u64 %rd6, [p2];
mul.wide.u32 %rd7, %r0, 32;
add.u64 %rd6, %rd6, %rd7;
""" + "\n".join(f"st.global.b32 [%rd6+{4 * i}], REGISTER{i};" for i in range(8))


@dataclass(frozen=True)
class Kind:
    """The types of an instruction, the elements of a row of A, and whether two threads of four have the metadata."""

    types: str
    element: type
    halves: bool = False
    result: type = np.float32

    @property
    def immediates(self) -> str:
        if self.result is np.int32:
            return ""
        return ", 1, 1, 0, 0" if np.dtype(self.element).itemsize == 2 else ", 1, 1"


KINDS = {
    "f16": Kind("f32.f16.f16", np.float16, True),
    "bf16": Kind("f32.bf16.bf16", ml_dtypes.bfloat16, True),
    "tf32": Kind("f32.tf32.tf32", np.float32, True),
    "e4m3": Kind("f32.e4m3.e4m3", ml_dtypes.float8_e4m3fn),
    "e5m2": Kind("f32.e5m2.e5m2", ml_dtypes.float8_e5m2),
    "s8": Kind("s32.s8.s8", np.int8, result=np.int32),
    "u8": Kind("s32.u8.u8", np.uint8, result=np.int32),
}


def registers_of(codes: np.ndarray, kind: Kind, selector: int) -> np.ndarray:
    """The register of each thread; those of threads that have no metadata are illegal."""
    registers = np.zeros(128, np.uint32)
    for row in range(ROWS):
        for group, code in enumerate(codes[row].tolist()):
            warp, in_warp = divmod(row, 16)
            quad = 32 * warp + 4 * (in_warp % 8)
            if kind.halves:
                registers[quad + 2 * selector + group // 4] |= np.uint32(code << 4 * (group % 4) + 16 * (in_warp // 8))
            else:
                registers[quad + in_warp // 8 + 2 * (group // 8)] |= np.uint32(code << 4 * (group % 8))
    return registers


def rows_of(found: np.ndarray) -> np.ndarray:
    """The matrix of the registers of each thread (PTX ISA 9.7.15.5.1.3)."""
    matrix = np.zeros((ROWS, COLUMNS), found.dtype)
    for thread in range(128):
        warp, lane = divmod(thread, 32)
        for r in range(8):
            matrix[16 * warp + lane // 4 + 8 * (r >> 1 & 1), 8 * (r >> 2) + 2 * (lane % 4) + (r & 1)] = found[thread, r]
    return matrix


FENCE = "wgmma.fence.sync.aligned;"


@pytest.fixture
def multiply(simulate, aligned):
    """Runs one instruction."""

    def run(kind: Kind, a, b, registers, selector: int = 0, fence: str = FENCE, change: str = "") -> np.ndarray:
        image = np.frombuffer(core_matrices(a) + core_matrices(b), np.uint8)
        assert image.size == SIZE
        is_integer = kind.result is np.int32
        replaced = {
            "DEPTH": str(2 * kept_of(kind.element)),
            "TYPES": kind.types,
            "RESULT": SUMS if is_integer else D,
            "SELECTOR": str(selector),
            "IMMEDIATES": kind.immediates,
            "FENCE": fence,
            "CHANGE": change,
            "REGISTER": "%r10" if is_integer else "%f",
        }
        body = BODY
        for word, text in replaced.items():
            body = body.replace(word, text)
        found = np.zeros((128, 8), kind.result)
        simulate(body, aligned(image), registers, found, block=128, target="sm_90a")
        return rows_of(found)

    return run


@pytest.mark.parametrize("name", KINDS)
def test_product_of_kept_elements(multiply, name: str) -> None:
    kind = KINDS[name]
    for selector in (0, 1) if kind.halves else (0,):
        kept, codes, dense, b = operands(kind.element, ROWS, COLUMNS, selector)
        found = multiply(kind, kept, b, registers_of(codes, kind, selector), selector)
        np.testing.assert_array_equal(found, dense @ b.astype(np.int64).T)


def test_elements_that_are_not_kept_do_not_count(multiply) -> None:
    """B is infinite where A keeps no element; 0 * infinity must not be computed."""
    kind = KINDS["f16"]
    kept, codes, exact, b = first_pairs_with_infinity(ROWS, COLUMNS)
    np.testing.assert_array_equal(multiply(kind, kept, b, registers_of(codes, kind, 0)), exact)


@pytest.mark.parametrize("code", [0b0000, 0b0001, 0b0101, 0b0110, 0b1010, 0b1111])
@pytest.mark.parametrize("name", ["f16", "s8"])
def test_pairs_that_do_not_ascend_are_reported(multiply, name: str, code: int) -> None:
    kind = KINDS[name]
    kept, codes, _, b = operands(kind.element, ROWS, COLUMNS, 0)
    codes[29, 5] = code
    with pytest.raises(ptxsim.Trap, match=f"two ascending indices, as 0b0100, got {code:#06b} for row 13, group 5"):
        multiply(kind, kept, b, registers_of(codes, kind, 0))


def test_a_pair_of_tf32_is_reported(multiply) -> None:
    kind = KINDS["tf32"]
    kept, codes, _, b = operands(kind.element, ROWS, COLUMNS, 0)
    codes[5, 2] = 0b1100
    with pytest.raises(ptxsim.Trap, match="expected metadata of 0b0100 or 0b1110, got 0b1100 for row 5, group 2"):
        multiply(kind, kept, b, registers_of(codes, kind, 0))


def test_metadata_needs_no_fence_and_must_not_change(multiply) -> None:
    """wgmma.fence orders accumulators and fragments of A alone (PTX ISA 9.7.15.7.1): nvcc moves metadata after it."""
    kind = KINDS["f16"]
    kept, codes, dense, b = operands(kind.element, ROWS, COLUMNS, 0)
    registers = registers_of(codes, kind, 0)
    product = dense.astype(np.float32) @ b.astype(np.float32).T
    assert np.array_equal(multiply(kind, kept, b, registers, fence=FENCE + "\nadd.u32 %r1, %r1, 0;"), product)
    with pytest.raises(ptxsim.Trap, match="'%r1' is overwritten before wgmma.wait_group has completed"):
        multiply(kind, kept, b, registers, change="mov.b32 %r1, 0;")


@pytest.mark.parametrize(("name", "selector"), [("f16", 2), ("s8", 1), ("e4m3", 1)])
def test_selectors_that_do_not_exist_are_refused(multiply, name: str, selector: int) -> None:
    kind = KINDS[name]
    kept, codes, _, b = operands(kind.element, ROWS, COLUMNS, 0)
    with pytest.raises(ptxsim.PtxError, match="expected a sparsity selector of 0, or of 1 with 16-bit and tf32"):
        multiply(kind, kept, b, registers_of(codes, kind, 0), selector)
