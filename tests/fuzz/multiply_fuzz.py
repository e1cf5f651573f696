"""Compares the results of random multiplies in numpy, the interpreter and the simulator for both targets.

`python tests/fuzz/fuzz.py multiplies --inputs 20000 --seed 1` runs 20,000 kernels (random_multiplies.py), each with
random settings of the compiler (compiler_settings.py). A kernel that fails is reduced and written to the working
folder; `python tests/fuzz/fuzz.py multiplies --input FILE` runs it again.
"""

from __future__ import annotations

import ast
import os
import re
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import ml_dtypes  # noqa: F401 registers the names of narrow floats with numpy.
import numpy as np
from compiler_settings import Settings, limited_compiler, random_settings
from multiply_values import BLOCKS, CELL, EXTENT, ITERATIONS, SMALL
from numpy_tiles import NumpyTiles, WideTiles
from random_multiplies import random_multiplies
from separate_process import run_in_process

import tilec as ct
from tilec.errors import TilecError, UnsupportedError
from tilec.signature import Signature

TARGETS = ("sm_100a", "sm_90a")
# More steps than any of these kernels executes, so that an infinite loop is detected within seconds.
STEP_LIMIT = 20_000_000
SECONDS, REDUCTION_S = 120, 120.0


@dataclass(frozen=True)
class Case:
    """A kernel, the types and sizes of its arrays, and the compiles to compare."""

    source: str
    array: str
    accumulator: str
    slots: int
    cells: int
    missing: tuple[int, int]
    seed: int
    settings: tuple[Settings, ...]

    def text(self) -> str:
        """The case as a file of Python: its settings, then the kernel."""
        values = {name: value for name, value in asdict(self).items() if name != "source"}
        return f"CASE = {values!r}\n\n{self.source}"

    @classmethod
    def parse(cls, text: str) -> Case:
        """The case of a file that `text` has written, with comments before it."""
        at = text.index("CASE = ")
        line, source = text[at:].split("\n", 1)
        values = ast.literal_eval(line.removeprefix("CASE = "))
        values["settings"] = tuple(Settings(**settings) for settings in values["settings"])
        return cls(source=source.lstrip("\n"), **values)


@dataclass(frozen=True)
class Outcome:
    """The result of one compile: `agreed`, `refused`, or the kind of failure; `reason` groups similar ones."""

    place: str
    kind: str
    detail: str = ""

    @property
    def failed(self) -> bool:
        return self.kind not in ("agreed", "refused")

    @property
    def reason(self) -> str:
        line = (self.detail.splitlines() or [""])[0]
        return re.sub(r"\d+", "#", re.sub(r"0x[0-9a-f]+|%\w+|/\S+|'[^']*'", "..", line))[:160]

    @property
    def group(self) -> tuple[str, str]:
        return self.kind, "" if self.kind == "wrong result" else self.reason


def random_case(seed: int) -> Case:
    """The case of a seed."""
    kernel = random_multiplies(seed)
    source = Random(f"settings {seed}")
    settings = tuple(random_settings(source, target) for target in TARGETS)
    kind, sizes = kernel.kind, (kernel.slots, kernel.cells, kernel.missing)
    return Case(kernel.source, kind.array, kind.accumulator, *sizes, seed, settings)


def arguments(case: Case) -> dict[str, Any]:
    """New arguments of a case by name; operands are integers of at most SMALL."""
    random = np.random.default_rng(case.seed)
    shapes = {"A": (EXTENT, EXTENT), "B": (EXTENT, EXTENT), "H": (EXTENT, EXTENT)}
    values = {name: random.integers(-SMALL, SMALL + 1, shape) for name, shape in shapes.items()}
    values["P"], values["D"] = random.integers(0, 16, (EXTENT,)), np.zeros(1)
    values["C"] = np.zeros((case.slots * CELL, case.cells * CELL))
    types = {"A": case.array, "B": case.array, "H": "float32", "P": "int32", "D": "int32", "C": case.accumulator}
    arrays = {name: value.astype(types[name]) for name, value in values.items()}
    for name in ("A", "B", "H", "C"):
        # Views, so that rows stay aligned for TMA.
        rows, columns = (size - missing for size, missing in zip(arrays[name].shape, case.missing, strict=True))
        arrays[name] = arrays[name][:rows, :columns]
    return {**arrays, "n0": int(random.integers(0, ITERATIONS)), "n1": int(random.integers(0, ITERATIONS))}


