"""The values of a kernel's parameters, in bytes: arguments by their PTX types, tensor maps as their reader wants."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tilec.lowering.tma.contract import TensorMap
from tilec.runtime.binding import Binding
from tilec.runtime.elements import PARAMETER_DTYPES
from tilec.runtime.metadata import Metadata, TensorMapParameter
from tilec.runtime.padding_memory import has_no_elements, over_padding, padding_byte
from tilec.runtime.tensor_map import SIZE_BYTES, make

# The alignment of a tensor map among the parameters of an entry, as the PTX declares it.
ALIGNMENT_BYTES = 64


def pack_value(type_name: str, value: int | float) -> bytes:
    """The bytes of a value parameter of this PTX type; an integer is taken modulo its width."""
    dtype = PARAMETER_DTYPES[type_name]
    if dtype.kind in "iu":
        return (int(value) % 2 ** (8 * dtype.itemsize)).to_bytes(dtype.itemsize, "little")
    return np.array(value).astype(dtype).tobytes()


def pack(
    metadata: Metadata,
    binding: Binding,
    encode: Callable[[TensorMap], bytes],
    padding: Callable[[int, int], int],
) -> list[bytes]:
    """The content of each parameter in order, tensor maps checked and then as `encode` writes them.

    `padding` gives the address of memory for the map of this index, over a tensor without elements: PADDING_BYTES that
    consist of the byte. Raises InputError where the arguments make a tensor map that TMA cannot use.
    """
    integers = binding.integers()
    values = iter(binding.values)
    contents = []
    for parameter in metadata.parameters:
        if isinstance(parameter, TensorMapParameter):
            recipe = metadata.tensor_maps[parameter.index]
            made = make(recipe, integers, binding.names, metadata.target, metadata.allow_unconfirmed)
            if has_no_elements(made):
                made = over_padding(made, padding(parameter.index, padding_byte(made)))
            contents.append(encode(made))
        else:
            contents.append(pack_value(parameter.type, next(values)))
    return contents


def block(contents: Sequence[bytes], tensor_map_alignment: int = ALIGNMENT_BYTES) -> bytes:
    """The parameters in one block, each at its natural alignment, tensor maps at 64 bytes (PTX ISA 5.2.2, 5.5.8)."""
    laid_out = bytearray()
    for content, offset in zip(contents, offsets(contents, tensor_map_alignment), strict=True):
        laid_out.extend(bytes(offset - len(laid_out)))
        laid_out.extend(content)
    return bytes(laid_out)


def offsets(contents: Sequence[bytes], tensor_map_alignment: int = ALIGNMENT_BYTES) -> list[int]:
    """Where each parameter starts in `block`."""
    found, end = [], 0
    for content in contents:
        end += -end % (tensor_map_alignment if len(content) == SIZE_BYTES else len(content))
        found.append(end)
        end += len(content)
    return found
