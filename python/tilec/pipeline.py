"""Passes of tilec among upstream's, in a PassManager over a module of the user's.

manager = PassManager.parse("builtin.module(canonicalize)", context)
pipeline.add(manager, "simplify")
manager.add("cse")
manager.run(module.operation)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilec import options
from tilec.dialect.mlir import ir, passmanager
from tilec.errors import UsageError
from tilec.lowering.gpu import passes as gpu_passes
from tilec.lowering.tile import passes as tile_passes
from tilec.runtime.interpret.evaluate import evaluate

# All that change a module in place; the conversions between levels make a new one.
NAMES = (*tile_passes.PASSES, *gpu_passes.PASSES)


def add(manager: passmanager.PassManager, name: str, *, target: str | None = None) -> passmanager.PassManager:
    """Appends a pass of `NAMES` to a pipeline over `builtin.module`, and gives the manager back.

    The module may be in any registered context and have operations of any dialect beside ours, which stay as they are.
    `target` is for passes over tile_gpu (default: TILEC_TARGET). Raises UsageError for an unknown name.
    """
    manager.add(_in_place(name, target), name=name)
    return manager


def _in_place(name: str, target: str | None) -> Callable[[ir.Operation, Any], None]:
    if name in tile_passes.PASSES:
        tile_pass = tile_passes.PASSES[name]
        return lambda operation, _: _entered(operation, lambda module: tile_pass.run(module, evaluate))
    if name in gpu_passes.PASSES:
        bound = target or options.from_environment().target
        return lambda operation, _: _entered(operation, lambda module: gpu_passes.run_pass(module, name, target=bound))
    raise UsageError(f"unknown pass '{name}': expected one of {', '.join(NAMES)}")


def _entered(operation: ir.Operation, run: Callable[[Any], None]) -> None:
    # A pass is called with no context entered, and what it builds belongs to the entered one.
    with operation.context, ir.Location.unknown():
        run(operation.opview)
