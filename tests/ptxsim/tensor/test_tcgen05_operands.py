"""tcgen05.mma with all kinds, major orders, swizzles, shapes and modifiers agrees with numpy."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tilec.runtime.ptxsim import _native as ptxsim

COLUMNS = 64  # columns of the allocation, and of D that are read back
INITIAL = 0x4B000000  # 2**23 as f32, the value of every cell before the product

REGISTERS = "{" + ", ".join(f"%r{100 + i}" for i in range(COLUMNS)) + "}"

# p0 and p1 are images of A and B, 16 KiB each; p2 receives 128 x 64 cells of tensor memory.
BODY = (
    """
.shared .align 1024 .b8 a[16384];
.shared .align 1024 .b8 b[16384];
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
mov.u32 %r6, a;
mov.u32 %r7, b;
@%p0 mbarrier.init.shared::cta.b64 [%r2], 1;
@%p0 mbarrier.init.shared::cta.b64 [%r3], 1;
fence.mbarrier_init.release.cluster;
@%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r4], 64;
@%p1 tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
bar.sync 0;
ld.shared.u32 %r14, [%r4];
shl.b32 %r16, %r1, 21;
add.u32 %r17, %r14, %r16;
"""
    + "\n".join(f"mov.b32 %r{100 + i}, 0x4B000000;" for i in range(COLUMNS))
    + f"""
tcgen05.st.sync.aligned.32x32b.x64.b32 [%r17], {REGISTERS};
tcgen05.wait::st.sync.aligned;
ld.param.u64 %rd1, [p0];
ld.param.u64 %rd2, [p1];
@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 32768;
@%p0 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r6], [%rd1], 16384, [%r2];
@%p0 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r7], [%rd2], 16384, [%r2];
arrived:
mbarrier.try_wait.parity.shared::cta.b64 %p5, [%r2], 0;
@!%p5 bra arrived;
tcgen05.fence::before_thread_sync;
bar.sync 0;
tcgen05.fence::after_thread_sync;
shr.u32 %r6, %r6, 4;
cvt.u64.u32 %rd3, %r6;
or.b64 %rd3, %rd3, DESCRIPTOR_A;
shr.u32 %r7, %r7, 4;
cvt.u64.u32 %rd4, %r7;
or.b64 %rd4, %rd4, DESCRIPTOR_B;
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
ld.param.u64 %rd5, [p2];
mul.wide.u32 %rd6, %r0, 256;
add.u64 %rd5, %rd5, %rd6;
"""
    + "\n".join(f"st.global.b32 [%rd5+{4 * i}], %r{100 + i};" for i in range(COLUMNS))
    + """
