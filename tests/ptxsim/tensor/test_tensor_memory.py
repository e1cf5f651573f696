"""Tensor memory: allocation, shapes of tcgen05.ld and tcgen05.st, tcgen05.cp and tcgen05.shift."""

from __future__ import annotations

import numpy as np
import pytest

from tilec.runtime.ptxsim import _native as ptxsim

LANES = np.arange(32)

# One warpgroup stores 64 columns, each warp in its 32 lanes: cell (lane, column) = 1000 * lane + column.
FILL = """
.shared .align 4 .b32 address;
mov.u32 %r0, %tid.x;
shr.u32 %r1, %r0, 5;
setp.eq.u32 %p1, %r1, 0;
mov.u32 %r3, address;
@%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r3], 64;
@%p1 tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
bar.sync 0;
ld.shared.u32 %r14, [%r3];
mul.lo.u32 %r2, %r0, 1000;
shl.b32 %r4, %r1, 21;
add.u32 %r5, %r14, %r4;
"""
FILL += "\n".join(f"add.u32 %r{100 + i}, %r2, {i};" for i in range(64))
FILL += "\ntcgen05.st.sync.aligned.32x32b.x64.b32 [%r5], {" + ", ".join(f"%r{100 + i}" for i in range(64)) + "};"

FREE = """
tcgen05.fence::before_thread_sync;
bar.sync 0;
@%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r14, 64;
"""

WAIT_STORE, WAIT_LOAD = "tcgen05.wait::st.sync.aligned;\n", "tcgen05.wait::ld.sync.aligned;\n"


def vector(count: int, first: int = 170) -> str:
    return "{" + ", ".join(f"%r{first + i}" for i in range(count)) + "}"


def write_out(count: int) -> str:
    stores = "\n".join(f"st.global.b32 [%rd0+{4 * i}], %r{170 + i};" for i in range(count))
    return f"ld.param.u64 %rd0, [p0];\nmul.wide.u32 %rd1, %r0, {4 * count};\nadd.u64 %rd0, %rd0, %rd1;\n{stores}\n"


