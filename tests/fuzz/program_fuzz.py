"""Compares the results of random programs in numpy, the interpreter and the simulator for both targets.

`python tests/fuzz/fuzz.py programs --inputs 3000 --seed 1` runs 3,000 programs from seed 1 on; `--inputs 1 --seed N`
runs a single program and, if it fails, writes its reduced form to the folder of `--work`. `exits` instead of `programs`
runs programs with nested control flow (random_exits.py).
"""

from __future__ import annotations

import re
import sys
import time
import warnings
from collections import Counter
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import numpy as np
from compiler_settings import Settings, limited_compiler
from program_text import Program
from separate_process import run_in_process
from shrinking import shrunk

import tilec
from tilec.dialect.mlir import context
from tilec.driver.stages import STAGES
from tilec.errors import InternalError, TilecError, UnsupportedError

sys.path.insert(0, str(Path(__file__).parent / "random_programs"))

from random_exits import random_exits
from random_program import random_program

GENERATORS = {"programs": random_program, "exits": random_exits}
TARGETS = ("sm_100a", "sm_90a")
# More steps than any of these programs executes, so that an infinite loop is detected within a second.
STEP_LIMIT = 2_000_000
SECONDS = 120


@dataclass(frozen=True)
class Outcome:
    """The result on one target: `agreed`, `refused`, or the kind of failure; `reason` groups similar ones."""

    target: str
    kind: str
    reason: str = ""
    detail: str = ""

    @property
    def failed(self) -> bool:
        return self.kind not in ("agreed", "refused")


def outcomes(program: Program, targets: tuple[str, ...] = TARGETS) -> list[Outcome]:
    """Runs a program on every target; compares the interpreter with numpy, and the PTX with the interpreter."""
    text = program.text()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = program.expected()
            module = tilec.Module.parse(text)
            arguments = program.arguments()
            with np.errstate(all="ignore"):
                tilec.run(module, (program.grid,), arguments, backend="interpret", check=True)
    except TilecError as error:
        return [Outcome("interpret", type(error).__name__, _reason(error), str(error))]
    difference = _difference(program, program.outputs(arguments), expected)
    if difference:
        return [Outcome("interpret", "differs from numpy", "", difference)]
    return [_simulated(program, module, target, expected) for target in targets]


def _simulated(program: Program, module: tilec.Module, target: str, expected: dict[str, np.ndarray]) -> Outcome:
    # The conversion of tf32 by TMA is not documented; small integers are exact.
    unconfirmed = "xtf32" in program.text()
    try:
        with limited_compiler(Settings(target, without=program.without)):
            compiled = tilec.compile(module, target=target, stop="ptx", hints=program.hints)
        arguments = program.arguments()
        settings = {"step_limit": STEP_LIMIT, "allow_unconfirmed": unconfirmed}
        tilec.run(compiled, (program.grid,), arguments, backend="simulate", **settings)
    except UnsupportedError as error:
        return Outcome(target, "refused", _reason(error), str(error))
    except InternalError as error:
        return Outcome(target, "InternalError", _reason(error), str(error))
    except Exception as error:
        return Outcome(target, type(error).__name__, _reason(error), str(error))
    difference = _difference(program, program.outputs(arguments), expected)
    return Outcome(target, "wrong result", "", difference) if difference else Outcome(target, "agreed")


def outcomes_in_subprocess(program: Program, targets: tuple[str, ...] = TARGETS) -> list[Outcome]:
    """Calls outcomes() in a separate process, so that a crash or an infinite loop is an outcome too."""
    found = run_in_process(lambda: outcomes(program, targets), SECONDS)
    if not isinstance(found, str):
        return found
    if len(targets) == 1:
        return [Outcome(targets[0], found, found)]
    return [outcome for target in targets for outcome in outcomes_in_subprocess(program, (target,))]


def _reason(error: Exception) -> str:
    """The first line of a message without numbers, names and locations."""
    message = error.message if isinstance(error, TilecError) else str(error)
    line = (message.splitlines() or [""])[0]
    return re.sub(r"\d+", "#", re.sub(r"0x[0-9a-f]+|%\w+|/\S+", "..", line))[:160]


