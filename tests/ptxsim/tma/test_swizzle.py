"""A swizzle is an exclusive or of address bits; addresses from the tables of the PTX ISA."""

from __future__ import annotations

import pytest

from tilec.runtime.ptxsim import _native as ptxsim

NONE, B32, B64, B128, ATOM32, FLIP8, ATOM64 = range(7)


@pytest.mark.parametrize(
    ("mode", "address", "expected"),
    [
        (NONE, 0x3F0, 0x3F0),
        (B32, 0x080, 0x090),  # second line of 128 bytes: chunks of 16 bytes are exchanged
        (B32, 0x100, 0x100),  # the pattern repeats after 256 bytes
        (B64, 0x180, 0x1B0),
        (B64, 0x200, 0x200),
        (B128, 0x080, 0x090),
        (B128, 0x380, 0x3F0),
        (B128, 0x3F5, 0x385),
        (B128, 0x400, 0x400),
        (ATOM32, 0x180, 0x1E0),
        (ATOM32, 0x200, 0x200),
        (ATOM64, 0x080, 0x0C0),
        (ATOM64, 0x100, 0x100),
    ],
)
def test_address(mode, address, expected):
    assert ptxsim.swizzle(mode, address) == expected


@pytest.mark.parametrize("mode", range(7))
def test_swizzle_is_an_involution_within_a_line(mode):
    for address in range(0, 4096, 8):
        moved = ptxsim.swizzle(mode, address)
        assert ptxsim.swizzle(mode, moved) == address
        assert moved // 128 == address // 128
