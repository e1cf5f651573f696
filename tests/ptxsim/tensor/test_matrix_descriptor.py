"""Shared-memory descriptors of wgmma and tcgen05: addresses of matrix elements and invalid descriptors."""

from __future__ import annotations

import pytest

from tilec.runtime.ptxsim import _native as ptxsim

WGMMA_MODES = {"none": 0, "128B": 1, "64B": 2, "32B": 3}
TCGEN05_MODES = {"none": 0, "128B_atom_32B": 1, "128B": 2, "64B": 4, "32B": 6}


def wgmma(start: int, leading: int, stride: int, swizzle: str) -> int:
    return start >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | WGMMA_MODES[swizzle] << 62


def tcgen05(start: int, leading: int, stride: int, swizzle: str) -> int:
    return start >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | 1 << 46 | TCGEN05_MODES[swizzle] << 61


def address(descriptor: int, row: int, depth: int, size: int, depth_major: bool = True, unit: str = "wgmma") -> int:
    return ptxsim.matrix_address(descriptor, unit == "tcgen05", row, depth, size, depth_major)


def test_k_major_without_swizzle_has_core_matrices():
    descriptor = wgmma(0x1000, leading=128, stride=256, swizzle="none")
    assert address(descriptor, 3, 2, 2) == 0x1000 + 3 * 16 + 4
    assert address(descriptor, 0, 8, 2) == 0x1000 + 128  # the next 16 bytes along K
    assert address(descriptor, 9, 0, 2) == 0x1000 + 256 + 16  # the next 8 rows


