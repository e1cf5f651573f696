"""Host arrays on a device for the time of one launch: copied there, and back where the kernel may have written them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from cuda.bindings import driver

from tilec.runtime.arrays import ArrayView
from tilec.runtime.devices import checked

# Device allocations are aligned to 256 bytes, and an array keeps its host address modulo this.
GRANULE_BYTES = 256


@dataclass(frozen=True)
class HostRange:
    """Host memory that one device allocation stands for."""

    address: int
    size_bytes: int
    writable: bool

    @property
    def padding(self) -> int:
        """Bytes before the copy that keep its address equal to the host's modulo GRANULE_BYTES."""
        return self.address % GRANULE_BYTES


def host_ranges(arrays: Iterable[ArrayView]) -> list[HostRange]:
    """The memory of host arrays; arrays that share memory share a range, as they do on the host."""
    merged: list[HostRange] = []
    spans = sorted((*array.byte_range(), array.writable) for array in arrays if not array.on_device)
    for address, size, writable in spans:
        last = merged[-1] if merged else None
        if last and address < last.address + last.size_bytes:
            end = max(last.address + last.size_bytes, address + size)
            merged[-1] = HostRange(last.address, end - last.address, last.writable or writable)
        else:
            merged.append(HostRange(address, size, writable))
    return merged


@contextmanager
def on_device(arrays: Iterable[ArrayView], stream: int) -> Iterator[dict[int, int]]:
    """Device addresses of the host arrays by host address.

    Leaving waits for the stream and copies back what is writable; without host arrays it waits for nothing.
    """
    arrays = [array for array in arrays if not array.on_device]
    ranges = host_ranges(arrays)
    allocations: list[int] = []
    try:
        for host in ranges:
            allocations.append(int(checked(driver.cuMemAlloc(host.padding + max(host.size_bytes, 1)))))
            if host.size_bytes:
                checked(driver.cuMemcpyHtoD(allocations[-1] + host.padding, host.address, host.size_bytes))
        yield {array.address: _device_address(array, ranges, allocations) for array in arrays}
        if ranges:
            checked(driver.cuStreamSynchronize(stream))
        for host, allocation in zip(ranges, allocations, strict=True):
            if host.writable and host.size_bytes:
                checked(driver.cuMemcpyDtoH(host.address, allocation + host.padding, host.size_bytes))
    finally:
        for allocation in allocations:
            driver.cuMemFree(allocation)


def _device_address(array: ArrayView, ranges: list[HostRange], allocations: list[int]) -> int:
    for host, allocation in zip(ranges, allocations, strict=True):
        if host.address <= array.address <= host.address + host.size_bytes:
            return allocation + host.padding + array.address - host.address
    raise AssertionError("an array outside every range")
