"""Random kernels whose results are compared in numpy, the interpreter and the simulator for both targets.

A kernel has random settings of the compiler (compiler_settings.py). One that fails is reduced to the statements and
settings that its failure needs, and is written to the working folder.
"""

from __future__ import annotations

import ast
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from random import Random
from typing import Any, ClassVar, TypeVar

import numpy as np
from compiler_settings import Settings, limited_compiler, random_settings
from numpy_tiles import NumpyTiles
from separate_process import run_in_process

import tilec as ct
from tilec.errors import TilecError, UnsupportedError
from tilec.signature import Signature

TARGETS = ("sm_100a", "sm_90a")
# More steps than any of these kernels executes, so that an infinite loop is detected within seconds.
STEP_LIMIT = 20_000_000
SECONDS, REDUCTION_S = 120, 120.0
# The blocks of each launch.
BLOCKS = 2


@dataclass(frozen=True)
class Case:
    """A kernel, the seed of its arguments, and the compiles to compare.

    Attributes:
        source: Python that defines `kernel`, with the parameters that `arguments` names.
        seed: the seed of the arguments, and of the order in which the simulator runs threads.
        settings: one compile per target.
    """

    source: str
    seed: int
    settings: tuple[Settings, ...]
    # The sub-command of fuzz.py; the parameters that are results; the namespaces that stand for `tilec`, whose results
    # must be equal.
    COMMAND: ClassVar[str]
    RESULTS: ClassVar[tuple[str, ...]] = ("C",)
    TILES: ClassVar[tuple[type[NumpyTiles], ...]]

    def arguments(self) -> dict[str, Any]:
        """New arguments by name."""
        raise NotImplementedError

    def simulator_options(self) -> dict[str, Any]:
        return {"step_limit": STEP_LIMIT, "seed": self.seed}

    def numpy_array(self, array: np.ndarray) -> np.ndarray:
        """The array that the kernel reads or writes when numpy runs it."""
        return array

    def text(self) -> str:
        """The case as a file of Python: its settings, then the kernel."""
        values = {name: value for name, value in asdict(self).items() if name != "source"}
        return f"CASE = {values!r}\n\n{self.source}"

    @classmethod
    def parse(cls: type[AnyCase], text: str) -> AnyCase:
        """The case of a file that `text` has written, with comments before it."""
        at = text.index("CASE = ")
        line, source = text[at:].split("\n", 1)
        values = ast.literal_eval(line.removeprefix("CASE = "))
        values["settings"] = tuple(Settings(**settings) for settings in values["settings"])
        return cls(source=source.lstrip("\n"), **values)


AnyCase = TypeVar("AnyCase", bound=Case)


def settings_of(seed: int) -> tuple[Settings, ...]:
    """The settings of the case of a seed."""
    source = Random(f"settings {seed}")
    return tuple(random_settings(source, target) for target in TARGETS)


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


def outcomes(case: Case, folder: Path) -> list[Outcome]:
    """Runs a case everywhere; raises what its source raises in numpy."""
    expected, *others = (_expected(case, tiles) for tiles in case.TILES)
    for other in others:
        assert all(map(np.array_equal, expected, other)), "a value of the kernel is not exact"
    path = folder / f"running-{os.getpid()}.py"
    path.write_text(case.source)
    try:
        scope: dict[str, Any] = {"ct": ct}
        exec(compile(case.source, path, "exec"), scope)
        kernel = ct.kernel(scope["kernel"])
        found = [_outcome(case, "interpret", lambda: _interpreted(case, kernel), expected)]
        for settings in case.settings:
            found.append(_outcome(case, settings.target, lambda s=settings: _simulated(case, kernel, s), expected))
        return found
    finally:
        path.unlink()


def _expected(case: Case, tiles: type[NumpyTiles]) -> list[np.ndarray]:
    given = case.arguments()
    arrays = {
        name: case.numpy_array(value) if isinstance(value, np.ndarray) else value for name, value in given.items()
    }
    for block in range(BLOCKS):
        scope: dict[str, Any] = {"ct": tiles(block, BLOCKS)}
        exec(case.source, scope)
        scope["kernel"](**arrays)
    return [given[name] for name in case.RESULTS]


def _outcome(case: Case, place: str, run: Callable[[], list[np.ndarray]], expected: list[np.ndarray]) -> Outcome:
    try:
        found = run()
    except UnsupportedError as error:
        return Outcome(place, "refused", error.message)
    except TilecError as error:
        return Outcome(place, type(error).__name__, error.message)
    except Exception as error:
        return Outcome(place, type(error).__name__, str(error))
    for name, result, exact in zip(case.RESULTS, found, expected, strict=True):
        different = np.argwhere(result != exact)
        if len(different):
            at = tuple(map(int, different[0]))
            count = f"{len(different)} of {result.size} elements of {name}"
            return Outcome(place, "wrong result", f"{count}: at {at} expected {exact[at]}, found {result[at]}")
    return Outcome(place, "agreed")


def _interpreted(case: Case, kernel: Any) -> list[np.ndarray]:
    given = case.arguments()
    ct.launch(None, BLOCKS, kernel, tuple(given.values()), backend="interpret", check=True)
    return [given[name] for name in case.RESULTS]


def _simulated(case: Case, kernel: Any, settings: Settings) -> list[np.ndarray]:
    given = case.arguments()
    try:
        compiled = _compiled(kernel, given, settings)
    except UnsupportedError:
        compiled = _compiled(kernel, given, settings.with_all_memory())
    ct.run(compiled, (BLOCKS,), tuple(given.values()), backend="simulate", **case.simulator_options())
    return [given[name] for name in case.RESULTS]


def _compiled(kernel: Any, given: dict[str, Any], settings: Settings) -> Any:
    with limited_compiler(settings):
        signature = Signature.from_arguments(kernel, tuple(given.values()))
        compiled = ct.compile(kernel, target=settings.target, signature=signature, hints=settings.hints, stop="ptx")
    # The compiler has found a deadlock, and made another kernel.
    waiting = [remark.message for remark in compiled.all_remarks if "would wait for each other" in remark.message]
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


def main(random_case: Callable[[int], Case], count: int, seed: int, work: Path, jobs: int) -> int:
    """Runs cases in `jobs` processes, prints progress, refusals and failures, and writes failing cases to `work`."""
    work.mkdir(parents=True, exist_ok=True)
    # Loads the compiler and the simulator before processes are forked, so that they are loaded only once.
    outcomes(random_case(1), work)
    children = []
    for job in range(jobs):
        child = os.fork()
        if not child:
            seeds = range(seed + job, seed + count, jobs)
            os._exit(_run(random_case, seeds, work, f"job {job + 1}: " if jobs > 1 else ""))
        children.append(child)
    return max(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children)


def repeat(kind: type[Case], path: Path) -> int:
    """Runs the case of a file in this process and prints its outcomes."""
    found = outcomes(kind.parse(path.read_text()), path.parent)
    for outcome in found:
        print(f"{outcome.place}: {outcome.kind} {outcome.detail}")
    return 1 if any(outcome.failed for outcome in found) else 0


def _run(random_case: Callable[[int], Case], seeds: range, work: Path, prefix: str) -> int:
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
    comment = f"python tests/fuzz/fuzz.py {case.COMMAND} --input {path.name}\n{outcome.place}: {outcome.kind}: "
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
