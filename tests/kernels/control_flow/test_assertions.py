"""A failed assertion stops the simulator and the interpreter at its line; one that holds changes nothing."""

from __future__ import annotations

from inspect import getsourcelines

import numpy as np
import pytest
from compare import SEEDS, backends, run_everywhere
from programs import asserted_halves

import tilec
from tilec.errors import SimulationError
from tilec.signature import Signature


def test_assertions_that_hold(target: str) -> None:
    x, y = np.arange(0, 512, 2, dtype=np.int32), np.zeros(256, np.int32)
    for (result,) in run_everywhere(asserted_halves, (2,), (x, y, 128), (1,), target=target, hints={}, seeds=SEEDS):
        assert np.array_equal(result, np.arange(256))


@pytest.mark.parametrize(
    ("index", "value", "text", "message"),
    [
        (77, 3, "an odd number", "assertion failed: an odd number"),
        (200, -(2**20), "ct.sum(x) >= 0", "assertion failed"),
    ],
)
def test_failed_assertion_is_reported_at_its_line(target: str, index: int, value: int, text: str, message: str) -> None:
    x, y = np.zeros(256, np.int32), np.zeros(256, np.int32)
    x[index] = value
    lines, first = getsourcelines(asserted_halves.function)
    line = first + next(number for number, each in enumerate(lines) if text in each)
    signature = Signature.from_arguments(asserted_halves, (x, y, 128))
    compiled = tilec.compile(asserted_halves, target=target, signature=signature)
    for backend, settings in backends():
        with pytest.raises(SimulationError) as raised:
            tilec.run(compiled, 2, (x, y, 128), backend=backend, **settings)
        assert raised.value.message.partition(" (at")[0] == message
        assert raised.value.location is not None and raised.value.location.line == line
