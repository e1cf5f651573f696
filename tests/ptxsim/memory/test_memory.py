"""Loads and stores: widths, vectors, state spaces, parameters and initialised variables; invalid accesses."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from tilec.runtime.ptxsim import _native


@pytest.mark.parametrize(
    ("load", "expected"),
    [
        ("ld.global.u8 %r1, [%rd1+1];", 0x92),
        ("ld.global.s8 %r1, [%rd1+1];", 0xFFFFFF92),
        ("ld.global.u16 %r1, [%rd1];", 0x9281),
        ("ld.global.s16 %r1, [%rd1];", 0xFFFF9281),
        ("ld.global.nc.L1::no_allocate.L2::128B.b32 %r1, [%rd1];", 0xB4A39281),
        ("ld.volatile.global.u32 %r1, [%rd1+4];", 0xF8E7D6C5),
        ("ld.relaxed.gpu.global.u32 %r1, [%rd1+4];", 0xF8E7D6C5),
        ("ld.global.v2.u32 {%r2, %r1}, [%rd1];", 0xF8E7D6C5),
        ("ld.global.v4.u16 {%h1, %h2, %h3, %h4}, [%rd1]; cvt.u32.u16 %r1, %h4;", 0xF8E7),
        ("ldu.global.u32 %r1, [%rd1];", 0xB4A39281),
        ("ld.u32 %r1, [%rd1];", 0xB4A39281),
        ("ld.global.u64 %rd2, [%rd1]; shr.u64 %rd2, %rd2, 32; cvt.u32.u64 %r1, %rd2;", 0xF8E7D6C5),
    ],
)
def test_load(over_lanes, load, expected):
    data = np.array([0x81, 0x92, 0xA3, 0xB4, 0xC5, 0xD6, 0xE7, 0xF8], np.uint8)
    storage = np.zeros(4, np.uint64)  # at least 8-byte aligned, which every width here requires
    storage.view(np.uint8)[:8] = data
    assert (over_lanes("ld.param.u64 %rd1, [p1];" + load, storage) == expected).all()


@pytest.mark.parametrize(
    ("store", "expected"),
    [
        ("st.global.u8 [%rd1], %r2;", 0x44),
        ("st.global.b16 [%rd1+2], %r2;", 0x33440000),
        ("st.global.wb.u32 [%rd1], %r2;", 0x11223344),
        ("st.release.gpu.global.u32 [%rd1], %r2;", 0x11223344),
        ("st.global.v2.b32 [%rd1], {%r2, 5};", 0x5_11223344),
        ("st.u32 [%rd1+4], %r2;", 0x11223344_00000000),
    ],
)
def test_store(simulate, store, expected):
    out = np.zeros(1, np.uint64)
    simulate(f"ld.param.u64 %rd1, [p0]; mov.u32 %r2, 0x11223344; {store}", out, block=1)
    assert out[0] == expected


def test_shared_variables_start_after_the_reserved_kilobyte(over_lanes):
    got = over_lanes("""
    .shared .align 16 .b8 first[20]; .shared .u32 second;
    mov.u32 %r2, first; mov.u32 %r3, second; shl.b32 %r3, %r3, 16; or.b32 %r1, %r2, %r3;""")
    assert (got == (1044 << 16 | 1024)).all()


def test_local_memory_is_private(over_lanes):
    """All threads write the same local address and read it through a generic address."""
    got = over_lanes("""
    .local .align 4 .b8 buffer[8];
    mov.u64 %rd1, buffer; st.local.u32 [buffer+4], %r0; cvta.local.u64 %rd2, %rd1; ld.u32 %r1, [%rd2+4];""")
    assert list(got) == list(range(32))


MODULE = """
.version 8.0
.target sm_90a
.address_size 64
.const .align 4 .b8 bytes[4] = {1, 2, 0x83, 4};
.const .f32 halves[2] = {0f3F000000, 1.5};
.global .align 8 .u64 where[2] = {table, generic(table)+4};
.global .u32 table[2][2] = {{10, 20}, {30, 40}};
.global .u32 counter;
.visible .entry kernel(.param .u64 p0, .param .align 8 .b8 p1[16])
{
.reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .f32 %f<4>;
ld.param.u64 %rd1, [p0];
ld.const.u32 %r1, [bytes]; st.global.u32 [%rd1], %r1;
ld.const.f32 %f1, [halves+4]; st.global.f32 [%rd1+4], %f1;
ld.global.u64 %rd2, [where+8]; ld.global.u32 %r2, [%rd2]; st.global.u32 [%rd1+8], %r2;
ld.param.u32 %r3, [p1+12]; st.global.u32 [%rd1+12], %r3;
atom.global.add.u32 %r4, [counter], 1; st.global.u32 [%rd1+16], %r4;
ret;
}
"""


def test_initialised_variables_and_parameters():
    """Global variables have their initial values at the start of every run."""
    module = _native.Program(MODULE)
    assert [entry.parameters for entry in module.entries] == [[("p0", 8, 8), ("p1", 16, 8)]]
    out = np.zeros(5, np.uint32)
    for _ in range(2):
        block = struct.pack("<Q4I", out.ctypes.data, 1, 2, 3, 77)
        module.run("kernel", (1,), (1,), parameters=block, ranges=[(out.ctypes.data, out.nbytes, True)])
        assert list(out) == [0x04830201, 0x3FC00000, 20, 77, 0]


@pytest.mark.parametrize("variable", [".b8 x[2] = {1, 2, 3}", ".b64 x[1] = {0, {x}}", ".b8 x[0] = {1}"])
def test_more_initial_values_than_elements_are_rejected(variable):
    with pytest.raises(_native.PtxError, match="'x' has more initial values than elements"):
        _native.Program(f".version 9.0\n.target sm_90a\n.address_size 64\n.global {variable};")


TRAPS = [
    ("bounds", "ld.param.u64 %rd1, [p0]; ld.global.u32 %r1, [%rd1+256];", "at byte 256 of a range of 256 bytes"),
    ("bounds", "mov.u64 %rd1, 8; ld.global.u32 %r1, [%rd1];", "read of 4 bytes at 0x8"),
    ("bounds", ".shared .b8 s[16]; st.shared.u32 [s+16], %r0;", "outside the shared memory"),
    ("bounds", ".local .b8 s[16]; st.local.u32 [s+16], %r0;", "outside the 16 bytes of the thread"),
    ("bounds", "ld.param.u64 %rd1, [p1]; st.global.u32 [%rd1], %r0;", "read-only"),
    ("bounds", "ld.param.u64 %rd1, [p0+16];", "read of parameter bytes 16 to 24 of 16"),
    ("bounds", "st.param.u64 [p0], 1;", "write of parameter bytes 0 to 8, which are read-only"),
    ("misaligned", "ld.param.u64 %rd1, [p0]; ld.global.u32 %r1, [%rd1+2];", "aligned to 4 bytes"),
    ("misaligned", "ld.param.u64 %rd1, [p0]; ld.global.v2.u32 {%r1, %r2}, [%rd1+4];", "aligned to 8 bytes"),
    ("uninitialised", ".shared .b8 s[16]; ld.shared.u32 %r1, [s]; st.shared.u32 [s], %r1;", "never written"),
    ("uninitialised", "ld.param.u64 %rd1, [p0]; add.u32 %r1, %r2, 1; st.global.u32 [%rd1], %r1;", "no defined value"),
    ("uninitialised", "@%p1 add.u32 %r1, %r0, 1;", "a predicate without a defined value"),
]


@pytest.mark.parametrize(("kind", "body", "message"), TRAPS)
def test_trap(simulate, kind, body, message):
    out, constant = np.zeros(64, np.uint32), np.zeros(4, np.uint32)
    constant.flags.writeable = False
    with pytest.raises(_native.Trap) as caught:
        simulate("mov.u32 %r0, %tid.x;" + body, out, constant)
    assert caught.value.kind == kind
    assert message in caught.value.message


def test_access_without_memory(simulate):
    with pytest.raises(_native.Trap, match="read of 4 bytes at 0x8: the launch declares no memory ranges") as caught:
        simulate("ld.global.u32 %r1, [8];")
    assert caught.value.kind == "bounds"


def test_shared_memory_of_another_cta_is_not_in_shared_cta(simulate):
    """PTX ISA 5.1.7: .shared::cta is the shared memory of the executing CTA."""
    body = """.shared .b32 s; mov.u32 %r1, s; mapa.shared::cluster.u32 %r2, %r1, 1; mov.u32 %r3, %cluster_ctarank;
    setp.eq.u32 %p1, %r3, 0; @%p1 ld.shared::cta.u32 %r4, [%r2];"""
    message = "shared::cta address 0x.* is not in the shared memory of its CTA \\(rank 0\\)"
    with pytest.raises(_native.Trap, match=message) as caught:
        simulate(body, cluster=2)
    assert caught.value.kind == "bounds"


def test_instruction_with_two_errors_raises_one_trap(simulate):
    """Lanes 0 to 15 of warp 1 race with warp 0, and lane 16 accesses memory out of bounds."""
    body = """
    .shared .align 16 .b8 buffer[64]; mov.u32 %r0, %laneid; mov.u32 %r2, buffer; mad.lo.u32 %r2, %r0, 4, %r2;
    setp.lt.u32 %p1, %r0, 16; mov.u32 %r3, %tid.x; setp.ge.u32 %p2, %r3, 32; or.pred %p1, %p1, %p2;
    @%p1 st.shared.u32 [%r2], %r0;"""
    for seed in range(8):
        with pytest.raises(_native.Trap) as caught:
            simulate(body, block=64, seed=seed)
        assert caught.value.kind in ("bounds", "race")


def test_copy_of_an_undefined_register_is_not_an_error(over_lanes):
    """Compilers copy values that no path uses; only their use is an error."""
    assert (over_lanes("mov.u32 %r2, %r3; mov.b64 %rd1, {%r2, %r3}; mov.u32 %r1, 1;") == 1).all()


def test_bank_conflicts_are_counted(simulate):
    """A stride of 4 bytes has no conflict; with 128 bytes all lanes access one bank, in 31 additional wavefronts."""
    body = (
        ".shared .b8 s[4096]; mov.u32 %r0, %tid.x; mov.u32 %r2, s; "
        "mad.lo.u32 %r2, %r0, {}, %r2; st.shared.u32 [%r2], %r0;"
    )
    assert simulate(body.format(4))["shared_bank_conflicts"] == 0
    assert simulate(body.format(128))["shared_bank_conflicts"] == 31


def test_cache_hints_have_no_effect(over_lanes):
    got = over_lanes("""
    ld.param.u64 %rd1, [p0]; prefetch.global.L2 [%rd1]; prefetchu.L1 [%rd1];
    applypriority.global.L2::evict_normal [%rd1], 128;
    createpolicy.fractional.L2::evict_first.b64 %rd2, 1.0; st.global.L2::cache_hint.u32 [%rd1], %r0, %rd2;
    discard.global.L2 [%rd1], 128; mov.u32 %r1, 3;""")
    assert (got == 3).all()
