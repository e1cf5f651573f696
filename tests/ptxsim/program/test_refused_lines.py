"""Lines that the simulator refuses when it reads a program, and lines that it lists as not supported."""

from __future__ import annotations

import pytest
from assemblers import HEAD_LINES, program

from tilec.runtime.ptxsim import _native

LOAD = "mbarrier::complete_tx::bytes [%r1], [%rd1"
BULK = "mbarrier::complete_tx::bytes [%r1], [%rd1], 16, [%r2];"
SCALES = "[%r1], %rd1, %rd2, %r2, [%r3], [%r4], %p1;"
REFUSED = {
    # Operands of any instruction.
    "add.u32 %r1, [%r2], %r3;": "'add.u32' expects a register, found an address",
    "add.u32 %r1, {%r2, %r3}, %r4;": "'add.u32' expects a register, found a vector",
    "add.u32 %r1, %p2, %r3;": "'add.u32' expects a register, found '%p2'",
    "add.u32 %r1, !%r2, %r3;": "'!' needs a predicate, found '%r2'",
    "add.u32 5, %r2, %r3;": "'add.u32' expects a register as destination, found a literal",
    "ld.global.u32 %r1, 5;": "'ld.global.u32' expects an address in brackets, found a literal",
    "ld.global.u32 %r1, [%h1];": "'ld.global.u32' expects an address of 32 or 64 bits, found 16",
    "ld.global.v2.u32 {%r1, %r2, %r3}, [%rd1];": "'ld.global.v2.u32' expects 2 registers, found 3",
    "selp.b32 %r1, %r2, %r3, %r4;": "'selp.b32' expects a predicate, found '%r4'",
    "testp.finite.f32 !%p1, %f2;": "'testp.finite.f32' expects a predicate as destination, found '%p1'",
    "cp.async.wait_group %r1;": "'cp.async.wait_group' expects an integer literal, found '%r1'",
    "cp.async.wait_group 1.5;": "'cp.async.wait_group' expects an integer literal, found a literal",
    "bra %r1;": "label '%r1' is not declared",
    # Comparison, conversion and moves.
    "setp.u32 %p1, %r2, %r3;": "'setp.u32' has no comparison",
    "setp.lt.u32 %r1|%p1, %r2, %r3;": "'setp.lt.u32' expects predicates as destinations",
    "setp.lt.f16x2 %p1, %r2, %r3;": "'setp.lt.f16x2' expects two destinations p|q",
    "testp.f32 %p1, %f2;": "'testp.f32' has no test",
    "cvt.pack.sat.u8.u32.b32 %r1, %r2, %r3, %r4;": "packs values of type .s32",
    "cvt.pack.sat.u32.s32 %r1, %r2, %r3;": "packs into elements of 2, 4, 8 or 16 bits",
    "cvt.pack.sat.s16.s32.b32 %r1, %r2, %r3, %r4;": "'cvt.pack.sat.s16.s32.b32' has no third source",
    "cvt.pack.sat.u8.s32 %r1, %r2, %r3;": "'cvt.pack.sat.u8.s32' needs a third source of .b32",
    "mov.b32 %r1, {};": "'mov.b32' cannot have 0 parts",
    # Memory.
    "ld.global.v2.b128 {%q1, %q2}, [%rd1];": "'ld.global.v2.b128' has no vectors of .b128",
    "ld.shared.nc.u32 %r1, [%r2];": "'ld.shared.nc.u32' needs .global with .nc",
    "createpolicy.b64 %rd1;": "'createpolicy.b64' needs .fractional, .range or .cvt",
    "cp.async.ca.shared [%r1], [%rd1], 4;": "expected .global",
    "cp.async.ca.shared.global [%r1], [%rd1], 12;": "copies 4, 8 or 16 bytes, and 16 with .cg; found 12",
    "cp.async.cg.shared.global [%r1], [%rd1], 8;": "copies 4, 8 or 16 bytes, and 16 with .cg; found 8",
    "cp.async.wait_group -1;": "expected a non-negative number of groups",
    "st.bulk.weak.shared::cta [%r1], 64, 1;": "st.bulk stores zeros only",
    # Control and threads.
    "brx.idx %r1, L;": "brx.idx expects the label of .branchtargets, found 'L'",
    "call;": "call expects a function",
    "call nowhere;": "function 'nowhere' is not declared",
    "call k, ([%r2]);": "call with an address: expected a .param variable, register or literal",
    "call k, (5);": "call with a literal for an unknown parameter: expected a .param variable or register",
    "bar 1;": "'bar' is neither sync, arrive nor red",
    "shfl.sync.b32 %r1, %r2, %r3, 31, -1;": "'shfl.sync.b32' has no mode",
    "shfl.sync.idx.b32 %r1|%r4, %r2, %r3, 31, -1;": "'shfl.sync.idx.b32' expects a predicate after '|'",
    "vote.sync.b32 %r1, %p1, -1;": "'vote.sync.b32' has no mode",
    "elect.sync %r1, -1;": "elect.sync expects d|p",
    "setmaxnreg.sync.aligned.u32 64;": "expected setmaxnreg.inc or .dec, .sync.aligned.u32",
    "setmaxnreg.inc.sync.aligned.u32 20;": "setmaxnreg takes a multiple of 8 within 24 and 256, found 20",
    # Tensor cores.
    "tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1;": "has too few operands, found 2",
    f"tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.scale_vec::2X {SCALES}": (
        "expected .scale_vec::1X or .block32 with kind mxf8f6f4"
    ),
    f"tcgen05.mma.cta_group::1.kind::mxf4.block_scale.scale_vec::4X {SCALES}": (
        "expected .scale_vec::2X or .block32 with kind mxf4"
    ),
    f"tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale {SCALES}": (
        "expected .scale_vec::2X, .scale_vec::4X, .block32 or .block16 with kind mxf4nvf4"
    ),
    "tcgen05.mma.ws.cta_group::2.kind::f16 [%r1], %rd1, %rd2, %r2, %p1;": (
        "expected .ws without .cta_group::2, block scaling and .ashift"
    ),
    "tcgen05.mma.ws.cta_group::1.kind::f16.ashift [%r1], [%r3], %rd2, %r2, %p1;": (
        "expected .ws without .cta_group::2, block scaling and .ashift"
    ),
    f"tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.ashift {SCALES}": "expected .ashift without block scaling",
    "tcgen05.mma.cta_group::1.kind::f16.ashift [%r1], %rd1, %rd2, %r2, %p1;": (
        "expected A in tensor memory with .ashift, as [%r1]"
    ),
    "tcgen05.mma.cta_group::1.kind::f16.ashift.collector::a::use [%r1], [%r3], %rd2, %r2, %p1;": (
        "expected collector usage lastuse or discard with .ashift, got .use"
    ),
    "tcgen05.mma.cta_group::1.kind::f16.collector::b0::use [%r1], %rd1, %rd2, %r2, %p1;": (
        "expected collector a without .ws, got .b0::use"
    ),
    "tcgen05.mma.ws.cta_group::1.kind::f16.collector::a::use [%r1], %rd1, %rd2, %r2, %p1;": (
        "expected a collector of b0 to b3 with .ws, got .a::use"
    ),
    "tcgen05.mma.cta_group::1.kind::f16.collector::a::keep [%r1], %rd1, %rd2, %r2, %p1;": (
        "expected fill, use, lastuse or discard of a collector, got .a::keep"
    ),
    "tcgen05.mma.cta_group::1.kind::f8f6f4 [%r1], %rd1, %rd2, %r2, %p1, 3;": (
        "expected scale-input-d with kinds f16 and tf32 only"
    ),
    "tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, %rd2, %r2, %p1, 16;": "expected a scale-input-d of 0 to 15",
    "tcgen05.cp.cta_group::1.64x128b [%r1], %rd1;": "expected a shape of tcgen05.cp and its multicast modifier",
    "tcgen05.ld.sync.aligned.8x8b.x2.b32 {%r1, %r2}, [%r3];": "expected a shape of tcgen05.ld and tcgen05.st",
    "tcgen05.ld.sync.aligned.16x256b.x64.b32 {%r1}, [%r3];": "a repeat modifier with at most 128 registers",
    # Bulk copies.
    "cp.reduce.async.bulk.global.shared::cta.bulk_group.inc.f32 [%rd1], [%r1], 16;": (
        "expected an operation and type that cp.reduce.async.bulk supports"
    ),
    "cp.reduce.async.bulk.global.shared::cta.bulk_group.u32 [%rd1], [%r1], 16;": (
        "expected a reduction: .add, .min, .max, .inc, .dec, .and, .or or .xor"
    ),
    "cp.async.bulk.shared::cta.bulk_group [%rd1], [%r1], 16;": "expected .global.shared::cta with .bulk_group",
    f"cp.async.bulk.shared::cta.{BULK}": (
        "expected .shared::cluster.global, .shared::cta.global or .shared::cluster.shared::cta"
    ),
    "cp.async.bulk.wait_group -1;": "expected a non-negative number of groups",
    f"cp.async.bulk.tensor.2d.shared::cluster.global.{LOAD}, {{%r2}}], [%r4];": "expected 2 coordinates, got 1",
    f"cp.async.bulk.tensor.3d.shared::cluster.global.im2col.{LOAD}, {{%r2, %r3, %r4}}], [%r4];": (
        "expected a vector of 1 offsets as operand 3"
    ),
    f"cp.async.bulk.tensor.3d.shared::cluster.global.im2col_no_offs.{LOAD}, {{%r2, %r3, %r4}}], [%r4];": (
        "expected a mode of a copy to .shared::cluster, got .im2col_no_offs"
    ),
    f"cp.async.bulk.tensor.2d.global.{LOAD}, {{%r2, %r3}}], [%r4];": (
        "expected a destination in .shared::cluster or .shared::cta"
    ),
    "cp.async.bulk.tensor.2d.shared::cta.global.multicast::cluster."
    "mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2, %r3}], [%r4], %h1;": (
        "expected a destination in .shared::cluster with .multicast::cluster, got .shared::cta"
    ),
    "cp.async.bulk.tensor.2d.global.shared::cta [%rd1, {%r2, %r3}], [%r1];": (
        "expected .global.shared::cta and .bulk_group"
    ),
    "cp.async.bulk.tensor.2d.shared::cta.bulk_group [%rd1, {%r2, %r3}], [%r1];": (
        "expected .global as source or destination"
    ),
    # Tensor maps.
    "tensormap.replace.tile.colour.global.b1024.b64 [%rd1], %rd2;": "expected a field of a tensor map",
    "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd1], [%r1], 64;": (
        "expected size 128"
    ),
    "fence.proxy.tensormap::generic.gpu;": "expected .release or .acquire",
    "fence.proxy.tensormap::generic.acquire.gpu [%rd1], 64;": "expected size 128",
}
WGMMA = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd2, %rd1, %p1"
REFUSED_ON_HOPPER = {
    f"{WGMMA.replace('n8k16', 'n8k8')}, -1, 1, 0, 1;": "expected N of 8 to 256 in steps of 8 and K of 32 bytes",
    f"{WGMMA}, 2, 1, 0, 1;": "expected imm-scale of 1 or -1",
    "wgmma.wait_group.sync.aligned 8;": "expected a number of pending groups of 0 to 7",
}
UNSUPPORTED = {
    "set.lt.u32.f16x2 %r1, %r2, %r3;": "set of packed types",
    "add.rz.f16 %h1, %h2, %h3;": "directed rounding of a 16-bit format",
    "min.relu.s32 %r1, %r2, %r3;": "relu on integers",
    "mov.b64 {%r1, %r2}, {%r3, %r4};": "vectors as destination and source",
    "st.async.weak.shared::cluster.u32 [%r1], %r2, [%r4];": "a form without .mbarrier::complete_tx::bytes",
    "tcgen05.mma.cta_group::1.kind::f64 [%r1], %rd1, %rd2, %r2, %p1;": (
        "a kind of tcgen05.mma other than f16, tf32, f8f6f4, i8, mxf8f6f4, mxf4 and mxf4nvf4"
    ),
    "tcgen05.mma.cta_group::1.kind::i8 [%r1], %rd1, %rd2, %r2, %p1, 3;": "scale-input-d with kind i8",
    "cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%rd1], [%r1], 16, %h1;": "cp.async.bulk with .cp_mask",
}


@pytest.mark.parametrize(
    ("line", "target", "message"),
    [(line, "sm_100a", message) for line, message in REFUSED.items()]
    + [(line, "sm_90a", message) for line, message in REFUSED_ON_HOPPER.items()],
)
def test_line_is_refused(line, target, message):
    with pytest.raises(_native.PtxError) as caught:
        program(line, target)
    assert message in caught.value.message
    assert caught.value.line == HEAD_LINES + 1


@pytest.mark.parametrize(
    ("line", "target", "reason"),
    [(line, "sm_100a", reason) for line, reason in UNSUPPORTED.items()]
    + [(f"{WGMMA.replace('f16.f16', 'f64.f64')}, -1, 1;", "sm_90a", "wgmma of these types")],
)
def test_line_is_not_supported(line, target, reason):
    ((number, text),) = program(line, target).unsupported
    assert (number, text) == (HEAD_LINES + 1, f"{line.split()[0]}: {reason}")
