"""tcgen05.mma.sp: which elements along K the metadata in tensor memory keeps, and the metadata that is refused.

The cells of metadata are those of PTX ISA 9.7.16.10.8.2, which CUTLASS (tmem_e_frg) and JAX
(format_tcgen05_sparse_metadata) fill likewise.
"""

from __future__ import annotations

from dataclasses import dataclass

import ml_dtypes
import numpy as np
import pytest
from sparse_operands import core_matrices, first_pairs_with_infinity, operands

from tilec.runtime.ptxsim import _native as ptxsim

ROWS, COLUMNS = 128, 64
# Offsets in shared memory of A, B and the metadata; the size of all.
A, B, METADATA, SIZE = 0, 4096, 8192, 10240
METADATA_COLUMN = 64
REGISTERS = "{" + ", ".join(f"%r{100 + i}" for i in range(COLUMNS)) + "}"
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
@%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r4], 128;
@%p1 tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
tcgen05.fence::before_thread_sync;
bar.sync 0;
tcgen05.fence::after_thread_sync;
ld.shared.u32 %r14, [%r4];
shl.b32 %r16, %r1, 21;
add.u32 %r17, %r14, %r16;
add.u32 %r20, %r14, {METADATA_COLUMN};
ld.param.u64 %rd1, [p0];
@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], {SIZE};
@%p0 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r6], [%rd1], {SIZE}, [%r2];
arrived:
mbarrier.try_wait.parity.shared::cta.b64 %p5, [%r2], 0;
@!%p5 bra arrived;
shr.u32 %r6, %r6, 4;
cvt.u64.u32 %rd2, %r6;
"""
    # Without swizzle: 128 bytes from one 16-byte column to the next; eight rows of A are 256, of B 512 bytes.
    + "".join(
        f"add.u64 %rd{3 + i}, %rd2, {(offset >> 4) | (128 >> 4) << 16 | (stride >> 4) << 32 | 1 << 46:#x};\n"
        for i, (offset, stride) in enumerate([(A, 256), (B, 512), (METADATA, 128)])
    )
    + f"""
