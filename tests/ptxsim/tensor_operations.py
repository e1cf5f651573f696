"""PTX of one thread that performs operations on tensor memory: matrices in shared memory before, cells after."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sparse_operands import core_matrices

CHUNK = 64  # registers of one tcgen05.ld or tcgen05.st


def placed(*matrices: np.ndarray) -> tuple[np.ndarray, list[int], list[int]]:
    """The core matrices of K-major matrices, one after the other; their offsets; and their descriptors without start.

    A core matrix has 8 rows of 16 bytes. The next one along K follows it, then those of the next 8 rows.
    """
    parts, offsets, descriptors = [], [], []
    for matrix in matrices:
        part = core_matrices(matrix)
        offsets.append(sum(map(len, parts)))
        parts.append(part)
        stride = 8 * matrix.shape[1] * matrix.itemsize
        descriptors.append((128 >> 4) << 16 | (stride >> 4) << 32 | 1 << 46)
    return np.frombuffer(b"".join(parts), np.uint8), offsets, descriptors


def registers(count: int) -> str:
    return "{" + ", ".join(f"%r{100 + i}" for i in range(count)) + "}"


def _for_each_chunk(columns: int, before: str, instruction: str, after: str) -> str:
    """`instruction` for the cells of each CHUNK of columns, with {registers} and {address}."""
    lines = []
    for first in range(0, columns, CHUNK):
        count = min(CHUNK, columns - first)
        lines += [before.format(register=100 + i, at=4 * (first + i)) for i in range(count)] if before else []
        lines.append(f"add.u32 %r18, %r17, {first};")
        lines.append(instruction.format(shape=f"32x32b.x{count}", registers=registers(count)))
        lines += [after.format(register=100 + i, at=4 * (first + i)) for i in range(count)] if after else []
    return "\n".join(lines)


def program(
    size_bytes: int, descriptors: Sequence[int], offsets: Sequence[int], operations: str, columns: int, *, clear: bool
) -> str:
    """p0 is copied to shared memory, and `operations` of thread 0 are performed; p1 receives `columns` of 128 lanes.

    Tensor memory is at %r14; register %rd10 + i has descriptor i; %p3 is false and %p4 true; %r5 is an mbarrier
    for the operations. `clear` stores zeros into the columns first.
    """
    allocated = max(32, 1 << (columns + 63).bit_length())
    stores = _for_each_chunk(columns, "mov.b32 %r{register}, 0;",
                             "tcgen05.st.sync.aligned.{shape}.b32 [%r18], {registers};\ntcgen05.wait::st.sync.aligned;",
                             "")  # fmt: skip
    loads = _for_each_chunk(
        columns,
        "",
        "tcgen05.ld.sync.aligned.{shape}.b32 {registers}, [%r18];\ntcgen05.wait::ld.sync.aligned;",
        "st.global.b32 [%rd5+{at}], %r{register};",
    )
    starts = "".join(
        f"add.u32 %r19, %r6, {offset};\nshr.u32 %r19, %r19, 4;\ncvt.u64.u32 %rd{10 + i}, %r19;\n"
        f"or.b64 %rd{10 + i}, %rd{10 + i}, {descriptor:#x};\n"
        for i, (offset, descriptor) in enumerate(zip(offsets, descriptors, strict=True))
    )
    return f"""
.shared .align 1024 .b8 image[{size_bytes}];
.shared .align 8 .b64 full;
.shared .align 8 .b64 done;
.shared .align 8 .b64 step;
.shared .align 4 .b32 address;
mov.u32 %r0, %tid.x;
shr.u32 %r1, %r0, 5;
setp.eq.u32 %p0, %r0, 0;
setp.eq.u32 %p1, %r1, 0;
setp.ne.u32 %p3, %r0, %r0;
setp.eq.u32 %p4, %r0, %r0;
mov.u32 %r2, full;
mov.u32 %r3, done;
mov.u32 %r5, step;
mov.u32 %r4, address;
mov.u32 %r6, image;
@%p0 mbarrier.init.shared::cta.b64 [%r2], 1;
@%p0 mbarrier.init.shared::cta.b64 [%r3], 1;
@%p0 mbarrier.init.shared::cta.b64 [%r5], 1;
fence.mbarrier_init.release.cluster;
@%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r4], {allocated};
@%p1 tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
tcgen05.fence::before_thread_sync;
bar.sync 0;
tcgen05.fence::after_thread_sync;
ld.shared.u32 %r14, [%r4];
shl.b32 %r16, %r1, 21;
add.u32 %r17, %r14, %r16;
{stores if clear else ""}
ld.param.u64 %rd1, [p0];
@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], {size_bytes};
@%p0 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r6], [%rd1], {size_bytes}, [%r2];
arrived:
mbarrier.try_wait.parity.shared::cta.b64 %p5, [%r2], 0;
@!%p5 bra arrived;
tcgen05.fence::before_thread_sync;
bar.sync 0;
tcgen05.fence::after_thread_sync;
{starts}
@!%p0 bra issued;
{operations}
tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r3];
issued:
poll:
mbarrier.try_wait.parity.shared::cta.b64 %p5, [%r3], 0;
@!%p5 bra poll;
tcgen05.fence::after_thread_sync;
ld.param.u64 %rd5, [p1];
mul.wide.u32 %rd6, %r0, {4 * columns};
add.u64 %rd5, %rd5, %rd6;
{loads}
tcgen05.fence::before_thread_sync;
bar.sync 0;
@%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r14, {allocated};
"""