def test_example_of_the_ptx_isa_with_k_major_tf32():
    """Layout ((8,2),(4,4)):((4,32),(1,64)) in elements of 4 bytes: LBO 256, SBO 128."""
    descriptor = wgmma(0, leading=256, stride=128, swizzle="none")
    for row in range(16):
        for k in range(16):
            expected = 4 * (row % 8 * 4 + row // 8 * 32 + k % 4 + k // 4 * 64)
            assert address(descriptor, row, k, 4) == expected


@pytest.mark.parametrize("unit", ["wgmma", "tcgen05"])
@pytest.mark.parametrize(("swizzle", "span"), [("32B", 32), ("64B", 64), ("128B", 128)])
def test_k_major_with_swizzle_has_rows_of_the_span(unit, swizzle, span):
    make = wgmma if unit == "wgmma" else tcgen05
    descriptor = make(0x2000, leading=16, stride=8 * span, swizzle=swizzle)
    for row in range(24):
        line = 0x2000 + row * span
        bits = {32: line >> 7 & 1, 64: line >> 7 & 3, 128: line >> 7 & 7}[span]
        assert address(descriptor, row, 0, 2, unit=unit) == line ^ bits << 4


def test_k_step_advances_the_start_by_32_bytes():
    whole = tcgen05(0x4000, 16, 1024, "128B")
    step = tcgen05(0x4020, 16, 1024, "128B")
    assert [address(step, row, k, 2, unit="tcgen05") for row in range(16) for k in range(16)] == [
        address(whole, row, k + 16, 2, unit="tcgen05") for row in range(16) for k in range(16)
    ]


def test_mn_major_offsets_are_exchanged_by_swizzle():
    plain = wgmma(0, leading=512, stride=128, swizzle="none")
    assert address(plain, 8, 0, 2, depth_major=False) == 128  # 16 bytes further along M: SBO
    assert address(plain, 0, 8, 2, depth_major=False) == 512  # 8 further along K: LBO
    swizzled = wgmma(0, leading=4096, stride=1024, swizzle="128B")
    assert address(swizzled, 64, 0, 2, depth_major=False) == 4096
    assert address(swizzled, 0, 8, 2, depth_major=False) == 1024
    assert address(swizzled, 0, 1, 2, depth_major=False) == 128 ^ 16


def test_mn_major_with_32_byte_atoms_repeats_after_four_rows():
    descriptor = tcgen05(0, leading=8192, stride=512, swizzle="128B_atom_32B")
    assert address(descriptor, 0, 3, 4, depth_major=False, unit="tcgen05") == 3 * 128 ^ 3 << 5
    assert address(descriptor, 0, 4, 4, depth_major=False, unit="tcgen05") == 512
    assert address(descriptor, 32, 0, 4, depth_major=False, unit="tcgen05") == 8192


@pytest.mark.parametrize(
    ("descriptor", "message"),
    [
        (tcgen05(0, 16, 1024, "128B") & ~(1 << 46), "bits 46-48"),
        (tcgen05(0, 16, 1024, "128B") | 1 << 53, "53-60"),
        (tcgen05(0, 16, 1024, "128B") | 1 << 52, "bit 52"),
        (tcgen05(0, 16, 1024, "none") | 3 << 61, "swizzle mode"),
    ],
)
def test_invalid_tcgen05_descriptor(descriptor, message):
    with pytest.raises(ValueError, match=message):
        address(descriptor, 0, 0, 2, unit="tcgen05")


@pytest.mark.parametrize("mode", sorted({*range(8)} - {*TCGEN05_MODES.values()}))
def test_swizzles_that_no_multiply_reads(mode):
    """PTX ISA 9.7.16.4.1: no code is of 128B_atom_64B or of a flip of 8 bytes, nor one of the two bits of wgmma."""
    with pytest.raises(ValueError, match=f"expected swizzle mode 0, 1, 2, 4 or 6 in a tcgen05 descriptor, got {mode}"):
        address(1 << 46 | mode << 61, 0, 0, 2, unit="tcgen05")
    assert sorted(WGMMA_MODES.values()) == [0, 1, 2, 3]


def test_wgmma_refuses_the_version_bits_of_tcgen05():
    with pytest.raises(ValueError, match="46-48"):
        address(wgmma(0, 16, 1024, "128B") | 1 << 46, 0, 0, 2)


@pytest.mark.parametrize(
    ("bits", "kind", "group"),
    [(0x08200010, "f16", 1), (0x10400490, "f16", 2), (0x08200910, "tf32", 1)],
)
def test_valid_instruction_descriptors(bits, kind, group):
    assert ptxsim.instruction_descriptor_error(bits, kind, group) == ""


@pytest.mark.parametrize(
    ("bits", "kind", "group", "message"),
    [
        (0x08200010, "tf32", 1, "type codes of A and B"),
        (0x08200090, "f16", 1, "one type with kind f16"),
        (0x08200480 | 1 << 7, "f16", 1, "type code of D"),
        (0x10400490, "f16", 1, "M 64 or 128, got 256"),
        (0x08000010, "f16", 1, "N that the kind and cta_group support, got 0"),
        (0x08200050, "f16", 1, "bits 6, 23 and 29"),
        (0x08200011, "f16", 1, "bits 0 and 1"),
        (0x08200012, "f16", 1, "bits 0 and 1"),
        (0x08200010 | 1 << 30, "f16", 1, "bits 30 and 31"),
        (0x08200010 | 1 << 31, "f16", 1, "bits 30 and 31"),
        (0x08200010 | 1 << 3, "f16", 1, "no saturation without kind i8, got the saturate bit set"),
        (0x08200020 | 1 << 13, "i8", 1, "no negation with kind i8, got the negate bit set"),
    ],
)
def test_invalid_instruction_descriptors(bits, kind, group, message):
    assert message in ptxsim.instruction_descriptor_error(bits, kind, group)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ptxsim.instruction_descriptor_error(0, "f8"), "expected a kind of tcgen05.mma, got 'f8'"),
        (lambda: ptxsim.matrix_multiply_add("f8", "f32", [], [], [], 0, 0, 0), "expected a number format, got 'f8'"),
        (lambda: ptxsim.matrix_multiply_add("f16", "f32", [0], [0], [0], 1, 1, 2), "expected 2 elements, got 1"),
        (lambda: ptxsim.tensor_map_error(bytes(64)), "expected a tensor map of 128 bytes, got 64"),
        (
            lambda: ptxsim.wide_128_pieces(bytes(128), [0, 0, 0], 0, 0, "first"),
            "expected an order of halo rows, got 'first'",
        ),
    ],
)
def test_functions_of_the_module_check_their_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        call()
