"""The simulator and the host have the same rules on tensor maps, which each of them states for itself."""

from __future__ import annotations

import struct

import pytest
from tensor_map_cases import CASES, Case

from tilec.runtime.ptxsim import _native as ptxsim
from tilec.runtime.tensor_maps.tensor_map import encode_for_simulator

# Rules that the simulator does not have, and why.
HOST_ONLY = {
    "number_of_values": "an encoded map has all values",
    "stride_range": "an encoded stride is a multiple of 16 bytes",
    "element_stride_range": "an encoded element stride is 1 to 8",
    "large_extent": "PTX ISA 9.7.9.28 has no limit for extents that the program writes",
    "contiguous_element_stride": "the driver ignores the value, and so does the simulator",
    "packed_elements_of_target": "depends on the target, which an encoded map does not name",
    "swizzle_atomicity_of_target": "depends on the target",
    "compute_capability_of_wide_kinds": "depends on the target",
    "swizzle_96b": "the simulator has sm_103a",
}


def encoded(case: Case) -> bytes | None:
    """The illegal map, None if its value has no encoding."""
    try:
        return encode_for_simulator(case.illegal)
    except (struct.error, ValueError):
        return None


# The driver does not encode this swizzle, which PTX ISA 9.7.9.27.1.1 permits.
DRIVER_ONLY = ("swizzle_of_padded_elements: tiled 2D u4_align16b 128B_atom_64B, swizzle 128B_atom_64B",)
CHECKED = [case for case in CASES if case.rule not in HOST_ONLY and case.name not in DRIVER_ONLY]
ENCODED = [(case, bytes) for case in CHECKED if (bytes := encoded(case)) is not None]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_legal_map_is_legal_for_the_simulator(case: Case) -> None:
    assert ptxsim.tensor_map_error(encode_for_simulator(case.legal)) == ""


@pytest.mark.parametrize(("case", "bytes"), ENCODED, ids=[case.name for case, _ in ENCODED])
def test_illegal_map_is_not_for_the_simulator(case: Case, bytes: bytes) -> None:
    assert ptxsim.tensor_map_error(bytes) or ptxsim.tensor_map_undocumented(bytes)


def test_exceptions_exist() -> None:
    assert set(HOST_ONLY) <= {case.rule for case in CASES}
    assert set(DRIVER_ONLY) <= {case.name for case in CASES}
