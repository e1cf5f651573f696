"""Builds `ct.arange`: iota, multiplied by the step, plus the start."""

from __future__ import annotations

from tilec.ast_to_tile import arguments
from tilec.ast_to_tile.emitter import Emitter
from tilec.ast_to_tile.operations.arith import binary
from tilec.ast_to_tile.operations.convert import named_type_value, to_dtype
from tilec.ast_to_tile.operations.shape import iota
from tilec.ast_to_tile.registry import implements
from tilec.ast_to_tile.values.values import KernelValue, Tile
from tilec.language.datatypes import DType
from tilec.language.operations import shape as language


@implements(language.arange)
def _arange(emitter: Emitter, size: KernelValue, dtype: KernelValue, start: KernelValue, step: KernelValue) -> Tile:
    element = arguments.dtype(dtype)
    (extent,) = arguments.shape(arguments.constant_int(size, "size"), "size")
    values = to_dtype(emitter, iota(emitter, extent), element)
    if arguments.known(step) != 1:
        values = binary(emitter, "mul", values, _converted(emitter, step, "step", element))
    if arguments.known(start) != 0:
        values = binary(emitter, "add", values, _converted(emitter, start, "start", element))
    return values


def _converted(emitter: Emitter, value: KernelValue, parameter: str, element: DType) -> Tile:
    operand = arguments.tile_like(value, parameter)
    if isinstance(operand, Tile):
        return to_dtype(emitter, operand, element)
    return emitter.constant(arguments.at(parameter, named_type_value, emitter, operand, element), element)
