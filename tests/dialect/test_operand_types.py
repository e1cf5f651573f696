"""Operands and results of types that operations.json does not list for them are refused; the message lists the types.

operations.json has the published operations; this file defines the meaning of its type names.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from operation_verification import verification_error
from random_modules import module

from tilec.dialect.mlir import context, ir
from tilec.dialect.operation import groups
from tilec.dialect.spelling import spell
from tilec.text_input.module import Module

TABLE = {op["name"]: op for op in json.loads((Path(__file__).parents[1] / "operations.json").read_text())["ops"]}
INTEGERS = ("i1", "i8", "i16", "i32", "i64")
ARITHMETIC = ("f16", "bf16", "f32", "f64")
FLOATS = ("f16", "bf16", "f32", "tf32", "f64", "f8E4M3FN", "f8E5M2", "f8E8M0FNU", "f4E2M1FN", "fnv8E5M3FNU")
POINTERS = ("ptr<f32>", "ptr<i8, <unicast>>")
ALL_ELEMENTS = ("i4", *INTEGERS, *FLOATS, *POINTERS)
# The elements of each type name of the table that denotes a tile.
TILES: dict[str, tuple[str, ...]] = {
    "I": INTEGERS,
    "F": ARITHMETIC,
    "FX": FLOATS,
    "N": (*INTEGERS, *FLOATS),
    "I+i4": ("i4", *INTEGERS),
    "N+i4": ("i1", "i4", *INTEGERS[1:], *FLOATS),
    "P": POINTERS,
    "T": ALL_ELEMENTS,
    "B": ("i1",),
    "s(i1)": ("i1",),
    "s(i32)": ("i32",),
    "s(I)": INTEGERS,
    "s(P)": POINTERS,
    "i8tile": ("i8",),
    "i32tile": ("i32",),
    "i64tile": ("i64",),
    "f32tile": ("f32",),
    "mma": ("f16", "bf16", "f32", "f64", "tf32", "f8E4M3FN", "f8E5M2"),
    "accumulator": ("f16", "f32", "f64"),
    "mmai": ("i32",),
    "mmas": ("f8E4M3FN", "f8E5M2", "f4E2M1FN"),
    "scale": ("f8E4M3FN", "f8E8M0FNU", "fnv8E5M3FNU"),
    "{i1,i8,i16,i32}tile": ("i1", "i8", "i16", "i32"),
}
TENSOR = "tensor_view<64x64xf32, strides=[64,1]>"
OTHERS = {
    "token": "token",
    "TV": TENSOR,
    "PV": f"partition_view<tile=(8x8), {TENSOR}>",
    "SV": f"strided_view<tile=(8x8), traversal_strides=[8,8], {TENSOR}>",
    "GV": f"gather_scatter_view<tile=(8x8), {TENSOR}, sparse_dim=0>",
}
VIEWS = ("PV", "SV", "GV")
DESCRIPTIONS = {
    "token": "a token",
    "TV": "a tensor_view",
    "PV": "a partition_view",
    "SV": "a strided_view",
    "GV": "a gather_scatter_view",
    "View": "a partition_view, strided_view or gather_scatter_view",
    "T": "a tile",
}
# Fields for which another rule of the operation allows fewer types than the table.
NARROWER = {
    ("mmaf", "acc"): "accumulator",
    ("mmaf", "result"): "accumulator",
    **dict.fromkeys((("atomic_cas_tko", field) for field in ("cmp", "val", "result")), "N"),
    **dict.fromkeys((("atomic_rmw_tko", field) for field in ("arg", "result")), "N"),
    ("atomic_red_view_tko", "value"): "N",
    **{(name, "view"): "PV" for name in TABLE if name.startswith("multimem_")},
}
FIELDS = [
    pytest.param(name, kind, field, id=f"{name}-{field['name']}")
    for name, op in TABLE.items()
    for kind in ("operands", "results")
    for field in op[kind]
    # `Any` allows all types.
    if field["type"] != "Any"
]


def description(listed: str) -> str:
    if listed in DESCRIPTIONS:
        return DESCRIPTIONS[listed]
    elements = "pointer" if listed in ("P", "s(P)") else " or ".join(TILES[listed])
    return f"{'0D ' if listed.startswith('s(') else ''}tile of {elements} values"


def refused_types(listed: str) -> list[str]:
    """One type of each kind that a field does not allow."""
    elements = TILES.get(listed, ())
    # 4-bit floats have no tile of rank 0.
    extent = "" if listed.startswith("s(") else "8x"
    found = [f"tile<{extent if each != 'f4E2M1FN' else '8x'}{each}>" for each in ALL_ELEMENTS if each not in elements]
    if listed.startswith("s("):
        found.append(f"tile<8x{elements[0]}>")
    return found + [
        text for kind, text in OTHERS.items() if kind != listed and not (listed == "View" and kind in VIEWS)
    ]


def index_of_field(found: ir.Operation, kind: str, field: str) -> int | None:
    """The index of the first value of a field among the operands or results, or None if the field is empty."""
    index = 0
    for name, values in (groups(found.opview, kind.removesuffix("s")) or {}).items():
        if name == field:
            return index if values else None
        index += len(values)
    raise AssertionError(f"{found.name} has no {field}")


def sample(name: str, kind: str, field: str) -> tuple[Module, ir.Operation, int]:
    """A valid operation with a value for a field, after its module, and the index of that value."""
    for seed in range(40):
        whole, found = module(seed, 0, name), []
        whole.ir.operation.walk(lambda operation: found.append(operation) or ir.WalkResult.ADVANCE)  # noqa: B023
        for operation in found:
            at = index_of_field(operation, kind, field) if operation.name == f"cuda_tile.{name}" else None
            if at is not None:
                return whole, operation, at
    raise AssertionError(f"no {name} with {field}")


def error_with_type(operation: ir.Operation, name: str, kind: str, at: int, text: str) -> str | None:
    """The verification error of an operation whose operand or result `at` has type `text` instead."""
    types = {each: [spell(value.type) for value in getattr(operation, each)] for each in ("operands", "results")}
    types[kind][at] = text
    attributes = dict(operation.attributes.items())
    return verification_error(name, types["operands"], types["results"], attributes, len(operation.regions))


@pytest.mark.parametrize(("name", "kind", "field"), FIELDS)
def test_types_that_are_not_listed_are_refused(name: str, kind: str, field: dict[str, Any]) -> None:
    with context():
        whole, operation, at = sample(name, kind, field["name"])
        listed = NARROWER.get((name, field["name"]), field["type"])
        for text in refused_types(listed):
            expected = f"{kind.removesuffix('s')} #{at} must be {description(listed)}, but got '{text}'"
            assert expected in (error_with_type(operation, name, kind, at, text) or "")
        whole.verify()


INTEGER_OPERATIONS = "absi addi subi muli mulhii negi divi remi maxi mini shli shri andi ori xori".split()
FLOAT_OPERATIONS = (
    "addf subf mulf divf fma remf fpowf atan2 maxf minf absf negf ceil floor cos cosh sin sinh tan log log2 tanh exp"
    " exp2 rsqrt sqrt"
).split()
SAME_SHAPE = "cmpi cmpf bitcast exti trunci ftof ftoi itof int_to_ptr ptr_to_int ptr_to_ptr offset fpowi select".split()


def with_other_shape(text: str) -> str:
    """The tile type with one more dimension."""
    return text.replace("tile<", "tile<2x", 1)


@pytest.mark.parametrize("name", [*INTEGER_OPERATIONS, *FLOAT_OPERATIONS])
def test_operands_and_results_have_the_same_type(name: str) -> None:
    integer = name in INTEGER_OPERATIONS
    first, second = ("tile<4xi32>", "tile<4xi16>") if integer else ("tile<4xf32>", "tile<4xf16>")
    with context():
        whole, operation, _ = sample(name, "results", "result")
        attributes = {key: operation.attributes[key] for key in operation.attributes if key != "flush_to_zero"}
        count = len(operation.operands)
        for other in (second, with_other_shape(first)):
            for at in range(count + 1):
                types = [first] * (count + 1)
                types[at] = other
                error = verification_error(name, types[:count], types[count:], attributes)
                assert error is not None and "failed to verify that all of" in error and "have same type" in error
        whole.verify()


@pytest.mark.parametrize("name", SAME_SHAPE)
def test_operands_and_results_have_the_same_shape(name: str) -> None:
    with context():
        whole, operation, _ = sample(name, "results", TABLE[name]["results"][0]["name"])
        operands, results = ([spell(v.type) for v in each] for each in (operation.operands, operation.results))
        attributes = dict(operation.attributes.items())
        types = [*operands, *results]
        for at in range(len(types)):
            changed = [*types[:at], with_other_shape(types[at]), *types[at + 1 :]]
            error = verification_error(name, changed[: len(operands)], changed[len(operands) :], attributes)
            assert error is not None and "failed to verify that all of" in error
        whole.verify()
