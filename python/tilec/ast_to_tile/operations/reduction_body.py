"""Refuses the operations that the function of a reduction or scan cannot contain."""

from __future__ import annotations

import ast
from typing import NoReturn

from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.errors import TileSyntaxError

# Operation -> its description, and the alternative.
_REFUSED = {
    "cuda_tile.if": ("a branch", "select values with ct.where"),
    "cuda_tile.for": ("a loop", "unroll it with ct.static_iter"),
    "cuda_tile.loop": ("a loop", "unroll it with ct.static_iter"),
    "cuda_tile.reduce": ("a reduction", "compute it before"),
    "cuda_tile.scan": ("a scan", "compute it before"),
    "cuda_tile.assert": ("an assertion", "check the operands before"),
}


def refuse_nested_block(operation: str, node: ast.AST) -> NoReturn:
    """Raises TileSyntaxError for a statement or expression whose operation would have a region."""
    inner = "cuda_tile.for" if isinstance(node, ast.For | ast.While) else "cuda_tile.if"
    raise TileSyntaxError(_message(operation, inner))


def check_reduction_body(operation: str, block: ir.Block) -> None:
    """Raises TileSyntaxError at the first operation that the body of a `reduce` or `scan` cannot contain."""
    for inner in block.operations:
        name = inner.operation.name
        if name in _REFUSED or name.endswith("_tko"):
            raise TileSyntaxError(_message(operation, name), source_location(inner.location))


def _message(operation: str, inner: str) -> str:
    found, advice = _REFUSED.get(inner, ("an access to memory, or a print", "only compute with the operands"))
    return f"the function of a {operation} cannot contain {found}: {advice}"
