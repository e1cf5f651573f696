"""Which keywords and flags an operation takes, and for which element types; every other one is refused by its name."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from lone_operation import verdict

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
# By source, then target in the same order; the first letters of nearest_even, zero, minus and plus infinity, and away.
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
EVERY = {"add", "min", "max", "and", "or", "xor", "umin", "umax"}
MULTIMEM_LOADS = {
    **dict.fromkeys(("i32", "i64"), EVERY),
    **dict.fromkeys(("f16", "bf16"), {"add", "min", "max"}),
    **dict.fromkeys(("f32", "f64"), {"add"}),
}
MULTIMEM_STORES = MULTIMEM_LOADS | dict.fromkeys(("f16", "bf16"), {"add"})


@pytest.fixture(autouse=True)
def _in_context() -> Iterator[None]:
    with context():
        yield


def words(**given: str | None) -> dict[str, ir.Attribute]:
    return {name: ir.StringAttr.get(word) for name, word in given.items() if word is not None}


def elementwise(name: str, element: str, attributes: dict[str, ir.Attribute]) -> str | None:
    tile = f"tile<8x{element}>"
    return verdict(name, [tile] * len(OPERATIONS[name]["operands"]), [tile], attributes)


def test_every_rounding_of_the_table_is_here() -> None:
    found = {op["name"] for op in TABLE["ops"] if any("RoundingMode" in each["encoding"] for each in op["attrs"])}
    assert found == {*ROUNDINGS, "divi", "ftof", "ftoi", "itof"}


@pytest.mark.parametrize("name", ROUNDINGS)
@pytest.mark.parametrize("element", FLOATS[:4])
def test_roundings(name: str, element: str) -> None:
    for mode in MODES:
        said = elementwise(name, element, words(rounding_mode=mode))
        fast = mode in ("approx", "full") and not (mode == "full" and name in ("tanh", "exp"))
        if mode not in ROUNDINGS[name]:
            assert said is not None and "must be one of" in said and said.endswith(mode)
        elif fast and element != "f32":
            assert said is not None and f"{mode} modifier only supported for f32 data type, but got: {element}" in said
        else:
            assert said is None


@pytest.mark.parametrize("name", [op["name"] for op in TABLE["ops"] if "flush_to_zero" in str(op["flags"])])
def test_flush_to_zero(name: str) -> None:
    attributes = {"flush_to_zero": ir.UnitAttr.get()}
    if name in ROUNDINGS:
        attributes |= words(rounding_mode=ROUNDINGS[name][0])
    assert elementwise(name, "f32", attributes) is None
    for element in ("f16", "bf16", "f64"):
        wanted = f"flush_to_zero modifier only supported for f32 data type, but got: {element}"
        assert wanted in (elementwise(name, element, attributes) or "")


@pytest.mark.parametrize("signedness", ["signed", "unsigned"])
def test_roundings_of_integer_division(signedness: str) -> None:
    for mode in MODES:
        said = elementwise("divi", "i32", words(rounding=mode, signedness=signedness))
        if mode not in ("zero", "negative_inf", "positive_inf"):
            assert said is not None and "must be one of" in said and said.endswith(mode)
        elif mode == "negative_inf" and signedness == "unsigned":
            assert said is not None and "rounding mode negative_inf is not allowed with unsigned" in said
        else:
            assert said is None


@pytest.mark.parametrize("name", [op["name"] for op in TABLE["ops"] if "IntegerOverflow" in str(op["attrs"])])
def test_overflow(name: str) -> None:
    for keyword in TABLE["enums"]["IntegerOverflow"]:
        attributes = words(overflow=keyword)
        if name == "trunci":
            assert verdict(name, ["tile<8xi32>"], ["tile<8xi8>"], attributes) is None
        elif name == "negi" and keyword == "no_unsigned_wrap":
            assert "must be one of: none, no_signed_wrap, no_wrap" in (elementwise(name, "i32", attributes) or "")
        else:
            assert elementwise(name, "i32", attributes) is None


@pytest.mark.parametrize(("source", "letters"), list(zip(FLOATS, CONVERSIONS.strip().splitlines(), strict=True)))
def test_float_conversions(source: str, letters: str) -> None:
    for (target, allowed), mode in product(zip(FLOATS, letters.split(), strict=True), MODES):
        said = verdict("ftof", [f"tile<8x{source}>"], [f"tile<8x{target}>"], words(rounding_mode=mode))
        assert (said is None) == (LETTERS.get(mode, "?") in allowed)
        assert said is None or "must be one of" in said or "the types must differ" in said


def test_conversions_between_integers_and_floats() -> None:
    for mode, element in product(MODES, FLOATS):
        attributes = words(rounding_mode=mode, signedness="signed")
        said = verdict("ftoi", [f"tile<8x{element}>"], ["tile<8xi32>"], attributes)
        assert (said is None) == (mode == "nearest_int_to_zero")
        said = verdict("itof", ["tile<8xi32>"], [f"tile<8x{element}>"], attributes)
        assert (said is None) == (mode == "nearest_even" and element != "f8E8M0FNU")


def access(name: str, element: str, attributes: dict[str, ir.Attribute]) -> str | None:
    """What is said of an access to memory of an element type, well-formed but perhaps for its attributes."""
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
        # Indices come in runs of one type, each of which has a size.
        at = fields.index("index")
        sizes[at : at + 1] = [1] + [0] * (7 if name == "atomic_red_view_tko" else 2)
        attributes = {"inbounds": ir.DenseBoolArrayAttr.get([False])} | attributes
    segments = {"operandSegmentSizes": ir.DenseI32ArrayAttr.get(sizes)}
    return verdict(name, [types[field] for field in fields], results, attributes | segments)


def a_sum(name: str) -> dict[str, ir.Attribute]:
    names = [each["name"] for each in OPERATIONS[name]["attrs"]]
    return words(**{each: "add" for each in ("mode", "reduction") if each in names})


def test_every_access_of_the_table_is_here() -> None:
    assert {op["name"] for op in TABLE["ops"] if "MemoryOrderingSemantics" in str(op["attrs"])} == {*ORDERED}


@pytest.mark.parametrize("name", ORDERED)
def test_orderings_and_scopes(name: str) -> None:
    orderings, scopes = ORDERED[name]
    for ordering, scope in product(ORDERINGS, [None, *SCOPES]):
        said = access(name, "i32", a_sum(name) | words(memory_ordering_semantics=ordering, memory_scope=scope))
        fits = scope is None if ordering == "weak" else scope in scopes
        assert (said is None) == (ordering in orderings and fits), (ordering, scope, said)
        assert said is None or any(word in said for word in ("ordering", "scope", "expect one of")), said


@pytest.mark.parametrize("name", ["atomic_rmw_tko", "atomic_red_view_tko"])
def test_modes_of_atomics(name: str) -> None:
    order = words(memory_ordering_semantics="relaxed", memory_scope="device")
    for element, mode in product(ELEMENTS, TABLE["enums"]["AtomicRMWMode"]):
        said = access(name, element, order | words(mode=mode))
        exchange = name == "atomic_red_view_tko" and mode == "xchg"
        assert (said is None) == (mode in ATOMICS.get(element, ()) and not exchange), (element, mode, said)
        assert said is None or f"mode {mode} " in said


def test_elements_of_compare_and_swap() -> None:
    order = words(memory_ordering_semantics="relaxed", memory_scope="device")
    for element in ELEMENTS:
        said = access("atomic_cas_tko", element, order)
        assert (said is None) == (element in ("i32", "i64", "f32", "f64"))
        assert said is None or f"expects elements of i32 or i64 or f32 or f64, but got {element}" in said


@pytest.mark.parametrize(
    ("name", "allowed"),
    [("multimem_load_reduce_view_tko", MULTIMEM_LOADS), ("multimem_reduce_view_tko", MULTIMEM_STORES)],
)
def test_reductions_over_devices(name: str, allowed: dict[str, Any]) -> None:
    order = words(memory_ordering_semantics="relaxed", memory_scope="device")
    for element, kind in product(ELEMENTS, TABLE["enums"]["MultimemReductionKind"]):
        said = access(name, element, order | words(reduction=kind))
        assert (said is None) == (kind in allowed.get(element, ())), (element, kind, said)
        assert said is None or element in said


def test_elements_of_stores_to_devices() -> None:
    for element in ELEMENTS:
        said = access("multimem_store_view_tko", element, words(memory_ordering_semantics="weak"))
        assert (said is None) == (element in MULTIMEM_STORES)
        assert said is None or f"but got {element}" in said
