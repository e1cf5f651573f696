"""The operations of a stage with a syntax of their own: how each is printed and read."""

from __future__ import annotations

from tilec.dialect.assembly.syntax import Syntax
from tilec.dialect.stage_assembly.structure_printers import (
    print_entry,
    print_function,
    print_instruction,
    print_kernel,
    print_reduction,
    print_return,
    print_roles,
    print_yield,
)
from tilec.dialect.stage_assembly.structure_readers import (
    read_entry,
    read_function,
    read_instruction,
    read_kernel,
    read_reduction,
    read_return,
    read_roles,
    read_yield,
)
from tilec.dialect.stage_assembly.upstream_printer import (
    print_branch,
    print_condition,
    print_constant,
    print_for,
    print_if,
    print_while,
)
from tilec.dialect.stage_assembly.upstream_reader import (
    read_branch,
    read_condition,
    read_constant,
    read_for,
    read_if,
    read_while,
)

# Keyed by the word that the text of the operation begins with.
SYNTAX = {
    "tile_gpu.kernel": Syntax(print_kernel, read_kernel),
    "tile_gpu.roles": Syntax(print_roles, read_roles),
    "tile_gpu.reduce": Syntax(print_reduction, read_reduction),
    "tile_gpu.scan": Syntax(print_reduction, read_reduction),
    "tile_gpu.yield": Syntax(print_yield, read_yield),
    "ptx.entry": Syntax(print_entry, read_entry),
    "ptx.function": Syntax(print_function, read_function),
    "ptx.variable": Syntax(print_function, read_function),
    "ptx.compute": Syntax(print_instruction, read_instruction),
    "ptx.execute": Syntax(print_instruction, read_instruction),
    "ptx.compute_many": Syntax(print_instruction, read_instruction),
    "ptx.execute_many": Syntax(print_instruction, read_instruction),
    "ptx.return": Syntax(print_return, read_return),
    "arith.constant": Syntax(print_constant, read_constant),
    "scf.for": Syntax(print_for, read_for),
    "scf.if": Syntax(print_if, read_if),
    "scf.while": Syntax(print_while, read_while),
    "scf.condition": Syntax(print_condition, read_condition),
    "cf.br": Syntax(print_branch, read_branch),
    "cf.cond_br": Syntax(print_branch, read_branch),
}
