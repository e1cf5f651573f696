"""The table of element types: every row against numpy and MLIR, and no row for an unknown name."""

from __future__ import annotations

import pytest

from tilec.dialect.mlir import context, ir
from tilec.element_types import ELEMENT_TYPES, element_type

# Several of these share a byte.
NARROW = ("i4", "f4E2M1FN")


@pytest.mark.parametrize("name", [name for name in ELEMENT_TYPES if name not in NARROW])
def test_memory_holds_what_numpy_says(name):
    row = element_type(name)
    assert {8 * dtype.itemsize for dtype in row.dtypes} == {row.storage_bits}
    assert row.value_bits <= row.storage_bits


@pytest.mark.parametrize("name", [name for name, row in ELEMENT_TYPES.items() if row.register is not None])
def test_a_register_holds_the_value(name):
    row = element_type(name)
    with context():
        register = ir.Type.parse(row.register)
    assert register.width >= row.value_bits
    assert isinstance(register, ir.FloatType) <= (row.kind == "float")


@pytest.mark.parametrize("name", ["u8", "f128", "i2", ""])
def test_an_unknown_name_is_an_error(name):
    with pytest.raises(ValueError, match=f"unknown element type '{name}', expected one of i1, i4, "):
        element_type(name)
