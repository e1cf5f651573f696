"""A fixture that runs each test for both targets."""

import pytest

from tilec.lowering.target import TARGETS


@pytest.fixture(params=TARGETS)
def target(request: pytest.FixtureRequest) -> str:
    return request.param
