"""How the images of convolutions are loaded: a copy for each tap along W, or a copy that has the pixels of all of them.

A view of images without a mode has no demand. The stages are run for both lowerings of such a view, if a kernel
multiplies its tiles at several taps along W, and the cost model compares the cycles of a tile block. The hint
`convolution` demands a lowering. No choice changes which pixels a tile has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field

from tilec.compile_options import CompileOptions
from tilec.dialect.build import copied
from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.tilex.im2col_rules import TILE_PIXELS, pixels_text
from tilec.dialect.tilex.im2col_type import RUN, STATIONARY, WEIGHTS
from tilec.dialect.walk import operations_named
from tilec.errors import UnsupportedError
from tilec.lowering.plan.matrix.runs_of_taps import run_of
from tilec.lowering.target import Target
from tilec.lowering.tile.analysis.tile_operations import MULTIPLIES, counting_loops
from tilec.lowering.tile.expand.expand_tilex import MAKER
from tilec.lowering.tile_to_gpu.access.image_run import IMAGE_LOAD, image_run
from tilec.lowering.tile_to_gpu.kernel import CountColumns, convert
from tilec.remarks import Remark

# The cycles of the only kernel of a module for a tile block (lowering/gpu/kernel_cycles.py). The module is changed, and
# the list gets remarks.
CountCycles = Callable[[ir.Module, Target, CompileOptions, list[Remark]], float]
# The model does not resolve a smaller share of the time.
_LEAST_GAIN = 0.01
# The hints that give views another mode, with the modes of these views.
_DEMANDED = {"im2col": (None,), RUN: (None,), STATIONARY: (None, "w", "w128"), WEIGHTS: (None, "w128", "w")}
_EACH = "each tap along W has a copy of its own"
_ORDER = "the products of these taps may be added in another order; hint convolution=im2col loads each tap"


@dataclass(frozen=True)
class Compiler:
    """The stages up to the cost of a kernel.

    Attributes:
        target: the target.
        options: the options of the compile.
        run_passes: the stage from Tile IR to Tile IR, whose remarks it adds to a list; the module is changed.
        count_columns: the columns of tensor memory of a kernel.
        count_cycles: the cycles of a kernel for a tile block.
    """

    target: Target
    options: CompileOptions
    run_passes: Callable[[ir.Module, list[Remark]], ir.Module]
    count_columns: CountColumns
    count_cycles: CountCycles


@dataclass(frozen=True)
class Candidate:
    """A module before and after the passes over Tile IR, with their remarks."""

    source: ir.Module
    module: ir.Module
    remarks: list[Remark] = field(default_factory=list)
    _known: list[float | None] = field(default_factory=list)

    def cycles(self, compiler: Compiler) -> float | None:
        """The cycles of a tile block; None for a kernel that cannot be compiled."""
        if not self._known:
            self._known.append(self._count(compiler))
        return self._known[0]

    def _count(self, compiler: Compiler) -> float | None:
        target, options = compiler.target, compiler.options
        try:
            made = convert(self.module, target=target.name, options=options, count_columns=compiler.count_columns)
            return compiler.count_cycles(made, target, options, [])
        except UnsupportedError:
            return None


def faster(candidate: Candidate, present: Candidate, compiler: Compiler) -> Candidate:
    """The candidate if its tile blocks take less time than those of the present one, else that."""
    cycles, best = candidate.cycles(compiler), present.cycles(compiler)
    return candidate if cycles is not None and best is not None and _is_faster(cycles, best) else present


def run_with_lowerings(module: ir.Module, compiler: Compiler, remarks: list[Remark]) -> ir.Module:
    """The module after the passes over Tile IR, with the chosen lowering of each view; `remarks` gets the reasons."""
    hint = compiler.options.convolution
    if hint in _DEMANDED:
        for maker in _undecided(module, _DEMANDED[hint]):
            _demand(maker.operation.results[0], hint, compiler.target)
    numbers = [] if hint is not None else _numbers_to_choose(module)
    if not numbers:
        return compiler.run_passes(module, remarks)
    best, best_cycles, choices = _candidate(module, compiler), None, list[Remark]()
    for number in numbers:
        candidate = _candidate_in_runs(best.source, number, compiler)
        if candidate is None or not _has_runs_of_taps(candidate.module):
            continue
        reason = _refusal(candidate.module, compiler.target)
        if reason is not None:
            choices.append(_remark(best.source, number, f"{_EACH}: {reason}"))
            continue
        cycles, best_cycles = candidate.cycles(compiler), best_cycles or best.cycles(compiler)
        if cycles is None or best_cycles is None:
            continue
        choices.append(_remark(best.source, number, _comparison(cycles, best_cycles)))
        if _is_faster(cycles, best_cycles):
            best, best_cycles = candidate, cycles
    remarks += [*best.remarks, *choices]
    return best.module


def _undecided(module: ir.Module, modes: Sequence[str | None]) -> Iterator[ir.OpView]:
    """The views of images in one of these modes whose windows have several taps along W."""
    for maker in operations_named(module, (MAKER,)):
        type = maker.operation.results[0].type
        if type.mode in modes and type.interleave is None and type.window[-1] > 1:
            yield maker


def _demand(view: ir.Value, mode: str, target: Target) -> None:
    """Gives a view a mode; raises UnsupportedError if the target lacks it or the tiles had other pixels then."""
    type = view.type
    location, pixels = source_location(view.owner.location), type.tile_shape[0]
    refused = f"convolution={mode} cannot be followed: "
    if mode in (STATIONARY, WEIGHTS) and not target.loads_along_w:
        raise UnsupportedError(f"{refused}{target.name} has no tensor memory: use run or im2col", location)
    if pixels not in TILE_PIXELS.get(mode, (pixels,)):
        raise UnsupportedError(f"{refused}expected tiles of {pixels_text(mode)} pixels, got {pixels}", location)
    if mode in (STATIONARY, WEIGHTS) and type.mode is None and type.spatial_rank > 1:
        order = f"mode='{_DEMANDED[mode][-1]}'"
        expected = f"expected tiles of pixels at one position of the spatial dimensions but W, as of {order}"
        raise UnsupportedError(f"{refused}{expected}: give the views of images and result this mode", location)
    view.set_type(type.with_mode(mode))


def _numbers_to_choose(module: ir.Module) -> list[int]:
    """The numbers of the views, among all that the module makes, for which there may be a choice."""
    if not any(operations_named(module, MULTIPLIES)):
        return []
    undecided = {maker.operation for maker in _undecided(module, (None,))}
    makers = list(operations_named(module, (MAKER,)))
    return [number for number, maker in enumerate(makers) if maker.operation in undecided]


def _candidate(source: ir.Module, compiler: Compiler) -> Candidate:
    remarks: list[Remark] = []
    return Candidate(source, compiler.run_passes(copied(source), remarks), remarks)


def _candidate_in_runs(source: ir.Module, number: int, compiler: Compiler) -> Candidate | None:
    """The candidate in which the view of a number has the mode of runs; None if the passes refuse it."""
    made = copied(source)
    view = list(operations_named(made, (MAKER,)))[number].operation.results[0]
    view.set_type(view.type.with_mode(RUN))
    try:
        return _candidate(made, compiler)
    except UnsupportedError:
        return None


def _has_runs_of_taps(module: ir.Module) -> bool:
    """Whether loads of a block differ in the tap along W alone, or a loop over the taps cannot be unrolled."""
    loads = _loads_of_runs(module)
    runs = Counter[Hashable](map(run_of, loads))
    return any(runs[run_of(op)] > 1 or counting_loops(op.offset[-1]) for op in loads)


def _refusal(module: ir.Module, target: Target) -> str | None:
    """Why a load has no run, or None."""
    return next((run for op in _loads_of_runs(module) if isinstance(run := image_run(op, target), str)), None)


def _loads_of_runs(module: ir.Module) -> list[ir.OpView]:
    return [op for op in operations_named(module, (IMAGE_LOAD,)) if op.view.type.mode == RUN]


def _is_faster(cycles: float, best: float) -> bool:
    return cycles < best * (1 - _LEAST_GAIN)


def _comparison(run: float, im2col: float) -> str:
    if _is_faster(run, im2col):
        gain = f"{1 - run / im2col:.0%} less time by the model than with a copy of each tap"
        return f"one copy has the pixels of all taps along W, {gain}; {_ORDER}"
    loss = f"takes {max(run / im2col - 1, 0):.0%} more time by the model"
    return f"{_EACH}: one copy for all of them, hint convolution=run, {loss}"


def _remark(source: ir.Module, number: int, text: str) -> Remark:
    """A remark at the view of a number."""
    view = list(operations_named(source, (MAKER,)))[number]
    return Remark("convolution", text, source_location(view.operation.location))
