"""The C text of the assumptions of a kernel about an array, a `tilec_contract`."""

from __future__ import annotations

from collections.abc import Sequence

from tilec.runtime.arguments.arguments import ArrayArgument
from tilec.runtime.arguments.binding import MAX_EXTENT


def contract_lines(name: str, argument: ArrayArgument) -> list[str]:
    """The definition of the contract `name`."""
    fields = argument.shape, argument.strides, argument.shape_divisors, argument.stride_divisors
    limit = f"INT64_C({MAX_EXTENT[argument.index]})"
    return [
        f"static const tilec_contract {name} = {{{argument.rank}, {argument.alignment}, {limit}, "
        f"{', '.join(map(_listed, fields))}}};"
    ]


def bind_call(contract: str, array: str, rank: int, values: str) -> str:
    """The call that writes address, extents and strides of `array`, and returns whether they satisfy the contract."""
    shape, strides = (f"{array}.{field}" if rank else "NULL" for field in ("shape", "strides"))
    return f"tilec_bind(&{contract}, {array}.data, {shape}, {strides}, {values})"


def _listed(values: Sequence[int | None]) -> str:
    return "{" + ", ".join(str(-1 if value is None else value) for value in values or (0,)) + "}"
