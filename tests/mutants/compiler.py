"""Changes one decision of the compiler at a time and prints the changes that no test detects: `make mutants`.

The unchanged tests run once, with probes that record which tests each mutation reaches (infection.py). The tests that a
mutation reaches then run with it, in a separate process, until one fails: first those of the core suite (`make test`),
then the others. A mutation that the core suite does not catch is printed with its file, line and text. A mutation whose
tests exceed the time limit is neither caught nor a survivor: it is printed as a timeout, and the status is 1.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from compiler_mutations import Mutation, sampled

FOLDER = Path(__file__).parent
TESTS = FOLDER.parent
SUITES = {"core": "core", "rest": "not core and not peers and not torch and not soak"}
# Tests of code that is not mutated.
EXCLUDED = ("house", "peers", "ptxsim", "schedule", "mutants/test_compiler_mutants.py")
# The maximum time of a test run; a mutation may cause an infinite loop.
TIMEOUT_S = 600
# The tests of the first run of a mutation: most mutations are caught by them.
FIRST_TIME_S, FIRST_FILES = 10.0, 6


@dataclass(frozen=True)
class Reach:
    """The processor time of each test, and the tests, files and folders that each mutation reaches."""

    times_s: dict[str, float]
    nodes: dict[int, frozenset[str]]

    def tests(self, mutation: int) -> list[str]:
        """The tests that a mutation reaches; fast ones first."""
        nodes = self.nodes.get(mutation, frozenset())
        reached = [test for test in self.times_s if not nodes.isdisjoint(_parents(test))]
        return sorted(reached, key=self.times_s.__getitem__)


def _parents(test: str) -> Iterator[str]:
    """The nodes of pytest that contain a test: itself, its file, its folders, the session."""
    file = test.split("::")[0]
    yield from (test, file, *map(str, Path(file).parents), "")


def read_reach(path: Path) -> Reach:
    times_s: dict[str, float] = {}
    nodes: dict[int, set[str]] = defaultdict(set)
    for row in map(json.loads, path.read_text().splitlines()):
        if "::" in row["node"]:
            times_s[row["node"]] = row["time_s"]
        for mutation in row["reached"]:
            nodes[mutation].add(row["node"])
    return Reach(times_s, {mutation: frozenset(found) for mutation, found in nodes.items()})


def record_reach(suite: str, count: int, seed: int, path: Path) -> None:
    """Runs the tests of a suite once with probes."""
    part = path.with_suffix(".part")
    part.unlink(missing_ok=True)
    command = [sys.executable, str(FOLDER / "infection.py"), str(count), str(seed), str(part)]
    command += ["-q", "-m", SUITES[suite], "-p", "no:cacheprovider", str(TESTS)]
    command += [f"--ignore={TESTS / name}" for name in EXCLUDED]
    process = subprocess.run(command, check=False, cwd=TESTS.parent)
    if process.returncode:
        sys.exit(f"the tests of suite '{suite}' fail without a mutation: correct them first")
    part.rename(path)


def outcome(mutation: Mutation, tests: Sequence[str], times_s: dict[str, float]) -> str:
    """`caught` if one of the tests fails, `survives` if all pass, `timeout` if they exceed TIMEOUT_S."""
    first, files, time_s = [], set[str](), 0.0
    for test in tests:
        file, time_s = test.split("::")[0], time_s + times_s[test]
        if time_s < FIRST_TIME_S and len(files | {file}) <= FIRST_FILES:
            first.append(test)
            files.add(file)
    rest = [test for test in tests if test not in set(first)]
    found = "survives"
    for selected in (first, rest):
        if found == "survives" and selected:
            found = _run(mutation, selected)
    return found


def _run(mutation: Mutation, tests: Sequence[str]) -> str:
    with tempfile.TemporaryDirectory() as folder:
        selection = Path(folder) / "tests"
        selection.write_text("\n".join(tests))
        command = [sys.executable, str(FOLDER / "mutated_import.py")]
        command += [mutation.module, str(mutation.start), str(mutation.length), mutation.replacement]
        command += ["-q", "-x", "-p", "no:cacheprovider", "-m", "not peers and not torch and not soak"]
        command += ["--selection", str(selection), *dict.fromkeys(test.split("::")[0] for test in tests)]
        try:
            process = subprocess.run(command, capture_output=True, timeout=TIMEOUT_S, check=False, cwd=TESTS.parent)
        except subprocess.TimeoutExpired:
            return "timeout"
    # Status 4 and 5 mean that no test ran.
    assert process.returncode not in (4, 5), process.stdout.decode() + process.stderr.decode()
    return "caught" if process.returncode else "survives"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=60, help="number of mutations (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the sample (default: %(default)s)")
    parser.add_argument("--first", type=int, default=0, help="number of mutations to skip (default: %(default)s)")
    parser.add_argument("--last", type=int, help="number of the mutation to stop before (default: the count)")
    parser.add_argument(
        "--suite", choices=("core", "all"), default="all", help="'core' runs no other tests (default: %(default)s)"
    )
    parser.add_argument(
        "--reach", type=Path, metavar="FOLDER", help="keeps the recorded tests here, and uses those of an earlier run"
    )
    arguments = parser.parse_args()
    if arguments.reach is None:
        with tempfile.TemporaryDirectory() as folder:
            return run(arguments, Path(folder))
    arguments.reach.mkdir(parents=True, exist_ok=True)
    return run(arguments, arguments.reach.resolve())


def run(arguments: argparse.Namespace, folder: Path) -> int:
    """Prints the mutations that are not caught, and the counts; the status is 1 if a mutation is not caught."""
    mutations = sampled(arguments.count, arguments.seed)
    suites = ("core",) if arguments.suite == "core" else ("core", "rest")
    reach = {}
    for suite in suites:
        path = folder / f"{suite}-{arguments.count}-{arguments.seed}.jsonl"
        if not path.exists():
            record_reach(suite, arguments.count, arguments.seed, path)
        reach[suite] = read_reach(path)
    counts, started = Counter[str](), time.monotonic()
    for number in range(arguments.first, arguments.last or arguments.count):
        found = "survives"
        for suite in suites:
            if found == "survives":
                found = outcome(mutations[number], reach[suite].tests(number), reach[suite].times_s)
                caught_by = suite
        counts[f"caught by {caught_by}" if found == "caught" else found] += 1
        if found != "caught" or caught_by != "core":
            print(f"{found} ({', '.join(suites)}): {number} {mutations[number]}", flush=True)
        kinds = (*(f"caught by {name}" for name in suites), "survives", "timeout")
        summary = ", ".join(f"{counts[kind]} {kind}" for kind in kinds)
        print(f"{number + 1} of {arguments.count}: {summary}, {time.monotonic() - started:.0f} s", flush=True)
    return 1 if counts["survives"] + counts["timeout"] else 0


if __name__ == "__main__":
    sys.exit(main())
