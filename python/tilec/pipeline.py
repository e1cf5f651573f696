"""Adds passes of tilec to an upstream PassManager, beside upstream passes.

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
from tilec.lowering.tile.passes import TileContext
from tilec.runtime.interpret.evaluate import evaluate

# The passes that change a module in place. Conversions between levels create a new module and are not among them.
NAMES = (*tile_passes.PASSES, *gpu_passes.PASSES, *gpu_passes.HEURISTICS)


def add(manager: passmanager.PassManager, name: str, *, target: str | None = None) -> passmanager.PassManager:
    """Appends a pass of `NAMES` to a pipeline over `builtin.module`, and returns the manager.

    The module may belong to any registered context. Operations of other dialects remain unchanged. Passes over tile_gpu
    use `target` (default: TILEC_TARGET). Raises UsageError for an unknown name.
    """
    manager.add(_pass_callback(name, target), name=name)
    return manager


def _pass_callback(name: str, target: str | None) -> Callable[[ir.Operation, Any], None]:
    if name in tile_passes.PASSES:
        tile_pass = tile_passes.PASSES[name]
        return lambda operation, _: _run_in_context(
            operation, lambda module: tile_pass.run(module, TileContext(evaluate))
        )
    if name in NAMES:
        bound = target or options.from_environment().target
        return lambda operation, _: _run_in_context(
            operation, lambda module: gpu_passes.run_pass(module, name, target=bound)
        )
    raise UsageError(f"unknown pass '{name}': expected one of {', '.join(NAMES)}")


def _run_in_context(operation: ir.Operation, run: Callable[[Any], None]) -> None:
    # PassManager calls a pass without an active context, and new operations belong to the active context.
    with operation.context, ir.Location.unknown():
        run(operation.opview)