def outcomes(case: Case, folder: Path) -> list[Outcome]:
    """Runs a case everywhere; raises what its source raises in numpy."""
    expected = _expected(case, NumpyTiles)
    assert np.array_equal(expected, _expected(case, WideTiles)), "a value of the kernel is not exact"
    path = folder / f"running-{os.getpid()}.py"
    path.write_text(case.source)
    try:
        scope: dict[str, Any] = {"ct": ct}
        exec(compile(case.source, path, "exec"), scope)
        kernel = ct.kernel(scope["kernel"])
        found = [_outcome("interpret", lambda: _interpreted(case, kernel), expected)]
        for settings in case.settings:
            found.append(_outcome(settings.target, lambda s=settings: _simulated(case, kernel, s), expected))
        return found
    finally:
        path.unlink()


def _expected(case: Case, tiles: type[NumpyTiles]) -> np.ndarray:
    given = arguments(case)
    for block in range(BLOCKS):
        scope: dict[str, Any] = {"ct": tiles(block, BLOCKS)}
        exec(case.source, scope)
        scope["kernel"](**given)
    return given["C"]


def _outcome(place: str, run: Any, expected: np.ndarray) -> Outcome:
    try:
        found = run()
    except UnsupportedError as error:
        return Outcome(place, "refused", error.message)
    except TilecError as error:
        return Outcome(place, type(error).__name__, error.message)
    except Exception as error:
        return Outcome(place, type(error).__name__, str(error))
    different = np.argwhere(found != expected)
    if not len(different):
        return Outcome(place, "agreed")
    at = tuple(map(int, different[0]))
    count = f"{len(different)} of {found.size} elements"
    return Outcome(place, "wrong result", f"{count}: at {at} expected {expected[at]}, found {found[at]}")


def _interpreted(case: Case, kernel: Any) -> np.ndarray:
    given = arguments(case)
    ct.launch(None, BLOCKS, kernel, tuple(given.values()), backend="interpret", check=True)
    return given["C"]


def _simulated(case: Case, kernel: Any, settings: Settings) -> np.ndarray:
    given = arguments(case)
    try:
        compiled = _compiled(kernel, given, settings)
    except UnsupportedError:
        compiled = _compiled(kernel, given, settings.with_all_memory())
    # The conversion of tf32 by TMA is not documented; small integers are exact.
    options = {"step_limit": STEP_LIMIT, "allow_unconfirmed": case.array == "float32", "seed": case.seed}
    ct.run(compiled, (BLOCKS,), tuple(given.values()), backend="simulate", **options)
    return given["C"]


def _compiled(kernel: Any, given: dict[str, Any], settings: Settings) -> Any:
    with limited_compiler(settings):
        signature = Signature.from_arguments(kernel, tuple(given.values()))
        compiled = ct.compile(kernel, target=settings.target, signature=signature, hints=settings.hints, stop="ptx")
    # The compiler has found a deadlock, and made another kernel.
    waiting = [remark.message for remark in compiled.remarks if "would wait for each other" in remark.message]
    assert not waiting, waiting
    return compiled


def outcomes_in_process(case: Case, folder: Path) -> list[Outcome]:
    """Calls outcomes() in a separate process, so that a crash or an infinite loop is an outcome too."""
    found = run_in_process(lambda: outcomes(case, folder), SECONDS)
    if not isinstance(found, str):
        return found
    if len(case.settings) == 1:
        return [Outcome(case.settings[0].target, found)]
    single = [replace(case, settings=(settings,)) for settings in case.settings]
    return [outcome for one in single for outcome in outcomes_in_process(one, folder) if outcome.place != "interpret"]


def main(count: int, seed: int, work: Path, jobs: int) -> int:
    """Runs cases in `jobs` processes, prints progress, refusals and failures, and writes failing cases to `work`."""
    work.mkdir(parents=True, exist_ok=True)
    # Loads the compiler and the simulator before processes are forked, so that they are loaded only once.
    outcomes(random_case(1), work)
    children = []
    for job in range(jobs):
        child = os.fork()
        if not child:
            os._exit(_run(range(seed + job, seed + count, jobs), work, f"job {job + 1}: " if jobs > 1 else ""))
        children.append(child)
    return max(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children)


def repeat(path: Path) -> int:
    """Runs the case of a file in this process and prints its outcomes."""
    found = outcomes(Case.parse(path.read_text()), path.parent)
    for outcome in found:
        print(f"{outcome.place}: {outcome.kind} {outcome.detail}")
    return 1 if any(outcome.failed for outcome in found) else 0


