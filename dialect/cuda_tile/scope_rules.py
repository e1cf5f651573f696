"""Rules for the locations of kernels, their operations and globals (Tile IR, section "Debug info")."""

from tilec.dialect.cache import table
from tilec.dialect.cuda_tile.debug_info import (
    DISubprogramAttr,
    enclosing_subprogram,
    is_call_site,
    scope_of,
    subprogram_of,
)
from tilec.dialect.mlir import ir

_KERNEL = "cuda_tile.entry"
# The subprograms of kernels by location; every operation of a kernel needs its kernel's.
_KERNELS = table()


def kernel_scope_problem(name: str, location: ir.Location) -> str | None:
    """The problem with the location of a kernel, or None."""
    if is_call_site(location):
        return "function location must not be a CallSiteLoc"
    scope = scope_of(location)
    if scope is None:
        return None
    if not isinstance(scope, DISubprogramAttr):
        return f"function location must have cuda_tile.di_subprogram debug info scope, but has {scope.attr_name}"
    if scope.linkage_name != name:
        return f'function name "{name}" does not match subprogram scope linkage name "{scope.linkage_name}"'
    return None


def global_scope_problem(location: ir.Location) -> str | None:
    """The problem with the location of a global, or None."""
    return "global variables must not have scope" if scope_of(location) is not None else None


def operation_scope_problem(op: ir.OpView, location: ir.Location) -> str | None:
    """The problem with the location of an operation in a kernel, or None."""
    scope = scope_of(location)
    if scope is None:
        return None
    found = enclosing_subprogram(scope)
    if found is None:
        return "operation has a debug info scope, but no enclosing cuda_tile.di_subprogram"
    kernel = op.operation.parent
    while kernel is not None and kernel.operation.name != _KERNEL:
        kernel = kernel.operation.parent
    # Passes build operations that are temporarily outside a kernel.
    if kernel is None:
        return None
    expected = _subprogram_at(kernel.operation.location)
    if expected is None:
        return "operation has debug info scope, but function debug info scope is undefined"
    if found != expected:
        pair = f"expected {_described(expected)}, but got {_described(found)}"
        return f"operation debug info scope does not match function debug info scope: {pair}"
    return None


def _subprogram_at(location: ir.Location) -> DISubprogramAttr | None:
    key = location.attr
    if key not in _KERNELS:
        _KERNELS[key] = subprogram_of(location)
    return _KERNELS[key]


def _described(subprogram: DISubprogramAttr) -> str:
    location = f"{subprogram.file.name}:{subprogram.line}"
    return f"subprogram '{subprogram.name}' ({location}, linkage name \"{subprogram.linkage_name}\")"
