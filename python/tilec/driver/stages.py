"""The table of the stages of a compile, from a kernel or the text of any stage to PTX and cubin."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any

from tilec import options
from tilec.compile_options import CompileOptions
from tilec.diagnostics.user_traceback import public
from tilec.dialect.walk import walks_are_kept
from tilec.driver.compile_result import StageResult
from tilec.driver.compiled import Compiled
from tilec.driver.dump import Dump
from tilec.driver.internal_failure import internal_error
from tilec.errors import TilecError, UsageError
from tilec.lowering.target import target_named
from tilec.process.compile_lock import COMPILING
from tilec.process.garbage_collector import suspended_garbage_collector
from tilec.process.recursion_limit import deep_recursion
from tilec.process.time_limit import enter_stage, limited_compile
from tilec.remarks import Remark
from tilec.text_input.source import Source, open_source


@dataclass(frozen=True)
class Job:
    """The parameters of a compile other than its source."""

    target: str
    entry: str | None
    signature: Any
    options: CompileOptions
    # Stages append to this list.
    remarks: list[Remark]
    # The module from which PTX was made in this compile; remarks on spills name its values.
    lowered: list[Any] = field(default_factory=list)
    # The chosen candidate of each entry that this compile has converted, with its plan.
    candidates: list[Any] = field(default_factory=list)
    # A process that waits for the PTX; None if the cubin is not wanted, or ptxas not installed.
    assembler: Any = None
    # Receives the changes of each pass over tile_gpu; None if nothing is dumped.
    diffs: list[str] | None = None


@dataclass(frozen=True)
class Stage:
    """A row of the table of stages; docs/architecture.md draws it.

    Attributes:
        name: the name of the stage.
        suffix: the suffix of its file.
        content: the result of the stage, in Markdown.
        folders: the folders and files of the repository with its code.
        modules: the modules that it imports, before its time is measured.
        make: the conversion from the result of the stage before.
    """

    name: str
    suffix: str
    content: str
    folders: tuple[str, ...]
    modules: tuple[str, ...]
    make: Callable[[Any, Job], Any]


# Each conversion imports its code when it runs, so that a compile from a later stage does not load the earlier ones.


def _kernel_to_tile(kernel: Any, job: Job) -> Any:
    from tilec.text_input.source import signature_of

    signature = signature_of(kernel, job.signature)
    return kernel.to_tile(signature, target=job.target, checks=job.options.checks).ir


def _tile_passes(module: Any, job: Job) -> Any:
    from tilec.ast_to_tile.control_flow.arrays_apart import order_arrays_apart
    from tilec.driver.entries import entries, with_one_entry
    from tilec.lowering.gpu.kernel_cycles import cycles_with_passes
    from tilec.lowering.gpu.passes import columns_needed
    from tilec.lowering.tile.expand.insert_checks import insert_checks
    from tilec.lowering.tile.simplify.assume_slices import assume_slices
    from tilec.lowering.tile_to_gpu.tile_stage import run_tile_stage
    from tilec.runtime.interpret.evaluate import evaluate

    made = with_one_entry(module, job.entry)
    (entry,) = entries(made).values()
    with made.context:
        if job.options.slices_in_bounds:
            assume_slices(entry)
        if job.options.arrays_apart and (remark := order_arrays_apart(entry)) is not None:
            job.remarks.append(remark)
        if job.options.checks:
            # First, because later passes use what the kernel promises.
            insert_checks(entry, job.remarks)
    target = target_named(job.target)
    return run_tile_stage(
        made,
        target,
        job.options,
        job.remarks,
        evaluate=evaluate,
        count_columns=columns_needed,
        count_cycles=cycles_with_passes,
    )


def _tile_to_gpu(module: Any, job: Job) -> Any:
    from tilec.lowering.gpu.passes import columns_needed
    from tilec.lowering.tile_to_gpu.kernel import convert

    return convert(
        module,
        target=job.target,
        options=job.options,
        remarks=job.remarks,
        candidates=job.candidates,
        count_columns=columns_needed,
    )


def _gpu_passes(module: Any, job: Job) -> Any:
    from tilec.driver.entries import after_passes
    from tilec.lowering.gpu.passes import run

    with _observed(module, job) as observe:
        return after_passes(module, run, target=job.target, options=job.options, remarks=job.remarks, observe=observe)


@contextmanager
def _observed(module: Any, job: Job) -> Iterator[Callable[[str, Any], None]]:
    """An observer of passes, whose diffs the job receives if it dumps."""
    if job.diffs is None:
        yield lambda name, changed: None
        return
    from tilec.driver.pass_observer import PassDiffs

    diffs = PassDiffs(module)
    yield diffs.observe
    job.diffs.append(diffs.text)


def _gpu_to_ptx(module: Any, job: Job) -> Any:
    from tilec.lowering.gpu_to_ptx.kernel import convert

    job.lowered.append(module)
    return convert(module, target=job.target, remarks=job.remarks)


def _ptx_to_text(module: Any, _job: Job) -> str:
    from tilec.lowering.ptx.emit import emit

    return emit(module)


def _ptx_to_cubin(ptx: str, job: Job) -> Any:
    from tilec.driver.cubin_remarks import cubin_remarks
    from tilec.runtime.cubin.cubin import assemble

    level = _opt_level(job)
    cubin = assemble(ptx, job.target, opt_level=level, waiting=job.assembler)
    job.remarks.extend(cubin_remarks(cubin, ptx))
    if cubin.spill_bytes:
        job.remarks.extend(_spilled_values(job))
    return cubin


def _opt_level(job: Job) -> int:
    from tilec.runtime.cubin.cubin import DEFAULT_OPT_LEVEL

    return DEFAULT_OPT_LEVEL if job.options.opt_level is None else job.options.opt_level


@contextmanager
def _with_assembler(job: Job, stages: Sequence[Stage]) -> Iterator[Job]:
    """The job with a process of ptxas, which starts while the stages before the cubin run, if there are some."""
    if len(stages) < 2 or stages[-1] is not STAGES[-1]:
        yield job
        return
    from tilec.runtime.cubin.cubin import waiting_ptxas

    with waiting_ptxas(job.target, _opt_level(job)) as assembler:
        yield replace(job, assembler=assembler)


def _spilled_values(job: Job) -> Iterator[Remark]:
    from tilec.driver.spill_remarks import spill_remarks

    for module in job.lowered:
        yield from spill_remarks(module)


STAGES = (
    Stage(
        "tile",
        ".tile.mlir",
        "Tile IR (the `cuda_tile` dialect), translated from the Python syntax tree",
        ("python/tilec/ast_to_tile/", "dialect/cuda_tile/"),
        (
            "tilec.signature",
            "tilec.specialization.signature_text",
            "tilec.ast_to_tile.entry",
            "tilec.text_input.module",
        ),
        _kernel_to_tile,
    ),
    Stage(
        "tile-opt",
        ".tile.opt.mlir",
        "Tile IR after constant folding, loop-invariant code motion and the removal of redundant tokens",
        ("lowering/tile/",),
        (
            "tilec.driver.entries",
            "tilec.lowering.gpu.kernel_cycles",
            "tilec.lowering.gpu.passes",
            "tilec.lowering.tile_to_gpu.tile_stage",
            "tilec.runtime.interpret.evaluate",
        ),
        _tile_passes,
    ),
    Stage(
        "gpu-raw",
        ".gpu.raw.mlir",
        "the `tile_gpu` dialect as values: layouts, matrix units, and tiles placed in shared and tensor memory",
        ("lowering/plan/", "lowering/tile_to_gpu/", "dialect/tile_gpu/"),
        (
            "tilec.dialect.upstream_operations",
            "tilec.lowering.gpu.passes",
            "tilec.lowering.tile_to_gpu.kernel",
        ),
        _tile_to_gpu,
    ),
    Stage(
        "gpu",
        ".gpu.mlir",
        "the `tile_gpu` dialect with channels, warp roles, rings and register budgets",
        ("lowering/gpu/",),
        ("tilec.driver.entries", "tilec.lowering.gpu.passes"),
        _gpu_passes,
    ),
    Stage(
        "ptx-mlir",
        ".ptx.mlir",
        "the `ptx` dialect: one operation per PTX instruction",
        ("lowering/gpu_to_ptx/", "dialect/ptx/"),
        ("tilec.lowering.gpu_to_ptx.kernel",),
        _gpu_to_ptx,
    ),
    Stage(
        "ptx",
        ".ptx",
        "PTX text; each line names its Tile IR operation and its source line",
        ("lowering/ptx/",),
        ("tilec.lowering.ptx.emit",),
        _ptx_to_text,
    ),
    Stage(
        "cubin",
        ".cubin",
        "machine code from `ptxas` if it is installed, else from nvJitLink, in process",
        ("runtime/cubin/",),
        ("tilec.driver.cubin_remarks", "tilec.runtime.cubin.cubin"),
        _ptx_to_cubin,
    ),
)
STAGE_NAMES = tuple(stage.name for stage in STAGES)


@public
def compile(
    kernel_or_module: Any,
    *,
    entry: str | None = None,
    target: str | None = None,
    signature: Any = None,
    hints: Mapping[str, Any] | None = None,
    checks: bool = False,
    stop: str | None = None,
) -> Compiled:
    """Compiles one entry, from a kernel or the text of any stage up to the stage `stop`.

    Args:
        kernel_or_module: a kernel, a Module, the text of any stage, bytecode, or a path: `file.py:kernel`, the file of
            any stage, or `-` for standard input.
        entry: the entry to compile if the module has several, or the kernel if the Python text has several.
        target: "sm_100a" or "sm_90a" (default: `TILEC_TARGET`, else "sm_100a").
        signature: the signature that a kernel is compiled for, as text (docs/signature.md) or tilec.Signature.
        hints: options of tilec.compile_options by name; they take precedence over the hints of the kernel.
        checks: whether the compiled kernel asserts that none of its operations is undefined (docs/checking.md), as the
            option "checks" of `hints`.
        stop: the last stage, one of STAGE_NAMES (default: "cubin").

    Returns:
        The result of every stage from the given one to `stop`, with its text and time.

    Raises:
        UsageError: the call is invalid: an unknown stage, target or hint, or a kernel without a signature.
        CompileError, InputError, VerificationError: the source is invalid, with its line.
        UnsupportedError: the source cannot be lowered for the target, with its line.
        TileCompilerTimeoutError: the compile took longer than `ct.compiler_timeout` allows.
        InternalError: a stage failed; the message gives a command that reproduces the failure.

    Example:
        >>> import tilec
        >>> @tilec.kernel
        ... def copy(x, y, tile: tilec.Constant[int]):
        ...     block = (tilec.bid(0),)
        ...     tilec.store(y, block, tilec.load(x, block, (tile,)))
        >>> compiled = tilec.compile(copy, signature="x: f32[?], y: f32[?], tile=128", target="sm_90a", stop="ptx")
        >>> [stage.name for stage in compiled.stages]
        ['tile', 'tile-opt', 'gpu-raw', 'gpu', 'ptx-mlir', 'ptx']
        >>> ".target sm_90a" in compiled.ptx
        True
    """
    source = open_source(kernel_or_module, entry)
    settings = options.from_environment()
    if stop is not None and stop not in STAGE_NAMES:
        raise UsageError(f"unknown stage '{stop}': expected one of {', '.join(STAGE_NAMES)}")
    bound = source.target or (settings.target if target is None else target)
    given = CompileOptions.of({} if hints is None else hints)
    given = replace(given, checks=True) if checks else given
    job = Job(bound, entry, signature, _options(source, bound, given), [])
    if settings.dump is not None:
        job = replace(job, diffs=[])
    _check_target(job.target, source, target)
    if job.options.checks and source.stage not in (None, STAGE_NAMES[0]):
        raise UsageError(f"{source.name} is at stage '{source.stage}': checks are inserted into Tile IR, compile that")
    # Between stages the collector would start at once, with the objects of all stages.
    with COMPILING, limited_compile(), suspended_garbage_collector(), walks_are_kept():
        results = _run(source, job, stop or STAGE_NAMES[-1], Dump(settings.dump))
    return Compiled(job.target, entry, results, source, tuple(job.remarks), tuple(job.candidates))


def _options(source: Source, target: str, given: CompileOptions) -> CompileOptions:
    """The options, completed by `opt_level` of the kernel, the only hint that its Tile IR does not contain."""
    level = source.value.hints.opt_level_for(target) if source.stage is None else None
    return given if level is None else given.completed({"opt_level": level})


def _check_target(chosen: str, source: Source, requested: str | None) -> None:
    target_named(chosen)
    if requested is not None and requested != chosen:
        raise UsageError(f"{source.name} is already compiled for {chosen} and cannot be compiled for {requested}")


def _run(source: Source, job: Job, stop: str, dump: Dump) -> tuple[StageResult, ...]:
    """The results from the stage of the source, whose time is zero, to `stop`."""
    results = []
    value, first = source.value, 0
    if source.stage is not None:
        first = STAGE_NAMES.index(source.stage) + 1
        results.append(StageResult(source.stage, STAGES[first - 1].suffix, 0.0, value, source.text))
    last = STAGE_NAMES.index(stop) + 1
    with _with_assembler(job, STAGES[first:last]) as assembled:
        for stage in STAGES[first:last]:
            results.append(_step(stage, value, assembled, source, results))
            value = results[-1].value
            dump.write(results)
            if job.diffs:
                dump.write_text(".gpu.passes.diff", job.diffs.pop())
    return tuple(results)


@deep_recursion()
def _step(stage: Stage, value: Any, job: Job, source: Source, before: list[StageResult]) -> StageResult:
    try:
        for module in stage.modules:
            import_module(module)
        start = time.perf_counter()
        enter_stage(stage.name)
        made = stage.make(value, job)
    except TilecError:
        raise
    except Exception as error:
        raise internal_error(stage.name, error, before[-1] if before else None, source, job) from error
    return StageResult(stage.name, stage.suffix, time.perf_counter() - start, made)
