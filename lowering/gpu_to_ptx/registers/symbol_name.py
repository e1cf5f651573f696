"""The names of kernels and globals in PTX: identifiers that the compiler does not use itself."""

from __future__ import annotations

from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.ptx.entry_rules import IDENTIFIER
from tilec.dialect.tile_gpu.namespace import PREFIX
from tilec.errors import CompileError
from tilec.lowering.gpu_to_ptx.registers.constant_data import RESERVED_PREFIX
from tilec.lowering.gpu_to_ptx.registers.device_call import DEVICE_FUNCTIONS
from tilec.lowering.gpu_to_ptx.registers.lowering import SHARED_SYMBOL

_RESERVED = (*DEVICE_FUNCTIONS, SHARED_SYMBOL)


def symbol_name(op: ir.OpView) -> str:
    """The name of a tile_gpu.kernel or tile_gpu.global; raises CompileError for one that PTX cannot have."""
    name, kind = op.operation.attributes["sym_name"].value, op.operation.name.removeprefix(PREFIX)
    problem = _problem(name)
    if problem is not None:
        message = f"expected another name of {kind} '{name}': {problem}"
        raise CompileError(message, source_location(op.operation.location))
    return name


def _problem(name: str) -> str | None:
    if name in _RESERVED or name.startswith(RESERVED_PREFIX):
        return f"the compiler uses {', '.join(_RESERVED)} and {RESERVED_PREFIX}*"
    if not IDENTIFIER.fullmatch(name):
        return "names in PTX begin with a letter and have letters of ASCII, digits, '_' and '$'"
    return None
