"""The passes of `tilec opt` by name: upstream passes, conversions between stages, and the passes of each level."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tilec import options
from tilec.diagnostics.mlir_diagnostics import verification_error
from tilec.dialect.mlir import ir, passmanager
from tilec.driver.entries import after_passes, changed_copy, with_one_entry
from tilec.driver.stage_text import stage_of
from tilec.errors import CompilerWarning, InputError, UsageError
from tilec.lowering.gpu import passes as gpu_passes
from tilec.lowering.gpu.kernel_pass import KernelPass
from tilec.lowering.gpu_to_ptx import kernel as gpu_to_ptx
from tilec.lowering.tile import passes as tile_passes
from tilec.lowering.tile.passes import Observe, TileContext
from tilec.lowering.tile_to_gpu import kernel as tile_to_gpu
from tilec.process.recursion_limit import deep_recursion
from tilec.runtime.interpret.evaluate import evaluate
from tilec.text_input.module import Module
from tilec.text_input.source import open_source
from tilec.text_input.stage_module import stage_module_text

_Run = Callable[[ir.Module, str, Observe], ir.Module]


@dataclass(frozen=True)
class Pass:
    """A pass: the level of its input, a one-line summary, and `run`, which returns the resulting module."""

    level: str
    summary: str
    run: _Run


def _upstream(pipeline: str) -> _Run:
    def run(module: ir.Module, _target: str, _observe: Observe) -> ir.Module:
        def change(copy: ir.Module) -> None:
            passmanager.PassManager.parse(f"builtin.module({pipeline})").run(copy.operation)

        return changed_copy(module, change)

    return run


def _tile_to_gpu(module: ir.Module, target: str, _observe: Observe) -> ir.Module:
    return tile_to_gpu.convert(with_one_entry(module, None), target=target, count_columns=gpu_passes.columns_needed)


def _tile(module: ir.Module, _target: str, observe: Observe) -> ir.Module:
    return changed_copy(module, lambda copy: tile_passes.run(copy, evaluate=evaluate, observe=observe))


def _gpu(module: ir.Module, target: str, observe: Observe) -> ir.Module:
    return after_passes(module, gpu_passes.run, target=target, observe=observe)


def _gpu_to_ptx(module: ir.Module, target: str, _observe: Observe) -> ir.Module:
    return gpu_to_ptx.convert(module, target=target)


def _one_gpu_pass(record: KernelPass) -> Pass:
    def run(module: ir.Module, target: str, _observe: Observe) -> ir.Module:
        return changed_copy(module, lambda copy: gpu_passes.run_pass(copy, record.name, target=target))

    return Pass("gpu", record.summary, run)


def _one_tile_pass(name: str, tile_pass: tile_passes.TilePass) -> Pass:
    def run(module: ir.Module, _target: str, _observe: Observe) -> ir.Module:
        return changed_copy(module, lambda copy: tile_pass.run(copy, TileContext(evaluate)))

    return Pass("tile", tile_pass.summary, run)


PASSES: dict[str, Pass] = {
    "canonicalize": Pass("any", "MLIR: fold, simplify and remove dead operations", _upstream("canonicalize")),
    "cse": Pass("any", "MLIR: eliminate common subexpressions", _upstream("cse")),
    "tile": Pass("tile", f"run in this order: {', '.join(tile_passes.DEFAULT)}", _tile),
    **{
        name: _one_tile_pass(name, tile_pass)
        for name, tile_pass in tile_passes.PASSES.items()
        if name not in ("canonicalize", "cse")
    },
    "tile-to-gpu": Pass("tile", "assign layouts, select instructions, create buffers and channels", _tile_to_gpu),
    "gpu": Pass(
        "gpu", f"run in this order, between runs of canonicalize and cse: {', '.join(gpu_passes.PASSES)}", _gpu
    ),
    **{name: _one_gpu_pass(record) for name, record in (gpu_passes.PASSES | gpu_passes.HEURISTICS).items()},
    "gpu-to-ptx": Pass("gpu", "convert to one operation per PTX instruction", _gpu_to_ptx),
}


@deep_recursion()
def optimise(
    source: str | bytes,
    names: Sequence[str],
    target: str | None,
    hints: str = "ignore",
    warn: Callable[[CompilerWarning], None] = lambda warning: None,
    observe: Observe = lambda name, module: None,
) -> ir.Module:
    """Runs passes over a module given as text or path, and verifies it before and after each pass.

    `observe` is called with the name of each pass and the module after it, of those of "tile" and "gpu" too.
    `warn` is called for each likely mistake in Tile IR. `hints` selects the treatment of optimization hints without
    effect: `ignore`, `warn`, or `error`. Raises UsageError for an unknown pass, VerificationError with the location for
    an invalid module.
    """
    for name in names:
        if name not in PASSES:
            raise UsageError(f"unknown pass '{name}': expected one of {', '.join(PASSES)}")
    opened = open_source(source)
    if opened.stage in (None, "ptx"):
        raise InputError(f"{opened.name} is not an MLIR module")
    bound = target or opened.target or options.from_environment().target
    module = opened.value
    if opened.stage == "tile":
        _report_warnings(module, opened.name, hints, warn)
    for name in names:
        module = PASSES[name].run(module, bound, observe)
        _verify(module, opened.name)
        observe(name, module)
    return module


def _report_warnings(module: ir.Module, name: str, hints: str, warn: Callable[[CompilerWarning], None]) -> None:
    given = Module(module, name)
    for warning in given.warnings(hints=hints == "warn"):
        warn(warning)
    if hints == "error":
        given.verify(hints=True)


def _verify(module: ir.Module, name: str) -> None:
    try:
        module.operation.verify()
    except ir.MLIRError as error:
        raise verification_error(error, name) from None


def text(module: ir.Module, generic: bool | str, locations: bool = False) -> str:
    """The text of a module of any level, in assembly or a generic form (see Module.to_text).

    `locations` adds the source location of each operation.
    """
    with module.context:
        stage = stage_of(module.operation.get_asm(print_generic_op_form=True) + "\n")
    if stage != "tile":
        return stage_module_text(module, bool(generic), locations)
    return Module(module).to_text(generic, locations)
