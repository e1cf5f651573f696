"""Parametrizes tests over the two targets and over the compiler hints that must not change a result."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import numpy as np
import pytest

# The kernels and the comparison are modules of this folder. The tests of two folders import others of the same folder.
sys.path[:0] = [str(Path(__file__).parent / folder) for folder in (".", "convolution", "schedules")]

TARGETS = ("sm_100a", "sm_90a")
SWITCHES = [
    {"roles": roles, "pipeline": pipeline, "tma": tma}
    for roles, pipeline, tma in itertools.product((True, False), repeat=3)
]


@pytest.fixture
def random() -> np.random.Generator:
    """The same numbers in every test."""
    return np.random.default_rng(7)


def _switches_id(switches: dict[str, bool]) -> str:
    return " ".join(f"{'' if on else 'no-'}{name}" for name, on in switches.items())


# The switches that are off in the rows of a target: every pair of values of the target and the switches occurs, and the
# defaults on both targets.
COVERING = {
    "sm_100a": [set(), {"tma"}, {"roles", "pipeline"}],
    "sm_90a": [set(), {"pipeline", "tma"}, {"roles", "tma"}],
}


def _is_covering(target: str, switches: dict[str, bool]) -> bool:
    return {name for name, on in switches.items() if not on} in COVERING[target]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Targets, switches, or both; combinations of both outside of COVERING run in `make soak`."""
    if {"target", "switches"} <= set(metafunc.fixturenames):
        rows = [
            pytest.param(
                target, switches, id=f"{target}-{_switches_id(switches)}",
                marks=() if _is_covering(target, switches) else pytest.mark.soak,
            )
            for target, switches in itertools.product(TARGETS, SWITCHES)
        ]  # fmt: skip
        metafunc.parametrize(("target", "switches"), rows)
    elif "switches" in metafunc.fixturenames:
        metafunc.parametrize("switches", SWITCHES, ids=_switches_id)
    elif "target" in metafunc.fixturenames and not _is_parametrized(metafunc, "target"):
        metafunc.parametrize("target", TARGETS)


def _is_parametrized(metafunc: pytest.Metafunc, name: str) -> bool:
    names = [mark.args[0] for mark in metafunc.definition.iter_markers("parametrize")]
    return any(name in (given.replace(" ", "").split(",") if isinstance(given, str) else given) for given in names)
