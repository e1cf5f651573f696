"""Rows of im2col views that are gathered are read in vectors of up to 16 bytes, and a remark says what limits them."""

from __future__ import annotations

import pytest

import tilec as ct


@ct.kernel
def sums(X, Y, channels: ct.Constant[int]):
    """Y [pixels, C] = the sum of the three taps along W; no operand of a multiply, so nothing is loaded by TMA."""
    view = ct.im2col_view(X, window=3, tile=(32, channels))
    total = ct.zeros((32, channels), X.dtype)
    for s in range(3):
        total = total + ct.load(view, (ct.bid(0), 0), offset=s)
    ct.store(Y, (ct.bid(0), 0), total)


# The array, the channels of a tile, the PTX of each access, and its bytes and what these were a multiple of, if less.
CASES = [
    ("f16[?,?,?]", 64, "b16", (2, 8)),
    ("f16[?,?,?%2]", 64, "b32", (4, 8)),
    ("f16[?,?,?%8]", 64, "v4.b32", None),
    ("f16[?,?,72]", 64, "v4.b32", None),
    ("f16[?,?,?] align 4", 64, "b16", (2, 2)),
    ("f16[?,?,?%8] align 4", 64, "b32", None),
    ("f16[?,?,?]", 2, "b16", (2, 2)),
    ("f32[?,?,?]", 64, "f32", (4, 4)),
    ("f32[?,?,?%4]", 64, "v4.f32", None),
    ("i8[?,?,?]", 64, "b8", (1, 16)),
]


@pytest.mark.parametrize(("array", "channels", "access", "narrow"), CASES)
def test_width(array, channels, access, narrow, target):
    output = f"{array.partition('[')[0]}[?,?]"
    signature = f"X: {array}, Y: {output}, channels={channels}"
    compiled = ct.compile(sums, target=target, signature=signature, stop="ptx")
    loads = {line.split("ld.global.")[1].split()[0] for line in compiled.ptx.splitlines() if "ld.global." in line}
    assert loads == {access}
    (message,) = [remark.message for remark in compiled.all_remarks if "im2col" in remark.message]
    reason = message.partition("; ")[2]
    if narrow is None:
        assert reason == ""
    else:
        unit = "byte" if narrow[0] == 1 else "bytes"
        expected = f"the number of channels is not known to be a multiple of {narrow[1]}"
        assert reason == f"each access has {narrow[0]} {unit}, as {expected}"
