"""Adds this folder to the import path, because tests are not a package, and runs tests for both targets."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(params=["sm_100a", "sm_90a"])
def target(request: pytest.FixtureRequest) -> str:
    return request.param
