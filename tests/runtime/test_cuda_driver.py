"""The functions, enumerators and structures of the driver are those of NVIDIA's bindings."""

from __future__ import annotations

import ctypes

import pytest
from cuda.bindings import driver

from tilec.runtime import cuda_driver


@pytest.mark.parametrize(
    ("value", "enumerator"),
    [
        (cuda_driver.SUCCESS, driver.CUresult.CUDA_SUCCESS),
        (
            cuda_driver.COMPUTE_CAPABILITY_MAJOR,
            driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
        ),
        (
            cuda_driver.COMPUTE_CAPABILITY_MINOR,
            driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
        ),
        (cuda_driver.POINTER_DEVICE_ORDINAL, driver.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL),
        (
            cuda_driver.MAX_DYNAMIC_SHARED_SIZE_BYTES,
            driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
        ),
        (
            cuda_driver.NON_PORTABLE_CLUSTER_SIZE_ALLOWED,
            driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED,
        ),
        (cuda_driver.CAPTURE_MODE_RELAXED, driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED),
        (cuda_driver.CAPTURE_STATUS_NONE, driver.CUstreamCaptureStatus.CU_STREAM_CAPTURE_STATUS_NONE),
        (cuda_driver.CLUSTER_DIMENSION, driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION),
        (
            cuda_driver.PROGRAMMATIC_STREAM_SERIALIZATION,
            driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
        ),
        (
            cuda_driver._GET_PROC_ADDRESS_DEFAULT,
            driver.CUdriverProcAddress_flags.CU_GET_PROC_ADDRESS_DEFAULT,
        ),
    ],
)
def test_enumerators_are_those_of_the_driver(value: int, enumerator: int) -> None:
    assert value == enumerator


@pytest.mark.parametrize("name", cuda_driver._FUNCTIONS)
def test_functions_have_the_names_of_the_driver(name: str) -> None:
    assert hasattr(driver, name)


def test_structures_have_the_layout_of_cuda_h() -> None:
    # The fields of CUlaunchConfig: 7 words, padding, two pointers and a word; the union of an attribute has 64 bytes.
    config, attribute = cuda_driver.LaunchConfig, cuda_driver.LaunchAttribute
    assert (config.hStream.offset, config.attrs.offset, config.numAttrs.offset) == (32, 40, 48)
    assert (ctypes.sizeof(config), attribute.value.offset, ctypes.sizeof(attribute)) == (56, 8, 72)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'cuMissing'"):
        cuda_driver.cuMissing()