mov.b32 %r15, INSTRUCTION;
setp.ne.u32 %p3, %r0, %r0;
@!%p0 bra issued;
tcgen05.cp.cta_group::1.128x128b [%r20], %rd5;
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
@%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r14, 128;
"""
)


@dataclass(frozen=True)
class Kind:
    """A kind with its types, the codes of the elements and of D, and whether a cell has 16 bits of each of two rows."""

    name: str
    element: type
    code: int
    result: type = np.float32
    halves: bool = False


KINDS = {
    "f16": Kind("f16", np.float16, 0, halves=True),
    "bf16": Kind("f16", ml_dtypes.bfloat16, 1, halves=True),
    "tf32": Kind("tf32", np.float32, 2, halves=True),
    "e4m3": Kind("f8f6f4", ml_dtypes.float8_e4m3fn, 0),
    "e5m2": Kind("f8f6f4", ml_dtypes.float8_e5m2, 1),
    "s8": Kind("i8", np.int8, 1, np.int32),
    "u8": Kind("i8", np.uint8, 0, np.int32),
}


def cells_of(codes: np.ndarray, kind: Kind, selector: int) -> np.ndarray:
    """The cells of four columns, one bit after the other; columns that the instruction does not read are illegal."""
    cells = np.zeros((ROWS, 4), np.uint32)
    for row in range(ROWS):
        for group, code in enumerate(codes[row].tolist()):
            # The number of the group in bits of K, four bits each.
            if kind.halves:
                lane, column = row % 8 + 16 * (row // 16) + 8 * (group // 4), selector
                bit = 4 * (group % 4) + 16 * (row // 8 % 2)
            else:
                lane, column, bit = row, group // 8, 4 * (group % 8)
            cells[lane, column] |= np.uint32(code << bit)
    return cells


def instruction_of(kind: Kind, selector: int, sparse: int = 1, rows: int = ROWS) -> int:
    result = 2 if kind.result is np.int32 else 1
    return (
        selector | sparse << 2 | result << 4 | kind.code << 7 | kind.code << 10 | COLUMNS >> 3 << 17 | rows >> 4 << 24
    )


PRODUCT = "tcgen05.mma.sp.cta_group::1.kind::{kind} [%r14], %rd3, %rd4, [%r20], %r15, %p3;"


@pytest.fixture
def multiply(simulate, aligned):
    """Runs one instruction."""

    def run(kind: Kind, a, b, cells, *, bits: int, operation: str = PRODUCT) -> np.ndarray:
        image = np.frombuffer(core_matrices(a) + core_matrices(b) + cells.tobytes(), np.uint8)
        assert image.size == SIZE
        body = BODY.replace("INSTRUCTION", f"{bits:#x}").replace("PRODUCT", operation.format(kind=kind.name))
        found = np.zeros((ROWS, COLUMNS), kind.result)
        simulate(body, aligned(image), found, block=128)
        return found

    return run


@pytest.mark.parametrize("name", KINDS)
def test_product_of_kept_elements(multiply, name: str) -> None:
    kind = KINDS[name]
    for selector in (0, 1) if kind.halves else (0,):
        kept, codes, dense, b = operands(kind.element, ROWS, COLUMNS, selector)
        found = multiply(kind, kept, b, cells_of(codes, kind, selector), bits=instruction_of(kind, selector))
        np.testing.assert_array_equal(found, dense @ b.astype(np.int64).T)


def test_elements_that_are_not_kept_do_not_count(multiply) -> None:
    """B is infinite where A keeps no element; 0 * infinity must not be computed."""
    kind = KINDS["f16"]
    kept, codes, exact, b = first_pairs_with_infinity(ROWS, COLUMNS)
    np.testing.assert_array_equal(
        multiply(kind, kept, b, cells_of(codes, kind, 0), bits=instruction_of(kind, 0)), exact
    )


F16, S8 = KINDS["f16"], KINDS["s8"]


@pytest.mark.parametrize("code", [0b0000, 0b0001, 0b0101, 0b0110, 0b1010, 0b1111])
@pytest.mark.parametrize(("kind", "groups"), [(F16, 8), (S8, 16)], ids=["f16", "s8"])
def test_pairs_that_do_not_ascend_are_reported(multiply, kind: Kind, groups: int, code: int) -> None:
    kept, codes, _, b = operands(kind.element, ROWS, COLUMNS, 0)
    codes[77, groups - 1] = code
    message = f"expected metadata of two ascending indices, as 0b0100, got {code:#06b} for row 77, group {groups - 1}"
    with pytest.raises(ptxsim.Trap, match=message) as trap:
        multiply(kind, kept, b, cells_of(codes, kind, 0), bits=instruction_of(kind, 0))
    assert trap.value.kind == "illegal"


def test_a_pair_of_tf32_is_reported(multiply) -> None:
    kind = KINDS["tf32"]
    kept, codes, _, b = operands(kind.element, ROWS, COLUMNS, 0)
    codes[5, 2] = 0b1100
    with pytest.raises(ptxsim.Trap, match="expected metadata of 0b0100 or 0b1110, got 0b1100 for row 5, group 2"):
        multiply(kind, kept, b, cells_of(codes, kind, 0), bits=instruction_of(kind, 0))


@pytest.mark.parametrize(
    ("kind", "options", "trap_kind", "message"),
    [
        (F16, {"bits": instruction_of(F16, 0, sparse=0)}, "descriptor", "sparsity bit of tcgen05.mma.sp to be one"),
        (F16, {"bits": instruction_of(F16, 2)}, "descriptor", "a sparsity selector of 0, or of 1 with kinds f16 and"),
        (S8, {"bits": instruction_of(S8, 1)}, "descriptor", "a sparsity selector of 0, or of 1 with kinds f16 and tf"),
        (F16, {"bits": instruction_of(F16, 0, rows=64)}, "unsupported", "tcgen05.mma.sp with M 64"),
        (
            F16,
            {"bits": instruction_of(F16, 0), "operation": "add.u32 %r20, %r20, 1;\n" + PRODUCT},
            "tensor-memory",
            "expected metadata at lane 0 and an even column, got lane 0, column 65",
        ),
        (
            F16,
            {"bits": instruction_of(F16, 0), "operation": "add.u32 %r20, %r20, 64;\n" + PRODUCT},
            "tensor-memory",
            "expected columns of one allocation, got",
        ),
    ],
)
def test_invalid_operands_are_reported(multiply, kind: Kind, options, trap_kind: str, message: str) -> None:
    kept, codes, _, b = operands(kind.element, ROWS, COLUMNS, 0)
    with pytest.raises(ptxsim.Trap, match=message) as trap:
        multiply(kind, kept, b, cells_of(codes, kind, 0), **options)
    assert trap.value.kind == trap_kind
