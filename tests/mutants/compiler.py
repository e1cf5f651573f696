"""Changes one decision of the compiler at a time and prints the changes that no test detects: `make mutants`.

Each mutation runs the fast tests of its stage, in a separate process, until one fails; then, if none does, the tests
of whole kernels. A survivor is printed with its file, line and text. A mutation whose tests exceed the time
limit is neither caught nor a survivor: it is printed as a timeout, and the status is 1.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from compiler_mutations import Mutation, sampled

TESTS = Path(__file__).parents[1]
# The tests of each folder of lowering; fast tests that detect many mutations are first.
PIPELINE = (
    "golden",
    "tile_gpu/test_sizes.py",
    "tile_to_gpu",
    "driver/test_compile.py",
    "kernels/test_matmul_ptx.py",
    "fuzz/test_fuzz.py::test_results_of_random_programs_agree",
)
FAST = {
    "tile": ("tile", "driver/test_compile.py"),
    "layout": ("layout", "gpu_to_ptx", "tile_gpu/test_layouts.py"),
    "tile_to_gpu": PIPELINE,
    "gpu": ("gpu", "tile_gpu", *PIPELINE),
    "gpu_to_ptx": ("gpu_to_ptx", "tile_gpu", *PIPELINE),
}
# Tests that run after the fast tests of every stage; they take minutes per mutation.
KERNELS = ("kernels", "semantics/test_simulate.py", "mutants/test_mutants.py")
# Tests of code that is not mutated, and slow tests.
EXCLUDED = ("tile/test_fold_vectors.py", "tile/test_all_modules.py", "tile/test_pointer_vectors.py")
# The maximum time of a test run; a mutation may cause an infinite loop.
TIMEOUT_S = 600


def outcome(mutation: Mutation, with_kernels: bool = True) -> str:
    """`caught` if a test of its stage fails, `survives` if all pass, `timeout` if they exceed TIMEOUT_S."""
    folder = mutation.module.split(".")[2]
    command = [sys.executable, str(Path(__file__).with_name("mutated_import.py"))]
    command += [mutation.module, str(mutation.start), str(mutation.length), mutation.replacement]
    command += ["-q", "-x", "-p", "no:cacheprovider", *(f"--ignore={TESTS / path}" for path in EXCLUDED)]
    found = "survives"
    for tests in (FAST[folder], KERNELS) if with_kernels else (FAST[folder],):
        found = _run([*command, *(str(TESTS / path) for path in tests)])
        if found != "survives":
            break
    return found


def _run(command: list[str]) -> str:
    try:
        process = subprocess.run(command, capture_output=True, timeout=TIMEOUT_S, check=False, cwd=TESTS.parent)
    except subprocess.TimeoutExpired:
        return "timeout"
    # Status 4 and 5 mean that no test ran.
    assert process.returncode not in (4, 5), process.stdout.decode()
    return "caught" if process.returncode else "survives"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=60, help="number of mutations (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the sample (default: %(default)s)")
    parser.add_argument("--first", type=int, default=0, help="number of mutations to skip (default: %(default)s)")
    parser.add_argument("--fast", action="store_true", help="run the fast tests only")
    arguments = parser.parse_args()
    mutations = sampled(arguments.count, arguments.seed)[arguments.first :]
    counts, started = Counter[str](), time.monotonic()
    for number, mutation in enumerate(mutations, 1):
        found = outcome(mutation, not arguments.fast)
        counts[found] += 1
        if found != "caught":
            print(f"{found}: {mutation}", flush=True)
        summary = ", ".join(f"{counts[kind]} {kind}" for kind in ("caught", "survives", "timeout"))
        print(f"{number} of {len(mutations)}: {summary}, {time.monotonic() - started:.0f} s", flush=True)
    return 0 if counts["caught"] == len(mutations) else 1


if __name__ == "__main__":
    sys.exit(main())
