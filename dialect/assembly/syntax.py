"""The operations of Tile IR with a syntax of their own: how each is printed and read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from tilec.dialect.assembly.structure_printers import (
    print_entry,
    print_for,
    print_if,
    print_loop,
    print_reduction,
    print_terminator,
)
from tilec.dialect.assembly.structure_reader import (
    read_entry,
    read_for,
    read_if,
    read_loop,
    read_reduction,
    read_terminator,
)
from tilec.dialect.mlir import ir

# A printer and an operation.
Print: TypeAlias = Callable[..., None]
# A reader, the full name of the operation, the offset of that name in the text, and where to insert the operation.
Read: TypeAlias = Callable[..., ir.Operation]


@dataclass(frozen=True)
class Syntax:
    """Prints an operation, and reads it after its name."""

    print: Print
    read: Read


SYNTAX = {
    "cuda_tile.entry": Syntax(print_entry, read_entry),
    "cuda_tile.if": Syntax(print_if, read_if),
    "cuda_tile.for": Syntax(print_for, read_for),
    "cuda_tile.loop": Syntax(print_loop, read_loop),
    "cuda_tile.reduce": Syntax(print_reduction, read_reduction),
    "cuda_tile.scan": Syntax(print_reduction, read_reduction),
    "cuda_tile.yield": Syntax(print_terminator, read_terminator),
    "cuda_tile.continue": Syntax(print_terminator, read_terminator),
    "cuda_tile.break": Syntax(print_terminator, read_terminator),
    "cuda_tile.return": Syntax(print_terminator, read_terminator),
}
