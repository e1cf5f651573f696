"""The passes over tile_gpu, in order; each can be switched off and the kernel stays right."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tilec.dialect.mlir import ir, passmanager
from tilec.lowering.gpu.fuse_channels import fuse_channels
from tilec.lowering.gpu.partition_roles import partition_roles
from tilec.lowering.gpu.pipeline import pipeline
from tilec.lowering.target import Target, target_named

CLEAN_UP = "builtin.module(canonicalize,cse,loop-invariant-code-motion,canonicalize)"

KernelPass = Callable[[Any, Target, Mapping[str, Any]], object]
# By name and in order: what each does to one tile_gpu.kernel, and the option that switches it off.
PASSES: dict[str, tuple[KernelPass, str | None]] = {
    "fuse-channels": (lambda kernel, target, options: fuse_channels(kernel), None),
    "partition-roles": (lambda kernel, target, options: partition_roles(kernel), "roles"),
    "pipeline": (lambda kernel, target, options: pipeline(kernel, target, options.get("stages")), "pipeline"),
}


def run(module: ir.Module, *, target: str, options: Mapping[str, Any] | None = None) -> ir.Module:
    """Runs all passes in place and verifies the module.

    `options`: `roles` and `pipeline` (False switches off), `stages` (the most slots of a ring).
    """
    options = dict(options or {})
    with module.context, ir.Location.unknown():
        clean_up(module)
        for name, (_, switch) in PASSES.items():
            if switch is None or options.get(switch, True) is not False:
                run_pass(module, name, target=target, options=options)
        clean_up(module)
        module.operation.verify()
    return module


def run_pass(module: ir.Module, name: str, *, target: str, options: Mapping[str, Any] | None = None) -> None:
    """Runs one pass on every kernel of a module, in place; KeyError for an unknown name."""
    kernel_pass, _ = PASSES[name]
    machine = target_named(target)
    with module.context, ir.Location.unknown():
        for kernel in _kernels(module):
            kernel_pass(kernel, machine, options or {})
            # Upstream's passes end the process on a module that is not valid.
            kernel.operation.verify()


def clean_up(module: ir.Module) -> None:
    """Upstream's canonical form, without duplicates and with invariants hoisted."""
    passmanager.PassManager.parse(CLEAN_UP).run(module.operation)


def _kernels(module: ir.Module) -> Iterator[Any]:
    yield from [op for op in module.body.operations if op.operation.name == "tile_gpu.kernel"]
