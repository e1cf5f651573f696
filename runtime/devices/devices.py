"""The CUDA devices of this machine, calls of the driver through NVIDIA's bindings, and its status codes as errors."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from tilec.errors import LaunchError, UnsupportedError
from tilec.frozen import Frozen
from tilec.process.cuda_bindings import cuda_binding
from tilec.runtime.dispatch._dispatch import connect_driver, driver_functions


class Device(Frozen):
    """A CUDA device and the target its kernels are compiled for."""

    ordinal: int
    name: str
    capability: tuple[int, int]

    @property
    def architecture(self) -> str:
        return f"sm_{self.capability[0]}{self.capability[1]}"


_NAME_BYTES = 128
# After these errors a context is unusable (CUDA driver API, CUresult).
_EXPLANATIONS = {
    "CUDA_ERROR_ASSERT": "an assertion of a kernel failed (CUDA_ERROR_ASSERT): the driver writes its message, file and "
    "line to the standard error; restart the process, because its GPU context is unusable, or find the assertion with "
    "backend='simulate' or 'interpret'",
}
# The CUDA version that introduced a function, if it is later than the oldest supported one.
_INTRODUCED_IN = {"cuEventElapsedTime": "12.8", "cuTensorMapEncodeIm2colWide": "12.8"}
_OLDEST_VERSION = "12.0"


@cache
def driver() -> Any:
    """The module cuda.bindings.driver, loaded by the first call; UnsupportedError if it is not installed."""
    return cuda_binding("driver")


def call(function: Callable[..., tuple[Any, ...]], *inputs: Any) -> Any:
    """The results of a function of `driver()` without its status.

    Raises LaunchError with the name of an error status, or with what to do.
    """
    try:
        status, *results = function(*inputs)
    except RuntimeError:
        # The bindings look up a function when it is called.
        raise missing_function(function.__name__) from None
    except ValueError as error:
        # A status without an enumerator.
        advice = "install a later cuda-bindings"
        raise LaunchError(f"the CUDA driver reports an unknown error ({error}): {advice}") from None
    if status != 0:
        name = error_name(status)
        raise LaunchError(_EXPLANATIONS.get(name, f"the CUDA driver reports {name}"))
    return results[0] if len(results) == 1 else tuple(results)


def missing_function(name: str) -> LaunchError:
    """The error for a function that the driver lacks."""
    version = _INTRODUCED_IN.get(name, _OLDEST_VERSION)
    return LaunchError(f"the CUDA driver has no {name}: install a driver of CUDA {version} or later")


def error_name(status: int) -> str:
    """The enumerator of CUresult, such as CUDA_ERROR_NOT_FOUND; its number if the bindings do not know it."""
    try:
        return str(driver().CUresult(status).name)
    except ValueError:
        return f"error {status}"


@cache
def devices() -> tuple[Device, ...]:
    """All CUDA devices; empty without a driver or GPU. The first call loads the bindings and initializes the driver."""
    try:
        call(driver().cuInit, 0)
        count = call(driver().cuDeviceGetCount)
    except (UnsupportedError, ImportError, LaunchError):
        # The first two: a platform without the bindings. LaunchError: no driver, one before CUDA 12, or no GPU.
        return ()
    connect_driver(count, entry_points())
    return tuple(_describe(ordinal) for ordinal in range(count))


@cache
def entry_points() -> dict[str, int]:
    """The addresses of the functions of the driver that native code calls, 0 for those that the driver lacks."""
    found = {}
    for name, version in driver_functions().items():
        status, address, _ = driver().cuGetProcAddress(name.encode(), version, 0)
        found[name] = 0 if status else int(address or 0)
    return found


@cache
def start_driver() -> None:
    """Starts the first call of `devices` in a thread, beside a compile; later calls wait for the imports."""
    thread = threading.Thread(target=devices, name="tilec-cuda-driver")
    thread.start()
    if hasattr(os, "register_at_fork"):
        # A child process would inherit the locks of unfinished imports, which nothing releases there.
        os.register_at_fork(before=thread.join)


def _describe(ordinal: int) -> Device:
    attribute = driver().CUdevice_attribute
    handle = call(driver().cuDeviceGet, ordinal)
    capability = (
        call(driver().cuDeviceGetAttribute, attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, handle),
        call(driver().cuDeviceGetAttribute, attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, handle),
    )
    name = call(driver().cuDeviceGetName, _NAME_BYTES, handle)
    return Device(ordinal, name.partition(b"\0")[0].decode(), capability)


def ordinal_of(address: int) -> int:
    """The ordinal of the device that owns the memory at `address`; works in a thread without a context."""
    if not devices():
        raise LaunchError("an argument is a device array, but this machine has no GPU")
    with _any_context():
        attribute = driver().CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
        return int(call(driver().cuPointerGetAttribute, attribute, address))


@contextmanager
def primary_context(ordinal: int) -> Iterator[None]:
    """Makes the primary context of the device, which other libraries use too, current inside the `with` block."""
    call(driver().cuCtxPushCurrent, retained_context(ordinal))
    try:
        yield
    finally:
        driver().cuCtxPopCurrent()


@cache
def retained_context(ordinal: int) -> int:
    """The primary context of the device, retained until the process ends."""
    return int(call(driver().cuDevicePrimaryCtxRetain, call(driver().cuDeviceGet, ordinal)))


@contextmanager
def _any_context() -> Iterator[None]:
    """Makes a primary context current if the thread has no context, because pointer queries need one.

    Prefers a device whose primary context is active: creating one allocates device memory.
    """
    if int(call(driver().cuCtxGetCurrent)):
        yield
        return
    ordinals = [device.ordinal for device in devices()]
    with primary_context(next(filter(_is_active, ordinals), ordinals[0])):
        yield


def _is_active(ordinal: int) -> bool:
    _flags, active = call(driver().cuDevicePrimaryCtxGetState, call(driver().cuDeviceGet, ordinal))
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
