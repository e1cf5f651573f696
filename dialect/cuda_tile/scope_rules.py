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
# The locations of operations and of their kernels that have one subprogram.
_ALIKE: dict[tuple[ir.Attribute, ir.Attribute | None], None] = table()


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
    kernel = op.operation.parent
    while kernel is not None and kernel.operation.name != _KERNEL:
        kernel = kernel.operation.parent
    # Passes build operations that are temporarily outside a kernel.
    around = None if kernel is None else kernel.operation.location
    pair = location.attr, None if around is None else around.attr
    if pair in _ALIKE:
        return None
    problem = _scope_problem(location, around)
    if problem is None:
        _ALIKE[pair] = None
    return problem


def _scope_problem(location: ir.Location, kernel: ir.Location | None) -> str | None:
    """The problem with the location of an operation in a kernel with a location, or None."""
    scope = scope_of(location)
    if scope is None:
        return None
    found = enclosing_subprogram(scope)
    if found is None:
        return "operation has a debug info scope, but no enclosing cuda_tile.di_subprogram"
    if kernel is None:
        return None
    expected = subprogram_of(kernel)
    if expected is None:
        return "operation has debug info scope, but function debug info scope is undefined"
    if found != expected:
        pair = f"expected {_described(expected)}, but got {_described(found)}"
        return f"operation debug info scope does not match function debug info scope: {pair}"
    return None


def _described(subprogram: DISubprogramAttr) -> str:
    location = f"{subprogram.file.name}:{subprogram.line}"
    return f"subprogram '{subprogram.name}' ({location}, linkage name \"{subprogram.linkage_name}\")"
