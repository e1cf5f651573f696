"""Tensor maps for PTX of your own: the 128 bytes that TMA instructions read, encoded on the host.

The functions take the arguments of cuTensorMapEncodeTiled, cuTensorMapEncodeIm2col and cuTensorMapEncodeIm2colWide
(CUDA driver API, "Tensor Map Object Management"), and check them against its rules and those of PTX ISA 5.5.
Dimension 0 is contiguous. docs/tensor_maps.md lists the rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilec.lowering.tma.tensor_map import TensorMap
from tilec.runtime.tensor_maps.tensor_map_arguments import Call

# The mode of cuTensorMapEncodeIm2colWide -> the kind.
MODES = {"w": "im2col_w", "w128": "im2col_w128"}
# PTX ISA 5.5.5.1: copies of mode w128 ignore the number of pixels of the map.
W128_PIXELS = 128


def encode_tiled(
    *,
    element: Any,
    base: Any,
    extents: Sequence[int],
    strides: Sequence[int],
    box: Sequence[int],
    element_strides: Sequence[int] | None = None,
    interleave: str = "none",
    swizzle: str = "none",
    l2_promotion: str = "none",
    fill: str = "zero",
    target: str | None = None,
    backend: str = "simulate",
    device: int = 0,
    allow_unconfirmed: bool = False,
) -> bytes:
    """Encodes a tensor map of kind tiled (PTX ISA 5.5.3), for cp.async.bulk.tensor with .tile and its variants.

    Args:
        element: an element type such as ct.float16, or its name: those of signatures, "f32_ftz", "tf32_ftz",
            "u4_align8b", "u4_align16b", "u6_align16b".
        base: the address of the tensor in bytes, or the array that starts there.
        extents: the extents of the tensor, 1 to 5.
        strides: the strides of dimensions 1 and up, in bytes.
        box: the extents of the box that one copy moves, in elements of the tensor.
        element_strides: the distance of the elements that a copy moves along each dimension; None is 1 everywhere.
        interleave: "none", "16B" or "32B".
        swizzle: "none", "32B", "64B", "128B", "128B_atom_32B", "128B_atom_32B_flip_8B" or "128B_atom_64B".
        l2_promotion: "none", "64B", "128B" or "256B".
        fill: the value of elements outside of the tensor: "zero", or "nan" for floats.
        target: "sm_90a" or "sm_100a", whose limits the map must satisfy; None is every target.
        backend: "simulate" encodes for the simulator, "launch" by the CUDA driver for the GPU `device`.
        device: the ordinal of the GPU, which determines the target for "launch".
        allow_unconfirmed: permits values that NVIDIA neither documents nor forbids.

    Returns:
        The 128 bytes, for a kernel parameter `.param .align 64 .b8 name[128]`.

    Raises:
        InputError: an argument violates a rule, which the message names with its manual section.
        LaunchError: the driver refuses the map, or no GPU has this ordinal.

    Example:
        >>> A = np.zeros((100, 256), np.float16)
        >>> encoded = ct.tensor_map.encode_tiled(
        ...     element=ct.float16, base=0x1000, extents=(256, 100), strides=(512,), box=(64, 32), swizzle="128B"
        ... )
        >>> len(encoded)
        128
        >>> try: ct.tensor_map.encode_tiled(element="f16", base=A, extents=(256, 100), strides=(500,), box=(64, 32))
        ... except ct.TileError as error: print(error.message)
        'tensor_map.encode_tiled', argument 'strides[0]': expected a multiple of 16 bytes ..., got 500 bytes (...)
    """
    call = Call("encode_tiled", "tiled")
    tensor = call.tensor(element, base, extents, strides, element_strides, interleave, swizzle, l2_promotion, fill)
    tensor_map = TensorMap(**tensor, box=call.integers("box", box))
    return call.encode(tensor_map, target, backend, device, allow_unconfirmed)


def encode_im2col(
    *,
    element: Any,
    base: Any,
    extents: Sequence[int],
    strides: Sequence[int],
    lower: Sequence[int],
    upper: Sequence[int],
    channels_per_pixel: int,
    pixels_per_column: int,
    element_strides: Sequence[int] | None = None,
    interleave: str = "none",
    swizzle: str = "none",
    l2_promotion: str = "none",
    fill: str = "zero",
    target: str | None = None,
    backend: str = "simulate",
    device: int = 0,
    allow_unconfirmed: bool = False,
) -> bytes:
    """Encodes a tensor map of kind im2col (PTX ISA 5.5.4), for cp.async.bulk.tensor with .im2col and .im2col_no_offs.

    Args:
        element: as for encode_tiled.
        base: as for encode_tiled.
        extents: the extents in the order C, W, H, D, N; without D, or without H and D, for a tensor of rank 4 or 3.
        strides: the strides of dimensions 1 and up, in bytes.
        lower: the lower corner of the box, relative to the first pixel, in the order W, H, D. Its range is 16, 8 and
            5 signed bits for rank 3, 4 and 5.
        upper: the upper corner, relative to the last pixel, in the same order and range.
        channels_per_pixel: the channels that a copy moves per pixel, 1 to 256.
        pixels_per_column: the pixels that a copy moves, 1 to 1024.
        element_strides: the traversal strides, those of W, H and D in pixels; None is 1 everywhere.
        interleave: as for encode_tiled.
        swizzle: as for encode_tiled.
        l2_promotion: as for encode_tiled.
        fill: as for encode_tiled.
        target: as for encode_tiled.
        backend: as for encode_tiled.
        device: as for encode_tiled.
        allow_unconfirmed: as for encode_tiled.

    Returns:
        The 128 bytes, for a kernel parameter `.param .align 64 .b8 name[128]`.

    Raises:
        InputError: an argument violates a rule, which the message names with its manual section.
        LaunchError: the driver refuses the map, or no GPU has this ordinal.

    Example:
        >>> images = {"element": "f16", "base": 0x1000, "extents": (64, 32, 30, 4), "strides": (128, 4096, 122880)}
        >>> columns = {"channels_per_pixel": 64, "pixels_per_column": 128, "swizzle": "128B"}
        >>> len(ct.tensor_map.encode_im2col(**images, **columns, lower=(-1, -1), upper=(-1, -1)))
        128
        >>> try: ct.tensor_map.encode_im2col(**images, **columns, lower=(-1, -129), upper=(-1, -1))
        ... except ct.TileError as error: print(error.message)
        'tensor_map.encode_im2col', argument 'lower[1]': expected -128 to 127 along H ..., got -129 (...5.5.4.1)
    """
    call = Call("encode_im2col", "im2col")
    tensor = call.tensor(element, base, extents, strides, element_strides, interleave, swizzle, l2_promotion, fill)
    tensor_map = TensorMap(
        **tensor,
        box=(),
        lower=call.integers("lower", lower),
        upper=call.integers("upper", upper),
        channels_per_pixel=call.integer("channels_per_pixel", channels_per_pixel),
        pixels_per_column=call.integer("pixels_per_column", pixels_per_column),
    )
    return call.encode(tensor_map, target, backend, device, allow_unconfirmed)


def encode_im2col_wide(
    *,
    element: Any,
    base: Any,
    extents: Sequence[int],
    strides: Sequence[int],
    lower: int,
    upper: int,
    channels_per_pixel: int,
    pixels_per_column: int = W128_PIXELS,
    element_strides: Sequence[int] | None = None,
    interleave: str = "none",
    mode: str,
    swizzle: str,
    l2_promotion: str = "none",
    fill: str = "zero",
    target: str | None = None,
    backend: str = "simulate",
    device: int = 0,
    allow_unconfirmed: bool = False,
) -> bytes:
    """Encodes a tensor map of PTX ISA 5.5.5, for cp.async.bulk.tensor with .im2col::w or .im2col::w::128.

    Args:
        element: as for encode_tiled.
        base: as for encode_tiled.
        extents: as for encode_im2col.
        strides: as for encode_im2col.
        lower: the lower corner of the box along W, relative to the first pixel, of 16 signed bits.
        upper: the upper corner along W, relative to the last pixel, of 16 signed bits.
        channels_per_pixel: as for encode_im2col.
        pixels_per_column: the pixels that a copy moves without its halo, 1 to 1024; ignored for mode "w128".
        element_strides: as for encode_im2col; a copy does not traverse H and D.
        interleave: "none".
        mode: "w" or "w128".
        swizzle: "64B", "128B" or "128B_atom_32B".
        l2_promotion: as for encode_tiled.
        fill: as for encode_tiled.
        target: "sm_100a", or None.
        backend: as for encode_tiled.
        device: as for encode_tiled.
        allow_unconfirmed: as for encode_tiled.

    Returns:
        The 128 bytes, for a kernel parameter `.param .align 64 .b8 name[128]`.

    Raises:
        InputError: an argument violates a rule, which the message names with its manual section.
        LaunchError: the driver refuses the map, or no GPU has this ordinal.

    Example:
        >>> images = {"element": "f16", "base": 0x1000, "extents": (64, 32, 30, 4), "strides": (128, 4096, 122880)}
        >>> columns = {"channels_per_pixel": 64, "lower": -1, "upper": -1, "swizzle": "128B", "mode": "w128"}
        >>> len(ct.tensor_map.encode_im2col_wide(**images, **columns))
        128
        >>> try: ct.tensor_map.encode_im2col_wide(**images, **columns, target="sm_90a")
        ... except ct.TileError as error: print(error.message)
        'tensor_map.encode_im2col_wide', argument 'target': expected compute capability 10.0 ..., got sm_90a ...
    """
    kind = MODES[Call("encode_im2col_wide", "im2col_w").name("mode", mode, MODES, "5.5.5")]
    call = Call("encode_im2col_wide", kind)
    tensor = call.tensor(element, base, extents, strides, element_strides, interleave, swizzle, l2_promotion, fill)
    pixels = call.integer("pixels_per_column", pixels_per_column)
    tensor_map = TensorMap(
        **tensor,
        box=(),
        lower=(call.integer("lower", lower),),
        upper=(call.integer("upper", upper),),
        channels_per_pixel=call.integer("channels_per_pixel", channels_per_pixel),
        pixels_per_column=W128_PIXELS if mode == "w128" else pixels,
    )
    return call.encode(tensor_map, target, backend, device, allow_unconfirmed)
