"""Device copies of host arrays for one launch; writable arrays are copied back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from tilec.frozen import Frozen
from tilec.runtime.arrays import ArrayView
from tilec.runtime.devices.devices import call, driver

# The alignment of cuMemAlloc. The copy of an array keeps the host address modulo this.
GRANULE_BYTES = 256


class HostRange(Frozen):
    """A range of host memory that one device allocation mirrors."""

    address: int
    size_bytes: int
    writable: bool

    @property
    def padding(self) -> int:
        """Bytes before the copy, so that its address equals the host address modulo GRANULE_BYTES."""
        return self.address % GRANULE_BYTES


def host_ranges(arrays: Iterable[ArrayView]) -> list[HostRange]:
    """The memory ranges of host arrays; overlapping arrays share a range."""
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
    """The device addresses of host arrays, by host address.

    On exit, synchronizes the stream and copies writable ranges back; without host arrays it does not synchronize.
    """
    arrays = [array for array in arrays if not array.on_device]
    ranges = host_ranges(arrays)
    allocations: list[int] = []
    try:
        for host in ranges:
            allocations.append(int(call(driver().cuMemAlloc, host.padding + max(host.size_bytes, 1))))
            if host.size_bytes:
                call(driver().cuMemcpyHtoD, allocations[-1] + host.padding, host.address, host.size_bytes)
        yield {array.address: _device_address(array, ranges, allocations) for array in arrays}
        if ranges:
            call(driver().cuStreamSynchronize, stream)
        for host, allocation in zip(ranges, allocations, strict=True):
            if host.writable and host.size_bytes:
                call(driver().cuMemcpyDtoH, host.address, allocation + host.padding, host.size_bytes)
    finally:
        for allocation in allocations:
            driver().cuMemFree(allocation)


def _device_address(array: ArrayView, ranges: list[HostRange], allocations: list[int]) -> int:
    for host, allocation in zip(ranges, allocations, strict=True):
        if host.address <= array.address <= host.address + host.size_bytes:
            return allocation + host.padding + array.address - host.address
    raise AssertionError("an array outside every range")
