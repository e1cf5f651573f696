"""Runs passes of upstream MLIR."""

from __future__ import annotations

from tilec.dialect.cache import cached
from tilec.dialect.mlir import ir, passmanager


def run_upstream(pipeline: str, module: ir.Module) -> None:
    """Runs passes, separated by commas, on a valid module, in place; on an invalid one, they may abort the process.

    Does not verify the module after each pass, which takes several times as long as the passes.
    """
    for name in pipeline.split(","):
        _manager(name, module.context).run(module.operation)


@cached
def _manager(name: str, context: ir.Context) -> passmanager.PassManager:
    """The manager of one pass: to collect the patterns of `canonicalize` again takes longer than to apply them."""
    manager = passmanager.PassManager.parse(f"builtin.module({name})", context)
    manager.enable_verifier(False)
    return manager
