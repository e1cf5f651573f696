"""Records launches of random kernels, and of the kernels that cuTile exports."""

from __future__ import annotations

import os
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from launch_recorder import TARGET, Recorder

from tilec.errors import TilecError

ROOT = Path(__file__).resolve().parents[2]
# The results of random multiplies are large, but compress well.
MOST_RANDOM_BYTES = 12 << 20


def record_random(folder: Path, kinds: dict[str, int], seed: int, jobs: int) -> None:
    """Records random kernels of tests/fuzz, of each kind as many as `kinds` says, in `jobs` processes."""
    sys.path.insert(0, str(ROOT / "tests" / "fuzz"))
    cases = [(kind, seed + number) for kind, count in kinds.items() for number in range(count)]
    _in_processes(lambda job: _record_cases(folder, cases[job::jobs]), jobs)


def _in_processes(work: Callable[[int], None], jobs: int) -> None:
    children = []
    for job in range(jobs):
        child = os.fork()
        if not child:
            work(job)
            sys.stdout.flush()
            os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)


def _record_cases(folder: Path, cases: list[tuple[str, int]]) -> None:
    from program_fuzz import _load_compiler
    from separate_process import run_in_process

    _load_compiler()
    recorder = Recorder(folder, most_bytes=MOST_RANDOM_BYTES)
    recorder.install()
    counts: Counter[str] = Counter()
    for done, (kind, seed) in enumerate(cases, 1):
        recorder.origin = f"random {kind}::seed {seed}"
        run = _multiply if kind == "multiplies" else partial(_program, kind)
        try:
            outcome = run_in_process(partial(run, seed, recorder), 60)
        except RuntimeError as error:
            outcome = f"error: {str(error)[:100]}"
        counts[f"{kind}: {outcome}"] += 1
        if done % 50 == 0 or done == len(cases):
            print(f"{done} of {len(cases)}: {dict(counts)}", flush=True)


def _multiply(seed: int, recorder: Recorder) -> str:
    """Records a random multiply with random settings; the reference is numpy."""
    import compared_kernels as fuzz
    import multiply_fuzz
    from numpy_tiles import NumpyTiles

    import tilec as ct

    case = multiply_fuzz.random_case(seed)
    (settings,) = (settings for settings in case.settings if settings.target == TARGET)
    expected = fuzz._expected(case, NumpyTiles)
    path = recorder.folder / f"running-{os.getpid()}.py"
    path.write_text(case.source)
    scope: dict[str, Any] = {"ct": ct}
    try:
        exec(compile(case.source, path, "exec"), scope)
        kernel = ct.kernel(scope["kernel"])
        outcome = fuzz._outcome(case, TARGET, lambda: fuzz._simulated(case, kernel, settings), expected)
    finally:
        path.unlink()
    recorder.note(f"numpy: {outcome.kind}")
    return str(outcome.kind)


def _program(kind: str, seed: int, recorder: Recorder) -> str:
    """Records a random program; the reference is numpy, and the interpreter agrees with it."""
    import program_fuzz as fuzz

    import tilec

    program = fuzz.GENERATORS[kind](seed)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        expected = program.expected()
    outcome = fuzz._simulated(program, tilec.Module.parse(program.text()), TARGET, expected)
    recorder.note(f"numpy: {outcome.kind}")
    return str(outcome.kind)


def record_samples(folder: Path) -> None:
    """Records the kernels of tests/peers/cutile, which cuTile exports as bytecode."""
    sys.path.insert(0, str(ROOT / "tests" / "peers"))
    from cutile.cases import CASES, case_name
    from cutile.kernels import KERNELS
    from cutile.launcher import Launcher

    recorder = Recorder(folder)
    recorder.install()
    for topic, cases in CASES.items():
        for case in cases:
            recorder.origin = f"cuTile {topic}::{case_name(case)}"
            try:
                ratios = [comparison.ratio for comparison in case(Launcher(KERNELS, "13.4", target=TARGET))]
                recorder.note("within bounds" if max(ratios) <= 1 else "beyond bounds")
            except TilecError as error:
                print(f"{recorder.origin}: {error.message}", flush=True)
