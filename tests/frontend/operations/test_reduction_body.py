"""The function of a reduction or scan only computes: other operations are refused at their line."""

from __future__ import annotations

import numpy as np
import pytest

import tilec as ct


def branch(a, b):
    if ct.bid(0) == 0:
        return a + b
    return a - b


def invalid_branch(a, b):
    """The branch is refused before the invalid expression in it."""
    if ct.bid(0) == 0:
        return a + b.missing()
    return a


def loop(a, b):
    for _ in range(ct.bid(0)):
        a = a + b
    return a


def printed(a, b):
    print(a)
    return a + b


def reduced(a, b):
    return a + b + ct.sum(ct.ones(4, ct.int32))


def scanned(a, b):
    return a + b + ct.cumsum(ct.ones(1, ct.int32)).item()


def asserted(a, b):
    ct.assert_(a >= 0, "positive")
    return a + b


def unrolled(a, b):
    for i in ct.static_iter(range(2)):
        a = ct.where(a > i, a + b, b)
    return a


REFUSED = {
    branch: "a branch: select values with ct.where",
    invalid_branch: "a branch: select values with ct.where",
    loop: "a loop: unroll it with ct.static_iter",
    printed: "an access to memory, or a print: only compute with the operands",
    reduced: "a reduction: compute it before",
    scanned: "a scan: compute it before",
    asserted: "an assertion: check the operands before",
}


def run(function, scans):
    @ct.kernel
    def kernel(x):
        tile = ct.load(x, 0, 4)
        if scans:
            ct.scan(tile, 0, function, 0)
        else:
            ct.reduce(tile, 0, function, 0)

    ct.launch(None, 1, kernel, (np.zeros(4, np.int32),), backend="interpret")


@pytest.mark.parametrize("function", REFUSED)
@pytest.mark.parametrize("scans", [False, True])
def test_operation_that_is_refused(function, scans):
    kind = "scan" if scans else "reduce"
    with pytest.raises(
        ct.TileSyntaxError, match=f"the function of a {kind} cannot contain {REFUSED[function]}"
    ) as caught:
        run(function, scans)
    first = function.__code__.co_firstlineno
    assert caught.value.location is not None and first < caught.value.location.line <= first + 3


@pytest.mark.parametrize("scans", [False, True])
def test_computation_with_constant_control_flow(scans):
    run(unrolled, scans)
