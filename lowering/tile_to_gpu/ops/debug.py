"""Output and assertions of kernels."""

from __future__ import annotations

from tilec.dialect.cuda_tile.types import PointerType
from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.print_format import Directive, parse_format
from tilec.dialect.tile_gpu.operations.debug import AssertOp, PrintOp
from tilec.errors import UnsupportedError
from tilec.lowering import emitter
from tilec.lowering.kernel_hints import EACH_WARP
from tilec.lowering.tile_to_gpu.access.operation_name import operation_name
from tilec.lowering.tile_to_gpu.access.pointers import address_of
from tilec.lowering.tile_to_gpu.conversion.conversion import Conversion, converts


@converts("assert")
def _assert(op: ir.OpView, conversion: Conversion) -> None:
    if "\0" in op.message:
        message = f"{operation_name(op)}: expected a message without NUL characters"
        raise UnsupportedError(message, source_location(op.operation.location))
    each_warp = EACH_WARP in op.operation.attributes
    emitter.gpu(AssertOp, [conversion.get(op.condition)], message=op.message, each_warp=each_warp)


@converts("print_tko")
def _print(op: ir.OpView, conversion: Conversion) -> None:
    problem = _problem(op)
    if problem is not None:
        raise UnsupportedError(f"{operation_name(op)}: {problem}", source_location(op.operation.location))
    emitter.gpu(PrintOp, [[_printed(value, conversion) for value in op.args]], format=op.str)


def _printed(value: ir.Value, conversion: Conversion) -> ir.Value:
    made, element = conversion.get(value), value.type.element
    return address_of(made, element) if isinstance(element, PointerType) else made


def _problem(op: ir.OpView) -> str | None:
    """Why vprintf cannot print the format, or None."""
    try:
        directives = [part for part in parse_format(op.str) if isinstance(part, Directive)]
    except ValueError as error:
        return str(error)
    if "\0" in op.str:
        return "expected a format without NUL characters"
    problems = (_directive_problem(*pair) for pair in zip(directives, op.args, strict=True))
    return next((problem for problem in problems if problem is not None), None)


def _directive_problem(directive: Directive, value: ir.Value) -> str | None:
    element = value.type.element
    is_float = not isinstance(element, ir.IntegerType | PointerType)
    if directive.conversion == "s" and (is_float or directive.precision):
        return f"'{directive.text}' prints integers without a precision when compiled: use %d, %f or %g"
    if directive.conversion == "p" and directive.width:
        return f"'{directive.text}' prints addresses without a width when compiled: use %p"
    return directive.problem(is_float)
