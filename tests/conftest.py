"""Which tests need a GPU: they run where there is one of the target they name, and are the only ones ever skipped."""

from __future__ import annotations

import pytest

from tilec.errors import LaunchError
from tilec.runtime.devices import device_for


def pytest_runtest_setup(item: pytest.Item) -> None:
    for mark in item.iter_markers("gpu"):
        try:
            device_for(mark.args[0])
        except LaunchError as error:
            pytest.skip(error.message)
