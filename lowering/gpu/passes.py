"""The passes over tile_gpu, in order; each can be switched off and the kernel stays right."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tilec.dialect.mlir import context, ir, passmanager
from tilec.lowering.gpu.fuse_channels import fuse_channels
from tilec.lowering.gpu.partition_roles import partition_roles
from tilec.lowering.gpu.pipeline import pipeline
from tilec.lowering.target import target_named

CLEAN_UP = "builtin.module(canonicalize,cse,loop-invariant-code-motion,canonicalize)"


def run(module: ir.Module, *, target: str, options: Mapping[str, Any] | None = None) -> ir.Module:
    """Runs all passes in place.

    `options`: `roles` and `pipeline` (False switches off), `stages` (the most slots of a ring).
    """
    options = dict(options or {})
    machine = target_named(target)
    with context(), ir.Location.unknown():
        clean_up(module)
        for op in module.body.operations:
            if op.operation.name != "tile_gpu.kernel":
                continue
            fuse_channels(op)
            if options.get("roles", True) is not False:
                partition_roles(op)
            if options.get("pipeline", True) is not False:
                pipeline(op, machine, options.get("stages"))
        clean_up(module)
        module.operation.verify()
    return module


def clean_up(module: ir.Module) -> None:
    """Upstream's canonical form, without duplicates and with invariants hoisted."""
    passmanager.PassManager.parse(CLEAN_UP).run(module.operation)
