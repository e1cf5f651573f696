"""Each wait, fence and signal of the requests for blocks is needed: without it the simulator reports an error."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator

import numpy as np
import persistent_kernels as kernels
import pytest

import tilec as ct
from tilec.errors import SimulationError, TilecError
from tilec.signature import Signature

SEEDS = range(8)
# The channel of the requests is declared first.
WAIT = re.compile(r"mbarrier\.try_wait[^;]*;\s*@!%p\d+ bra \$channel0_wait_(?:full|empty)\w*;")
READ = re.compile(r"ld\.shared::cta\.b128 [^;]*;")
FENCE = re.compile(r"fence\.proxy\.async\.shared::cta;")
ARRIVAL = re.compile(r"(?:@%p\d+ )?mbarrier\.arrive\.(?:release\.cluster\.)?shared::\w+\.b64 _, \[%r\d+\];")
REQUEST = re.compile(r"@%p\d+ clusterlaunchcontrol\.try_cancel[^;]*;")
EXPECTED = re.compile(r"@%p\d+ mbarrier\.arrive\.expect_tx\.shared::cta\.b64 _, \[%r\d+\], 16;")
SAME_POSITION = re.compile(r"@%p\d+ clusterlaunchcontrol\.query_cancel\.get_first_ctaid::x\.b32\.b128 [^;]*;")


def faults(ptx: str) -> Iterator[tuple[str, str]]:
    """The name of an instruction, and the PTX without it."""
    for name, pattern in {
        "wait": WAIT, "request": REQUEST, "expected bytes": EXPECTED, "position": SAME_POSITION
    }.items():  # fmt: skip
        for found in pattern.finditer(ptx):
            yield f"{name} {found[0]}", ptx[: found.start()] + ptx[found.end() :]
    for number, read in enumerate(READ.finditer(ptx)):
        for name, pattern in {"fence": FENCE, "arrival": ARRIVAL}.items():
            if name == "fence" and number == 2 and "%cluster_ctarank" not in ptx:
                # The role `load` waits for multiplies after the read of `mma`, and executes a fence then.
                continue
            found = pattern.search(ptx, read.end())
            assert found is not None
            yield f"{name} after {read[0]}", ptx[: found.start()] + ptx[found.end() :]


def is_right(artifact: ct.Artifact, args: tuple[object, ...], exact: np.ndarray, seed: int) -> bool:
    result = np.zeros_like(exact)
    try:
        ct.run(artifact, (4, 2), [result if arg is None else arg for arg in args], backend="simulate", seed=seed)
    except TilecError as error:
        assert isinstance(error, SimulationError)
        return False
    return bool((result == exact).all())


@pytest.mark.parametrize("ctas", [None, 2])
def test_faults_of_the_channel_of_requests(ctas):
    """In roles, and in clusters: waits for full and for empty slots, fences, arrivals, bytes and requests."""
    random = np.random.default_rng(5)
    rows = 128 * (ctas or 1)
    a, b = (random.integers(-3, 4, shape).astype(np.float16) for shape in ((4 * rows, 128), (128, 256)))
    exact = (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float16)
    args = (a, b, None, rows, 128, 64)
    signature = Signature.from_arguments(kernels.product, [exact if arg is None else arg for arg in args])
    hints = {"persistent": True, **({} if ctas is None else {"num_ctas": ctas})}
    artifact = ct.compile(kernels.product, target="sm_100a", signature=signature, hints=hints, stop="ptx").artifact
    assert all(is_right(artifact, args, exact, seed) for seed in SEEDS)
    found = list(faults(artifact.ptx))
    # Three roles read each response.
    assert len(found) == 4 + 1 + 1 + 2 + 3 * 2 - (ctas is None)
    missed = []
    for name, ptx in found:
        changed = dataclasses.replace(artifact, ptx=ptx)
        if all(is_right(changed, args, exact, seed) for seed in SEEDS):
            missed.append(name)
    assert not missed
