"""Kernels with one tensor copy between a tensor and a buffer in shared memory, whose bytes are those of an array.

Parameter p0 is the tensor map, and p1 the array. Each thread moves one unit of 16 bytes between array and buffer.
"""

from __future__ import annotations

from collections.abc import Sequence

UNIT_BYTES = 16

_SETUP = """
.shared .align 1024 .b8 buffer[{buffer_bytes}];
.shared .align 16 .b64 barriers[2];
mov.b64 %rd20, p0;
cvta.param.u64 %rd20, %rd20;
ld.param.u64 %rd0, [p1];
mov.u32 %r0, %tid.x;
setp.eq.u32 %p0, %r0, 0;
mov.u32 %r1, buffer;
add.u32 %r1, %r1, {offset};
mov.u32 %r2, barriers;
add.u32 %r2, %r2, {barrier_offset};
shl.b32 %r3, %r0, 4;
add.u32 %r4, %r1, %r3;
cvt.u64.u32 %rd1, %r3;
add.u64 %rd2, %rd0, %rd1;
"""
_LOAD = """
@%p0 mbarrier.init.shared::cta.b64 [%r2], 1;
@%p0 fence.mbarrier_init.release.cluster;
bar.sync 0;
@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], {transaction_bytes};
@%p0 cp.async.bulk.tensor.{rank}d.shared::cta.global.{mode}.mbarrier::complete_tx::bytes \
    [%r1], [%rd20, {{{coordinates}}}], [%r2]{information};
poll:
mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r2], 0;
@!%p1 bra poll;
"""
_FILL = """
ld.global.v4.b32 {%r10, %r11, %r12, %r13}, [%rd2];
st.shared.v4.b32 [%r4], {%r10, %r11, %r12, %r13};
"""
_STORE = """
fence.proxy.async.shared::cta;
bar.sync 0;
@%p0 cp.{copy}.bulk.tensor.{rank}d.global.shared::cta{operation}.{mode}.bulk_group \
    [%rd20, {{{coordinates}}}], [%r1];
@%p0 cp.async.bulk.commit_group;
@%p0 cp.async.bulk.wait_group 0;
"""
_PREFETCH = """
@%p0 cp.async.bulk.prefetch.tensor.{rank}d.L2.global.{mode} [%rd20, {{{coordinates}}}]{information};
"""
# %r6 is 1 in CTA 0. With .cta_group::2 it alone waits: of a pair, the CTA whose rank has the parity of the rank of the
# mbarrier of the instruction counts the bytes.
_MULTICAST = """
.shared .align 1024 .b8 buffer[{buffer_bytes}];
.shared .align 8 .b64 full;
mov.b64 %rd20, p0;
cvta.param.u64 %rd20, %rd20;
ld.param.u64 %rd0, [p1];
mov.u32 %r0, %tid.x;
mov.u32 %r5, %cluster_ctarank;
setp.eq.u32 %p0, %r0, 0;
setp.eq.and.u32 %p2, %r5, 0, %p0;
sub.u32 %r6, 1, %r5;
setp.eq.u32 %p4, {waits}, 1;
setp.eq.and.u32 %p3, {waits}, 1, %p0;
mov.u32 %r1, buffer;
mov.u32 %r2, full;
@%p0 mbarrier.init.shared::cta.b64 [%r2], 1;
@%p0 fence.mbarrier_init.release.cluster;
@%p3 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], {transaction_bytes};
barrier.cluster.arrive.aligned;
barrier.cluster.wait.aligned;
mov.b16 %h0, 3;
@%p2 cp.async.bulk.tensor.{rank}d.shared::cluster.global.{mode}.mbarrier::complete_tx::bytes\
.multicast::cluster{group} [%r1], [%rd20, {{{coordinates}}}], [%r2]{information}, %h0;
poll:
@%p4 mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r2], 0;
@!%p4 setp.eq.u32 %p1, 0, 0;
@!%p1 bra poll;
barrier.cluster.arrive.aligned;
barrier.cluster.wait.aligned;
shl.b32 %r3, %r0, 4;
add.u32 %r4, %r1, %r3;
mad.lo.u32 %r6, %r5, {buffer_bytes}, %r3;
cvt.u64.u32 %rd1, %r6;
add.u64 %rd2, %rd0, %rd1;
"""
_ROWS_MODES = ("tile::gather4", "tile::scatter4")


