"""Element types: promotion, types of Python numbers, and numpy types."""

from __future__ import annotations

import pickle

import ml_dtypes
import numpy as np
import pytest

import tilec as ct
from tilec.errors import CompileError
from tilec.language import datatypes
from tilec.language.datatypes import by_element, from_numpy, of_literal, promote, promote_literal


@pytest.mark.parametrize(
    ("lhs", "rhs", "common"),
    [
        ("i8", "i32", "i32"),
        ("u8", "u64", "u64"),
        ("i1", "i8", "i8"),
        ("i64", "f16", "f16"),
        ("f16", "f32", "f32"),
        ("bf16", "f32", "f32"),
        ("f32", "f64", "f64"),
        ("tf32", "tf32", "tf32"),
    ],
)
def test_promotion_to_the_higher_category_then_to_the_wider_type(lhs: str, rhs: str, common: str) -> None:
    assert promote(by_element(lhs), by_element(rhs)).element == common
    assert promote(by_element(rhs), by_element(lhs)).element == common


@pytest.mark.parametrize(("lhs", "rhs"), [("i8", "u8"), ("f16", "bf16"), ("tf32", "f32"), ("f8E4M3FN", "i32")])
def test_some_pairs_have_no_common_type(lhs: str, rhs: str) -> None:
    with pytest.raises(CompileError, match="have no common type: convert one of them with astype"):
        promote(by_element(lhs), by_element(rhs))


def test_python_number_has_the_type_of_the_operand_of_its_category_or_above() -> None:
    assert promote_literal(datatypes.float16, 3) is datatypes.float16
    assert promote_literal(datatypes.float16, 3.5) is datatypes.float16
    assert promote_literal(datatypes.uint8, True) is datatypes.uint8


def test_python_number_of_a_higher_category_has_its_default_type() -> None:
    assert promote_literal(datatypes.int8, 3.5) is datatypes.float32
    assert promote_literal(datatypes.bool_, 3) is datatypes.int32


def test_integer_out_of_range_is_rejected() -> None:
    with pytest.raises(CompileError, match=r"the integer 300 is out of range of int8 \(-128 to 127\)"):
        promote_literal(datatypes.int8, 300)


def test_default_type_of_an_integer_is_the_first_that_can_represent_it() -> None:
    assert [of_literal(value).element for value in (True, 7, 2**31, 2**63, 1.5)] == ["i1", "i32", "i64", "u64", "f32"]
    with pytest.raises(CompileError, match="out of range of every integer type"):
        of_literal(2**64)


def test_numpy_types_are_those_of_the_same_name() -> None:
    assert from_numpy(np.dtype(ml_dtypes.bfloat16)) is datatypes.bfloat16
    assert from_numpy(np.dtype(np.complex64)) is None
    for dtype in datatypes.ALL:
        if dtype not in (datatypes.tfloat32, datatypes.float8_e5m3fnu) and dtype.bitwidth >= 8:
            assert from_numpy(np.dtype(dtype.name.removesuffix("_"))) is dtype


def test_pickle_preserves_the_identity_of_element_types() -> None:
    assert pickle.loads(pickle.dumps(datatypes.float16)) is datatypes.float16
    pointer = ct.foreign_pointer_dtype(datatypes.float16)
    assert pickle.loads(pickle.dumps(pointer)) is pointer


def test_type_of_foreign_pointers_is_one_object_for_each_element_type() -> None:
    pointer = ct.foreign_pointer_dtype(ct.float32)
    assert pointer is ct.foreign_pointer_dtype(ct.float32) is not ct.foreign_pointer_dtype(ct.float64)
    assert (pointer.name, pointer.bitwidth, pointer.is_float, pointer.is_integral) == (
        "foreign_pointer[float32]", 64, False, False,
    )  # fmt: skip


@pytest.mark.parametrize("pointee", [ct.foreign_pointer_dtype(ct.float32), np.float32, "float32"])
def test_pointee_of_a_foreign_pointer_is_an_element_type(pointee: object) -> None:
    with pytest.raises(ct.TileTypeError, match="'ct.foreign_pointer_dtype' takes"):
        ct.foreign_pointer_dtype(pointee)


def test_name_of_an_element_type() -> None:
    assert (ct.float16.name, ct.float16.__name__, str(ct.float16)) == ("float16",) * 3
