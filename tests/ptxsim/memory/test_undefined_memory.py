"""Undefined bytes of shared and tensor memory: loading them is harmless, and their use is reported."""

from __future__ import annotations

import numpy as np
import pytest

from tilec.runtime.ptxsim import _native

SEEDS = range(10)
# cub::BlockMergeSort reads one key beyond the last and discards it by a select.
LOADED = """.shared .align 16 .b32 s[8]; ld.param.u64 %rd1, [p0]; mov.u32 %r1, 7; st.shared.u32 [s], %r1;
bar.sync 0; ld.shared.u32 %r2, [s]; ld.shared.u32 %r3, [s+4]; setp.eq.u32 %p1, %r1, 7;
"""
USES = {
    "store": "st.global.u32 [%rd1], %r3;",
    "selected": "selp.b32 %r4, %r3, %r2, %p1; st.global.u32 [%rd1], %r4;",
    "sum": "add.u32 %r4, %r3, %r2; st.global.u32 [%rd1], %r4;",
    "shared store": "st.shared.u32 [s+8], %r3;",
    "address": "cvt.u64.u32 %rd2, %r3; add.u64 %rd2, %rd2, %rd1; ld.global.u32 %r4, [%rd2];",
    "branch": "setp.eq.u32 %p2, %r3, 0; @%p2 bra e; e:",
    "atomic": "red.global.add.u32 [%rd1], %r3;",
}


def _trap(simulate, body: str, *arguments: object, **options: object) -> _native.Trap:
    with pytest.raises(_native.Trap) as caught:
        simulate(body, *arguments, **options)
    assert caught.value.kind == "uninitialised"
    return caught.value


@pytest.mark.parametrize("seed", SEEDS)
def test_value_that_is_discarded_is_not_reported(simulate, seed):
    out = np.zeros(1, np.uint32)
    simulate(LOADED + "selp.b32 %r4, %r2, %r3, %p1; st.global.u32 [%rd1], %r4;", out, block=1, seed=seed)
    assert out[0] == 7


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("use", USES)
def test_use_is_reported_with_the_load(simulate, use, seed):
    trap = _trap(simulate, LOADED + USES[use], np.zeros(4, np.uint32), block=1, seed=seed)
    assert "'ld.shared.u32' in line" in trap.message
    assert trap.message.endswith("which was never written")


def test_defined_bytes_of_a_vector_may_be_used(simulate):
    """Bytes 0 to 5 are written; the load reads 8."""
    body = """.shared .align 8 .b8 s[8]; ld.param.u64 %rd1, [p0]; mov.u32 %r1, 5; mov.b16 %h1, 6;
    st.shared.u32 [s], %r1; st.shared.u16 [s+4], %h1; ld.shared.v2.u32 {%r2, %r3}, [s]; st.global.u32 [%rd1], %r2;
    st.global.u16 [%rd1+4], %r3;"""
    out = np.zeros(4, np.uint16)
    simulate(body, out, block=1)
    assert out.tolist() == [5, 0, 6, 0]
    trap = _trap(simulate, body.replace("st.global.u16 [%rd1+4]", "st.global.u32 [%rd1+4]"), out, block=1)
    assert "only some of its bytes are defined" in trap.message


@pytest.mark.parametrize(("instruction", "size"), [("ld.shared.s8", 8), ("ld.shared.u8", 1)])
def test_extension_of_an_undefined_byte(simulate, instruction, size):
    """The upper bytes are copies of the undefined sign, or zero."""
    body = f""".shared .b8 s[1]; ld.param.u64 %rd1, [p0]; {instruction} %r1, [s]; shr.u32 %r1, %r1, 8;
    st.global.u32 [%rd1], %r1;"""
    if size == 1:
        simulate(body, np.zeros(1, np.uint32), block=1)
    else:
        _trap(simulate, body, np.zeros(1, np.uint32), block=1)


@pytest.mark.parametrize("seed", SEEDS)
def test_read_before_a_concurrent_write_is_a_race(over_lanes, seed):
    """Warp 0 reads a word that warp 1 writes, without a barrier: reported in each order."""
    body = """.shared .align 4 .b32 s; shr.u32 %r2, %r0, 5; setp.eq.u32 %p1, %r2, 0; mov.u32 %r1, 0;
    @%p1 ld.shared.u32 %r3, [s]; @!%p1 st.shared.u32 [s], %r0;"""
    with pytest.raises(_native.Trap) as caught:
        over_lanes(body, block=64, seed=seed)
    assert caught.value.kind == "race"


