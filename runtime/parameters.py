"""The values of a kernel's parameters, in bytes: arguments by their PTX types, tensor maps as their reader wants."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tilec.lowering.tma.contract import TensorMap
from tilec.runtime.binding import Binding
from tilec.runtime.elements import PARAMETER_DTYPES
from tilec.runtime.metadata import Metadata, TensorMapParameter
from tilec.runtime.tensor_map import ALIGNMENT_BYTES, SIZE_BYTES, make


def pack_value(type_name: str, value: int | float) -> bytes:
    """The bytes of a value parameter of this PTX type; an integer is taken modulo its width."""
    dtype = PARAMETER_DTYPES[type_name]
    if dtype.kind in "iu":
        return (int(value) % 2 ** (8 * dtype.itemsize)).to_bytes(dtype.itemsize, "little")
    return np.array(value).astype(dtype).tobytes()


def pack(metadata: Metadata, binding: Binding, encode: Callable[[TensorMap], bytes]) -> list[bytes]:
    """The content of each parameter in order, tensor maps checked and then as `encode` writes them.

    Raises InputError where the arguments make a tensor map that TMA cannot use.
    """
    integers = binding.integers()
    values = iter(binding.values)
    contents = []
    for parameter in metadata.parameters:
        if isinstance(parameter, TensorMapParameter):
            recipe = metadata.tensor_maps[parameter.index]
            checked = make(recipe, integers, binding.names, metadata.target, metadata.allow_unconfirmed)
            contents.append(encode(checked))
        else:
            contents.append(pack_value(parameter.type, next(values)))
    return contents


def block(contents: Sequence[bytes]) -> bytes:
    """The parameters in one block, each at its natural alignment, tensor maps at 64 bytes (PTX ISA 5.2.2, 5.5.8)."""
    laid_out = bytearray()
    for content in contents:
        alignment = ALIGNMENT_BYTES if len(content) == SIZE_BYTES else len(content)
        laid_out.extend(bytes(-len(laid_out) % alignment))
        laid_out.extend(content)
    return bytes(laid_out)
