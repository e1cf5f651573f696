"""Runs passes of upstream MLIR."""

from __future__ import annotations

from tilec.dialect.mlir import ir, passmanager


def run_upstream(pipeline: str, module: ir.Module) -> None:
    """Runs passes on a valid module, in place; on an invalid module, upstream's passes may abort the process.

    Does not verify the module after each pass, which takes several times as long as the passes.
    """
    manager = passmanager.PassManager.parse(f"builtin.module({pipeline})", module.context)
    manager.enable_verifier(False)
    manager.run(module.operation)
