"""Keywords and flags that each operation supports, by element type; all others are refused with their name."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from operation_verification import verification_error

from tilec.dialect.mlir import context, ir

TABLE = json.loads((Path(__file__).parents[1] / "operations.json").read_text())
OPERATIONS = {op["name"]: op for op in TABLE["ops"]}
MODES = TABLE["enums"]["RoundingMode"]
PLAIN = ["nearest_even", "zero", "negative_inf", "positive_inf"]
ROUNDINGS = {
    **dict.fromkeys(("addf", "subf", "mulf", "fma"), PLAIN),
    "divf": [*PLAIN, "approx", "full"],
    "sqrt": [*PLAIN, "approx"],
    "tanh": ["full", "approx"],
    "exp": ["full", "approx"],
}
FLOATS = ("f16", "bf16", "f32", "f64", "tf32", "f8E4M3FN", "f8E5M2", "f8E8M0FNU", "f4E2M1FN", "fnv8E5M3FNU")
# Rows are sources and columns are targets, in the order of FLOATS; the letters are those of LETTERS.
CONVERSIONS = """
-     EZ    EZMPA EZMPA EZMPA E E ZP E E
EZ    -     EZMPA EZMPA EZMPA E E ZP E E
EZ    EZ    -     EZMPA EZA   E E ZP E E
EZ    EZ    EZMP  -     EZ    E E ZP E E
EZ    EZ    EZMPA EZMPA -     E E ZP E E
EZMPA EZMPA EZMPA EZMPA EZMPA - E ZP E E
EZMPA EZMPA EZMPA EZMPA EZMPA E - ZP E E
EZ    EZ    EZ    EZMPA EZ    E E -  E E
EZMPA EZMPA EZMPA EZMPA EZMPA E E ZP - E
EZ    EZMPA EZMPA EZMPA EZMPA E E ZP E -
"""
LETTERS = {"nearest_even": "E", "zero": "Z", "negative_inf": "M", "positive_inf": "P", "nearest_away": "A"}
ORDERINGS = TABLE["enums"]["MemoryOrderingSemantics"]
SCOPES = TABLE["enums"]["MemoryScope"]
ORDERED = {
    **dict.fromkeys(
        ("load_ptr_tko", "load_view_tko", "multimem_load_reduce_view_tko"), (["weak", "relaxed", "acquire"], SCOPES)
    ),
    **dict.fromkeys(
        ("store_ptr_tko", "store_view_tko", "multimem_store_view_tko"), (["weak", "relaxed", "release"], SCOPES)
    ),
    **dict.fromkeys(("atomic_cas_tko", "atomic_rmw_tko"), (["relaxed", "acquire", "release", "acq_rel"], SCOPES)),
    "atomic_red_view_tko": (["relaxed"], ["tl_blk", "device"]),
    "multimem_reduce_view_tko": (["relaxed", "release"], SCOPES),
}
ELEMENTS = ("i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64")
INTEGER_MODES = ("and", "or", "xor", "add", "max", "min", "umax", "umin")
ATOMICS = {
    **dict.fromkeys(("i32", "i64"), {*INTEGER_MODES, "xchg"}),
    **dict.fromkeys(("f32", "f64"), {"addf", "xchg"}),
    **dict.fromkeys(("f16", "bf16"), {"addf"}),
}
ALL_REDUCTIONS = {"add", "min", "max", "and", "or", "xor", "umin", "umax"}
MULTIMEM_LOADS = {
    **dict.fromkeys(("i32", "i64"), ALL_REDUCTIONS),
    **dict.fromkeys(("f16", "bf16"), {"add", "min", "max"}),
    **dict.fromkeys(("f32", "f64"), {"add"}),
}
MULTIMEM_STORES = MULTIMEM_LOADS | dict.fromkeys(("f16", "bf16"), {"add"})


@pytest.fixture(autouse=True)
def _in_context() -> Iterator[None]:
    with context():
        yield


def keywords(**values: str | None) -> dict[str, ir.Attribute]:
    return {name: ir.StringAttr.get(value) for name, value in values.items() if value is not None}


def elementwise(name: str, element: str, attributes: dict[str, ir.Attribute]) -> str | None:
    tile = f"tile<8x{element}>"
    return verification_error(name, [tile] * len(OPERATIONS[name]["operands"]), [tile], attributes)


def test_all_roundings_of_the_table_are_covered() -> None:
    found = {op["name"] for op in TABLE["ops"] if any("RoundingMode" in each["encoding"] for each in op["attrs"])}
    assert found == {*ROUNDINGS, "divi", "ftof", "ftoi", "itof"}


@pytest.mark.parametrize("name", ROUNDINGS)
@pytest.mark.parametrize("element", FLOATS[:4])
def test_roundings(name: str, element: str) -> None:
    for mode in MODES:
        error = elementwise(name, element, keywords(rounding_mode=mode))
        fast = mode in ("approx", "full") and not (mode == "full" and name in ("tanh", "exp"))
        if mode not in ROUNDINGS[name]:
            assert error is not None and "must be one of" in error and error.endswith(mode)
        elif fast and element != "f32":
            assert (
                error is not None and f"{mode} modifier only supported for f32 data type, but got: {element}" in error
            )
        else:
            assert error is None


@pytest.mark.parametrize("name", [op["name"] for op in TABLE["ops"] if "flush_to_zero" in str(op["flags"])])
def test_flush_to_zero(name: str) -> None:
    attributes = {"flush_to_zero": ir.UnitAttr.get()}
    if name in ROUNDINGS:
        attributes |= keywords(rounding_mode=ROUNDINGS[name][0])
    assert elementwise(name, "f32", attributes) is None
    for element in ("f16", "bf16", "f64"):
        expected = f"flush_to_zero modifier only supported for f32 data type, but got: {element}"
        assert expected in (elementwise(name, element, attributes) or "")


@pytest.mark.parametrize("signedness", ["signed", "unsigned"])
def test_roundings_of_integer_division(signedness: str) -> None:
    for mode in MODES:
        error = elementwise("divi", "i32", keywords(rounding=mode, signedness=signedness))
        if mode not in ("zero", "negative_inf", "positive_inf"):
            assert error is not None and "must be one of" in error and error.endswith(mode)
        elif mode == "negative_inf" and signedness == "unsigned":
            assert error is not None and "rounding mode negative_inf is not allowed with unsigned" in error
        else:
            assert error is None


@pytest.mark.parametrize("name", [op["name"] for op in TABLE["ops"] if "IntegerOverflow" in str(op["attrs"])])
def test_overflow(name: str) -> None:
    for keyword in TABLE["enums"]["IntegerOverflow"]:
        attributes = keywords(overflow=keyword)
        if name == "trunci":
            assert verification_error(name, ["tile<8xi32>"], ["tile<8xi8>"], attributes) is None
        elif name == "negi" and keyword == "no_unsigned_wrap":
            assert "must be one of: none, no_signed_wrap, no_wrap" in (elementwise(name, "i32", attributes) or "")
        else:
            assert elementwise(name, "i32", attributes) is None


@pytest.mark.parametrize(("source", "letters"), list(zip(FLOATS, CONVERSIONS.strip().splitlines(), strict=True)))
def test_float_conversions(source: str, letters: str) -> None:
    for (target, allowed), mode in product(zip(FLOATS, letters.split(), strict=True), MODES):
        error = verification_error("ftof", [f"tile<8x{source}>"], [f"tile<8x{target}>"], keywords(rounding_mode=mode))
        assert (error is None) == (LETTERS.get(mode, "?") in allowed)
        assert error is None or "must be one of" in error or "the types must differ" in error


def test_conversions_between_integers_and_floats() -> None:
    for mode, element in product(MODES, FLOATS):
        attributes = keywords(rounding_mode=mode, signedness="signed")
        error = verification_error("ftoi", [f"tile<8x{element}>"], ["tile<8xi32>"], attributes)
        assert (error is None) == (mode == "nearest_int_to_zero")
        error = verification_error("itof", ["tile<8xi32>"], [f"tile<8x{element}>"], attributes)
        assert (error is None) == (mode == "nearest_even" and element != "f8E8M0FNU")


def access(name: str, element: str, attributes: dict[str, ir.Attribute]) -> str | None:
    """The verification error of a memory access of an element type, which is valid except for its attributes."""
    shape = "8" if "view" in name else ""
    attribute = ", #cuda_tile.ptr_attr<multicast>" if name.startswith("multimem") else ""
    view = f"partition_view<tile=(8), tensor_view<64x{element}, strides=[1]{attribute}>>"
    tile = f"tile<{shape}x{element}>" if shape else f"tile<{element}>"
    types = {
        "view": view,
        "index": "tile<i32>",
        **dict.fromkeys(("pointers", "source", "destination"), f"tile<ptr<{element}>>"),
        **dict.fromkeys(("cmp", "val", "arg", "value", "tile", "result", "reduced_values"), tile),
    }
    fields = [field["name"] for field in OPERATIONS[name]["operands"] if field["kind"] != "optional"]
    results = [types.get(field["name"], "token") for field in OPERATIONS[name]["results"]]
    sizes = [int(field["kind"] != "optional") for field in OPERATIONS[name]["operands"]]
    if "index" in fields:
        # Indices are stored as runs of one type, each of which has a size.
        at = fields.index("index")
        sizes[at : at + 1] = [1] + [0] * (7 if name == "atomic_red_view_tko" else 2)
        attributes = {"inbounds": ir.DenseBoolArrayAttr.get([False])} | attributes
    segments = {"operandSegmentSizes": ir.DenseI32ArrayAttr.get(sizes)}
    return verification_error(name, [types[field] for field in fields], results, attributes | segments)


def add(name: str) -> dict[str, ir.Attribute]:
    names = [each["name"] for each in OPERATIONS[name]["attrs"]]
    return keywords(**{each: "add" for each in ("mode", "reduction") if each in names})


def test_all_accesses_of_the_table_are_covered() -> None:
    assert {op["name"] for op in TABLE["ops"] if "MemoryOrderingSemantics" in str(op["attrs"])} == {*ORDERED}


@pytest.mark.parametrize("name", ORDERED)
def test_orderings_and_scopes(name: str) -> None:
    orderings, scopes = ORDERED[name]
    for ordering, scope in product(ORDERINGS, [None, *SCOPES]):
        error = access(name, "i32", add(name) | keywords(memory_ordering_semantics=ordering, memory_scope=scope))
        fits = scope is None if ordering == "weak" else scope in scopes
        assert (error is None) == (ordering in orderings and fits), (ordering, scope, error)
        assert error is None or any(word in error for word in ("ordering", "scope", "expect one of")), error


@pytest.mark.parametrize("name", ["atomic_rmw_tko", "atomic_red_view_tko"])
def test_modes_of_atomics(name: str) -> None:
    order = keywords(memory_ordering_semantics="relaxed", memory_scope="device")
    for element, mode in product(ELEMENTS, TABLE["enums"]["AtomicRMWMode"]):
        error = access(name, element, order | keywords(mode=mode))
        exchange = name == "atomic_red_view_tko" and mode == "xchg"
        assert (error is None) == (mode in ATOMICS.get(element, ()) and not exchange), (element, mode, error)
        assert error is None or f"mode {mode} " in error


def test_elements_of_compare_and_swap() -> None:
    order = keywords(memory_ordering_semantics="relaxed", memory_scope="device")
    for element in ELEMENTS:
        error = access("atomic_cas_tko", element, order)
        assert (error is None) == (element in ("i32", "i64", "f32", "f64"))
        assert error is None or f"expects elements of i32 or i64 or f32 or f64, but got {element}" in error


@pytest.mark.parametrize(
    ("name", "allowed"),
    [("multimem_load_reduce_view_tko", MULTIMEM_LOADS), ("multimem_reduce_view_tko", MULTIMEM_STORES)],
)
def test_multimem_reductions(name: str, allowed: dict[str, Any]) -> None:
    order = keywords(memory_ordering_semantics="relaxed", memory_scope="device")
    for element, kind in product(ELEMENTS, TABLE["enums"]["MultimemReductionKind"]):
        error = access(name, element, order | keywords(reduction=kind))
        assert (error is None) == (kind in allowed.get(element, ())), (element, kind, error)
        assert error is None or element in error


def test_elements_of_multimem_stores() -> None:
    for element in ELEMENTS:
        error = access("multimem_store_view_tko", element, keywords(memory_ordering_semantics="weak"))
        assert (error is None) == (element in MULTIMEM_STORES)
        assert error is None or f"but got {element}" in error
