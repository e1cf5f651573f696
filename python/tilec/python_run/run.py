"""Runs a kernel as Python, one tile block after another."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from tilec.dialect.mlir import context, ir
from tilec.language.kernel import Kernel
from tilec.language.kernel_function import compile_time_calls
from tilec.python_run.block import BlockRun
from tilec.runtime.arguments.binding import bind
from tilec.runtime.grid import grid_of
from tilec.runtime.interpret.machine import Machine
from tilec.runtime.interpret.memory.global_memory import Memory
from tilec.runtime.interpret.run import blocks
from tilec.signature import Signature


def run(
    kernel: Kernel,
    grid: Sequence[int] | int,
    args: Sequence[Any],
    *,
    truncate_tf32: bool = False,
    print: Callable[[str], object] | None = None,
) -> None:
    """Executes the Python function of a kernel once per tile block of `grid`; it modifies arrays of `args` in place.

    Results are those of the interpreter of Tile IR, which executes each operation. `truncate_tf32` and `print` are
    those of tilec.runtime.interpret.run.

    Raises CompileError for an operation that violates a rule, SimulationError for an error of the kernel, each with the
    source location; and what the statements of the function raise.
    """
    signature = Signature.from_arguments(kernel, args).bind(kernel)
    extents = grid_of(grid)
    binding = bind(signature.arguments, args)
    memory = Memory(None if binding.plain_addresses else binding.ranges())
    for index in blocks(extents):
        machine = Machine(memory, index, extents, [], {}, print or sys.stdout.write, truncate_tf32=truncate_tf32)
        with context(), ir.Location.unknown():
            block = BlockRun(kernel, signature, machine, binding.values)
            with compile_time_calls(block.call):
                block.run()