tcgen05.fence::before_thread_sync;
bar.sync 0;
@%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r14, 64;
"""
)

SPANS = {"none": 16, "32B": 32, "64B": 64, "128B": 128}
MODES = {"none": 0, "128B_atom_32B": 1, "128B": 2, "64B": 4, "32B": 6}


def swizzled(address: int, swizzle: str) -> int:
    if swizzle == "128B_atom_32B":
        return address ^ (address >> 7 & 3) << 5
    return address ^ (address >> 7 & (SPANS[swizzle] // 16 - 1)) << 4 if swizzle != "none" else address


def image(matrix: np.ndarray, swizzle: str, transposed: bool) -> tuple[np.ndarray, int]:
    """The shared-memory image of a matrix of rows x K, K-major or (transposed) MN-major, and its descriptor."""
    rows, depth = matrix.shape
    size = matrix.itemsize
    if swizzle == "none":
        # Core matrices have 8 lines of 16 bytes; the next ones along the lines follow, then those of the next 8 lines.
        lines = matrix.T if transposed else matrix
        per_line = lines.shape[1] * size // 16
        offsets = [
            (line // 8 * per_line + at * size // 16) * 128 + line % 8 * 16 + at * size % 16
            for line in range(lines.shape[0])
            for at in range(lines.shape[1])
        ]
        # K-major: LBO is the step along K, SBO the step of 8 rows. MN-major: SBO is the step along M or N, LBO that of
        # 8 elements along K.
        leading, stride = (per_line * 128, 128) if transposed else (128, per_line * 128)
    else:
        span = 128 if swizzle == "128B_atom_32B" else SPANS[swizzle]
        period = 4 if swizzle == "128B_atom_32B" else 8
        lines = matrix.T if transposed else matrix
        blocks = lines.shape[0] * span
        offsets = [
            swizzled(at * size // span * blocks + line * span + at * size % span, swizzle)
            for line in range(lines.shape[0])
            for at in range(lines.shape[1])
        ]
        leading, stride = blocks, period * span
    memory = np.zeros(16384, np.uint8)
    values = np.ascontiguousarray(lines).view(np.uint8).reshape(-1, size)
    for byte in range(size):
        memory[np.array(offsets) + byte] = values[:, byte]
    return memory, (leading >> 4) << 16 | (stride >> 4) << 32 | 1 << 46 | MODES[swizzle] << 61


KINDS = {
    "f16": (np.float16, "f16", 16, 0, 1),
    "bf16": (ml_dtypes.bfloat16, "f16", 16, 1, 1),
    "tf32": (np.float32, "tf32", 8, 2, 1),
    "e4m3": (ml_dtypes.float8_e4m3fn, "f8f6f4", 32, 0, 1),
    "e5m2": (ml_dtypes.float8_e5m2, "f8f6f4", 32, 1, 1),
    "s8": (np.int8, "i8", 32, 1, 2),
}


@pytest.fixture
def product(simulate, aligned):
    def run(
        name,
        rows=128,
        columns=32,
        *,
        swizzle="none",
        transposes=(False, False),
        operation=None,
        bits=0,
        result=None,
        undefined=None,
        **options,
    ):
        """`undefined` is a column whose cells tcgen05.st leaves undefined."""
        dtype, kind, depth, code, result_code = KINDS[name]
        rng = np.random.default_rng(rows + columns)
        a, b = (rng.integers(-4, 5, (count, depth)).astype(dtype) for count in (rows, columns))
        (memory_a, descriptor_a), (memory_b, descriptor_b) = (
            image(matrix, swizzle, transposed) for matrix, transposed in zip((a, b), transposes, strict=True)
        )
        instruction = (result_code if result is None else result) << 4 | code << 7 | code << 10
        instruction |= transposes[0] << 15 | transposes[1] << 16 | columns >> 3 << 17 | rows >> 4 << 24 | bits
        mma = operation or f"tcgen05.mma.cta_group::1.kind::{kind} [%r14], %rd3, %rd4, %r15, %p3;"
        body = BODY.replace("DESCRIPTOR_A", hex(descriptor_a)).replace("DESCRIPTOR_B", hex(descriptor_b))
        body = body.replace("INSTRUCTION", hex(instruction)).replace("PRODUCT", mma)
        if undefined is not None:
            body = body.replace(f"mov.b32 %r{100 + undefined}, 0x4B000000;", "")
        got = np.zeros((128, COLUMNS), np.uint32)
        simulate(body, aligned(memory_a), aligned(memory_b), got, block=128, **options)
        wide = np.int32 if name == "s8" else np.float32
        return got, a.astype(wide) @ b.astype(wide).T

    return run


def bits_of(values: np.ndarray) -> np.ndarray:
    return values.view(np.uint32)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("swizzle", ["none", "32B"])
def test_kinds(product, name, swizzle):
    got, expected = product(name, swizzle=swizzle)
    np.testing.assert_array_equal(got[:, :32], bits_of(expected))
    assert (got[:, 32:] == INITIAL).all()


@pytest.mark.parametrize("transposes", [(True, False), (False, True), (True, True)])
@pytest.mark.parametrize("swizzle", ["none", "32B", "64B", "128B"])
@pytest.mark.parametrize("name", ["f16", "e4m3", "s8"])
def test_mn_major_operands(product, name, swizzle, transposes):
    if not all(transposes) and swizzle != "none":
        swizzle = "32B"  # because the other operand has rows of 32 bytes
    if name != "f16" and swizzle == "128B":
        swizzle = "64B"  # because 64 columns have 64 bytes
    got, expected = product(name, columns=64, swizzle=swizzle, transposes=transposes)
    np.testing.assert_array_equal(got, bits_of(expected))


def test_mn_major_tf32_has_32_byte_atoms(product):
    got, expected = product("tf32", columns=64, swizzle="128B_atom_32B", transposes=(True, True))
    np.testing.assert_array_equal(got, bits_of(expected))
    with pytest.raises(ptxsim.Trap, match="32-byte atoms for an MN-major matrix of 32-bit elements") as trap:
        product("tf32", columns=64, swizzle="128B", transposes=(True, True))
    assert trap.value.kind == "descriptor"


def test_64_rows_are_in_16_lanes_of_each_warp(product):
    got, expected = product("f16", rows=64)
    rows = got[:, :32].reshape(4, 32, 32)
    np.testing.assert_array_equal(rows[:, :16].reshape(64, 32), bits_of(expected))
    assert (rows[:, 16:] == INITIAL).all()


def test_f16_results_are_in_the_lower_half_of_each_cell(product):
    got, expected = product("f16", result=0)
    np.testing.assert_array_equal(got[:, :32] & 0xFFFF, expected.astype(np.float16).view(np.uint16))
    assert (got[:, :32] >> 16 != 0).all()


def test_negation_of_a(product):
    got, expected = product("f16", bits=1 << 13)
    np.testing.assert_array_equal(got[:, :32].view(np.float32), -expected)


def test_disabled_lanes_keep_their_values(product):
    mask = "mov.b32 %r20, 5;\nmov.b32 %r21, 0;\n"
    mma = "tcgen05.mma.cta_group::1.kind::f16 [%r14], %rd3, %rd4, %r15, {%r20, %r21, %r21, %r20}, %p3;"
    got, expected = product("f16", operation=mask + mma)
    disabled = [0, 2, 96, 98]
    assert (got[disabled] == INITIAL).all()
    kept = np.setdiff1d(np.arange(128), disabled)
    np.testing.assert_array_equal(got[kept, :32], bits_of(expected[kept]))


def test_accumulation_adds_to_the_destination(product):
    mma = "tcgen05.mma.cta_group::1.kind::f16 [%r14], %rd3, %rd4, %r15, %p4;"
    got, expected = product("f16", operation=mma)
    np.testing.assert_array_equal(got[:, :32].view(np.float32), expected + 2.0**23)


def test_scale_input_d(product):
    mma = "tcgen05.mma.cta_group::1.kind::f16 [%r14], %rd3, %rd4, %r15, %p4, 3;"
    got, expected = product("f16", operation=mma)
    np.testing.assert_array_equal(got[:, :32].view(np.float32), expected + 2.0**20)


def test_a_in_tensor_memory(product):
    """tcgen05.cp copies A to columns 40 to 47, which are the operand."""
    copy = "add.u32 %r30, %r14, 40;\ntcgen05.cp.cta_group::1.128x256b [%r30], %rd3;\n"
    mma = "tcgen05.mma.cta_group::1.kind::f16 [%r14], [%r30], %rd4, %r15, %p3;"
    got, expected = product("f16", operation=copy + mma)
    np.testing.assert_array_equal(got[:, :32], bits_of(expected))


def test_matrix_outside_shared_memory_is_reported(product):
    far = "add.u64 %rd3, %rd3, 16000;\n"
    with pytest.raises(ptxsim.Trap) as trap:
        product("f16", operation=far + "tcgen05.mma.cta_group::1.kind::f16 [%r14], %rd3, %rd4, %r15, %p3;")
    assert trap.value.kind in {"bounds", "descriptor"}


MMA = "tcgen05.mma.cta_group::1.kind::f16 {d}, {a}, %rd4, %r15, {accumulate};"
COPY_A = "add.u32 %r30, %r14, 40;\ntcgen05.cp.cta_group::1.128x256b [%r30], %rd3;\n"


def mma(d: str = "[%r14]", a: str = "%rd3", accumulate: str = "%p3") -> str:
    return MMA.format(d=d, a=a, accumulate=accumulate)


def at_lane(register: str, lane: int) -> str:
    return f"add.u32 {register}, %r14, {lane << 16};\n"


@pytest.mark.parametrize(
    ("kind", "changes", "message"),
    [
        ("descriptor", {"bits": 1 << 2}, "expected the sparsity bit of tcgen05.mma without .sp to be zero"),
        (
            "descriptor",
            {"columns": 64, "swizzle": "128B_atom_32B", "transposes": (True, True)},
            "expected no 32-byte atoms for an MN-major matrix of narrower elements",
        ),
        (
            "descriptor",
            {"operation": COPY_A + mma(a="[%r30]"), "bits": 1 << 15},
            "expected K-major A in tensor memory, got the transpose bit set",
        ),
        (
            "tensor-memory",
            {"operation": at_lane("%r30", 16) + mma(d="[%r30]")},
            "expected the accumulator at lane 0, got lane 16",
        ),
        (
            "tensor-memory",
            {"operation": at_lane("%r30", 5) + mma(d="[%r30]"), "rows": 64},
            "expected the accumulator at lane 0 or 16, got lane 5",
        ),
        (
            "tensor-memory",
            {"operation": at_lane("%r30", 16) + mma(a="[%r30]")},
            "expected A at the lane of the accumulator, 0, got lane 16",
        ),
        (
            "uninitialised",
            {"operation": mma(accumulate="%p4"), "undefined": 3},
            "reads tensor memory lane 0 column 3, in which tcgen05.st has stored an undefined register",
        ),
        (
            "unconfirmed",
            {"operation": f"or.b64 %rd3, %rd3, {1 << 49};\n" + mma()},
            "a matrix descriptor with base offset 1",
        ),
        ("unconfirmed", {"swizzle": "128B_atom_32B"}, "a K-major matrix with 32-byte atoms"),
    ],
)
def test_invalid_operands_are_reported(product, kind, changes, message):
    with pytest.raises(ptxsim.Trap, match=message) as trap:
        product("f16", **changes)
    assert trap.value.kind == kind


def pair_body() -> str:
    """BODY for two CTAs, each with its rows of A and its half of B; the CTA of rank 0 issues the instructions."""
    both = "barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;\n"
    steps = [
        ("cta_group::1", "cta_group::2"), ("b32 [%r4], 64;", "b32 [%r4], 128;"), ("b32 %r14, 64;", "b32 %r14, 128;"),
        ("ld.param.u64 %rd2, [p1];", "ld.param.u64 %rd2, [p1];\nmov.u32 %r40, %cluster_ctarank;\n"
         "mul.wide.u32 %rd10, %r40, 16384;\nadd.u64 %rd1, %rd1, %rd10;\nadd.u64 %rd2, %rd2, %rd10;"),
        ("tcgen05.fence::before_thread_sync;\nbar.sync 0;", "tcgen05.fence::before_thread_sync;\n" + both),
        ("@!%p0 bra issued;", "not.pred %p7, %p0;\nsetp.ne.u32 %p6, %r40, 0;\n"
         "@%p6 bra issued;\n@%p7 bra issued;\nmov.b16 %h0, 3;"),
        (".shared::cluster.b64 [%r3];", ".shared::cluster.multicast::cluster.b64 [%r3], %h0;"),
        ("mul.wide.u32 %rd6, %r0, 256;", "mad.lo.u32 %r41, %r40, 128, %r0;\nmul.wide.u32 %rd6, %r41, 256;"),
    ]  # fmt: skip
    body = BODY
    for old, new in steps:
        assert old in body
        body = body.replace(old, new)
    return body


@pytest.fixture
def pair_product(simulate, aligned):
    def run(rows, a="%rd3", issuer=0, seed=0, operation=None):
        """The cells of both CTAs, and the product; CTA `issuer` issues the instructions."""
        rng = np.random.default_rng(rows)
        matrices = [rng.integers(-4, 5, (count, 16)).astype(np.float16) for count in (rows, 64)]
        halves = [[image(part, "32B", False) for part in np.split(matrix, 2)] for matrix in matrices]
        memory_a, memory_b = (aligned(np.stack([memory for memory, _ in parts])) for parts in halves)
        instruction = 1 << 4 | 64 >> 3 << 17 | rows >> 4 << 24
        body = pair_body().replace("DESCRIPTOR_A", hex(halves[0][0][1])).replace("DESCRIPTOR_B", hex(halves[1][0][1]))
        operation = (operation or mma(a=a)).replace("group::1", "group::2")
        body = body.replace("INSTRUCTION", hex(instruction)).replace("PRODUCT", operation)
        body = body.replace("setp.ne.u32 %p6, %r40, 0;", f"setp.ne.u32 %p6, %r40, {issuer};")
        got = np.zeros((2, 128, COLUMNS), np.uint32)
        simulate(body, memory_a, memory_b, got, block=128, cluster=2, seed=seed)
        return got, bits_of(matrices[0].astype(np.float32) @ matrices[1].astype(np.float32).T)

    return run


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"issuer": 1}, "a tcgen05 operation with cta_group::2 issued by the CTA of odd rank"),
        ({"a": "[%r14]"}, "A in tensor memory with M 128 of a CTA pair"),
    ],
)
def test_unconfirmed_forms_of_a_pair(pair_product, changes, message):
    with pytest.raises(ptxsim.Trap, match=message) as trap:
        pair_product(128, **changes)
    assert trap.value.kind == "unconfirmed"


@pytest.mark.parametrize("rows", [256, 128])
@pytest.mark.parametrize("seed", [0, 1])
def test_cta_pair(pair_product, rows, seed):
    got, expected = pair_product(rows, seed=seed)
    if rows == 256:
        np.testing.assert_array_equal(got.reshape(256, 64), expected)
    else:  # 64 rows per CTA; the second half of the columns is in the upper lanes
        for cta in range(2):
            own = expected[64 * cta : 64 * cta + 64]
            np.testing.assert_array_equal(got[cta, :64, :32], own[:, :32])
            np.testing.assert_array_equal(got[cta, 64:, :32], own[:, 32:])


def test_ashift_moves_the_rows_of_both_ctas(pair_product):
    """The second multiply has the next rows; the last row of each 32 stays."""
    copy = COPY_A.replace("%r14, 40", "%r14, 64")
    operation = copy + mma(a="[%r30]").replace("f16", "f16.ashift") + mma(a="[%r30]")
    got, expected = pair_product(256, operation=operation)
    rows = np.arange(256)
    np.testing.assert_array_equal(got.reshape(256, 64), expected[np.where(rows % 32 == 31, rows, rows + 1)])