def setup(buffer_bytes: int, offset: int = 0, barrier_offset: int = 0) -> str:
    """Declares the buffer and the mbarrier: %r1 and %r2. Thread 0 has %p0; %r4 and %rd2 are the unit of the thread."""
    return _SETUP.format(buffer_bytes=offset + buffer_bytes, offset=offset, barrier_offset=barrier_offset)


def _vector(values: Sequence[int | str]) -> str:
    """The operand of im2col information, which follows another one."""
    return f", {{{', '.join(map(str, values))}}}" if values else ""


def _copy(coordinates: Sequence[int], mode: str) -> dict[str, object]:
    rank = 2 if mode in _ROWS_MODES else len(coordinates)
    return {"rank": rank, "coordinates": ", ".join(map(str, coordinates)), "mode": mode}


def read_units(bytes_of_unit: int = UNIT_BYTES) -> str:
    """Copies the first bytes of each unit of the buffer to the array, in words of 4 bytes."""
    return "".join(
        f"ld.shared.b32 %r10, [%r4+{at}];\nst.global.b32 [%rd2+{at}], %r10;\n" for at in range(0, bytes_of_unit, 4)
    )


def copy_to_shared(
    coordinates: Sequence[int], transaction_bytes: int, *, mode: str = "tile", information: Sequence[int] = ()
) -> str:
    """Loads through the map to the buffer, and waits for it."""
    fields = {"transaction_bytes": transaction_bytes, "information": _vector(information)}
    return _LOAD.format(**_copy(coordinates, mode), **fields)


def copy_to_global(coordinates: Sequence[int], *, mode: str = "tile", operation: str | None = None) -> str:
    """Stores the buffer through the map, or reduces it with an operation, and waits for it."""
    reduces = {"copy": "async"} if operation is None else {"copy": "reduce.async"}
    return _STORE.format(**_copy(coordinates, mode), **reduces, operation=f".{operation}" if operation else "")


def load(
    coordinates: Sequence[int],
    transaction_bytes: int,
    image_bytes: int | None = None,
    *,
    mode: str = "tile",
    information: Sequence[int] = (),
    offset: int = 0,
    barrier_offset: int = 0,
    bytes_of_unit: int = UNIT_BYTES,
) -> str:
    """Loads through the map, to `offset` of a buffer that begins at a multiple of 1024, and copies it to the array.

    Args:
        coordinates: The operand of the instruction.
        transaction_bytes: The bytes that the mbarrier expects.
        image_bytes: The size of the buffer; `transaction_bytes` if None.
        information: The im2col offsets, or the halo and offset.
        barrier_offset: The offset of the mbarrier from a multiple of 16.
        bytes_of_unit: The bytes that are read of each unit.
    """
    copy = copy_to_shared(coordinates, transaction_bytes, mode=mode, information=information)
    return setup(image_bytes or transaction_bytes, offset, barrier_offset) + copy + read_units(bytes_of_unit)


def multicast_load(
    coordinates: Sequence[int],
    image_transaction_bytes: int,
    image_bytes: int,
    *,
    mode: str = "tile",
    information: Sequence[int | str] = (),
    group: str = "",
    bytes_of_unit: int = UNIT_BYTES,
) -> str:
    """Loads in CTA 0 to the buffers of CTAs 0 and 1, and copies both to the array, one after the other.

    Args:
        image_transaction_bytes: The bytes that an mbarrier expects for one image.
        group: "", ".cta_group::1", or ".cta_group::2", with which the mbarrier of CTA 0 counts both images.
    """
    images, waits = (2, "%r6") if group == ".cta_group::2" else (1, "1")
    fields = {"buffer_bytes": image_bytes, "waits": waits, "transaction_bytes": images * image_transaction_bytes}
    text = _MULTICAST.format(**_copy(coordinates, mode), **fields, group=group, information=_vector(information))
    return text + read_units(bytes_of_unit)


def store(
    coordinates: Sequence[int], image_bytes: int, *, mode: str = "tile", operation: str | None = None, offset: int = 0
) -> str:
    """Copies the array to the buffer, and stores the buffer through the map, or reduces it with an operation."""
    return setup(image_bytes, offset) + _FILL + copy_to_global(coordinates, mode=mode, operation=operation)


def prefetch(coordinates: Sequence[int], mode: str = "tile", information: Sequence[int] = ()) -> str:
    """Prefetches through the map."""
    return setup(UNIT_BYTES) + _PREFETCH.format(**_copy(coordinates, mode), information=_vector(information))
