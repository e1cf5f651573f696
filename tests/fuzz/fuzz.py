"""Runs a reader on mutated inputs, or the compiler on random programs: `python tests/fuzz/fuzz.py assembly`.

`programs` and `exits` compare the results of random programs of Tile IR in numpy, the interpreter and the simulator
(program_fuzz.py); `kernels` does so for random Python kernels that overwrite arrays that they read (kernel_fuzz.py).
`multiplies` does so for chains of matrix multiplies, with passes left out at random (multiply_fuzz.py).
`slices` does so for kernels over slices of arrays (slice_fuzz.py).
`mutations` compiles Python kernels with changes at random, most of them mistakes (kernel_mutations.py).
Failures are written to the working folder.
The inputs of readers are guided by code coverage, which needs `atheris` (`pip install atheris`). A run has several
rounds, because a context of MLIR never frees types; each round is a process that starts with the inputs that reached
new code. An input that causes a failure of a reader ends the run with status 1 and is in the working folder as
`crash-*`, `timeout-*` or `oom-*`; `--input` runs it again.
"""

from __future__ import annotations

import argparse
import importlib
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

READERS = ("assembly", "bytecode")
PROGRAMS = ("programs", "exits")
KERNELS = "kernels"
# The modules of generators whose cases compared_kernels.py runs.
COMPARED = {"multiplies": ("multiply_fuzz", "MultiplyCase"), "slices": ("slice_fuzz", "SliceCase")}
MUTATIONS = "mutations"
ROUND = 10_000


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", choices=(*READERS, *PROGRAMS, KERNELS, *COMPARED, MUTATIONS))
    parser.add_argument("--inputs", type=int, default=200_000, help="number of inputs (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the first round or program (default: %(default)s)")
    parser.add_argument("--work", type=Path, help="folder for the corpus and for failing inputs (default: a new one)")
    parser.add_argument("--input", type=Path, help="run a single input and report the result")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="processes of multiplies, slices and mutations"
    )
    parser.add_argument("--round", nargs=2, type=int, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> int:
    settings = arguments()
    if settings.input is not None and settings.target in READERS:
        importlib.import_module(settings.target).check(settings.input.read_bytes())
        print(f"{settings.input}: passed")
        return 0
    if settings.input is not None and settings.target in COMPARED:
        module, case = COMPARED[settings.target]
        kind = getattr(importlib.import_module(module), case)
        return importlib.import_module("compared_kernels").repeat(kind, settings.input)
    work = settings.work or Path(tempfile.mkdtemp(prefix=f"fuzz-{settings.target}-"))
    if settings.target in PROGRAMS:
        return importlib.import_module("program_fuzz").main(settings.target, settings.inputs, settings.seed, work)
    if settings.target == KERNELS:
        return importlib.import_module("kernel_fuzz").main(settings.inputs, settings.seed, work)
    if settings.target in COMPARED:
        random_case = importlib.import_module(COMPARED[settings.target][0]).random_case
        compared = importlib.import_module("compared_kernels")
        return compared.main(random_case, settings.inputs, settings.seed, work, settings.jobs)
    if settings.target == MUTATIONS:
        mutations = importlib.import_module("kernel_mutations")
        if settings.round is not None:
            mutations.run_round(*settings.round, work)
            return 0
        return mutations.main(settings.inputs, settings.seed, work, settings.jobs)
    if settings.round is not None:
        _fuzz(settings.target, work, *settings.round)
        return 0
    return _rounds(settings.target, work, settings.inputs, settings.seed)


def _rounds(target: str, work: Path, inputs: int, seed: int) -> int:
    corpus = work / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(importlib.import_module(target).seeds()):
        (corpus / f"seed-{number:04}").write_bytes(data)
    print(f"{target}: {len(list(corpus.iterdir()))} initial inputs, in {corpus}")
    started = time.monotonic()
    for done in range(0, inputs, ROUND):
        count = min(ROUND, inputs - done)
        command = [sys.executable, __file__, target, "--work", str(work)]
        command += ["--round", str(count), str(seed + done // ROUND)]
        log = work / "log"
        with log.open("ab") as file:
            status = subprocess.run(command, stdout=file, stderr=file, check=False).returncode
        if status:
            print(f"{target}: failed between inputs {done} and {done + count}: see {work} and the end of {log}")
            return 1
        size, seconds = len(list(corpus.iterdir())), time.monotonic() - started
        print(f"{target}: {done + count} of {inputs} inputs, {size} in the corpus, {seconds:.0f} s", flush=True)
    return 0


def _fuzz(target: str, work: Path, count: int, seed: int) -> None:
    import atheris

    with atheris.instrument_imports(include=["tilec"]):
        module = importlib.import_module(target)
        from tilec.dialect.mlir import context

    # Loading the dialects takes longer than reading an input.
    context()

    def mutate(data: bytes, max_size: int, seed: int) -> bytes:
        source = random.Random(seed)
        if source.randrange(4) == 0:
            return atheris.Mutate(data, max_size)
        return module.mutated(data, source)[:max_size]

    options = [f"-runs={count}", f"-seed={seed}", "-timeout=10", "-rss_limit_mb=3000", "-max_len=20000"]
    options += [f"-artifact_prefix={work}/", "-print_final_stats=1", "-verbosity=1", str(work / "corpus")]
    atheris.Setup([sys.argv[0], *options], module.check, custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    sys.exit(main())
