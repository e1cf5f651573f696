"""Reads, verifies and prints modules of tile_gpu and ptx, in assembly or the generic form."""

from __future__ import annotations

import re

from tilec.diagnostics.mlir_diagnostics import verification_error
from tilec.dialect.assembly.tokens.limits import check_limits
from tilec.dialect.assembly.tokens.source import remember
from tilec.dialect.location import UNNAMED
from tilec.dialect.mlir import context, ir
from tilec.dialect.stage_assembly.printer import print_stage
from tilec.dialect.stage_assembly.reader import read_stage
from tilec.dialect.tile_gpu.ids import number_operations
from tilec.dialect.tile_gpu.operations.kernel import KernelOp
from tilec.process.recursion_limit import deep_recursion

# The generic form of an operation of tile_gpu or ptx. MLIR parses a text that contains it.
_GENERIC = re.compile(r'"(?:tile_gpu|ptx)\.\w+"\s*\(')
_STRINGS_AND_COMMENTS = re.compile(r'"(?:[^"\\\n]|\\.)*"(?!\s*\()|//[^\n]*')


@deep_recursion()
def read_stage_module(text: str, file: str) -> ir.Module:
    """The verified module of a text in assembly or generic form; raises TilecError with the location of an error.

    An operation without a location has its position in the text as its location.
    """
    check_limits(text, file)
    if not _GENERIC.search(_STRINGS_AND_COMMENTS.sub("", text)):
        module = _numbered(read_stage(text, file))
        try:
            module.operation.verify()
        except ir.MLIRError as error:
            raise verification_error(error, file) from None
        return module
    remember(text, file)
    try:
        with context():
            module = ir.Module.parse(text)
            _name_file(module.operation, file)
            return _numbered(module)
    except ir.MLIRError as error:
        raise verification_error(error, file) from None


@deep_recursion()
def stage_module_text(module: ir.Module, generic: bool = False, locations: bool = False) -> str:
    """The module in assembly or in MLIR's generic form; `locations` adds the source location of each operation."""
    if not generic:
        return print_stage(module, locations)
    with module.context:
        return module.operation.get_asm(print_generic_op_form=True, enable_debug_info=locations).rstrip() + "\n"


def _numbered(module: ir.Module) -> ir.Module:
    """Gives the loops and multiplies of kernels that have no id one that is free."""
    for op in module.body.operations:
        if isinstance(op, KernelOp):
            number_operations(op.operation, with_branches=False)
    return module


def _name_file(operation: ir.Operation, file: str) -> None:
    """Replaces the placeholder file name of locations in parsed text with the name of the file."""
    location = operation.location
    if isinstance(location, ir.FileLineColLoc) and location.filename == UNNAMED:
        operation.location = ir.Location.file(file, location.start_line, location.start_col)
    for region in operation.regions:
        for block in region.blocks:
            for inner in block.operations:
                _name_file(inner.operation, file)
