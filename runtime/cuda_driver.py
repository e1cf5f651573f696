"""The functions of the CUDA driver that launches call, by ctypes.

NVIDIA's bindings look up every function of the driver, which takes longer than the first launch of a kernel that is
kept on disk. As in those bindings, `cuda_driver.NAME(inputs)` returns the status and then the outputs. Contexts,
modules, functions and streams are integers. Enumerators are those of cuda.h.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

from tilec.errors import LaunchError

SUCCESS = 0
COMPUTE_CAPABILITY_MAJOR, COMPUTE_CAPABILITY_MINOR = 75, 76
POINTER_DEVICE_ORDINAL = 9
MAX_DYNAMIC_SHARED_SIZE_BYTES, NON_PORTABLE_CLUSTER_SIZE_ALLOWED = 8, 14
CAPTURE_MODE_RELAXED, CAPTURE_STATUS_NONE = 2, 0
CLUSTER_DIMENSION, PROGRAMMATIC_STREAM_SERIALIZATION = 4, 6
_GET_PROC_ADDRESS_DEFAULT = 0


class LaunchAttributeValue(ctypes.Union):
    """The members of CUlaunchAttributeValue that launches use."""

    _fields_ = (("clusterDim", ctypes.c_uint32 * 3), ("flag", ctypes.c_int), ("pad", ctypes.c_char * 64))


class LaunchAttribute(ctypes.Structure):
    """CUlaunchAttribute of cuda.h 12 and 13."""

    _fields_ = (("id", ctypes.c_int), ("pad", ctypes.c_char * 4), ("value", LaunchAttributeValue))


class LaunchConfig(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = (
        ("grid", ctypes.c_uint32 * 3),
        ("block", ctypes.c_uint32 * 3),
        ("sharedMemBytes", ctypes.c_uint32),
        ("hStream", ctypes.c_void_p),
        ("attrs", ctypes.POINTER(LaunchAttribute)),
        ("numAttrs", ctypes.c_uint32),
    )


_INT, _U32, _U64, _SIZE, _POINTER, _TEXT = (
    *(ctypes.c_int, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_char_p),
)
# The types of outputs; that of handles and addresses yields an integer, also for null.
_TO_INT, _TO_HANDLE, _TO_TEXT = ctypes.POINTER(_INT), ctypes.POINTER(_SIZE), ctypes.POINTER(_TEXT)
_TO_U32 = ctypes.POINTER(_U32)

# Name -> the CUDA version that introduced the function (cudaTypedefs.h: the suffix of its PFN_ type), and the types of
# its parameters, of which pointers of ctypes are outputs.
_FUNCTIONS: dict[str, tuple[int, tuple[Any, ...]]] = {
    "cuInit": (2000, (_U32,)),
    "cuGetErrorName": (6000, (_INT, _TO_TEXT)),
    "cuDeviceGetCount": (2000, (_TO_INT,)),
    "cuDeviceGet": (2000, (_TO_INT, _INT)),
    "cuDeviceGetAttribute": (2000, (_TO_INT, _INT, _INT)),
    "cuDeviceGetName": (2000, (_TEXT, _INT, _INT)),
    "cuDevicePrimaryCtxRetain": (7000, (_TO_HANDLE, _INT)),
    "cuDevicePrimaryCtxGetState": (7000, (_INT, _TO_U32, _TO_INT)),
    "cuCtxGetCurrent": (4000, (_TO_HANDLE,)),
    "cuCtxPushCurrent": (4000, (_SIZE,)),
    "cuCtxPopCurrent": (4000, (_TO_HANDLE,)),
    "cuPointerGetAttribute": (4000, (_TO_INT, _INT, _U64)),
    "cuMemAlloc": (3020, (_TO_HANDLE, _SIZE)),
    "cuMemFree": (3020, (_U64,)),
    "cuMemcpyHtoD": (3020, (_U64, _POINTER, _SIZE)),
    "cuMemcpyDtoH": (3020, (_POINTER, _U64, _SIZE)),
    "cuMemsetD8Async": (3020, (_U64, ctypes.c_ubyte, _SIZE, _SIZE)),
    "cuMemAllocAsync": (11020, (_TO_HANDLE, _SIZE, _SIZE)),
    "cuMemFreeAsync": (11020, (_U64, _SIZE)),
    "cuMemcpyHtoDAsync": (3020, (_U64, _POINTER, _SIZE, _SIZE)),
    "cuStreamSynchronize": (2000, (_SIZE,)),
    "cuStreamIsCapturing": (10000, (_SIZE, _TO_INT)),
    # The mode is an input and an output: the caller passes its address.
    "cuThreadExchangeStreamCaptureMode": (10010, (_POINTER,)),
    "cuModuleLoadData": (2000, (_TO_HANDLE, _TEXT)),
    "cuModuleGetFunction": (2000, (_TO_HANDLE, _SIZE, _TEXT)),
    "cuFuncSetAttribute": (9000, (_SIZE, _INT, _INT)),
    "cuLaunchKernelEx": (11060, (_POINTER, _SIZE, _POINTER, _POINTER)),
}


def __getattr__(name: str) -> Any:
    if name not in _FUNCTIONS:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    version, parameters = _FUNCTIONS[name]
    address = address_of(name, version)
    if not address:
        raise LaunchError(f"the CUDA driver has no {name}: install a driver of CUDA 12.0 or later")
    function = _callable(address, parameters)
    globals()[name] = function
    return function


def address_of(name: str, version: int) -> int:
    """The address of a function in the form of a CUDA version, such as 12080; 0 if the driver does not have it.

    Raises OSError without a driver.
    """
    found, address = _get_address()(name.encode(), version, _GET_PROC_ADDRESS_DEFAULT, None)
    return int(address) if found == SUCCESS else 0


def error_name(status: int) -> str:
    """The enumerator of CUresult, such as CUDA_ERROR_NOT_FOUND; its number if the driver does not know it."""
    found, name = __getattr__("cuGetErrorName")(status)
    return name.decode() if found == SUCCESS else f"error {status}"


@cache
def _get_address() -> Callable[..., tuple[Any, ...]]:
    """The function cuGetProcAddress of the installed driver; raises OSError without one that has it."""
    library = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    try:
        native = library["cuGetProcAddress_v2"]
    except AttributeError as error:
        raise OSError("the CUDA driver is older than CUDA 12") from error
    return _callable(ctypes.cast(native, ctypes.c_void_p).value or 0, (_TEXT, _TO_HANDLE, _INT, _U64, _POINTER))


def _callable(address: int, parameters: tuple[Any, ...]) -> Callable[..., tuple[Any, ...]]:
    """The function at an address, which takes its inputs and returns its status and outputs."""
    native = ctypes.CFUNCTYPE(_INT, *parameters)(address)

    def call(*inputs: object) -> tuple[Any, ...]:
        remaining, outputs, arguments = iter(inputs), list[Any](), list[Any]()
        for parameter in parameters:
            if issubclass(parameter, ctypes._Pointer):
                outputs.append(parameter._type_())
                arguments.append(ctypes.byref(outputs[-1]))
            else:
                arguments.append(next(remaining))
        return native(*arguments), *(output.value for output in outputs)

    return call