def _run(seeds: range, work: Path, prefix: str) -> int:
    counts: Counter[tuple[str, str]] = Counter()
    started, failures = time.monotonic(), 0
    for done, seed in enumerate(seeds, 1):
        case = random_case(seed)
        for outcome in outcomes_in_process(case, work):
            counts[outcome.group] += 1
            if outcome.failed:
                failures += 1
                print(f"seed {seed}, {outcome.place}: {outcome.kind}: {outcome.detail.splitlines()[:1]}", flush=True)
                # Wrong values have no message that identifies their cause, so all are kept.
                if counts[outcome.group] <= (12 if outcome.kind == "wrong result" else 2):
                    print(f"seed {seed}: {write_reduced(case, outcome, work)}", flush=True)
            elif outcome.kind == "refused" and counts[outcome.group] == 1:
                print(f"seed {seed}, {outcome.place}: refused: {outcome.detail.splitlines()[0]}", flush=True)
        if done % 10 == 0 or done == len(seeds):
            agreed, refused = (sum(n for (kind, _), n in counts.items() if kind == k) for k in ("agreed", "refused"))
            seconds = time.monotonic() - started
            numbers = f"{agreed} agree, {refused} refused, {failures} failures, {seconds:.0f} s"
            print(f"{prefix}{done} of {len(seeds)} kernels, {numbers}", flush=True)
    return 1 if failures else 0


def write_reduced(case: Case, outcome: Outcome, work: Path) -> Path:
    """Writes the case with only the statements and settings that its failure needs, and returns the file."""
    path = work / f"seed-{case.seed}-{outcome.place}.py"
    path.write_text(case.text())
    small = reduced(case, outcome, work)
    found = [one for one in outcomes_in_process(small, work) if one.group == outcome.group]
    comment = f"python tests/fuzz/fuzz.py multiplies --input {path.name}\n{outcome.place}: {outcome.kind}: "
    comment += (found or [outcome])[0].detail
    path.write_text("".join(f"# {line}\n" for line in comment.splitlines()) + small.text())
    return path


def reduced(case: Case, outcome: Outcome, work: Path) -> Case:
    """The case after all removals of settings and statements that preserve the failure."""
    deadline = time.monotonic() + REDUCTION_S
    if outcome.place != "interpret":
        case = replace(case, settings=tuple(s for s in case.settings if s.target == outcome.place))

    def fails(candidate: Case) -> bool:
        try:
            found = outcomes_in_process(candidate, work)
        except Exception:
            # A candidate without a statement that it needs.
            return False
        return any((one.place, one.group) == (outcome.place, outcome.group) for one in found)

    changed = True
    while changed and time.monotonic() < deadline:
        changed = False
        for candidate in _smaller(case):
            if time.monotonic() > deadline:
                break
            if fails(candidate):
                case, changed = candidate, True
                break
    return case


def _smaller(case: Case) -> Iterator[Case]:
    """Cases with one setting or statement less, the longest statements first."""
    for number, settings in enumerate(case.settings):
        hints, without = settings.hints, settings.without
        simpler = [replace(settings, hints={k: v for k, v in hints.items() if k != name}) for name in hints]
        simpler += [replace(settings, without=tuple(one for one in without if one != name)) for name in without]
        if settings.shared_bytes or settings.tensor_memory_columns:
            simpler.append(settings.with_all_memory())
        for one in simpler:
            yield replace(case, settings=(*case.settings[:number], one, *case.settings[number + 1 :]))
    lines = case.source.splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("def kernel")) + 1
    spans = [(number, _end(lines, number)) for number in range(first, len(lines)) if lines[number].strip()]
    for start, end in sorted(spans, key=lambda span: (span[0] - span[1], -span[0])):
        yield replace(case, source="\n".join([*lines[:start], *lines[end:], ""]))
    # A region is replaced with its content.
    for start, end in spans:
        if end - start > 1:
            content = [line[4:] for line in lines[start + 1 : end]]
            yield replace(case, source="\n".join([*lines[:start], *content, *lines[end:], ""]))


def _end(lines: list[str], start: int) -> int:
    """The line after a statement with its block, and with the `else` that follows it."""
    depth = len(lines[start]) - len(lines[start].lstrip())
    end = start + 1
    while end < len(lines) and (not lines[end].strip() or len(lines[end]) - len(lines[end].lstrip()) > depth):
        end += 1
    if lines[start].lstrip().startswith("if ") and end < len(lines) and lines[end].strip() == "else:":
        return _end(lines, end)
    return end
