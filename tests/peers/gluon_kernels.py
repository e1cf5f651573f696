"""Kernels in Gluon, the lower level of Triton: a tile of pixels by channels through TMA in im2col mode."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, mbarrier, tma

ROWS = gl.BlockedLayout(size_per_thread=[1, 8], threads_per_warp=[4, 8], warps_per_cta=[4, 1], order=[1, 0])


def shared_layout(swizzle_bytes: int, element_bits: int) -> gl.NVMMASharedLayout:
    return gl.NVMMASharedLayout(swizzle_byte_width=swizzle_bytes, element_bitwidth=element_bits, rank=2)


@gluon.jit
def load_pixels(image, tile, coordinates, offsets, LAYOUT: gl.constexpr):
    """tile[a, b] = channel b of the a-th pixel that TMA loads; coordinates are N, spatial.., C."""
    shared = gl.allocate_shared_memory(image.dtype, image.block_shape, image.layout)
    barrier = mbarrier.allocate_mbarrier()
    mbarrier.init(barrier, count=1)
    fence_async_shared()
    mbarrier.expect(barrier, image.block_type.nbytes)
    tma.async_load_im2col(image, coordinates, offsets, barrier, shared)
    mbarrier.wait(barrier, phase=0)
    pixels = gl.arange(0, image.block_shape[0], layout=gl.SliceLayout(1, LAYOUT))
    channels = gl.arange(0, image.block_shape[1], layout=gl.SliceLayout(0, LAYOUT))
    gl.store(tile + pixels[:, None] * image.block_shape[1] + channels[None, :], shared.load(LAYOUT))
