"""Operands and results of a type that the table of operations does not list for them are refused, with what is listed.

The table is that of published operations; what its words mean is spelled out here.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from lone_operation import verdict
from modules_at_random import module

from tilec.dialect.mlir import context, ir
from tilec.dialect.operation import groups
from tilec.dialect.spelling import spell
from tilec.text_input.module import Module

TABLE = {op["name"]: op for op in json.loads((Path(__file__).parents[1] / "operations.json").read_text())["ops"]}
INTEGERS = ("i1", "i8", "i16", "i32", "i64")
ARITHMETIC = ("f16", "bf16", "f32", "f64")
FLOATS = ("f16", "bf16", "f32", "tf32", "f64", "f8E4M3FN", "f8E5M2", "f8E8M0FNU", "f4E2M1FN", "fnv8E5M3FNU")
POINTERS = ("ptr<f32>", "ptr<i8, <unicast>>")
EVERY = ("i4", *INTEGERS, *FLOATS, *POINTERS)
# The words of a message for a tile, and the elements that it may have.
TILES: dict[str, tuple[str, ...]] = {
    "I": INTEGERS,
    "F": ARITHMETIC,
    "FX": FLOATS,
    "N": (*INTEGERS, *FLOATS),
    "I+i4": ("i4", *INTEGERS),
    "N+i4": ("i1", "i4", *INTEGERS[1:], *FLOATS),
    "P": POINTERS,
    "T": EVERY,
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
WORDS = {
    "token": "a token",
    "TV": "a tensor_view",
    "PV": "a partition_view",
    "SV": "a strided_view",
    "GV": "a gather_scatter_view",
    "View": "a partition_view, strided_view or gather_scatter_view",
    "T": "a tile",
}
# Where one of an operation's rules leaves fewer than the table's word for the field says.
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
    # Any type at all, which leaves nothing to refuse.
    if field["type"] != "Any"
]


def words_for(listed: str) -> str:
    if listed in WORDS:
        return WORDS[listed]
    elements = "pointer" if listed in ("P", "s(P)") else " or ".join(TILES[listed])
    return f"{'0D ' if listed.startswith('s(') else ''}tile of {elements} values"


def refused_types(listed: str) -> list[str]:
    """One of each type that is none of a field's."""
    elements = TILES.get(listed, ())
    # 4-bit floats have no tile of rank 0.
    extent = "" if listed.startswith("s(") else "8x"
    found = [f"tile<{extent if each != 'f4E2M1FN' else '8x'}{each}>" for each in EVERY if each not in elements]
    if listed.startswith("s("):
        found.append(f"tile<8x{elements[0]}>")
    return found + [
        text for kind, text in OTHERS.items() if kind != listed and not (listed == "View" and kind in VIEWS)
    ]


def first(found: ir.Operation, kind: str, field: str) -> int | None:
    """Where the first value of a field is among the operands or results, if there is one."""
    before = 0
    for name, values in (groups(found.opview, kind.removesuffix("s")) or {}).items():
        if name == field:
            return before if values else None
        before += len(values)
    raise AssertionError(f"{found.name} has no {field}")


def sample(name: str, kind: str, field: str) -> tuple[Module, ir.Operation, int]:
    """An operation that holds and has a value for a field, with its module, and where that value is."""
    for seed in range(40):
        whole, found = module(seed, 0, name), []
        whole.ir.operation.walk(lambda operation: found.append(operation) or ir.WalkResult.ADVANCE)  # noqa: B023
        for operation in found:
            at = first(operation, kind, field) if operation.name == f"cuda_tile.{name}" else None
            if at is not None:
                return whole, operation, at
    raise AssertionError(f"no {name} with {field}")


def problem(operation: ir.Operation, name: str, kind: str, at: int, text: str) -> str | None:
    """What is said of an operation where one operand or result has another type."""
    types = {each: [spell(value.type) for value in getattr(operation, each)] for each in ("operands", "results")}
    types[kind][at] = text
    attributes = dict(operation.attributes.items())
    return verdict(name, types["operands"], types["results"], attributes, len(operation.regions))


@pytest.mark.parametrize(("name", "kind", "field"), FIELDS)
def test_only_listed_types(name: str, kind: str, field: dict[str, Any]) -> None:
    with context():
        whole, operation, at = sample(name, kind, field["name"])
        listed = NARROWER.get((name, field["name"]), field["type"])
        for text in refused_types(listed):
            expected = f"{kind.removesuffix('s')} #{at} must be {words_for(listed)}, but got '{text}'"
            assert expected in (problem(operation, name, kind, at, text) or "")
        whole.verify()


INTEGER_OPERATIONS = "absi addi subi muli mulhii negi divi remi maxi mini shli shri andi ori xori".split()
FLOAT_OPERATIONS = (
    "addf subf mulf divf fma remf fpowf atan2 maxf minf absf negf ceil floor cos cosh sin sinh tan log log2 tanh exp"
    " exp2 rsqrt sqrt"
).split()
SAME_SHAPE = "cmpi cmpf bitcast exti trunci ftof ftoi itof int_to_ptr ptr_to_int ptr_to_ptr offset fpowi select".split()


def with_other_shape(text: str) -> str:
    """The type of a tile with one more dimension."""
    return text.replace("tile<", "tile<2x", 1)


@pytest.mark.parametrize("name", [*INTEGER_OPERATIONS, *FLOAT_OPERATIONS])
def test_one_type_for_all(name: str) -> None:
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
                said = verdict(name, types[:count], types[count:], attributes)
                assert said is not None and "failed to verify that all of" in said and "have same type" in said
        whole.verify()


@pytest.mark.parametrize("name", SAME_SHAPE)
def test_one_shape_for_all(name: str) -> None:
    with context():
        whole, operation, _ = sample(name, "results", TABLE[name]["results"][0]["name"])
        operands, results = ([spell(v.type) for v in each] for each in (operation.operands, operation.results))
        attributes = dict(operation.attributes.items())
        types = [*operands, *results]
        for at in range(len(types)):
            changed = [*types[:at], with_other_shape(types[at]), *types[at + 1 :]]
            said = verdict(name, changed[: len(operands)], changed[len(operands) :], attributes)
            assert said is not None and "failed to verify that all of" in said
        whole.verify()
