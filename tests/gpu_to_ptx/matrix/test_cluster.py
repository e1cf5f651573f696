"""Multiplies by clusters of two CTAs, run in the simulator, equal numpy's."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest
from cluster_kernels import COLUMNS, DEPTH, KERNELS, ROWS

import tilec
from tilec.errors import SimulationError
from tilec.runtime.artifact.artifact import Artifact
from tilec.runtime.simulate import Settings, simulate


@cache
def artifact_of(name: str, roles: bool = True) -> Artifact:
    text, target = KERNELS[name]
    return tilec.compile(text(), target=target, hints={"roles": roles}, stop="ptx").artifact


def run(artifact: Artifact, rows: int, columns: int, depth: int, seed: int = 0) -> None:
    """Small integers, whose sums f32 holds exactly."""
    generator = np.random.default_rng(seed)
    a = generator.integers(-4, 5, (rows, depth)).astype(np.float16)
    b = generator.integers(-4, 5, (depth, columns)).astype(np.float16)
    c = np.full((rows, columns), np.nan, np.float32)
    grid = (-(-rows // ROWS), -(-columns // COLUMNS))
    simulate(artifact, grid, (a, b, c), Settings(seed=seed))
    assert np.array_equal(c, a.astype(np.float32) @ b.astype(np.float32))


@pytest.mark.parametrize("name", KERNELS)
def test_tile_of_a_cluster(name: str) -> None:
    """Six steps fill a ring of four slots more than once."""
    for seed in range(2):
        run(artifact_of(name), ROWS, COLUMNS, 6 * DEPTH, seed)


@pytest.mark.parametrize("name", KERNELS)
def test_kernel_with_one_role(name: str) -> None:
    run(artifact_of(name, roles=False), ROWS, COLUMNS, 2 * DEPTH)


@pytest.mark.parametrize("name", ["pair", "multicast to wgmma"])
def test_program_is_the_cluster(name: str) -> None:
    """A grid of 2x2 tile blocks is one of 4x2 CTAs; the last rows, columns and products are outside."""
    run(artifact_of(name), ROWS + 136, COLUMNS + 8, DEPTH + 8)


def test_launch_record_counts_clusters() -> None:
    metadata = artifact_of("pair").metadata
    assert (metadata.cluster, metadata.grid_counts_clusters) == ((2, 1, 1), True)


def mutated(artifact: Artifact, pattern: str, number: int, replacement: str = "") -> Artifact:
    """The artifact with another text in place of match `number` of a pattern."""
    match = list(re.finditer(pattern, artifact.ptx))[number]
    ptx = artifact.ptx[: match.start()] + match.expand(replacement) + artifact.ptx[match.end() :]
    return Artifact(artifact.metadata, ptx)


_CLUSTER_BARRIER = r"    barrier.cluster.arrive.aligned;\n    barrier.cluster.wait.aligned;\n"
# A kernel, what is replaced (a pattern and which of its matches) by what, and what the simulator reports.
MUTANTS = {
    "no cluster barrier after the initialization": ("pair", _CLUSTER_BARRIER, 0, "", "mbarrier"),
    "no cluster barrier at the end": ("multicast to threads", _CLUSTER_BARRIER, 1, "", "exit"),
    "bytes of one CTA": ("pair", r"(expect_tx.*) 49152;", 0, r"\g<1> 24576;", None),
    "threads of one CTA": ("pair, rings of threads", r"(init.*\[%r\d+\], )8;", 0, r"\g<1>4;", None),
    "release to one CTA": ("pair", r"shl.b32 (.*) 3,", 0, r"shl.b32 \g<1> 1,", None),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_are_reported(name: str) -> None:
    kernel, pattern, number, replacement, message = MUTANTS[name]
    changed = mutated(artifact_of(kernel), pattern, number, replacement)
    with pytest.raises(SimulationError, match=message):
        for seed in range(5):
            run(changed, ROWS, COLUMNS, 6 * DEPTH, seed)
