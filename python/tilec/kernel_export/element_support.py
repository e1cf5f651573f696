"""The element types that cuTile 1.7 refuses for a GPU: exported kernels are within what cuTile accepts."""

from __future__ import annotations

import re

from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.dialect.walk import operations_named
from tilec.errors import UnsupportedError
from tilec.language.datatypes import by_element

# Element type -> the number of the first GPU for which cuTile 1.7 compiles operations on it, as in sm_100.
_FIRST_GPU = {"f8E4M3FN": 90, "f8E5M2": 90, "f8E8M0FNU": 100, "f4E2M1FN": 100, "fnv8E5M3FNU": 107}


def check_elements(module: ir.Module, gpu_code: str) -> None:
    """Raises UnsupportedError for an operand whose element type cuTile refuses for the GPU."""
    number = re.match(r"sm_(\d+)", gpu_code)
    if number is None:
        return
    refused = {element for element, first in _FIRST_GPU.items() if int(number[1]) < first}
    for operation in operations_named(module, lambda operation: operation.name.startswith("cuda_tile.")):
        for operand in operation.operands:
            element = _element(operand.type)
            if element in refused:
                raise UnsupportedError(
                    f"{by_element(element)} needs sm_{_FIRST_GPU[element]} or later in cuTile, got {gpu_code}: "
                    "ct.launch and ct.compile emulate it on all targets",
                    source_location(operation.location),
                )


def _element(type: ir.Type) -> str:
    """The element type of a tile, a view, or the memory that a pointer points to."""
    while (inner := getattr(type, "element", None)) is not None:
        type = inner
    return spell(type)
