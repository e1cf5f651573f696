"""PTX of a 64 x 16 wgmma product, in parts that tests replace."""

import ml_dtypes
import numpy as np

# 128 threads. A (p0) is 64 x 32 bytes and B (p1) is 16 x 32 bytes, K-major without swizzle: core matrices of 8 rows of
# 16 bytes, LBO 128, SBO 256. D (p2) is 64 x 16 f32.
STAGE = """
.shared .align 128 .b8 a[2048];
.shared .align 128 .b8 b[512];
mov.u32 %r0, %tid.x;
setp.lt.u32 %p1, %r0, 64;
setp.lt.u32 %p2, %r0, 16;
mul.wide.u32 %rd0, %r0, 32;
ld.param.u64 %rd1, [p0];
ld.param.u64 %rd2, [p1];
add.u64 %rd1, %rd1, %rd0;
add.u64 %rd2, %rd2, %rd0;
shr.u32 %r4, %r0, 3;
shl.b32 %r4, %r4, 8;
and.b32 %r5, %r0, 7;
shl.b32 %r5, %r5, 4;
add.u32 %r4, %r4, %r5;
mov.u32 %r6, a;
mov.u32 %r7, b;
add.u32 %r8, %r6, %r4;
add.u32 %r9, %r7, %r4;
@%p1 ld.global.v4.b32 {%r10, %r11, %r12, %r13}, [%rd1];
@%p1 st.shared.v4.b32 [%r8], {%r10, %r11, %r12, %r13};
@%p1 ld.global.v4.b32 {%r10, %r11, %r12, %r13}, [%rd1+16];
@%p1 st.shared.v4.b32 [%r8+128], {%r10, %r11, %r12, %r13};
@%p2 ld.global.v4.b32 {%r10, %r11, %r12, %r13}, [%rd2];
@%p2 st.shared.v4.b32 [%r9], {%r10, %r11, %r12, %r13};
@%p2 ld.global.v4.b32 {%r10, %r11, %r12, %r13}, [%rd2+16];
@%p2 st.shared.v4.b32 [%r9+128], {%r10, %r11, %r12, %r13};
fence.proxy.async.shared::cta;
bar.sync 0;
shr.u32 %r6, %r6, 4;
cvt.u64.u32 %rd3, %r6;
or.b64 %rd3, %rd3, 0x0000001000080000;
shr.u32 %r7, %r7, 4;
cvt.u64.u32 %rd4, %r7;
or.b64 %rd4, %rd4, 0x0000001000080000;
setp.ne.u32 %p3, %r0, %r0;
setp.eq.u32 %p4, %r0, %r0;
"""

D = "{" + ", ".join(f"%f{i}" for i in range(8)) + "}"

PRODUCT = f"""
wgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.m64n16kK.f32.TYPES {D}, %rd3, %rd4, %p3IMMEDIATES;
wgmma.mma_async.sync.aligned.m64n16kK.f32.TYPES {D}, %rd3, %rd4, %p4IMMEDIATES;
wgmma.commit_group.sync.aligned;
"""

WAIT = "wgmma.wait_group.sync.aligned 0;\n"

# Register r of lane L of warp w: row 16w + L/4 + 8*((r>>1)&1), column 8*(r>>2) + 2*(L%4) + (r&1).
WRITE = """
ld.param.u64 %rd5, [p2];
shr.u32 %r20, %r0, 5;
shl.b32 %r20, %r20, 4;
and.b32 %r21, %r0, 31;
shr.u32 %r22, %r21, 2;
add.u32 %r20, %r20, %r22;
and.b32 %r21, %r21, 3;
shl.b32 %r21, %r21, 1;
mad.lo.u32 %r20, %r20, 16, %r21;
mul.wide.u32 %rd6, %r20, 4;
add.u64 %rd5, %rd5, %rd6;
""" + "\n".join(f"st.global.f32 [%rd5+{(r >> 1 & 1) * 8 * 64 + 32 * (r >> 2) + 4 * (r & 1)}], %f{r};" for r in range(8))

TYPES = {
    "f16": (np.float16, 16, "f16.f16", ", 1, 1, 0, 0"),
    "bf16": (ml_dtypes.bfloat16, 16, "bf16.bf16", ", 1, 1, 0, 0"),
    "tf32": (np.float32, 8, "tf32.tf32", ", 1, 1"),
    "e4m3": (ml_dtypes.float8_e4m3fn, 32, "e4m3.e4m3", ", 1, 1"),
}
