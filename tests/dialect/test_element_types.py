"""The table of element types agrees with numpy, MLIR and the tables of the stages; unknown names are refused."""

from __future__ import annotations

import ml_dtypes
import pytest

from tilec.dialect.bytecode.tags import NUMBER_TAGS
from tilec.dialect.mlir import context, ir
from tilec.dialect.tile_gpu.matrix_rules import KINDS
from tilec.element_types import ELEMENT_TYPES, EXTENSION_FLOATS, element_type
from tilec.language import datatypes
from tilec.lowering.gpu_to_ptx.registers.elements import ELEMENTS as REGISTER_ELEMENTS
from tilec.lowering.tma.tensor_map import DATA_TYPES
from tilec.runtime.arguments.elements import ELEMENTS as ARRAY_ELEMENTS
from tilec.runtime.interpret.numbers.element import ELEMENTS as TILE_ELEMENTS

# Types of which two elements share a byte.
SUB_BYTE = ("i4", "f4E2M1FN")


@pytest.mark.parametrize("name", [name for name in ELEMENT_TYPES if name not in SUB_BYTE])
def test_numpy_types_have_the_storage_size(name):
    row = element_type(name)
    assert {8 * dtype.itemsize for dtype in row.dtypes} == {row.storage_bits}
    assert row.value_bits <= row.storage_bits


def test_only_floats_have_a_float_format():
    assert all((row.float_format is not None) == (row.kind == "float") for row in ELEMENT_TYPES.values())


@pytest.mark.parametrize(
    "name", ["f16", "bf16", "f32", "f64", "f8E4M3FN", "f8E5M2", "f8E8M0FNU", "f4E2M1FN", *EXTENSION_FLOATS]
)
def test_float_formats_are_those_of_ml_dtypes(name):
    form = element_type(name).float_format
    facts = ml_dtypes.finfo(ml_dtypes.float4_e2m1fn if name == "f4E2M1FN" else element_type(name).dtypes[0])
    assert (form.precision, form.min_exponent, form.max_exponent) == (facts.nmant + 1, facts.minexp, facts.maxexp - 1)
    assert form.largest == float(facts.max)
    assert form.smallest_normal == float(facts.smallest_normal)


@pytest.mark.parametrize(("name", "facts"), [("tf32", (11, -126, 127)), ("fnv8E5M3FNU", (4, -14, 16))])
def test_float_formats_that_numpy_lacks(name, facts):
    """PTX ISA 5.2.3: tf32 has the range of f32 and 10 bits of fraction; UE5M3 has 5 bits of exponent, 3 of fraction."""
    form = element_type(name).float_format
    assert (form.precision, form.min_exponent, form.max_exponent) == facts


@pytest.mark.parametrize("name", ELEMENT_TYPES)
def test_register_is_at_least_as_wide_as_the_value(name):
    row = element_type(name)
    with context():
        register = ir.Type.parse(row.register)
    assert register.width >= row.value_bits
    assert isinstance(register, ir.FloatType) <= (row.kind == "float")


@pytest.mark.parametrize("name", [name for name, row in ELEMENT_TYPES.items() if row.tensor_map is not None])
def test_tensor_map_element_has_the_storage_size(name):
    assert DATA_TYPES[element_type(name).tensor_map].bits == element_type(name).storage_bits


# PTX ISA 9.7.16.2: kind::f8f6f4 multiplies floats of 4 to 8 bits, kind::i8 bytes.
@pytest.mark.parametrize(
    "kind, names",
    [
        ("f16", ["f16", "bf16"]),
        ("tf32", ["tf32"]),
        ("i8", ["i8"]),
        ("f8f6f4", ["f8E4M3FN", "f8E5M2", "f4E2M1FN", "f6E2M3FN", "f6E3M2FN"]),
        (None, ["i1", "i4", "i16", "i32", "i64", "f32", "f64", "f8E8M0FNU", "fnv8E5M3FNU"]),
    ],
)
def test_mma_kind_of_each_type(kind, names):
    assert [name for name, row in ELEMENT_TYPES.items() if row.mma_kind == kind] == names


def test_tables_of_all_stages_have_the_same_names():
    assert set(NUMBER_TAGS) | set(EXTENSION_FLOATS) == set(TILE_ELEMENTS) == set(ELEMENT_TYPES)
    assert not set(NUMBER_TAGS) & set(EXTENSION_FLOATS)
    assert {dtype.element for dtype in datatypes.ALL if dtype.element[0] != "u"} <= set(ELEMENT_TYPES)
    assert {name for name in ARRAY_ELEMENTS if name[0] != "u"} <= set(ELEMENT_TYPES)
    assert set(REGISTER_ELEMENTS) == set(ELEMENT_TYPES)
    assert set(KINDS) == {"i8", "f16", "bf16", "tf32", "f8E4M3FN", "f8E5M2"}


@pytest.mark.parametrize("name", ["u8", "f128", "i2", ""])
def test_unknown_name_is_refused(name):
    with pytest.raises(ValueError, match=f"unknown element type '{name}', expected one of i1, i4, "):
        element_type(name)
