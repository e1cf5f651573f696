"""A fixture that runs each test for both targets; kernels are modules beside the tests."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tilec.lowering.target import TARGETS

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(params=TARGETS)
def target(request: pytest.FixtureRequest) -> str:
    return request.param