# Lane and column of register r within the quarter of the lanes that a warp accesses.
SHAPES = {
    "32x32b.x8": (8, lambda r: (LANES, np.full(32, r))),
    "16x64b.x4": (4, lambda r: (LANES // 4 + 8 * (LANES & 1), (LANES >> 1 & 1) + 2 * r)),
    "16x128b.x2": (4, lambda r: (LANES // 4 + 8 * (r & 1), LANES % 4 + 4 * (r >> 1))),
    "16x256b.x2": (8, lambda r: (LANES // 4 + 8 * (r >> 1 & 1), (r & 1) + 2 * (LANES % 4) + 8 * (r >> 2))),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_load_shapes(simulate, shape):
    count, cell_of = SHAPES[shape]
    got = np.zeros((4, 32, count), np.uint32)
    load = f"tcgen05.ld.sync.aligned.{shape}.b32 {vector(count)}, [%r5];\n"
    simulate(FILL + WAIT_STORE + load + WAIT_LOAD + write_out(count) + FREE, got, block=128)
    for warp in range(4):
        for r in range(count):
            lane, column = cell_of(r)
            np.testing.assert_array_equal(got[warp, :, r], 1000 * (32 * warp + lane) + column)


def test_load_of_the_upper_16_lanes(simulate):
    got = np.zeros((4, 32, 2), np.uint32)
    load = f"add.u32 %r6, %r5, 1048576;\ntcgen05.ld.sync.aligned.16x64b.x2.b32 {vector(2)}, [%r6];\n"
    simulate(FILL + WAIT_STORE + load + WAIT_LOAD + write_out(2) + FREE, got, block=128)
    lane, column = SHAPES["16x64b.x4"][1](1)
    np.testing.assert_array_equal(got[2, :, 1], 1000 * (64 + 16 + lane) + column)


def test_load_of_two_halves_with_a_split_offset(simulate):
    got = np.zeros((4, 32, 2), np.uint32)
    load = f"tcgen05.ld.sync.aligned.16x32bx2.x2.b32 {vector(2)}, [%r5], 40;\n"
    simulate(FILL + WAIT_STORE + load + WAIT_LOAD + write_out(2) + FREE, got, block=128)
    for r in range(2):
        np.testing.assert_array_equal(got[1, :, r], 1000 * (32 + LANES % 16) + r + 40 * (LANES // 16))


def test_pack_combines_the_low_halves_of_two_columns(simulate):
    got = np.zeros((4, 32, 4), np.uint32)
    load = f"tcgen05.ld.sync.aligned.32x32b.x4.pack::16b.b32 {vector(4)}, [%r5];\n"
    simulate(FILL + WAIT_STORE + load + WAIT_LOAD + write_out(4) + FREE, got, block=128)
    low = (1000 * LANES[:, None] + np.arange(8)) & 0xFFFF
    np.testing.assert_array_equal(got[0], low[:, 0::2] | low[:, 1::2] << 16)


def test_unpack_is_the_inverse_of_pack(simulate):
    got = np.zeros((4, 32, 4), np.uint32)
    store = f"mov.b32 %r170, 0x00020001;\ntcgen05.st.sync.aligned.32x32b.x1.unpack::16b.b32 [%r5], {vector(1)};\n"
    load = f"tcgen05.ld.sync.aligned.32x32b.x4.b32 {vector(4)}, [%r5];\n"
    simulate(FILL + WAIT_STORE + store + WAIT_STORE + load + WAIT_LOAD + write_out(4) + FREE, got, block=128)
    np.testing.assert_array_equal(got[0, 0] & 0xFFFF, [1, 2, 2, 3])


def trap(simulate, body, *arguments, **options):
    with pytest.raises(ptxsim.Trap) as raised:
        simulate(body, *arguments, block=128, **options)
    return raised.value


def test_load_without_a_wait_for_the_store_is_a_race(simulate):
    got = np.zeros((4, 32, 1), np.uint32)
    load = f"tcgen05.ld.sync.aligned.32x32b.x1.b32 {vector(1)}, [%r5];\n"
    assert trap(simulate, FILL + load + WAIT_LOAD + write_out(1) + FREE, got).kind == "race"


def test_store_without_a_wait_for_the_load_is_a_race(simulate):
    load = f"tcgen05.ld.sync.aligned.32x32b.x1.b32 {vector(1)}, [%r5];\n"
    store = "tcgen05.st.sync.aligned.32x32b.x1.b32 [%r5], {%r0};\n"
    simulate(FILL + WAIT_STORE + load + WAIT_LOAD + store + WAIT_STORE + FREE, block=128)
    assert trap(simulate, FILL + WAIT_STORE + load + store + WAIT_STORE + WAIT_LOAD + FREE).kind == "race"


RELINQUISH = "@%p1 tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;"
ALLOCATE = "@%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r3], {};"
DEALLOCATE = "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r14, {}"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ((FREE, "bar.sync 0;"), "freed before the CTA exits"),
        ((DEALLOCATE.format(64), DEALLOCATE.format(32)), "the address and column count of an allocation"),
        (("[%r3], 64;", "[%r3], 48;"), "power of two of columns from 32 to 512, got 48"),
        ((RELINQUISH, RELINQUISH + ALLOCATE.format(32)), "no allocation after"),
        ((RELINQUISH, ALLOCATE.format(128)), "the preceding allocation, 64, got"),
        ((RELINQUISH, 2 * RELINQUISH), "expected one tcgen05.relinquish_alloc_permit per CTA, got a second one"),
    ],
)  # fmt: skip
def test_invalid_allocation_is_reported(simulate, change, message):
    body = FILL + WAIT_STORE + FREE
    changed = body.replace(*change)
    assert changed != body
    raised = trap(simulate, changed)
    assert raised.kind == "tensor-memory"
    assert message in raised.message


def test_allocation_waits_for_free_columns(simulate):
    """Two warps allocate 512 columns each; the second one waits until the first one deallocates them."""
    body = """
    .shared .align 4 .b32 address[2];
    mov.u32 %r0, %tid.x;
    shr.u32 %r1, %r0, 5;
    shl.b32 %r2, %r1, 2;
    mov.u32 %r3, address;
    add.u32 %r3, %r3, %r2;
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r3], 512;
    ld.shared.u32 %r4, [%r3];
    tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r4, 512;
    """
    for seed in range(4):
        simulate(body, block=64, seed=seed)
    without_dealloc = body.replace("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r4, 512;", "bar.sync 0;")
    with pytest.raises(ptxsim.Trap) as raised:
        simulate(without_dealloc, block=64)
    assert raised.value.kind == "deadlock"


# Source rows of 32 bytes as core matrices (LBO 128, SBO 256): element j of row i is 100 * i + j.
COPY = """
.shared .align 128 .b8 rows[4096];
.shared .align 8 .b64 done;
mov.u32 %r6, rows;
mov.u32 %r7, done;
setp.eq.u32 %p0, %r0, 0;
@%p0 mbarrier.init.shared::cta.b64 [%r7], 1;
fence.mbarrier_init.release.cluster;
shr.u32 %r8, %r0, 3;
shl.b32 %r8, %r8, 8;
and.b32 %r9, %r0, 7;
shl.b32 %r9, %r9, 4;
add.u32 %r8, %r8, %r9;
add.u32 %r8, %r8, %r6;
mul.lo.u32 %r9, %r0, 100;
"""
COPY += "\n".join(f"add.u32 %r10, %r9, {i};\nst.shared.b32 [%r8+{i % 4 * 4 + i // 4 * 128}], %r10;" for i in range(8))
COPY += """
fence.proxy.async.shared::cta;
tcgen05.fence::before_thread_sync;
bar.sync 0;
tcgen05.fence::after_thread_sync;
shr.u32 %r6, %r6, 4;
cvt.u64.u32 %rd3, %r6;
or.b64 %rd3, %rd3, 0x0000401000080000;
@!%p0 bra issued;
OPERATION
tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r7];
issued:
poll:
mbarrier.try_wait.parity.shared::cta.b64 %p5, [%r7], 0;
@!%p5 bra poll;
tcgen05.fence::after_thread_sync;
tcgen05.ld.sync.aligned.32x32b.x8.b32 {%r170, %r171, %r172, %r173, %r174, %r175, %r176, %r177}, [%r5];
tcgen05.wait::ld.sync.aligned;
"""

ROWS = 100 * np.arange(128)[:, None] + np.arange(8)
FILLED = 1000 * np.arange(128)[:, None] + np.arange(8)


def after(simulate, operation: str, **options) -> np.ndarray:
    got = np.zeros((128, 8), np.uint32)
    body = FILL + WAIT_STORE + COPY.replace("OPERATION", operation) + write_out(8) + FREE
    simulate(body, got, block=128, **options)
    return got


@pytest.mark.parametrize(
    ("form", "columns", "source"),
    [
        ("128x256b", 8, np.arange(128)),
        ("128x128b", 4, np.arange(128)),
        ("64x128b.warpx2::02_13", 4, np.arange(128) % 64),
        ("64x128b.warpx2::01_23", 4, np.repeat([0, 0, 32, 32], 32) + np.arange(128) % 32),
        ("32x128b.warpx4", 4, np.arange(128) % 32),
    ],
)
def test_copy_forms(simulate, form, columns, source):
    expected = FILLED.copy()
    expected[:, :columns] = ROWS[source, :columns]
    np.testing.assert_array_equal(after(simulate, f"tcgen05.cp.cta_group::1.{form} [%r14], %rd3;"), expected)


def unpacked(bits: int) -> np.ndarray:
    """ROWS with the first 2 * `bits` bytes of each unit of 16 bytes as sixteen elements, one per byte."""
    units = np.ascontiguousarray(ROWS.astype("<u4")).view(np.uint8).reshape(128, 2, 16)
    found = np.zeros((128, 2, 16), np.uint8)
    for row, unit in np.ndindex(128, 2):
        stream = int.from_bytes(units[row, unit, : 2 * bits].tobytes(), "little")
        found[row, unit] = [stream >> bits * i & (1 << bits) - 1 for i in range(16)]
    return found


def test_copy_widens_elements_of_4_bits(simulate):
    """Sixteen elements in 8 bytes, the first in the low bits, become bits 5 to 2 of one byte each."""
    got = after(simulate, "tcgen05.cp.cta_group::1.128x256b.b8x16.b4x16_p64 [%r14], %rd3;")
    np.testing.assert_array_equal(got.view(np.uint8).reshape(128, 2, 16), unpacked(4) << 2)


def test_copy_widens_elements_of_6_bits(simulate):
    """PTX does not specify which bits of a byte hold the element."""
    operation = "tcgen05.cp.cta_group::1.128x256b.b8x16.b6x16_p32 [%r14], %rd3;"
    got = after(simulate, operation, allow_unconfirmed=True)
    np.testing.assert_array_equal(got.view(np.uint8).reshape(128, 2, 16), unpacked(6))
    with pytest.raises(ptxsim.Trap, match="bits of a byte that hold an element of 6 bits") as raised:
        after(simulate, operation)
    assert raised.value.kind == "unconfirmed"


def test_4x256b_copies_one_row_to_each_quarter(simulate):
    expected = FILLED.copy()
    expected[[5, 37, 69, 101]] = ROWS[:4]
    operation = "add.u32 %r11, %r14, 327680;\ntcgen05.cp.cta_group::1.4x256b [%r11], %rd3;"
    np.testing.assert_array_equal(after(simulate, operation), expected)


def test_shift_moves_rows_towards_lane_zero(simulate):
    operation = "tcgen05.shift.cta_group::1.down [%r14];"
    expected = FILLED.copy()
    moving = np.arange(128) % 32 != 31
    expected[moving] = FILLED[1:][moving[:-1]]
    np.testing.assert_array_equal(after(simulate, operation), expected)
    with pytest.raises(ptxsim.Trap, match="lanes that tcgen05.shift moves from lane 64") as raised:
        after(simulate, lane(64) + operation.replace("%r14", "%r11"))
    assert raised.value.kind == "unconfirmed"


def lane(offset: int) -> str:
    """%r11 is the address of tensor memory at this lane."""
    return f"add.u32 %r11, %r14, {offset << 16};\n"


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        (lane(1) + "tcgen05.cp.cta_group::1.128x256b [%r11], %rd3;", "expected tcgen05.cp to lane 0, got lane 1"),
        (lane(32) + "tcgen05.cp.cta_group::1.4x256b [%r11], %rd3;", "expected tcgen05.cp to lane 0 to 31, got lane 32"),
        ("tcgen05.cp.cta_group::1.128x256b [%r14+2], %rd3;", "a column that is a multiple of 4, got 2"),
        (lane(16) + "tcgen05.shift.cta_group::1.down [%r11];", "tcgen05.shift at lane 0, 32, 64 or 96, got lane 16"),
        (lane(160) + "tcgen05.shift.cta_group::1.down [%r11];", "tcgen05.shift at lane 0, 32, 64 or 96, got lane 160"),
    ],
)
def test_invalid_lanes_and_columns_are_reported(simulate, operation, message):
    with pytest.raises(ptxsim.Trap, match=message) as raised:
        after(simulate, operation, allow_unconfirmed=True)
    assert raised.value.kind == "tensor-memory"


def test_load_begins_at_the_first_lane_of_its_shape(simulate):
    load = f"add.u32 %r6, %r5, {5 << 16};\ntcgen05.ld.sync.aligned.32x32b.x1.b32 {vector(1)}, [%r6];\n"
    raised = trap(simulate, FILL + WAIT_STORE + load + WAIT_LOAD + FREE)
    assert raised.kind == "tensor-memory"
    assert "expected an address at a multiple of 32 lanes, got lane" in raised.message
