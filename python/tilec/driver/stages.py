"""The whole road, from a kernel or the text of any stage to PTX and cubin, as one table of stages."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from tilec import options
from tilec.compile_options import CompileOptions
from tilec.driver.compiled import Compiled, StageResult
from tilec.driver.dump import Dump
from tilec.driver.internal_failure import internal_error
from tilec.errors import TilecError, UsageError
from tilec.lowering.target import target_named
from tilec.process.recursion_limit import deep_recursion
from tilec.remarks import Remark
from tilec.text_input.source import Source, open_source


@dataclass(frozen=True)
class Job:
    """What a compile is for, beside its source."""

    target: str
    entry: str | None
    signature: Any
    options: CompileOptions
    # What stages add to as they run.
    remarks: list[Remark]


@dataclass(frozen=True)
class Stage:
    """A step of the road: its name, the suffix of its file, the code it needs, what makes it from the step before."""

    name: str
    suffix: str
    modules: tuple[str, ...]
    make: Callable[[Any, Job], Any]


# Each imports its code when it runs, so that a start further down the road loads no earlier stage.


def _kernel_to_tile(kernel: Any, job: Job) -> Any:
    from tilec.text_input.source import signature_of

    return kernel.to_tile(signature_of(kernel, job.signature), target=job.target).ir


def _tile_passes(module: Any, job: Job) -> Any:
    from tilec.driver.entries import with_one_entry
    from tilec.lowering.tile.passes import run
    from tilec.runtime.interpret.evaluate import evaluate

    return run(with_one_entry(module, job.entry), evaluate=evaluate)


def _tile_to_gpu(module: Any, job: Job) -> Any:
    from tilec.lowering.tile_to_gpu.kernel import convert

    return convert(module, target=job.target, options=job.options, remarks=job.remarks)


def _gpu_passes(module: Any, job: Job) -> Any:
    from tilec.driver.entries import after_passes
    from tilec.lowering.gpu.passes import run

    return after_passes(module, run, target=job.target, options=job.options, remarks=job.remarks)


def _gpu_to_ptx(module: Any, job: Job) -> Any:
    from tilec.lowering.gpu_to_ptx.kernel import convert

    return convert(module, target=job.target)


def _ptx_to_text(module: Any, _job: Job) -> str:
    from tilec.lowering.ptx.emit import emit

    return emit(module)


def _ptx_to_cubin(ptx: str, job: Job) -> Any:
    from tilec.driver.cubin_remarks import cubin_remarks
    from tilec.runtime.cubin import DEFAULT_OPT_LEVEL, assemble

    level = DEFAULT_OPT_LEVEL if job.options.opt_level is None else job.options.opt_level
    cubin = assemble(ptx, job.target, opt_level=level)
    job.remarks.extend(cubin_remarks(cubin, ptx))
    return cubin


STAGES = (
    Stage(
        "tile",
        ".tile.mlir",
        ("tilec.signature", "tilec.ast_to_tile.entry", "tilec.text_input.module"),
        _kernel_to_tile,
    ),
    Stage(
        "tile-opt",
        ".tile.opt.mlir",
        ("tilec.driver.entries", "tilec.lowering.tile.passes", "tilec.runtime.interpret.evaluate"),
        _tile_passes,
    ),
    Stage("gpu-raw", ".gpu.raw.mlir", ("tilec.lowering.tile_to_gpu.kernel",), _tile_to_gpu),
    Stage("gpu", ".gpu.mlir", ("tilec.driver.entries", "tilec.lowering.gpu.passes"), _gpu_passes),
    Stage("ptx-mlir", ".ptx.mlir", ("tilec.lowering.gpu_to_ptx.kernel",), _gpu_to_ptx),
    Stage("ptx", ".ptx", ("tilec.lowering.ptx.emit",), _ptx_to_text),
    Stage("cubin", ".cubin", ("tilec.runtime.cubin",), _ptx_to_cubin),
)
STAGE_NAMES = tuple(stage.name for stage in STAGES)


def compile(
    kernel_or_module: Any,
    *,
    entry: str | None = None,
    target: str | None = None,
    signature: Any = None,
    hints: Mapping[str, Any] | None = None,
    stop: str | None = None,
) -> Compiled:
    """Every stage of one entry, from what is given (a kernel, a Module, a stage's text or path) down to `stop`.

    A kernel needs a `signature` (text or tilec.Signature); a module of several entries needs `entry`. `target` is
    `TILEC_TARGET` where it is not given; `hints` are options of tilec.compile_options by name, which stand before
    those of the kernel. Raises TilecError for what the user can mend, InternalError for a fault of the compiler.
    """
    settings = options.from_environment()
    if stop is not None and stop not in STAGE_NAMES:
        raise UsageError(f"unknown stage '{stop}': expected one of {', '.join(STAGE_NAMES)}")
    source = open_source(kernel_or_module)
    bound = source.target or target or settings.target
    job = Job(bound, entry, signature, _options(source, bound, CompileOptions.of(hints or {})), [])
    _check_target(job.target, source, target)
    results = _run(source, job, stop or STAGE_NAMES[-1], Dump(settings.dump))
    return Compiled(job.target, entry, results, source, tuple(job.remarks))


def _options(source: Source, target: str, given: CompileOptions) -> CompileOptions:
    """The options, completed by the one hint of a kernel that its Tile IR does not carry."""
    level = source.value.hints.opt_level_for(target) if source.stage is None else None
    return given if level is None else given.completed({"opt_level": level})


def _check_target(chosen: str, source: Source, asked: str | None) -> None:
    target_named(chosen)
    if asked is not None and asked != chosen:
        raise UsageError(f"{source.name} is already for {chosen}, and cannot be compiled for {asked}")


def _run(source: Source, job: Job, stop: str, dump: Dump) -> tuple[StageResult, ...]:
    """The results from the source's own stage, which takes no time, to `stop`."""
    results = []
    value, first = source.value, 0
    if source.stage is not None:
        first = STAGE_NAMES.index(source.stage) + 1
        results.append(StageResult(source.stage, STAGES[first - 1].suffix, 0.0, value, source.text))
    for stage in STAGES[first : STAGE_NAMES.index(stop) + 1]:
        results.append(_step(stage, value, job, source, results))
        value = results[-1].value
        dump.write(results)
    return tuple(results)


@deep_recursion()
def _step(stage: Stage, value: Any, job: Job, source: Source, before: list[StageResult]) -> StageResult:
    try:
        for module in stage.modules:
            import_module(module)
        start = time.perf_counter()
        made = stage.make(value, job)
    except TilecError:
        raise
    except Exception as error:
        raise internal_error(stage.name, error, before[-1] if before else None, source, job) from error
    return StageResult(stage.name, stage.suffix, time.perf_counter() - start, made)
