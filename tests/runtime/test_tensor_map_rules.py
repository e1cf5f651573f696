"""The rules of TMA for tiled tensor maps: valid maps, and an invalid map for each rule."""

from dataclasses import replace

import pytest

from tilec.lowering.tma.contract import ELEMENTS, TensorMap, Violation, violations

# A row-major f16 matrix of 100x200 with a row stride of 400 bytes, in boxes of 32x64.
VALID = TensorMap("f16", (200, 100), (400,), (64, 32), (1, 1), base=0x1000, swizzle="128B")
CUBE = TensorMap("f16", (64, 8, 8), (128, 1024), (8, 8, 8), (1, 1, 1), base=0x1000, interleave="16B")
PACKED = TensorMap("u4_align16b", (256, 8), (128,), (128, 8), (1, 1), base=0x1000, swizzle="128B")


def violated(tensor_map: TensorMap, target: str = "sm_100a", unconfirmed: bool = False) -> list[Violation]:
    return list(violations(tensor_map, target, unconfirmed))


@pytest.mark.parametrize(
    "tensor_map",
    [
        VALID,
        CUBE,
        PACKED,
        replace(CUBE, interleave="32B", swizzle="32B"),
        replace(VALID, swizzle="none", box=(8, 1)),
        replace(VALID, swizzle="128B_atom_32B"),
        replace(VALID, fill="nan"),
        replace(VALID, extents=(2**32, 1), element_strides=(9, 8)),
        TensorMap("f32", (4,), (), (4,), (1,), base=16),
    ],
)
def test_valid_map(tensor_map: TensorMap) -> None:
    assert violated(tensor_map) == []


@pytest.mark.parametrize(
    ("tensor_map", "violation"),
    [
        (
            replace(VALID, extents=(1,) * 6, strides=(16,) * 5, box=(64,) * 6, element_strides=(1,) * 6),
            Violation("extents", None, "1 to 5 dimensions", "6"),
        ),
        (replace(VALID, box=(64,)), Violation("box", None, "2 values", "1")),
        (replace(VALID, strides=()), Violation("strides", None, "1 values", "0")),
        (replace(VALID, element_strides=(1,)), Violation("element_strides", None, "2 values", "1")),
        (replace(VALID, base=0x1008), Violation("base", None, "an address that is a multiple of 16 bytes", "0x1008")),
        (replace(PACKED, base=0x1010), Violation("base", None, "an address that is a multiple of 32 bytes", "0x1010")),
        (replace(VALID, extents=(200, 0)), Violation("extents", 1, "1 to 2**32 elements", "0")),
        (replace(VALID, extents=(2**32 + 1, 1)), Violation("extents", 0, "1 to 2**32 elements", str(2**32 + 1))),
        (replace(PACKED, extents=(192, 8)), Violation("extents", 0, "a multiple of 128 elements", "192")),
        (
            replace(VALID, element="u4_align8b", extents=(201, 100), swizzle="none"),
            Violation("extents", 0, "a multiple of 2 elements", "201"),
        ),
        (
            replace(VALID, strides=(408,)),
            Violation("strides", 1, "a multiple of 16 bytes from 0 to 2**40", "408 bytes"),
        ),
        (
            replace(VALID, strides=(2**40,)),
            Violation("strides", 1, "a multiple of 16 bytes from 0 to 2**40", f"{2**40} bytes"),
        ),
        (
            replace(PACKED, strides=(144,)),
            Violation("strides", 1, "a multiple of 32 bytes from 0 to 2**40", "144 bytes"),
        ),
        (replace(VALID, box=(64, 257)), Violation("box", 1, "1 to 256 elements", "257")),
        (replace(VALID, box=(64, 0)), Violation("box", 1, "1 to 256 elements", "0")),
        (
            replace(VALID, swizzle="none", box=(12, 32)),
            Violation("box", 0, "rows that are a multiple of 16 bytes", "24 bytes"),
        ),
        (replace(PACKED, box=(64, 8)), Violation("box", 0, "exactly 128 elements of u4_align16b", "64")),
        (replace(VALID, element_strides=(1, 9)), Violation("element_strides", 1, "1 to 8", "9")),
        (replace(CUBE, element_strides=(9, 1, 1)), Violation("element_strides", 0, "1 to 8", "9")),
        (
            replace(VALID, swizzle="64B"),
            Violation("box", 0, "rows of at most 64 bytes with swizzle 64B", "128 bytes"),
        ),
        (
            replace(PACKED, swizzle="64B"),
            Violation("swizzle", None, "one of none, 128B, 128B_atom_32B", "64B"),
        ),
        (replace(VALID, interleave="16B"), Violation("interleave", None, "at least 3 dimensions", "2")),
        (
            replace(CUBE, interleave="32B", swizzle="64B"),
            Violation("swizzle", None, "32B with interleave 32B", "64B"),
        ),
        (
            TensorMap("u6_align16b", (128, 8, 8), (96, 768), (128, 8, 8), (1, 1, 1), base=0x1000, interleave="16B"),
            Violation("interleave", None, "none for u6_align16b", "16B"),
        ),
        (
            replace(VALID, element="u16", fill="nan"),
            Violation("fill", None, "zero for elements other than floats", "nan"),
        ),
    ],
)
def test_map_that_violates_one_rule(tensor_map: TensorMap, violation: Violation) -> None:
    assert violated(tensor_map) == [violation]


def test_undocumented_maps_need_allow_unconfirmed() -> None:
    narrow = replace(VALID, box=(32, 32))
    broadcast = replace(VALID, strides=(0,))
    assert [found.field for found in violated(narrow)] == ["box"]
    assert [found.field for found in violated(broadcast)] == ["strides"]
    assert violated(narrow, unconfirmed=True) == violated(broadcast, unconfirmed=True) == []


def test_sm_90_supports_only_swizzle_atoms_of_16_bytes() -> None:
    wide_atoms = replace(VALID, swizzle="128B_atom_32B")
    assert [found.field for found in violated(wide_atoms, "sm_90a")] == ["swizzle"]


def test_unknown_values_violate_no_rule() -> None:
    assert violated(replace(VALID, base=None, extents=(None, None), strides=(None,))) == []


def test_host_enumerators_equal_those_of_the_driver() -> None:
    from cuda.bindings import driver

    names = {
        "f16": "FLOAT16",
        "bf16": "BFLOAT16",
        "f32": "FLOAT32",
        "tf32": "TFLOAT32",
        "f64": "FLOAT64",
        "u8": "UINT8",
    }
    names |= {"i32": "INT32", "u32": "UINT32", "i64": "INT64", "u64": "UINT64", "u16": "UINT16"}
    names |= {"u4_align8b": "16U4_ALIGN8B", "u4_align16b": "16U4_ALIGN16B", "u6_align16b": "16U6_ALIGN16B"}
    for element, name in names.items():
        expected = getattr(driver.CUtensorMapDataType, f"CU_TENSOR_MAP_DATA_TYPE_{name}")
        assert ELEMENTS[element].host_enumerator == expected.value
