"""Forms of matrix and bulk instructions: the parser lists unsupported forms, and never crashes on invalid text."""

from __future__ import annotations

import random

import pytest

from tilec.runtime.ptxsim import _native as ptxsim

HEADER = """
.version 8.8
.target {target}
.address_size 64
.visible .entry kernel(.param .u64 p0)
{{
.reg .pred %p<4>;
.reg .b16 %h<4>;
.reg .b32 %r<16>;
.reg .b64 %rd<8>;
.reg .f32 %f<16>;
"""

FORMS = """
cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint \
    [%r1], [%rd1, {%r2, 3}], [%r3], %h1, %rd2;
cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes \
    [%r1], [%rd1, {%r2, 1, 2, 3, 4}], [%r3];
cp.async.bulk.tensor.3d.shared::cta.global.im2col.mbarrier::complete_tx::bytes [%r1], [%rd1, {0, 0, 0}], [%r3], {%h1};
cp.async.bulk.tensor.5d.shared::cluster.global.im2col::w.mbarrier::complete_tx::bytes.multicast::cluster.cta_group::2 \
    [%r1], [%rd1, {0, 0, 0, 0, 0}], [%r3], {%h1, 2}, %h2;
cp.async.bulk.tensor.4d.global.shared::cta.im2col_no_offs.bulk_group [%rd1, {0, 0, 0, 0}], [%r1];
cp.async.bulk.prefetch.tensor.4d.L2.global.im2col::w::128.L2::cache_hint [%rd1, {0, 0, 0, 0}], {%h1, %h2}, %rd2;
cp.reduce.async.bulk.tensor.1d.global.shared::cta.min.tile.bulk_group [%rd1, {%r2}], [%r1];
cp.async.bulk.prefetch.tensor.3d.L2.global.tile [%rd1, {%r2, %r2, 0}];
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], %r2, [%r3];
cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.f16 [%rd1], [%r1], 64;
cp.async.bulk.wait_group.read 1;
tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%r1], 0, %rd1;
tensormap.replace.tile.fill_mode.global.b1024.b32 [%rd1], 1;
tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], 64;
tcgen05.ld.sync.aligned.16x32bx2.x2.pack::16b.b32 {%r1, %r2}, [%r3], 8;
tcgen05.st.sync.aligned.32x32b.x2.b32 [%r3+4], {%r1, %r2};
tcgen05.cp.cta_group::1.64x128b.warpx2::01_23 [%r1], %rd1;
tcgen05.cp.cta_group::2.32x128b.warpx4.b8x16.b6x16_p32 [%r1], %rd1;
tcgen05.mma.cta_group::1.kind::f16.collector::a::fill [%r1], %rd1, %rd2, %r2, {%r1, %r2, %r3, %r4}, %p1, 2;
tcgen05.mma.cta_group::2.kind::tf32 [%r1+8], [%r2], %rd2, %r2, !%p1;
tcgen05.mma.sp.cta_group::1.kind::f16 [%r1], %rd1, %rd2, [%r3], %r2, %p1;
tcgen05.mma.sp.cta_group::1.kind::i8 [%r1], [%r4], %rd2, [%r3], %r2, {%r1, %r2, %r3, %r4}, %p1;
tcgen05.mma.sp.cta_group::1.kind::f16.ashift [%r1], [%r4], %rd2, [%r3], %r2, {%r1, %r2, %r3, %r4}, %p1;
tcgen05.mma.cta_group::2.kind::tf32.ashift.collector::a::lastuse [%r1], [%r2], %rd2, %r2, !%p1, 15;
tcgen05.mma.ws.cta_group::1.kind::f16.collector::b3::fill [%r1], %rd1, %rd2, %r2, %p1, %rd3;
tcgen05.mma.ws.sp.cta_group::1.kind::i8 [%r1], [%r4], %rd2, [%r3], %r2, !%p1, 0x8000000000;
tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale [%r1], %rd1, %rd2, %r2, [%r3], [%r4], %p1;
tcgen05.mma.cta_group::1.kind::mxf4.block_scale.block32 [%r1], %rd1, %rd2, %r2, [%r3], [%r4], %p1;
tcgen05.mma.cta_group::2.kind::mxf4nvf4.block_scale.block16.collector::a::use \
    [%r1], [%r2], %rd2, %r2, [%r3], [%r4], !%p1;
tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%r1], %h1;
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, {%r1, %r2, %r3, %r4}, %rd1, %p1, -1, 1, 1;
wgmma.mma_async.sync.aligned.m64n8k32.satfinite.s32.s8.u8 {%r1, %r2, %r3, %r4}, %rd1, %rd2, 0;
wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd1, %rd2, %r1, 1, %p1, 1, -1, 0, 1;
wgmma.mma_async.sp.sync.aligned.m64n8k64.s32.s8.u8 {%r1, %r2, %r3, %r4}, {%r1, %r2, %r3, %r4}, %rd2, %r5, 0, 1;
wgmma.wait_group.sync.aligned 7;
mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r1, %r2}, {%r3, %r4, %r5, %r6}, {%r7, %r8}, {%r9, %r10};
mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 \
    {%f1, %f2, %f3, %f4}, {%r3, %r4, %r5, %r6}, {%r7, %r8}, {%f5, %f6, %f7, %f8};
ldmatrix.sync.aligned.m8n8.x2.trans.shared::cta.b16 {%r1, %r2}, [%r3+16];
stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r3], {%r1};
movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r2;
"""


def program(text: str):
    target = "sm_90a" if "wgmma" in text else "sm_100a"
    return ptxsim.Program(HEADER.format(target=target) + text + "\nret;\n}\n")


def test_every_form_is_supported():
    assert [line for line in FORMS.strip().splitlines() if program(line).unsupported] == []


def test_random_edits_of_the_text_do_not_crash():
    """Random characters, modifiers and operands are deleted, duplicated or replaced."""
    generator = random.Random(3)
    lines = FORMS.strip().splitlines()
    for _ in range(3000):
        separator = generator.choice([".", ", ", ""])
        parts = list(generator.choice(lines)) if not separator else generator.choice(lines).split(separator)
        for _ in range(generator.randint(1, 3)):
            at = generator.randrange(len(parts))
            parts[at : at + 1] = generator.choice([[], [parts[at]] * 2, [generator.choice(parts)]])
            if not parts:
                break
        try:
            program(separator.join(parts))
        except ptxsim.PtxError as error:
            assert error.message


@pytest.mark.parametrize(
    "line",
    [
        "tcgen05.mma.sp.cta_group::1.kind::mxf4.block_scale [%r1], %rd1, %rd2, [%r3], %r2, [%r3], [%r4], %p1;",
        "tcgen05.mma.sp.cta_group::2.kind::f16 [%r1], %rd1, %rd2, [%r3], %r2, %p1;",
        "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc "
        "{%r1, %r2, %r5, %r6}, {%r3, %r4, %r5, %r6}, {%r7, %r8}, {%r1, %r2, %r3, %r4};",
        "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r1, %r2}, [%r3];",
    ],
)  # fmt: skip
def test_unsupported_forms_are_listed_before_a_run(line):
    ((number, text),) = program(line).unsupported
    assert number == 1 + HEADER.count("\n")
    assert line.split(" ")[0].split(".")[0] in text
