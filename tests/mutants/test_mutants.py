"""The simulator reports each kernel with a removed wait, fence, expect_tx, commit or phase flip, and no correct kernel.

Each kernel reuses every slot of its rings at least twice, has partial tiles and several output tiles. A mutant counts
as reported if the simulator reports an error for one of 20 seeds. The simulator has no special case for a kernel.
"""

from __future__ import annotations

import dataclasses

import matrix_kernels
import numpy as np
import pytest
from mutations import Mutant, mutants

import tilec
from tilec.errors import SimulationError
from tilec.signature import Signature

SEEDS = range(20)
# Kernel, M, N, K, tile, grid. K has 13 tiles for a ring of four; `persistent` has nine tiles for a ring of two; that of
# `operand` has 44 for a ring of ten, of which the three copies of its body use each slot.
CASES = {
    "matmul": (matrix_kernels.matmul, (200, 136, 824), (128, 64, 64), (2, 3)),
    "persistent": (matrix_kernels.persistent, (376, 184, 312), (128, 64, 64), (1,)),
    "operand": (matrix_kernels.scaled_operand, (200, 136, 1400), (256, 64, 32), (1, 3)),
    "rescaled": (matrix_kernels.rescaled, (200, 136, 824), (128, 64, 64), (2, 3)),
}


# With one block on an SM the body of `operand` has three copies. Each of two would have a slot of its own in a ring of
# two, and never end a round.
HINTS = {"operand": {"occupancy": 1}}


class CompiledKernel:
    """A compiled kernel with its inputs, whose PTX can be replaced."""

    def __init__(self, name: str, target: str, hints: dict[str, bool]) -> None:
        kernel, (M, N, K), tile, self.grid = CASES[name]
        random = np.random.default_rng(0)
        self.A = random.standard_normal((M, K)).astype(np.float16)
        self.B = random.standard_normal((K, N)).astype(np.float16)
        self.tile = tile
        args = (self.A, self.B, self.result(), *tile)
        given = {**hints, **HINTS.get(name, {})}
        self.artifact = tilec.compile(
            kernel, target=target, signature=Signature.from_arguments(kernel, args), hints=given
        ).artifact

    def result(self) -> np.ndarray:
        return np.zeros((self.A.shape[0], self.B.shape[1]), np.float16)

    def run(self, ptx: str, seed: int) -> np.ndarray:
        C = self.result()
        artifact = dataclasses.replace(self.artifact, ptx=ptx)
        tilec.run(artifact, self.grid, (self.A, self.B, C, *self.tile), backend="simulate", seed=seed)
        return C

    def is_reported(self, mutant: Mutant) -> bool:
        for seed in SEEDS:
            try:
                self.run(mutant.ptx, seed)
            except SimulationError:
                return True
        return False


@pytest.mark.covering
@pytest.mark.parametrize("hints", [{"roles": True}, {"roles": False}], ids=["roles", "one role"])
@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
@pytest.mark.parametrize("name", CASES)
def test_mutants_are_reported_and_the_original_kernel_is_not(name, target, hints):
    compiled = CompiledKernel(name, target, hints)
    found = list(mutants(compiled.artifact.ptx))
    kinds = {mutant.kind for mutant in found}
    assert {"wait", "phase flip", "expect_tx", "commit", "proxy fence"} <= kinds
    results = [compiled.run(compiled.artifact.ptx, seed) for seed in SEEDS]
    assert all(np.array_equal(result, results[0]) for result in results)
    survivors = [str(mutant) for mutant in found if not compiled.is_reported(mutant)]
    assert not survivors, "\n".join(survivors)
