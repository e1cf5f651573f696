"""A launch of Triton without a GPU and without torch's build for CUDA, for launch.py."""

from __future__ import annotations

from collections.abc import Callable

import triton
import triton.language as tl
from triton.backends.nvidia.driver import CudaDriver, CudaLauncher, CudaUtils
from triton.runtime import driver


class Pointer:
    """An array in device memory."""

    dtype = "float16"

    def __init__(self, address: int) -> None:
        self.address = address

    def data_ptr(self) -> int:
        return self.address


@triton.jit
def add(a, b, c, m, n, k, am, ak, bk, bn, cm, cn, TM: tl.constexpr, TN: tl.constexpr, TK: tl.constexpr):
    at = tl.program_id(0) * TM + tl.arange(0, TM)
    tl.store(c + at, tl.load(a + at) + tl.load(b + at))


def prepared(grid: tuple[int, int, int]) -> Callable[[], object]:
    """A launch with three pointers, nine integers and three constants, which was compiled."""
    # The constructor asks torch for its device, which the build for the CPU does not have.
    active = CudaDriver.__new__(CudaDriver)
    active.utils, active.launcher_cls = CudaUtils(), CudaLauncher
    active.get_current_device = lambda: 0
    active.get_current_stream = lambda device: 0
    active.set_current_device = lambda device: None
    active.get_device_capability = lambda *device: (10, 0)
    driver.set_active(active)
    pointers = [Pointer(0x1000_0000 * index) for index in (1, 2, 3)]
    rest = (512, 512, 512, 512, 1, 512, 1, 512, 1, 128, 128, 64)
    add[grid](*pointers, *rest)
    return lambda: add[grid](*pointers, *rest)
