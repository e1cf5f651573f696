"""The two targets, and the switches of the lowering that must never change a result."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import pytest

# The kernels and the comparison are modules beside the tests.
sys.path.insert(0, str(Path(__file__).parent))

TARGETS = ("sm_100a", "sm_90a")
SWITCHES = [
    {"roles": roles, "pipeline": pipeline, "tma": tma}
    for roles, pipeline, tma in itertools.product((True, False), repeat=3)
]


def _spelled(switches: dict[str, bool]) -> str:
    return " ".join(f"{'' if on else 'no-'}{name}" for name, on in switches.items())


@pytest.fixture(params=TARGETS)
def target(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=SWITCHES, ids=_spelled)
def switches(request: pytest.FixtureRequest) -> dict[str, bool]:
    return request.param
