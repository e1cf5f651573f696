"""The CUDA devices of this machine, and status codes of the driver as errors."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from tilec.errors import LaunchError
from tilec.frozen import Frozen
from tilec.runtime import cuda_driver as driver


class Device(Frozen):
    """A CUDA device and the target its kernels are compiled for."""

    ordinal: int
    name: str
    capability: tuple[int, int]

    @property
    def architecture(self) -> str:
        return f"sm_{self.capability[0]}{self.capability[1]}"


# After these errors a context is unusable (CUDA driver API, CUresult).
_EXPLANATIONS = {
    "CUDA_ERROR_ASSERT": "an assertion of a kernel failed (CUDA_ERROR_ASSERT): the driver writes its message, file and "
    "line to the standard error; restart the process, because its GPU context is unusable, or find the assertion with "
    "backend='simulate' or 'interpret'",
}


def checked(result_tuple: tuple[Any, ...]) -> Any:
    """The results of a driver call without its status; LaunchError with the name of an error status, or what to do."""
    status, *results = result_tuple
    if status != driver.SUCCESS:
        name = driver.error_name(status)
        raise LaunchError(_EXPLANATIONS.get(name, f"the CUDA driver reports {name}"))
    return results[0] if len(results) == 1 else tuple(results)


@cache
def devices() -> tuple[Device, ...]:
    """All CUDA devices; empty without a driver or GPU."""
    try:
        checked(driver.cuInit(0))
        count = checked(driver.cuDeviceGetCount())
    except (OSError, LaunchError):
        # OSError: no library of a driver.
        return ()
    return tuple(_describe(ordinal) for ordinal in range(count))


def _describe(ordinal: int) -> Device:
    handle = checked(driver.cuDeviceGet(ordinal))
    major = checked(driver.cuDeviceGetAttribute(driver.COMPUTE_CAPABILITY_MAJOR, handle))
    minor = checked(driver.cuDeviceGetAttribute(driver.COMPUTE_CAPABILITY_MINOR, handle))
    name = ctypes.create_string_buffer(128)
    checked(driver.cuDeviceGetName(name, len(name), handle))
    return Device(ordinal, name.value.decode(), (major, minor))


def ordinal_of(address: int) -> int:
    """The ordinal of the device that owns the memory at `address`; works in a thread without a context."""
    if not devices():
        raise LaunchError("an argument is a device array, but this machine has no GPU")
    with _any_context():
        return int(checked(driver.cuPointerGetAttribute(driver.POINTER_DEVICE_ORDINAL, address)))


@contextmanager
def primary_context(ordinal: int) -> Iterator[None]:
    """Makes the primary context of the device, which other libraries use too, current inside the `with` block."""
    checked(driver.cuCtxPushCurrent(retained_context(ordinal)))
    try:
        yield
    finally:
        driver.cuCtxPopCurrent()


@cache
def retained_context(ordinal: int) -> int:
    """The primary context of the device, retained until the process ends."""
    return int(checked(driver.cuDevicePrimaryCtxRetain(checked(driver.cuDeviceGet(ordinal)))))


@contextmanager
def _any_context() -> Iterator[None]:
    """Makes a primary context current if the thread has no context, because pointer queries need one.

    Prefers a device whose primary context is active: creating one allocates device memory.
    """
    if checked(driver.cuCtxGetCurrent()):
        yield
        return
    ordinals = [device.ordinal for device in devices()]
    with primary_context(next(filter(_is_active, ordinals), ordinals[0])):
        yield


def _is_active(ordinal: int) -> bool:
    _flags, active = checked(driver.cuDevicePrimaryCtxGetState(checked(driver.cuDeviceGet(ordinal))))
    return bool(active)


def device_for(target: str, ordinal: int | None = None) -> Device:
    """The device of this ordinal, or the first that supports `target`; raises LaunchError if it does not support it."""
    candidates = devices()
    if ordinal is not None:
        candidates = tuple(device for device in candidates if device.ordinal == ordinal)
    # A target with the suffix a runs on its own architecture only (PTX ISA 11.1.2).
    for device in candidates:
        if device.architecture == target.rstrip("af"):
            return device
    found = ", ".join(f"{device.name} ({device.architecture})" for device in candidates) or "none"
    raise LaunchError(f"kernels of {target} need a GPU of that architecture, found {found}")
