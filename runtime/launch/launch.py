"""Launches an artifact on a GPU through the CUDA driver."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from functools import cache, partial
from typing import Any

import numpy as np

from tilec.errors import InputError
from tilec.runtime.aligned_buffer import AlignedBuffer
from tilec.runtime.arguments.binding import Binding, bind
from tilec.runtime.arrays import address_of
from tilec.runtime.artifact.artifact import Artifact
from tilec.runtime.artifact.metadata import Metadata
from tilec.runtime.devices.device_memory import on_device
from tilec.runtime.devices.devices import Device, call, device_for, driver, ordinal_of, primary_context
from tilec.runtime.devices.streams import current_stream, stream_handle
from tilec.runtime.grid import Dimensions, cluster_of, grid_of
from tilec.runtime.launch.list_tables import memory_of_stream, rows_on_device
from tilec.runtime.parameters import block, offsets, pack
from tilec.runtime.tensor_maps.driver_tensor_map import HOST_ALIGNMENT_BYTES, encode_by_driver
from tilec.runtime.tensor_maps.padding_memory import PADDING_BYTES

# CUDA programming guide, "Thread Block Clusters": larger clusters need a function attribute.
PORTABLE_CLUSTER = 8


def launch(
    artifact: Artifact,
    grid: Sequence[int] | int,
    given: Sequence[object],
    stream: object = None,
    *,
    programmatic_dependent_launch: bool = False,
) -> None:
    """Launches in `stream` (a handle, or an object of torch, cupy or `__cuda_stream__`) on the arrays' device.

    The default `stream` is the current stream of the library of the arrays (torch, cupy), for other libraries the
    default stream. Device arrays are used in place and the call is asynchronous; host arrays are copied to the device
    and, after the kernel, back. A grid without blocks launches nothing. With `programmatic_dependent_launch` the kernel
    may start before the previous kernel of the stream has ended. Raises InputError for arguments that do not
    match the signature, LaunchError if no GPU can run the kernel.
    """
    metadata = artifact.metadata
    binding = bind(metadata.arguments, given)
    shape = grid_of(grid, metadata.cluster, metadata.grid_counts_clusters, metadata.cluster_if_divisible)
    if 0 in shape:
        return
    device = device_for(metadata.target, ordinal_of_arrays(binding))
    handle = current_stream(_device_arrays(binding), device.ordinal) if stream is None else stream_handle(stream)
    with primary_context(device.ordinal):
        function = loaded(artifact, device)
        with (
            on_device(binding.named_arrays().values(), handle) as addresses,
            memory_of_stream(handle) as place_rows,
            memory_of_stream(handle) as place_maps,
        ):
            rows = rows_on_device(binding, addresses, handle)
            bound = _with_device_addresses(binding, addresses, rows, place_rows)
            padding = partial(_padding_address, function, device.ordinal, handle)
            encode = partial(encode_by_driver, capability=device.capability)
            _launch(
                function,
                metadata,
                shape,
                pack(metadata, bound, encode, padding, place_maps),
                handle,
                programmatic_dependent_launch,
            )


def preload(artifact: Artifact, ordinal: int | None = None) -> None:
    """Loads the kernel on a device (default: the first that supports it), so that the first launch need not load it.

    Raises LaunchError if no GPU can run the kernel.
    """
    device = device_for(artifact.metadata.target, ordinal)
    with primary_context(device.ordinal):
        loaded(artifact, device)


def _device_arrays(binding: Binding) -> list[object]:
    owners = [array.owner for array in binding.named_arrays().values() if array.on_device]
    # The owner of a DLPack view is the pair of the array and its capsule.
    return [owner[0] if isinstance(owner, tuple) else owner for owner in owners]


def ordinal_of_arrays(binding: Binding) -> int | None:
    """The ordinal of the device of the arrays, None if all are host arrays."""
    ordinals = {
        name: ordinal_of(array.address)
        for name, array in binding.named_arrays().items()
        if array.on_device and array.address
    }
    if len(set(ordinals.values())) > 1:
        raise InputError(f"the arrays of one launch must be on one device, got {ordinals}")
    return next(iter(ordinals.values()), None)


def _image(artifact: Artifact) -> bytes:
    return artifact.cubin or _assembled(artifact.ptx, artifact.metadata.target)


@cache
def _assembled(ptx: str, target: str) -> bytes:
    # Imported here because most artifacts contain a cubin, and the assembler takes long to load.
    from tilec.runtime.cubin.cubin import assemble

    return assemble(ptx, target).content


def loaded(artifact: Artifact, device: Device) -> int:
    """The function of the artifact, loaded once per device; the primary context of the device must be current."""
    metadata = artifact.metadata
    return _function(_image(artifact), metadata.entry, metadata.shared_bytes, metadata.cluster, device.ordinal)


@cache
def _function(image: bytes, entry: str, shared_bytes: int, cluster: Dimensions, ordinal: int) -> int:
    """The loaded function with its shared memory and cluster attributes; loaded once per device."""
    with _allowed_in_capture():
        module = call(driver().cuModuleLoadData, image)
        function = int(call(driver().cuModuleGetFunction, module, entry.encode()))
    attribute = driver().CUfunction_attribute
    if shared_bytes:
        size = attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        call(driver().cuFuncSetAttribute, function, size, shared_bytes)
    if _blocks(cluster) > PORTABLE_CLUSTER:
        allowed = attribute.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
        call(driver().cuFuncSetAttribute, function, allowed, 1)
    return function


@contextmanager
def _allowed_in_capture() -> Iterator[None]:
    """Allows loading and allocation in this thread during a stream capture, which they would otherwise invalidate.

    CUDA driver API, cuThreadExchangeStreamCaptureMode: neither is captured.
    """
    relaxed = driver().CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
    before = call(driver().cuThreadExchangeStreamCaptureMode, relaxed)
    try:
        yield
    finally:
        driver().cuThreadExchangeStreamCaptureMode(before)


def _padding_address(function: int, ordinal: int, stream: int, index: int, byte: int) -> int:
    """The address of memory for the map of an array without elements, filled in the stream before the kernel runs."""
    address = _padding_memory(function, ordinal, index)
    call(driver().cuMemsetD8Async, address, byte, PADDING_BYTES, stream)
    return address


@cache
def _padding_memory(_function: int, _ordinal: int, _index: int) -> int:
    """Allocated once per kernel and map, and never freed, because captured graphs contain its address."""
    with _allowed_in_capture():
        return int(call(driver().cuMemAlloc, PADDING_BYTES))


def _blocks(cluster: Dimensions) -> int:
    return cluster[0] * cluster[1] * cluster[2]


def _with_device_addresses(
    binding: Binding, addresses: dict[int, int], rows: dict[int, np.ndarray], place: Callable[[np.ndarray], int]
) -> Binding:
    """The binding with the host addresses replaced by those of the device copies, and of the tables of lists."""
    values = list(binding.values)
    for index, array in binding.arrays.items():
        if index in rows:
            values[index] = place(rows[index])
        elif not array.on_device:
            values[index] = addresses[array.address]
    found = copy(binding)
    found.values, found.rows = values, rows
    return found


def _launch(
    function: int,
    metadata: Metadata,
    grid: Dimensions,
    contents: list[bytes],
    stream: int,
    overlaps_previous: bool,
) -> None:
    cluster = cluster_of(grid, metadata.cluster)
    attributes = [_cluster_attribute(cluster)] if _blocks(cluster) > 1 else []
    attributes += [_overlap_attribute()] * overlaps_previous
    config = driver().CUlaunchConfig()
    config.gridDimX, config.gridDimY, config.gridDimZ = grid
    config.blockDimX, config.blockDimY, config.blockDimZ = metadata.block
    config.sharedMemBytes, config.hStream = metadata.shared_bytes, stream
    config.attrs, config.numAttrs = attributes, len(attributes)
    content = block(contents, HOST_ALIGNMENT_BYTES)
    buffer = AlignedBuffer(len(content), HOST_ALIGNMENT_BYTES)
    buffer.write(content)
    addresses = [buffer.address + offset for offset in offsets(contents, HOST_ALIGNMENT_BYTES)]
    pointers = np.array(addresses, np.uint64)
    call(driver().cuLaunchKernelEx, config, function, address_of(pointers), 0)


def _cluster_attribute(cluster: Dimensions) -> Any:
    attribute = driver().CUlaunchAttribute()
    attribute.id = driver().CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
    extents = attribute.value.clusterDim
    extents.x, extents.y, extents.z = cluster
    return attribute


def _overlap_attribute() -> Any:
    """The attribute of a launch that may start before the previous one has ended."""
    attribute = driver().CUlaunchAttribute()
    attribute.id = driver().CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
    attribute.value.programmaticStreamSerializationAllowed = 1
    return attribute
