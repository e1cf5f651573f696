"""Both targets."""

import pytest

from tilec.lowering.target import TARGETS


@pytest.fixture(params=TARGETS)
def target(request: pytest.FixtureRequest) -> str:
    return request.param
