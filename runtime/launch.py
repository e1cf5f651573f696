"""Launches an artifact on a GPU through the CUDA driver."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import Any

from cuda.bindings import driver

from tilec.errors import InputError
from tilec.runtime.artifact import Artifact
from tilec.runtime.binding import Binding, bind
from tilec.runtime.cubin import assemble
from tilec.runtime.device_memory import on_device
from tilec.runtime.devices import Device, checked, device_for, ordinal_of
from tilec.runtime.grid import Dimensions, grid_of
from tilec.runtime.metadata import Metadata
from tilec.runtime.parameters import pack
from tilec.runtime.tensor_map import encode_by_driver

# CUDA programming guide, "Thread Block Clusters": more blocks need a function attribute.
PORTABLE_CLUSTER = 8


def launch(artifact: Artifact, grid: Sequence[int] | int, given: Sequence[Any], stream: Any = None) -> None:
    """Launches in `stream` (a handle, or an object of torch, cupy or `__cuda_stream__`) on the arrays' device.

    Device arrays are used in place and the call does not wait; host arrays are copied to the device and, after the
    kernel, back. Raises InputError for arguments that do not fit, LaunchError where no GPU can run the kernel.
    """
    metadata = artifact.metadata
    binding = bind(metadata.arguments, given)
    shape = grid_of(grid, metadata.cluster)
    device = device_for(metadata.target, _ordinal_of(binding))
    handle = stream_handle(stream)
    with _context(device):
        function = _function(_image(artifact), metadata.entry, metadata.shared_bytes, metadata.cluster, device.ordinal)
        with on_device(binding.arrays.values(), handle) as addresses:
            moved = _moved(binding, addresses)
            _launch(function, metadata, shape, pack(metadata, moved, encode_by_driver), handle)


def stream_handle(stream: Any) -> int:
    """The CUstream behind what libraries call a stream; None is the default stream."""
    if stream is None:
        return 0
    if isinstance(stream, int):
        return stream
    if hasattr(stream, "__cuda_stream__"):
        return int(stream.__cuda_stream__()[1])
    for name in ("cuda_stream", "ptr"):
        if hasattr(stream, name):
            return int(getattr(stream, name))
    raise InputError(f"a stream needs to be a handle or an object with __cuda_stream__, got {type(stream).__name__}")


def _ordinal_of(binding: Binding) -> int | None:
    """The one device that the arrays lie on, None where all are host arrays."""
    ordinals = {
        binding.names[index]: ordinal_of(array.address)
        for index, array in binding.arrays.items()
        if array.on_device and array.address
    }
    if len(set(ordinals.values())) > 1:
        raise InputError(f"the arrays of one launch need to lie on one device, got {ordinals}")
    return next(iter(ordinals.values()), None)


@contextmanager
def _context(device: Device) -> Iterator[None]:
    """The device's primary context, which other libraries use too, made current for the time of the block."""
    checked(driver.cuCtxPushCurrent(_primary_context(device.ordinal)))
    try:
        yield
    finally:
        driver.cuCtxPopCurrent()


@cache
def _primary_context(ordinal: int) -> Any:
    return checked(driver.cuDevicePrimaryCtxRetain(checked(driver.cuDeviceGet(ordinal))))


def _image(artifact: Artifact) -> bytes:
    return artifact.cubin or _assembled(artifact.ptx, artifact.metadata.target)


@cache
def _assembled(ptx: str, target: str) -> bytes:
    return assemble(ptx, target).content


@cache
def _function(image: bytes, entry: str, shared_bytes: int, cluster: Dimensions, ordinal: int) -> Any:
    """The loaded function, allowed the shared memory and the cluster it needs; loaded once a device."""
    function = checked(driver.cuModuleGetFunction(checked(driver.cuModuleLoadData(image)), entry.encode()))
    attribute = driver.CUfunction_attribute
    if shared_bytes:
        name = attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        checked(driver.cuFuncSetAttribute(function, name, shared_bytes))
    if _blocks(cluster) > PORTABLE_CLUSTER:
        checked(driver.cuFuncSetAttribute(function, attribute.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1))
    return function


def _blocks(cluster: Dimensions) -> int:
    return cluster[0] * cluster[1] * cluster[2]


def _moved(binding: Binding, addresses: dict[int, int]) -> Binding:
    """The binding with host addresses replaced by those of their copies."""
    values = list(binding.values)
    for index, array in binding.arrays.items():
        if not array.on_device:
            values[index] = addresses[array.address]
    return replace(binding, values=values)


def _launch(function: Any, metadata: Metadata, grid: Dimensions, contents: list[bytes], stream: int) -> None:
    config = driver.CUlaunchConfig()
    config.gridDimX, config.gridDimY, config.gridDimZ = grid
    config.blockDimX, config.blockDimY, config.blockDimZ = metadata.block
    config.sharedMemBytes = metadata.shared_bytes
    config.hStream = driver.CUstream(stream)
    if _blocks(metadata.cluster) > 1:
        config.attrs = [_cluster_attribute(metadata.cluster)]
        config.numAttrs = 1
    buffers = [ctypes.create_string_buffer(content, len(content)) for content in contents]
    pointers = (ctypes.c_void_p * len(buffers))(*(ctypes.addressof(buffer) for buffer in buffers))
    checked(driver.cuLaunchKernelEx(config, function, ctypes.addressof(pointers), 0))


def _cluster_attribute(cluster: Dimensions) -> Any:
    attribute = driver.CUlaunchAttribute()
    attribute.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
    attribute.value.clusterDim.x, attribute.value.clusterDim.y, attribute.value.clusterDim.z = cluster
    return attribute
