"""Compares the results of random kernels, which overwrite arrays that they read, in numpy, interpreter and simulator.

`python tests/fuzz/fuzz.py kernels --inputs 500 --seed 1` runs 500 kernels from seed 1 on. A kernel that fails is
written to the working folder.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from random_kernels import BLOCKS, LIMIT, RandomKernel, random_kernel

import tilec as ct
from tilec.errors import TilecError
from tilec.lowering.target import TARGETS

INTERPRET = "interpret"


def compiled(kernel: RandomKernel, path: Path) -> Any:
    """The kernel for tilec; errors name lines of `path`, to which the source is written."""
    path.write_text(kernel.source)
    scope = {"ct": ct, "clamp": lambda tile: ct.minimum(ct.maximum(tile, -LIMIT), LIMIT)}
    exec(compile(kernel.source, path, "exec"), scope)
    return ct.kernel(scope["kernel"])


def failures(seed: int, folder: Path) -> list[str]:
    """Errors and differences from numpy, one line per execution."""
    kernel = random_kernel(seed)
    expected = kernel.expected(seed)
    kernel_function = compiled(kernel, folder / f"kernel-{seed}.py")
    found = []
    for executor in (INTERPRET, *TARGETS):
        arrays = kernel.arrays(seed)
        try:
            if executor == INTERPRET:
                ct.launch(None, BLOCKS, kernel_function, arrays, backend=INTERPRET, check=True)
            else:
                ct.launch(
                    None,
                    BLOCKS,
                    kernel_function,
                    arrays,
                    backend="simulate",
                    target=executor,
                    seed=seed,
                    hints=kernel.hints,
                )
        except TilecError as error:
            found.append(f"{executor}: {type(error).__name__}: {error}")
            continue
        for name, array, reference in zip("XYHP", arrays, expected, strict=True):
            different = int(np.sum(array != reference))
            if different:
                found.append(f"{executor}: {different} of {array.size} elements of {name} differ, hints {kernel.hints}")
    return found


def main(count: int, seed: int, work: Path) -> int:
    """Runs kernels, prints progress and failures, and keeps the sources of failing kernels in `work`."""
    work.mkdir(parents=True, exist_ok=True)
    started, failed = time.monotonic(), 0
    for done in range(1, count + 1):
        number = seed + done - 1
        found = failures(number, work)
        failed += bool(found)
        for line in found:
            print(f"seed {number}, {line}", flush=True)
        if not found:
            (work / f"kernel-{number}.py").unlink()
        if done % 10 == 0 or done == count:
            print(f"{done} of {count} kernels, {failed} fail, {time.monotonic() - started:.0f} s", flush=True)
    return 1 if failed else 0