def _difference(program: Program, found: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> str:
    """A description of the first different element, or an empty string; after sums, zeros of both signs are equal."""
    types = {parameter.name: parameter.type for parameter in program.parameters}
    for name, array in found.items():
        reference = expected[name]
        if program.sums and "f4E2M1FN" in types[name]:
            array, reference = map(_with_positive_zeros, (array, reference))
        if np.issubdtype(reference.dtype, np.integer) or reference.dtype == np.bool_:
            same = array.view(reference.dtype) == reference
        else:
            with np.errstate(all="ignore"):
                a, b = array.astype(np.float64), reference.astype(np.float64)
            same = (a == b) | (np.isnan(a) & np.isnan(b))
            if not program.sums:
                same &= (np.signbit(a) == np.signbit(b)) | np.isnan(a)
        if not same.all():
            at = tuple(map(int, np.argwhere(~same)[0]))
            count = f"{np.sum(~same)} of {same.size} elements of {name}"
            return f"{count}: at {at} expected {reference[at]}, found {array[at]}"
    return ""


def _with_positive_zeros(pairs: np.ndarray) -> np.ndarray:
    """Bytes of two codes of f4E2M1FN each, of which 8 is the negative zero."""
    lower, upper = (np.where(codes == 8, 0, codes) for codes in (pairs & 15, pairs >> 4))
    return lower | upper << 4


def main(kind: str, count: int, seed: int, work: Path) -> int:
    """Runs programs of a kind, prints progress, new refusals and failures, and writes a small program per failure.

    The file `tally` in `work` has the number of programs that agree on all targets and the count of each outcome.
    """
    work.mkdir(parents=True, exist_ok=True)
    counts: Counter[tuple[str, str]] = Counter()
    started, failures, agreed = time.monotonic(), 0, 0
    _load_compiler()
    for number in range(seed, seed + count):
        program = GENERATORS[kind](number)
        found = outcomes_in_subprocess(program)
        agreed += all(outcome.kind == "agreed" for outcome in found)
        for outcome in found:
            key = (outcome.kind, outcome.reason)
            counts[key] += 1
            if outcome.failed:
                failures += 1
                # Wrong values have no message that identifies their cause, so all are kept.
                if counts[key] <= (12 if outcome.kind.startswith(("wrong", "differs")) else 1):
                    _write_reduced(work, number, program, outcome)
                first = (outcome.detail.splitlines() or ["no output"])[0][:200]
                print(f"seed {number}, {outcome.target}: {outcome.kind}: {first}", flush=True)
            elif outcome.kind == "refused" and counts[key] == 1:
                print(f"seed {number}, {outcome.target}: refused: {outcome.reason}", flush=True)
        done = number - seed + 1
        if done % 10 == 0 or done == count:
            seconds = time.monotonic() - started
            print(f"{done} of {count} programs, {agreed} agree, {failures} failures, {seconds:.0f} s", flush=True)
            _write_tally(work / "tally", f"seeds {seed} to {number}: {agreed} of {done} programs agree", counts)
    print((work / "tally").read_text(), end="")
    return 1 if failures else 0


def _write_tally(path: Path, heading: str, counts: Counter[tuple[str, str]]) -> None:
    lines = [f"{number:6} {kind}{': ' if reason else ''}{reason}" for (kind, reason), number in counts.most_common()]
    path.write_text("\n".join([heading, *lines, ""]))


def _load_compiler() -> None:
    """Loads the compiler before processes are forked, so that it is loaded only once."""
    with context():
        for stage in STAGES[:-1]:
            for module in stage.modules:
                import_module(module)


def _write_reduced(work: Path, number: int, program: Program, outcome: Outcome) -> None:
    targets = (outcome.target,) if outcome.target != "interpret" else ()

    def fails(smaller: Program) -> bool:
        found = outcomes_in_subprocess(smaller, targets)
        return any((other.kind, other.reason) == (outcome.kind, outcome.reason) for other in found)

    small = shrunk(program, fails)
    same_kind = [other for other in outcomes_in_subprocess(small, targets) if other.kind == outcome.kind]
    found = same_kind[0] if same_kind else outcome
    path = work / f"seed-{number}-{outcome.target}.txt"
    lines = [f"seed {number}, {outcome.target}, grid {small.grid}, hints {small.hints}, without {small.without}"]
    lines.append(f"{found.kind}: {found.detail}")
    for parameter in small.parameters:
        shown = parameter.value if isinstance(parameter.value, int) else _array(parameter.value)
        lines.append(f"{parameter.name}: {shown}{' (output)' if parameter.output else ''}")
    path.write_text("\n".join([*lines, "", small.text()]))
    print(f"seed {number}: {path}", flush=True)


def _array(array: np.ndarray) -> str:
    if array.size <= 64:
        return f"{array.dtype} {array.tolist()}"
    return f"{array.dtype} {array.shape}, from {array.reshape(-1)[:8].tolist()}"
