"""A fixture that runs each test for both targets; kernels are modules beside the tests."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tilec.lowering.target import TARGETS

# Tests of refusals and of operands read the decisions of tests of operands.
sys.path[:0] = [str(Path(__file__).parent / folder) for folder in (".", "operands")]


@pytest.fixture(params=TARGETS)
def target(request: pytest.FixtureRequest) -> str:
    return request.param
