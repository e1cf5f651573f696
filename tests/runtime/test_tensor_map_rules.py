"""The rules of TMA on tensor maps: each accepts a legal map and refuses an illegal one, of tensor_map_cases.py."""

from dataclasses import replace

import pytest
from tensor_map_cases import CASES, CUBE, MATRIX, NDHWC, NHWC, NWC, U4, U6, W128, Case, W

from tilec.errors import LaunchError
from tilec.lowering.target import target_named
from tilec.lowering.tma.rule import Violation
from tilec.lowering.tma.rules import ALL_RULES, violations
from tilec.lowering.tma.tensor_map import (
    DATA_TYPES,
    ELEMENTS,
    FILLS,
    INTERLEAVES,
    KINDS,
    L2_PROMOTIONS,
    SWIZZLES,
    TensorMap,
)
from tilec.runtime.tensor_maps import driver_tensor_map

UNDOCUMENTED = {rule.name for rule in ALL_RULES if rule.undocumented}


def violated(tensor_map: TensorMap, target: str = "sm_100a", unconfirmed: bool = False) -> list[Violation]:
    return list(violations(tensor_map, target_named(target), unconfirmed))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_legal_map(case: Case) -> None:
    assert violated(case.legal, case.target) == []


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_illegal_map_violates_its_rule(case: Case) -> None:
    (rule,) = [rule for rule in ALL_RULES if rule.name == case.rule]
    source = rule.source(case.illegal.kind, case.field)
    expected = Violation(case.field, case.dimension, case.expected, case.found, source)
    assert violated(case.illegal, case.target) == [expected]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_unconfirmed_permits_undocumented_maps_alone(case: Case) -> None:
    permitted = not [v for v in violated(case.illegal, case.target, unconfirmed=True) if v.expected == case.expected]
    assert permitted == (case.rule in UNDOCUMENTED)


def test_names_of_cases_are_unique() -> None:
    assert len({case.name for case in CASES}) == len(CASES)


def test_each_rule_has_a_case() -> None:
    assert {case.rule for case in CASES} == {rule.name for rule in ALL_RULES}


def test_each_rule_names_a_manual() -> None:
    assert all(rule.driver or rule.ptx for rule in ALL_RULES)


@pytest.mark.parametrize(
    "tensor_map",
    [MATRIX, CUBE, U4, U6, NWC, NHWC, NDHWC, W, W128, TensorMap("f32", (4,), (), (4,), (1,), base=16)],
)
def test_valid_map(tensor_map: TensorMap) -> None:
    assert violated(tensor_map) == []


def test_sources_name_function_and_parameter_of_the_driver_and_the_section_of_ptx() -> None:
    (box,) = violated(replace(MATRIX, box=(64, 257)))
    assert box.source == "CUDA driver API, cuTensorMapEncodeTiled, boxDim"
    (corner,) = violated(replace(W, lower=(-(2**15) - 1,)))
    assert corner.source == "CUDA driver API, cuTensorMapEncodeIm2colWide, pixelBoxLowerCornerWidth; PTX ISA 5.5.4.1"


@pytest.mark.parametrize("rank", range(1, 7))
@pytest.mark.parametrize("kind", KINDS)
def test_dimensions_of_images(kind: str, rank: int) -> None:
    """PTX ISA 5.5.1: 1 to 5 dimensions; 5.5.4: 3D NWC, 4D NHWC and 5D NDHWC for the im2col kinds."""
    fields = {"extents": (8,) * rank, "strides": (16,) * (rank - 1), "element_strides": (1,) * rank}
    tiled = TensorMap("f16", **fields, box=(8,) * rank, base=0)
    corners = (0,) if kind != "im2col" else (0,) * max(rank - 2, 0)
    images = replace(W, **fields, kind=kind, lower=corners, upper=corners, swizzle="64B", channels_per_pixel=32)
    legal = range(1, 6) if kind == "tiled" else range(3, 6)
    assert (violated(tiled if kind == "tiled" else images) == []) == (rank in legal)


# PTX ISA 5.5.7, "Valid combination of swizzle-atomicity with swizzling-mode".
ATOMICITIES = {"32B": ["16B"], "64B": ["16B"], "96B": ["16B"], "128B": ["16B", "32B", "32B_flip_8B", "64B"]}


def test_atomicities_of_swizzles() -> None:
    names = {
        mode if atomicity == "16B" else f"{mode}_atom_{atomicity}"
        for mode, valid in ATOMICITIES.items()
        for atomicity in valid
    }
    assert set(SWIZZLES) == {"none", *names}


def test_unknown_values_violate_no_rule() -> None:
    assert violated(replace(MATRIX, base=None, extents=(None, None), strides=(None,))) == []
    assert violated(replace(NHWC, base=None, extents=(None,) * 4, strides=(None,) * 3)) == []


def test_without_a_target_the_rules_of_every_target_hold() -> None:
    assert list(violations(replace(MATRIX, swizzle="128B_atom_32B"))) == []


@pytest.mark.parametrize("name", DATA_TYPES)
def test_element_types_equal_those_of_the_driver(name: str) -> None:
    from cuda.bindings import driver

    expected = getattr(driver.CUtensorMapDataType, f"CU_TENSOR_MAP_DATA_TYPE_{name}")
    assert DATA_TYPES[name].host_enumerator == expected.value


def test_each_data_type_of_the_driver_has_an_element() -> None:
    assert set(map(id, ELEMENTS.values())) >= {id(row) for name, row in DATA_TYPES.items()}


def test_enumerators_equal_those_of_the_driver() -> None:
    from cuda.bindings import driver

    expected = {f"SWIZZLE_{name.upper()}": row.host_enumerator for name, row in SWIZZLES.items() if name != "96B"}
    expected |= {f"INTERLEAVE_{name.upper()}": value for name, value in INTERLEAVES.items()}
    expected |= {"L2_PROMOTION_NONE": L2_PROMOTIONS["none"]}
    expected |= {f"L2_PROMOTION_L2_{name}": value for name, value in L2_PROMOTIONS.items() if name != "none"}
    expected |= {"FLOAT_OOB_FILL_NONE": FILLS["zero"], "FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA": FILLS["nan"]}
    expected |= {"IM2COL_WIDE_MODE_W": KINDS["im2col_w"].mode, "IM2COL_WIDE_MODE_W128": KINDS["im2col_w128"].mode}
    kinds = ("Interleave", "Swizzle", "L2promotion", "FloatOOBfill", "Im2ColWideMode")
    members = {m.name: m.value for kind in kinds for m in getattr(driver, f"CUtensorMap{kind}")}
    assert members == {f"CU_TENSOR_MAP_{name}": value for name, value in expected.items()}


def test_swizzle_that_the_driver_lacks() -> None:
    with pytest.raises(ValueError, match="the driver has no swizzle 96B"):
        driver_tensor_map.constant_fields(replace(MATRIX, swizzle="96B"))


def test_driver_without_the_function_of_a_map(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver_tensor_map, "devices", lambda: ())
    monkeypatch.setattr(driver_tensor_map, "entry_points", lambda: {"cuTensorMapEncodeIm2colWide": 0})
    message = "the CUDA driver has no cuTensorMapEncodeIm2colWide: install a driver of CUDA 12.8 or later"
    with pytest.raises(LaunchError, match=message):
        driver_tensor_map.encode_by_driver(W, (10, 0))
