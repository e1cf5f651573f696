"""Encoding of tensor maps by the CUDA driver."""

from __future__ import annotations

from typing import Any

from tilec.errors import LaunchError
from tilec.lowering.tma.tensor_map import ELEMENTS, FILLS, INTERLEAVES, KINDS, L2_PROMOTIONS, SWIZZLES, TensorMap
from tilec.runtime.devices.devices import devices, entry_points, error_name, missing_function
from tilec.runtime.dispatch._dispatch import encode_tensor_map
from tilec.runtime.tensor_maps.tensor_map import Recipe

# cuda.h of CUDA 13 aligns CUtensorMap to 128 bytes (64 before).
HOST_ALIGNMENT_BYTES = 128
# The lowest major compute capability of Blackwell.
BLACKWELL_MAJOR = 10
# The number of a kind in MapRecipe::Function.
_FUNCTIONS = {"tiled": 0, "im2col": 1, "im2col_w": 2, "im2col_w128": 2}


def encode_by_driver(tensor_map: TensorMap, capability: tuple[int, int]) -> bytes:
    """The 128 bytes for a GPU of this compute capability; raises LaunchError with the driver's status if it refuses."""
    devices()
    name = KINDS[tensor_map.kind].function
    if not entry_points()[name]:
        raise missing_function(name)
    assert tensor_map.base is not None, "no field of an encoded map is unknown"
    # The functions of cuda-bindings write to a Python object, which is aligned to 16 bytes only.
    status, encoded = encode_tensor_map(
        constant_fields(tensor_map),
        base=tensor_map.base,
        extents=[extent for extent in tensor_map.extents if extent is not None],
        strides=[stride for stride in tensor_map.strides if stride is not None],
        blackwell=capability[0] >= BLACKWELL_MAJOR,
    )
    if status:
        raise LaunchError(f"the driver refuses a tensor map ({error_name(status)}): {tensor_map}")
    return encoded


def constant_fields(tensor_map: TensorMap | Recipe) -> dict[str, Any]:
    """The fields that native code reads and that no launch changes, enumerated as in cuda.h.

    Raises ValueError for a swizzle that the driver lacks.
    """
    swizzle = SWIZZLES[tensor_map.swizzle].host_enumerator
    if swizzle is None:
        raise ValueError(f"the driver has no swizzle {tensor_map.swizzle}")
    return {
        "function": _FUNCTIONS[tensor_map.kind],
        "mode": KINDS[tensor_map.kind].mode or 0,
        "element": ELEMENTS[tensor_map.element].host_enumerator,
        "interleave": INTERLEAVES[tensor_map.interleave],
        "swizzle": swizzle,
        "promotion": L2_PROMOTIONS[tensor_map.l2_promotion],
        "fill": FILLS[tensor_map.fill],
        "box": list(tensor_map.box),
        "element_strides": list(tensor_map.element_strides),
        # The order is W, H, D: see _CORNERS in tilec.lowering.tma.rules.
        "lower": list(tensor_map.lower),
        "upper": list(tensor_map.upper),
        "channels": tensor_map.channels_per_pixel,
        "pixels": tensor_map.pixels_per_column,
    }
