"""A kernel creates a tensor map in shared memory, copies it to global memory, and loads through it."""

from __future__ import annotations

import numpy as np
import pytest

from tilec.runtime.ptxsim import _native as ptxsim

# p0: the tensor, 16 x 8 u32 with a row stride of 64 bytes; p1: 128 bytes for the map; p2: the image, 4 x 8 u32.
BUILD = """
.shared .align 128 .b8 tile[128];
.shared .align 128 .b8 map[128];
.shared .align 8 .b64 full;
mov.u32 %r0, %tid.x;
setp.eq.u32 %p0, %r0, 0;
mov.u32 %r1, map;
mov.u32 %r2, tile;
mov.u32 %r3, full;
shl.b32 %r4, %r0, 2;
add.u32 %r5, %r1, %r4;
mov.b32 %r6, 0;
st.shared.b32 [%r5], %r6;
bar.warp.sync -1;
ld.param.u64 %rd0, [p0];
ld.param.u64 %rd1, [p1];
ld.param.u64 %rd2, [p2];
mov.b32 %r10, 8;
mov.b32 %r11, 4;
mov.b32 %r12, 1;
mov.b32 %r13, 16;
mov.b64 %rd3, 64;
@%p0 tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%r1], %rd0;
@%p0 tensormap.replace.tile.rank.shared::cta.b1024.b32 [%r1], 1;
@%p0 tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r1], 0, %r10;
@%p0 tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r1], 1, %r11;
@%p0 tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r1], 0, %r10;
@%p0 tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r1], 1, %r13;
@%p0 tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%r1], 0, %rd3;
@%p0 tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%r1], 0, %r12;
@%p0 tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%r1], 1, %r12;
@%p0 tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%r1], 2;
@%p0 tensormap.replace.tile.interleave_layout.shared::cta.b1024.b32 [%r1], 0;
@%p0 tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [%r1], 0;
@%p0 tensormap.replace.tile.fill_mode.shared::cta.b1024.b32 [%r1], 0;
bar.warp.sync -1;
tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd1], [%r1], 128;
fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128;
"""

LOAD = """
@%p0 mbarrier.init.shared::cta.b64 [%r3], 1;
@%p0 fence.mbarrier_init.release.cluster;
bar.warp.sync -1;
@%p0 prefetch.tensormap [%rd1];
@%p0 cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%rd1, {0, 4}];
@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 128;
@%p0 cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%r2], [%rd1, {0, 4}], [%r3];
poll:
mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r3], 0;
@!%p1 bra poll;
add.u32 %r7, %r2, %r4;
ld.shared.b32 %r8, [%r7];
cvt.u64.u32 %rd4, %r4;
add.u64 %rd4, %rd2, %rd4;
st.global.b32 [%rd4], %r8;
"""


@pytest.fixture
def arrays(aligned):
    tensor = aligned(np.arange(256, dtype=np.uint32).reshape(16, 16))
    return tensor, aligned(np.zeros(128, np.uint8)), aligned(np.zeros((4, 8), np.uint32))


def test_load_through_the_map(simulate, arrays):
    tensor, _, image = arrays
    simulate(BUILD + LOAD, *arrays)
    np.testing.assert_array_equal(image, tensor[4:8, :8])


def test_map_equals_the_host_encoding(simulate, arrays, encode_tensor_map):
    tensor, map_bytes, _ = arrays
    simulate(BUILD + LOAD, *arrays)
    assert map_bytes.tobytes() == encode_tensor_map(tensor.ctypes.data, "u32", (8, 16), (64,), (8, 4))


def test_missing_acquire_of_the_tensormap_proxy_is_a_race(simulate, arrays):
    body = (BUILD + LOAD).replace("fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128;", "")
    with pytest.raises(ptxsim.Trap, match="expected fence.proxy.tensormap::generic.acquire") as trap:
        simulate(body, *arrays)
    assert trap.value.kind == "race"


@pytest.mark.parametrize("at", [0, 31])
def test_replaced_map_is_written_before_as_a_whole(simulate, arrays, at):
    """9.7.9.28: tensormap.replace modifies one field of a map in shared memory; one word of it has no value here."""
    body = (BUILD + LOAD).replace("st.shared.b32 [%r5]", f"setp.ne.u32 %p4, %r0, {at};\n@%p4 st.shared.b32 [%r5]")
    with pytest.raises(ptxsim.Trap, match="which was never written") as trap:
        simulate(body, *arrays)
    assert trap.value.kind == "uninitialised"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("0, %r10;", "0, %r6;"), "a box extent of 1 to 256, got 0"),
        (("elemtype.shared::cta.b1024.b32 [%r1], 2", "elemtype.shared::cta.b1024.b32 [%r1], 16"), "element type code"),
        (("mov.b64 %rd3, 64;", "mov.b64 %rd3, 72;"), "a stride of a multiple of 16 bytes, got 72"),
        (("rank.shared::cta.b1024.b32 [%r1], 1", "rank.shared::cta.b1024.b32 [%r1], 2"), "of rank 2, got rank 3"),
    ],
)  # fmt: skip
def test_invalid_field_is_reported(simulate, arrays, change, message):
    with pytest.raises(ptxsim.Trap, match=message) as trap:
        simulate((BUILD + LOAD).replace(*change), *arrays)
    assert trap.value.kind == "descriptor"
