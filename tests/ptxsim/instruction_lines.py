"""PTX lines of every row of the instruction table, by the targets on which ptxas 13.0 accepts them."""

from __future__ import annotations

TARGETS = (
    "sm_80",
    "sm_86",
    "sm_89",
    "sm_90",
    "sm_90a",
    "sm_100",
    "sm_100f",
    "sm_100a",
    "sm_103a",
    "sm_110a",
    "sm_120",
    "sm_120a",
)

# Registers: %p, %b (8 bits), %h (16), %r (32), %rd (64), %q (128), %f (f32), %fd (f64); variables gm and sm.
HEAD = """.version {version}
.target {target}
.address_size 64
.global .align 16 .b8 gm[4096];
.shared .align 1024 .b8 sm[4096];
.visible .entry k()
{{
.reg .pred %p<8>; .reg .b8 %b<8>; .reg .b16 %h<8>; .reg .b32 %r<140>; .reg .b64 %rd<16>; .reg .b128 %q<8>;
.reg .f32 %f<140>; .reg .f64 %fd<8>;
"""

_TEXT = {
    "sm_80..": """
add.rn.ftz.sat.f32 %f1, %f2, %f3;
add.rn.f16x2 %r1, %r2, %r3;
add.sat.s32 %r1, %r2, %r3;
sub.rz.ftz.f32 %f1, %f2, %f3;
mul.wide.u32 %rd1, %r2, %r3;
mul.lo.s64 %rd1, %rd2, %rd3;
mul.rn.ftz.f32 %f1, %f2, %f3;
mad.hi.sat.s32 %r1, %r2, %r3, %r4;
mad.rn.f32 %f1, %f2, %f3, %f4;
div.rn.ftz.f32 %f1, %f2, %f3;
div.full.ftz.f32 %f1, %f2, %f3;
div.u32 %r1, %r2, %r3;
abs.ftz.f32 %f1, %f2;
abs.bf16x2 %r1, %r2;
neg.ftz.f16x2 %r1, %r2;
rem.s32 %r1, %r2, %r3;
sad.u32 %r1, %r2, %r3, %r4;
addc.cc.u32 %r1, %r2, %r3;
add.cc.u32 %r1, %r2, %r3;
subc.cc.u32 %r1, %r2, %r3;
mad.lo.cc.u32 %r1, %r2, %r3, %r4;
madc.hi.cc.u32 %r1, %r2, %r3, %r4;
mul24.lo.u32 %r1, %r2, %r3;
mad24.hi.sat.s32 %r1, %r2, %r3, %r4;
dp4a.u32.s32 %r1, %r2, %r3, %r4;
dp2a.lo.s32.u32 %r1, %r2, %r3, %r4;
and.b32 %r1, %r2, %r3;
or.pred %p1, %p2, %p3;
xor.b64 %rd1, %rd2, %rd3;
not.b16 %h1, %h2;
cnot.b32 %r1, %r2;
brev.b32 %r1, %r2;
popc.b64 %r1, %rd2;
clz.b32 %r1, %r2;
bfind.shiftamt.u32 %r1, %r2;
bfe.u32 %r1, %r2, %r3, %r4;
bfi.b32 %r1, %r2, %r3, %r4, %r5;
shl.b32 %r1, %r2, %r3;
shr.u32 %r1, %r2, %r3;
shf.l.wrap.b32 %r1, %r2, %r3, %r4;
shf.r.clamp.b32 %r1, %r2, %r3, %r4;
lop3.b32 %r1, %r2, %r3, %r4, 0x1f;
lop3.or.b32 %r1|%p1, %r2, %r3, %r4, 0x1f, %p2;
bmsk.clamp.b32 %r1, %r2, %r3;
szext.wrap.u32 %r1, %r2, %r3;
setp.lt.and.ftz.f32 %p1|%p2, %f2, %f3, %p3;
setp.eq.u32 %p1, %r2, %r3;
set.lt.and.ftz.u32.f32 %r1, %f2, %f3, %p3;
selp.b32 %r1, %r2, %r3, %p1;
slct.ftz.u32.f32 %r1, %r2, %r3, %f4;
testp.finite.f32 %p1, %f2;
copysign.f32 %f1, %f2, %f3;
fma.rn.ftz.sat.f32 %f1, %f2, %f3, %f4;
fma.rn.ftz.relu.f16x2 %r1, %r2, %r3, %r4;
fma.rn.relu.bf16 %h1, %h2, %h3, %h4;
sqrt.approx.ftz.f32 %f1, %f2;
sqrt.rn.f64 %fd1, %fd2;
rcp.rn.ftz.f32 %f1, %f2;
rcp.approx.ftz.f64 %fd1, %fd2;
rsqrt.approx.ftz.f32 %f1, %f2;
ex2.approx.ftz.f32 %f1, %f2;
lg2.approx.ftz.f32 %f1, %f2;
sin.approx.ftz.f32 %f1, %f2;
cos.approx.ftz.f32 %f1, %f2;
tanh.approx.f32 %f1, %f2;
cvt.rn.relu.satfinite.f16x2.f32 %r1, %f2, %f3;
cvt.rzi.ftz.sat.s32.f32 %r1, %f2;
cvt.rna.satfinite.tf32.f32 %r1, %f2;
cvt.rz.bf16.f32 %h1, %f2;
cvt.pack.sat.u8.s32.b32 %r1, %r2, %r3, %r4;
mov.b64 {%r1, %r2}, %rd1;
mov.u32 %r1, %tid.x;
cvta.to.shared.u64 %rd1, %rd2;
isspacep.global %p1, %rd1;
prmt.b32.f4e %r1, %r2, %r3, %r4;
prmt.b32 %r1, %r2, %r3, %r4;
ld.global.nc.L1::no_allocate.L2::128B.v4.b32 {%r1, %r2, %r3, %r4}, [%rd1];
ld.acquire.gpu.global.u32 %r1, [%rd1];
ld.volatile.shared::cta.u8 %h1, [%r3];
ld.relaxed.gpu.global.b128 %q1, [%rd1];
ld.mmio.relaxed.sys.global.u32 %r1, [%rd1];
ld.weak.global.cg.u32 %r1, [%rd1];
ldu.global.v2.u32 {%r1, %r2}, [%rd1];
st.release.gpu.global.v2.u32 [%rd1], {%r1, %r2};
st.weak.shared::cta.u16 [%r1], %h1;
st.global.L1::evict_first.L2::cache_hint.v4.f32 [%rd1], {%f1, %f2, %f3, %f4}, %rd2;
st.global.wt.u32 [%rd1], %r1;
prefetch.global.L2::evict_last [%rd1];
prefetch.global.L1 [%rd1];
prefetchu.L1 [%rd1];
applypriority.global.L2::evict_normal [%rd1], 128;
discard.global.L2 [%rd1], 128;
createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 %rd1, 0.5;
createpolicy.range.L2::evict_last.L2::evict_first.b64 %rd1, [%rd2], 0x1000, 0x2000;
atom.acq_rel.gpu.global.add.u32 %r1, [%rd1], %r2;
atom.global.add.noftz.f16x2 %r1, [%rd1], %r2;
nanosleep.u32 20;
pmevent.mask 3;
shfl.sync.idx.b32 %r1|%p1, %r2, %r3, 31, -1;
vote.sync.ballot.b32 %r1, %p1, -1;
vote.sync.any.pred %p2, %p1, -1;
match.any.sync.b32 %r1, %r2, -1;
match.all.sync.b64 %r1|%p1, %rd2, -1;
redux.sync.add.s32 %r1, %r2, -1;
activemask.b32 %r1;
bar.warp.sync -1;
bar.sync 1, 64;
bar.cta.arrive 1, 64;
bar.red.popc.u32 %r1, 1, %p1;
barrier.cta.sync.aligned 1;
barrier.cta.red.and.aligned.pred %p2, 1, %p1;
barrier.sync 1;
mbarrier.init.shared::cta.b64 [%r1], 1;
mbarrier.inval.shared::cta.b64 [%r1];
mbarrier.arrive.noComplete.shared::cta.b64 %rd1, [%r1], 2;
mbarrier.arrive_drop.release.cta.shared::cta.b64 %rd1, [%r1];
mbarrier.test_wait.acquire.cta.shared::cta.b64 %p1, [%r1], %rd1;
mbarrier.test_wait.parity.acquire.cta.shared::cta.b64 %p1, [%r1], %r2;
mbarrier.pending_count.b64 %r1, %rd1;
fence.acq_rel.gpu;
membar.gl;
fence.proxy.alias;
cp.async.cg.shared::cta.global.L2::cache_hint.L2::128B [%r1], [%rd1], 16, %rd2;
cp.async.ca.shared.global [%r1], [%rd1], 4, %r2;
cp.async.commit_group;
cp.async.wait_group 1;
cp.async.wait_all;
cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r1];
mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r3, %r4, %r5, %r6}, {%r7, %r8}, {%f5, %f6, \
    %f7, %f8};
mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.u8.s32 {%r1, %r2, %r3, %r4}, {%r3, %r4, %r5, %r6}, {%r7, %r8}, \
    {%r1, %r2, %r3, %r4};
mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r3, %r4, %r5, %r6}, \
    {%r7, %r8, %r9, %r10}, {%f5, %f6, %f7, %f8}, %r11, 1;
mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.satfinite.s32.s8.u8.s32 {%r1, %r2, %r3, %r4}, \
    {%r3, %r4, %r5, %r6}, {%r7, %r8, %r9, %r10}, {%r1, %r2, %r3, %r4}, %r11, 0;
ldmatrix.sync.aligned.m8n8.x4.trans.shared::cta.b16 {%r1, %r2, %r3, %r4}, [%r5];
movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r2;
mul.hi.u32 %r1, %r2, %r3;
div.approx.ftz.f32 %f1, %f2, %f3;
set.lt.u32.f16 %r1, %h2, %h3;
fma.rn.f16 %h1, %h2, %h3, %h4;
ex2.approx.f16 %h1, %h2;
barrier.sync.aligned 1, 64;
bar.cta.red.popc.u32 %r1, 1, %p1;
bar.cta.sync 1, 64;
createpolicy.cvt.L2.b64 %rd1, 0x100;
cvt.rni.s32.f16 %r1, %h2;
cvt.f32.bf16 %f1, %h2;
cvt.rn.f16.f32 %h1, %f2;
cvt.rn.satfinite.f16.f32 %h1, %f2;
cvt.rm.bf16.f32 %h1, %f2;
membar.proxy.alias;
mbarrier.arrive.shared.b64 %rd1, [%r1];
atom.shared::cta.add.u32 %r1, [%r2], %r3;
red.global.add.f32 [%rd1], %f1;
""",
    "sm_86..": """
min.ftz.NaN.xorsign.abs.f32 %f1, %f2, %f3;
max.NaN.xorsign.abs.bf16x2 %r1, %r2, %r3;
""",
    "sm_89..": """
cvt.rn.satfinite.relu.e4m3x2.f32 %h1, %f2, %f3;
cvt.rn.f16x2.e5m2x2 %r1, %h2;
mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 {%f1, %f2, %f3, %f4}, {%r3, %r4, %r5, %r6}, {%r7, %r8}, {%f5, \
    %f6, %f7, %f8};
mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.f32.e5m2.e4m3.f32 {%f1, %f2, %f3, %f4}, {%r3, %r4, %r5, %r6}, \
    {%r7, %r8, %r9, %r10}, {%f5, %f6, %f7, %f8}, %r11, 0;
""",
    "sm_90..": """
add.rn.bf16x2 %r1, %r2, %r3;
add.u16x2 %r1, %r2, %r3;
sub.rn.bf16 %h1, %h2, %h3;
min.u16x2 %r1, %r2, %r3;
min.relu.s16x2 %r1, %r2, %r3;
max.relu.s32 %r1, %r2, %r3;
fma.rn.oob.relu.f16 %h1, %h2, %h3, %h4;
ex2.approx.ftz.bf16x2 %r1, %r2;
tanh.approx.bf16x2 %r1, %r2;
isspacep.shared::cluster %p1, %rd1;
mapa.shared::cluster.u32 %r1, %r2, %r3;
getctarank.shared::cluster.u32 %r1, %r2;
ld.relaxed.cta.shared::cluster.v2.u32 {%r1, %r2}, [%r3];
multimem.ld_reduce.relaxed.gpu.global.add.acc::f32.v4.f16x2 {%r1, %r2, %r3, %r4}, [%rd1];
multimem.ld_reduce.weak.global.max.u32 %r1, [%rd1];
multimem.st.release.gpu.global.v4.f32 [%rd1], {%f1, %f2, %f3, %f4};
multimem.red.release.gpu.global.add.v2.f32 [%rd1], {%f1, %f2};
atom.relaxed.cluster.shared::cluster.cas.b64 %rd1, [%r1], %rd2, %rd3;
atom.global.add.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1], {%f1, %f2, %f3, %f4};
atom.global.cas.b128 %q1, [%rd1], %q2, %q3;
atom.shared.exch.b128 %q1, [%r1], %q2;
red.relaxed.gpu.global.add.noftz.v4.f16x2 [%rd1], {%r1, %r2, %r3, %r4};
red.global.max.noftz.v8.bf16 [%rd1], {%h1, %h2, %h3, %h4, %h1, %h2, %h3, %h4};
griddepcontrol.launch_dependents;
griddepcontrol.wait;
elect.sync %r1|%p1, -1;
barrier.cluster.arrive.release.aligned;
barrier.cluster.arrive.relaxed;
barrier.cluster.wait.acquire.aligned;
mbarrier.arrive.release.cta.shared::cta.b64 %rd1, [%r1], 2;
mbarrier.arrive.expect_tx.relaxed.cluster.shared::cluster.b64 _, [%r1], 16;
mbarrier.arrive_drop.expect_tx.release.cta.shared::cta.b64 %rd1, [%r1], 16;
mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r1], 16;
mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%r1], 16;
mbarrier.try_wait.relaxed.cluster.shared::cta.b64 %p1, [%r1], %rd1, %r2;
mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], %r2, %r3;
fence.sc.cluster;
fence.acquire.sync_restrict::shared::cluster.cluster;
fence.proxy.async.shared::cta;
fence.proxy.async;
fence.mbarrier_init.release.cluster;
fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;
st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.u32 [%r1], {%r2, %r3}, [%r4];
red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r1], %r2, [%r4];
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint [%r1], [%rd1], \
    16, [%r2], %h1, %rd2;
cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r1], [%rd1], 16, [%r2];
cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], 16;
cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.f16 [%rd1], [%r1], 16;
cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [%r1], [%r2], 16, [%r3];
cp.async.bulk.prefetch.L2.global [%rd1], 16;
cp.async.bulk.commit_group;
cp.async.bulk.wait_group.read 1;
cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2, %r3}], [%r4];
cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd1, {%r2, %r3}], [%r1];
cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%rd1, {%r2, %r3}], [%r1];
cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%rd1, {%r2, %r3}];
tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd1], [%r1], 128;
fence.proxy.tensormap::generic.release.gpu;
fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128;
prefetch.tensormap [%rd1];
prefetch.const.tensormap [%rd1];
prefetch.param.tensormap [%rd1];
stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%r3], {%r1, %r2};
setp.lt.bf16 %p1, %h2, %h3;
cvt.rn.bf16.s32 %h1, %r2;
cvt.rn.f16.bf16 %h1, %h2;
fence.proxy.tensormap::generic.release.sys;
""",
    "sm_90a sm_100f sm_100a sm_103a sm_110a sm_120a": """
setmaxnreg.inc.sync.aligned.u32 64;
tensormap.replace.tile.global_address.global.b1024.b64 [%rd1], %rd2;
""",
    "sm_90a": """
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd2, %rd1, %p1, -1, 1, 0, 1;
wgmma.mma_async.sync.aligned.m64n8k32.satfinite.s32.s8.u8 {%r1, %r2, %r3, %r4}, %rd1, %rd2, %p1;
wgmma.fence.sync.aligned;
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 1;
""",
    "sm_100..": """
add.rn.ftz.f32x2 %rd1, %rd2, %rd3;
add.rn.sat.f32.f16 %f1, %h2, %f3;
mul.rn.ftz.f32x2 %rd1, %rd2, %rd3;
min.f32 %f1, %f2, %f3, %f4;
max.ftz.NaN.f32 %f1, %f2, %f3, %f4;
fma.rn.ftz.f32x2 %rd1, %rd2, %rd3, %rd4;
fma.rn.sat.f32.bf16 %f1, %h2, %h3, %f4;
cvt.rn.satfinite.tf32.f32 %r1, %f2;
ld.global.L1::evict_last.L2::evict_last.L2::cache_hint.v8.f32 {%f1, %f2, %f3, %f4, %f5, %f6, %f7, %f8}, [%rd1], %rd2;
ld.global.v8.f32 {%f1, %f2, %f3, %f4, %f5, %f6, %f7, %f8}, [%rd1];
st.global.v4.f64 [%rd1], {%fd1, %fd2, %fd3, %fd4};
st.bulk.weak.shared::cta [%r1], 64, 0;
cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%rd1], [%r1], 16, %h1;
cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2, %r3, %r4, \
    %r5, %r6}], [%r4];
ld.global.v4.b64 {%rd1, %rd2, %rd3, %rd4}, [%rd5];
st.global.v8.b32 [%rd5], {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8};
clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%r1], [%r2];
clusterlaunchcontrol.try_cancel.async.mbarrier::complete_tx::bytes.b128 [%rd1], [%rd2];
clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p1, %q1;
clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r1, %r2, %r3, _}, %q1;
clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %r1, %q1;
clusterlaunchcontrol.query_cancel.get_first_ctaid::y.b32.b128 %r1, %q1;
clusterlaunchcontrol.query_cancel.get_first_ctaid::z.b32.b128 %r1, %q1;
""",
    "sm_100f sm_100a sm_103a sm_110a sm_120a": """
clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128 \
    [%r1], [%r2];
cvt.rn.satfinite.e2m3x2.f32 %h1, %f2, %f3;
cvt.rn.satfinite.e2m1x2.f32 %b1, %f2, %f3;
cvt.rn.f16x2.e3m2x2 %r1, %h2;
cvt.rp.satfinite.ue8m0x2.f32 %h1, %f2, %f3;
stmatrix.sync.aligned.m16n8.x2.trans.shared.b8 [%r3], {%r1, %r2};
cvt.rn.bf16x2.ue8m0x2 %r1, %h2;
""",
    "sm_100f sm_100a sm_103a sm_110a": """
cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster.cta_group::1 \
    [%r1], [%rd1, {%r2, %r3}], [%r4], %h1;
tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], 64;
tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, 64;
tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
tcgen05.ld.sync.aligned.16x64b.x2.pack::16b.b32 {%r1, %r2}, [%r3];
tcgen05.st.sync.aligned.32x32b.x2.unpack::16b.b32 [%r3], {%r1, %r2};
tcgen05.wait::ld.sync.aligned;
tcgen05.wait::st.sync.aligned;
tcgen05.cp.cta_group::1.64x128b.warpx2::02_13.b8x16.b6x16_p32 [%r1], %rd1;
tcgen05.mma.cta_group::1.kind::f16.collector::a::fill [%r1], %rd1, %rd2, %r2, %p1;
tcgen05.mma.cta_group::1.kind::mxf4.block_scale.block32 [%r1], %rd1, %rd2, %r2, [%r3], [%r4], %p1;
tcgen05.mma.ws.cta_group::1.kind::f16.collector::b0::fill [%r1], %rd1, %rd2, %r2, %p1;
tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%r1], %h1;
tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [%rd1];
tcgen05.fence::before_thread_sync;
tcgen05.fence::after_thread_sync;
""",
    "sm_100f sm_100a sm_103a": """
redux.sync.min.abs.NaN.f32 %f1, %f2, -1;
""",
    "sm_100a sm_103a sm_110a": """
tcgen05.shift.cta_group::1.down [%r1];
""",
    "sm_100a sm_103a": """
cvt.rs.relu.satfinite.f16x2.f32 %r1, %f2, %f3, %r4;
cvt.rs.satfinite.e4m3x4.f32 %r1, {%f2, %f3, %f4, %f5}, %r6;
""",
    "sm_100a sm_110a": """
tcgen05.mma.cta_group::1.kind::i8 [%r1], %rd1, %rd2, %r2, %p1;
""",
}


def _targets(names: str) -> tuple[str, ...]:
    if names.endswith(".."):
        return TARGETS[TARGETS.index(names.removesuffix("..")) :]
    return tuple(names.split())


# The targets of each line. "sm_90.." is sm_90 and the later ones of TARGETS.
LINES = {line: _targets(names) for names, text in _TEXT.items() for line in text.strip().splitlines()}