# Rows 0 to 6 of a matrix are written. Register of lane 28 holds elements 0 and 1 of row 7.
MATRIX = """.shared .align 128 .b8 s[128]; mov.u32 %r2, s; shl.b32 %r3, %r0, 4; add.u32 %r2, %r2, %r3; mov.u64 %rd3, 0;
setp.lt.u32 %p1, %r0, 7; @%p1 st.shared.v2.u64 [%r2], {%rd3, %rd3}; bar.sync 0; mov.u32 %r1, 0;
ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r4}, [%r2]; setp.lt.u32 %p2, %r0, """


def test_undefined_rows_of_a_matrix_are_undefined_registers(over_lanes):
    assert (over_lanes(MATRIX + "28; @%p2 mov.u32 %r1, %r4;") == 0).all()
    with pytest.raises(_native.Trap, match="'ldmatrix.*which was never written") as caught:
        over_lanes(MATRIX + "29; @%p2 mov.u32 %r1, %r4;")
    assert caught.value.kind == "uninitialised"


# The upper half of %r3 is undefined, as of the scale factors that Triton stores.
TENSOR = """.shared .align 4 .b32 ta; ld.param.u64 %rd1, [p0];
tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [ta], 32; bar.sync 0; ld.shared.u32 %r2, [ta];
mov.b16 %h1, 7; mov.b32 %r3, {%h1, %h9};
tcgen05.st.sync.aligned.32x32b.x1.b32 [%r2], {%r3}; tcgen05.wait::st.sync.aligned;
tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r4}, [%r2]; tcgen05.wait::ld.sync.aligned;
"""
FREE = "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r2, 32;"


@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_tensor_memory_keeps_the_defined_bytes(simulate, seed, waits):
    """With `tensor_load_waits` the registers may be read, and have these bytes, from the wait on."""
    out, options = np.zeros(2, np.uint16), {"block": 32, "seed": seed, "tensor_load_waits": waits}
    simulate(TENSOR + "st.global.u16 [%rd1], %r4;" + FREE, out, **options)
    assert out.tolist() == [7, 0]
    trap = _trap(simulate, TENSOR + "st.global.u32 [%rd1], %r4;" + FREE, out, **options)
    assert "'%r4' is read but only some of its bytes are defined" in trap.message


def test_a_later_store_defines_the_cells(simulate):
    store = """mov.u32 %r3, 9; tcgen05.st.sync.aligned.32x32b.x1.b32 [%r2], {%r3};
    tcgen05.wait::st.sync.aligned;
    """
    body = TENSOR.replace("tcgen05.ld", store + "tcgen05.ld", 1)
    out = np.zeros(1, np.uint32)
    simulate(body + "st.global.u32 [%rd1], %r4;" + FREE, out, block=32)
    assert out[0] == 9


# The lower element of a pair is defined.
PAIRS = {
    "f16x2": ("mov.b16 %h1, 0x3C00; mov.b32 %r1, {%h1, %h9}; add.rn.f16x2 %r1, %r1, %r1;", 0x4000, 16),
    "f32x2": ("mov.b32 %r1, 0x3F800000; mov.b64 %rd2, {%r1, %r50}; fma.rn.f32x2 %rd2, %rd2, %rd2, %rd2;"
              "mov.b64 {%r1, _}, %rd2;", 0x40000000, 32),
    "e5m2x2 to f16x2": ("mov.f32 %f1, 0f3F800000; cvt.rn.satfinite.e5m2x2.f32 %h1, %f50, %f1;"
                        "cvt.rn.f16x2.e5m2x2 %r1, %h1;", 0x3C00, 16),
    "f16x2 to e4m3x2": ("mov.b16 %h1, 0x3C00; mov.b32 %r1, {%h1, %h9}; cvt.rn.satfinite.e4m3x2.f16x2 %h2, %r1;"
                        "cvt.u32.u16 %r1, %h2;", 0x38, 8),
}  # fmt: skip


@pytest.mark.parametrize("pair", PAIRS)
def test_an_element_of_a_pair_is_defined_if_its_sources_are(simulate, pair):
    body, value, bits = PAIRS[pair]
    out = np.zeros(1, np.uint32)
    store = "ld.param.u64 %rd1, [p0]; st.global.b{} [%rd1], %r1;"
    simulate(body + store.format(bits), out, block=1)
    assert out[0] == value
    if bits < 32:
        _trap(simulate, body + store.format(2 * bits), out, block=1)
