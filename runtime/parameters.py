"""The bytes of kernel parameters: arguments by their PTX types, encoded tensor maps."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from tilec.element_types import CODED_FLOATS
from tilec.errors import InputError
from tilec.lowering.tma.tensor_map import TensorMap
from tilec.runtime.arguments.binding import Binding
from tilec.runtime.arguments.elements import parameter_dtype
from tilec.runtime.artifact.metadata import Metadata, TensorMapTableParameter, ValueParameter
from tilec.runtime.tensor_maps.padding_memory import over_padding, padding_byte, reads_nothing
from tilec.runtime.tensor_maps.tensor_map import SIZE_BYTES, make

# The alignment of tensor map parameters in the generated PTX.
ALIGNMENT_BYTES = 64
_ADDRESS_BYTES = 8


def pack_value(type_name: str, value: int | float) -> bytes:
    """The bytes of a value parameter of this PTX type; an integer is taken modulo its width.

    Raises InputError for infinity or NaN as an integer, and for an integer beyond float64 as a float.
    """
    if type_name in CODED_FLOATS:
        return _code(type_name, value)
    dtype = parameter_dtype(type_name)
    if dtype.kind in "iu":
        if not isinstance(value, int) and not math.isfinite(value):
            raise InputError(f"a parameter of type {type_name} needs an integer, got {value}")
        return (int(value) % 2 ** (8 * dtype.itemsize)).to_bytes(dtype.itemsize, "little")
    try:
        with np.errstate(over="ignore", under="ignore"):
            return np.array(value).astype(dtype).tobytes()
    except OverflowError:
        raise InputError(f"a parameter of type {type_name} needs a number within the range of float64") from None


def _code(type_name: str, value: int | float) -> bytes:
    # Imported here because few launches need it.
    from tilec.runtime.interpret.numbers.float_format import FORMATS

    return FORMATS[type_name].encode(np.asarray(value, np.float64)).tobytes()


def pack(
    metadata: Metadata,
    binding: Binding,
    encode: Callable[[TensorMap], bytes],
    padding: Callable[[int, int], int],
    place: Callable[[np.ndarray], int],
) -> list[bytes]:
    """The bytes of each parameter in order; tensor maps are verified and encoded by `encode`.

    `padding(index, byte)` returns the address of PADDING_BYTES filled with `byte`, for map `index` if it reads
    nothing, and `place(maps)` that of a copy of the maps of a list, a multiple of 64. Raises InputError if the
    arguments yield a tensor map that TMA does not support.
    """
    values = iter(binding.values)
    contents = []
    for parameter in metadata.parameters:
        if isinstance(parameter, ValueParameter):
            contents.append(pack_value(parameter.type, next(values)))
            continue
        encoded = []
        for tensor_map in tensor_maps(metadata, parameter.index, binding):
            if reads_nothing(tensor_map):
                tensor_map = over_padding(tensor_map, padding(parameter.index, padding_byte(tensor_map)))
            encoded.append(encode(tensor_map))
        if isinstance(parameter, TensorMapTableParameter):
            contents.append(place(np.frombuffer(b"".join(encoded), np.uint8)).to_bytes(_ADDRESS_BYTES, "little"))
        else:
            contents += encoded
    return contents


def tensor_maps(metadata: Metadata, index: int, binding: Binding) -> list[TensorMap]:
    """The map of a recipe, or those of the arrays of its list; raises InputError as `pack`."""
    recipe = metadata.tensor_maps[index]

    def made(values: Sequence[int], names: Sequence[str]) -> TensorMap:
        return make(recipe, values, names, metadata.target, metadata.allow_unconfirmed)

    if recipe.list is None:
        return [made(binding.integers(), binding.names)]
    rows = binding.rows[recipe.list].tolist()
    return [made(words, binding.names_of_row(recipe.list, row)) for row, words in enumerate(rows)]


def block(contents: Sequence[bytes], tensor_map_alignment: int = ALIGNMENT_BYTES) -> bytes:
    """The parameter block: each parameter aligned to its size, tensor maps to 64 bytes (PTX ISA 5.2.2, 5.5.8)."""
    laid_out = bytearray()
    for content, offset in zip(contents, offsets(contents, tensor_map_alignment), strict=True):
        laid_out.extend(bytes(offset - len(laid_out)))
        laid_out.extend(content)
    return bytes(laid_out)


def offsets(contents: Sequence[bytes], tensor_map_alignment: int = ALIGNMENT_BYTES) -> list[int]:
    """The offset of each parameter in `block`."""
    found, end = [], 0
    for content in contents:
        end += -end % (tensor_map_alignment if len(content) == SIZE_BYTES else len(content))
        found.append(end)
        end += len(content)
    return found
