"""The facts that the vectors must cover, from tests/operations.json and additional tables."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

from sample import INTEGERS, NUMBERS
from view_model import padding_code

sys.path.insert(0, str(Path(__file__).parent / "generators"))

from atomic_vectors import PAIRS
from conversion_vectors import MODES, ROUNDINGS, SAME_WIDTH, TARGETS
from matrix_vectors import ACCUMULATORS, SCALED
from multimem_vectors import KINDS
from view_vectors import PADDINGS

Fact = tuple[Any, ...]
TABLE = json.loads((Path(__file__).parent.parent / "operations.json").read_text())
OPERATIONS = {record["name"]: record for record in TABLE["ops"]}

# preview$call calls a function outside the module; its operands are not documented.
UNDOCUMENTED = {"preview$call"}

ARITHMETIC = ("f16", "bf16", "f32", "f64")
FLOATS = tuple(TARGETS)
EVERY_POINTER = tuple(f"ptr<{name}>" for name in NUMBERS)
# NVIDIA's tools accept ptr<f4E2M1FN> only in tiles of rank 0, and f4E2M1FN only in tiles of rank 1 and more: such a
# pointer can be the base of a view, a copied value or an operand of address arithmetic, not of a load or a store.
_POINTED = tuple(name for name in NUMBERS if name != "f4E2M1FN")
POINTERS = ("ptr<f32>", "ptr<i8>")
VIEWS = ("partition_view", "strided_view", "gather_scatter_view")
# The element types of each class of operands in operations.json.
CLASSES: dict[str, tuple[str, ...]] = {
    "I": INTEGERS,
    "F": ARITHMETIC,
    "FX": FLOATS,
    "N": NUMBERS,
    "I+i4": ("i4", *INTEGERS),
    "N+i4": ("i4", *NUMBERS),
    "T": ("i4", *NUMBERS, *POINTERS),
    "P": EVERY_POINTER,
    "B": ("i1",),
    "token": ("token",),
    "i8tile": ("i8",),
    "i32tile": ("i32",),
    "i64tile": ("i64",),
    "f32tile": ("f32",),
    "{i1,i8,i16,i32}tile": ("i1", "i8", "i16", "i32"),
    "mma": ("f16", "bf16", "f32", "f64", "tf32", "f8E4M3FN", "f8E5M2"),
    "mmai": ("i32",),
    "mmas": ("f8E4M3FN", "f8E5M2", "f4E2M1FN"),
    "scale": ("f8E4M3FN", "f8E8M0FNU", "fnv8E5M3FNU"),
    "Any": (*NUMBERS, *EVERY_POINTER, "token"),
    "TV": NUMBERS,
    "PV": NUMBERS,
    "SV": NUMBERS,
    "GV": NUMBERS,
    "View": NUMBERS,
}
_ATOMIC = ("i32", "i64", "f16", "bf16", "f32", "f64")
# Operands and results with fewer types than their class, with the reason.
NARROWER: dict[tuple[str, str], tuple[str, ...]] = {
    # Memory cannot have elements of i4 or pointers.
    **dict.fromkeys(
        (("load_ptr_tko", "result"), ("load_ptr_tko", "paddingValue"), ("store_ptr_tko", "value")), _POINTED
    ),
    **{
        field: tuple(f"ptr<{name}>" for name in _POINTED)
        for field in (("load_ptr_tko", "source"), ("store_ptr_tko", "destination"))
    },
    ("load_view_tko", "tile"): NUMBERS,
    ("store_view_tko", "tile"): NUMBERS,
    # pack and unpack have no elements of eight bits.
    **{
        field: tuple(n for n in CLASSES["N+i4"] if n != "i8" and not n.startswith("f8") and not n.startswith("fnv8"))
        for field in (("pack", "source"), ("unpack", "result"))
    },
    # Tile IR has no select of f4E2M1FN, and no tile of rank 0 of f4E2M1FN, which the bodies of reduce and scan need.
    **{
        ("select", field): ("i4", *_POINTED, *POINTERS, "ptr<f4E2M1FN>")
        for field in ("val_if_true", "val_if_false", "result")
    },
    # Of the operations that move elements, only reshape and select accept tiles of rank 0.
    **{("reshape", field): (*CLASSES["T"], "ptr<f4E2M1FN>") for field in ("source", "result")},
    **{(name, field): (*_POINTED, "i4") for name in ("reduce", "scan") for field in ("operands", "results")},
    ("exti", "from"): ("i1", "i4", "i8", "i16", "i32"),
    ("exti", "to"): ("i4", "i8", "i16", "i32", "i64"),
    ("trunci", "from"): ("i4", "i8", "i16", "i32", "i64"),
    ("trunci", "to"): ("i1", "i4", "i8", "i16", "i32"),
    ("itof", "to"): tuple(name for name in FLOATS if name != "f8E8M0FNU"),
    ("mmaf", "acc"): ("f16", "f32", "f64"),
    ("mmaf", "result"): ("f16", "f32", "f64"),
    **{("atomic_rmw_tko", field): _ATOMIC for field in ("arg", "result")},
    ("atomic_rmw_tko", "pointers"): tuple(f"ptr<{name}>" for name in _ATOMIC),
    **{("atomic_cas_tko", field): ("i32", "i64", "f32", "f64") for field in ("cmp", "val", "result")},
    ("atomic_cas_tko", "pointers"): ("ptr<i32>", "ptr<i64>", "ptr<f32>", "ptr<f64>"),
    **{("atomic_red_view_tko", field): _ATOMIC for field in ("value", "view")},
    **{
        (f"multimem_{name}_view_tko", field): _ATOMIC
        for name in ("load_reduce", "reduce", "store")
        for field in ("view", "tile", "reduced_values")
    },
    **{(f"multimem_{name}_view_tko", "index"): ("i32",) for name in ("load_reduce", "reduce", "store")},
    # The predicates of assume apply to integers, pointers and tensor_views.
    **{("assume", field): (*INTEGERS, *EVERY_POINTER, "f32") for field in ("value", "result")},
    ("print_tko", "args"): (*NUMBERS, "i4", "ptr<f32>"),
    ("return", "operands"): (),
    ("get_tensor_shape", "src"): ("f32",),
    ("get_index_space_shape", "src"): ("f32",),
    ("get_global", "result"): EVERY_POINTER,
    ("alloca", "result"): EVERY_POINTER,
}
IEEE_MODES = ("nearest_even", "zero", "negative_inf", "positive_inf")
# The keywords of operations that accept only a part of the enumeration.
KEYWORDS: dict[tuple[str, str], tuple[str, ...]] = {
    **{(name, "rounding_mode"): IEEE_MODES for name in ("addf", "subf", "mulf", "fma")},
    ("divf", "rounding_mode"): (*IEEE_MODES, "approx", "full"),
    ("sqrt", "rounding_mode"): (*IEEE_MODES, "approx"),
    **{(name, "rounding_mode"): ("approx", "full") for name in ("exp", "tanh")},
    ("divi", "rounding"): ("zero", "negative_inf", "positive_inf"),
    ("ftof", "rounding_mode"): MODES,
    ("ftoi", "rounding_mode"): ("nearest_int_to_zero",),
    ("itof", "rounding_mode"): ("nearest_even",),
    ("negi", "overflow"): ("none", "no_signed_wrap", "no_wrap"),
    ("atomic_red_view_tko", "mode"): tuple(mode for mode in TABLE["enums"]["AtomicRMWMode"] if mode != "xchg"),
    ("atomic_red_view_tko", "memory_scope"): ("tl_blk", "device"),
}
# Memory orderings of accesses; a weak access has no scope.
_LOADS, _STORES = ("weak", "relaxed", "acquire"), ("weak", "relaxed", "release")
ORDERINGS: dict[str, tuple[str, ...]] = {
    "load_ptr_tko": _LOADS,
    "load_view_tko": _LOADS,
    "multimem_load_reduce_view_tko": _LOADS,
    "store_ptr_tko": _STORES,
    "store_view_tko": _STORES,
    "multimem_store_view_tko": _STORES,
    "multimem_reduce_view_tko": ("relaxed", "release"),
    "atomic_rmw_tko": ("relaxed", "acquire", "release", "acq_rel"),
    "atomic_cas_tko": ("relaxed", "acquire", "release", "acq_rel"),
    "atomic_red_view_tko": ("relaxed",),
}
_VIEW_EDGES = (
    "inside", "ragged", "outside", "unsigned index", "tensor within the tile", "rank 1", "rank 3", "rank 4", "dim_map",
    "traversal strides", "columns in a row", "no unit stride", "one element", "repeated", "index outside",
    "dense index counts elements",
)  # fmt: skip
EDGES = {
    "load_view_tko": _VIEW_EDGES,
    "store_view_tko": _VIEW_EDGES,
    "atomic_rmw_tko": ("repeated",),
    "atomic_red_view_tko": ("inside", "ragged", "outside", "dim_map", "rank 1"),
    "loop": ("early exit",),
    "for": ("early exit",),
    "return": ("early exit",),
    **dict.fromkeys(("cat", "select", "extract", "insert"), ("unlike layouts",)),
    **dict.fromkeys(("permute", "reshape", "broadcast", "reduce", "scan"), ("wider than a warp",)),
}


def required() -> Iterator[Fact]:
    for name, record in OPERATIONS.items():
        if name not in UNDOCUMENTED:
            yield ("operation", name)
            yield from _values(name, record)
            yield from _attributes(name, record)
    yield from _pairs()
    yield from _accesses()
    yield from _views()
    for name, edges in EDGES.items():
        yield from (("edge", name, edge) for edge in edges)


def _values(name: str, record: dict[str, Any]) -> Iterator[Fact]:
    for kind in ("operand", "result"):
        for field in record[f"{kind}s"]:
            described = field["type"].removeprefix("s(").removesuffix(")")
            elements = NARROWER.get((name, field["name"]), CLASSES.get(described, (described,)))
            yield from ((kind, name, field["name"], element) for element in elements)
            if field["kind"] == "optional":
                yield from (("optional", name, field["name"], present) for present in (False, True))
            if field["kind"] == "variadic" and name != "return":
                yield ("several", name, field["name"])


def _attributes(name: str, record: dict[str, Any]) -> Iterator[Fact]:
    for attribute in record["attrs"]:
        kind, _, enumeration = attribute["encoding"].partition(":")
        if kind == "enum" and attribute["name"] != "memory_ordering_semantics":
            keywords = KEYWORDS.get((name, attribute["name"]), TABLE["enums"][enumeration])
            yield from (("keyword", name, attribute["name"], keyword) for keyword in keywords)
        elif attribute["name"] in ("optimization_hints", "inbounds", "producer"):
            present = (True,) if attribute["presence"] == "required" else (False, True)
            yield from (("given", name, attribute["name"], is_present) for is_present in present)
    for flag in record["flags"]:
        if flag["kind"] == "unit_attr":
            yield from (("flag", name, flag["name"], is_present) for is_present in (False, True))


def _pairs() -> Iterator[Fact]:
    for source, row in ROUNDINGS.items():
        for target, modes in row.items():
            yield from (("rounding_mode", "ftof", mode, (source, target)) for mode in modes)
    for name, count in (("addf", 3), ("subf", 3), ("mulf", 3), ("divf", 3), ("fma", 4), ("sqrt", 2)):
        yield from (("rounding_mode", name, mode, (e,) * count) for mode, e in product(IEEE_MODES, ARITHMETIC))
        yield ("flagged", name, "flush_to_zero", ("f32",) * count)
    for name in ("maxf", "minf"):
        yield ("flagged", name, "flush_to_zero", ("f32",) * 3)
        yield from (("flagged", name, "propagate_nan", (element,) * 3) for element in ARITHMETIC)
    yield from (("flagged", name, "flush_to_zero", ("f32", "f32")) for name in ("exp2", "rsqrt"))
    assumptions = TABLE["enums"]["IntegerOverflow"]
    for name, assumption, element in product(("addi", "subi", "muli", "shli"), assumptions, INTEGERS):
        yield ("overflow", name, assumption, (element,) * 3)
    for names in SAME_WIDTH:
        yield from (("types", "bitcast", pair) for pair in product(names, names))
    order = ("i1", "i4", "i8", "i16", "i32", "i64")
    for at, narrow in enumerate(order):
        yield from (("types", "exti", (narrow, wide)) for wide in order[at + 1 :])
        for wide, assumption in product(order[at + 1 :], assumptions):
            yield ("overflow", "trunci", assumption, (wide, narrow))
    yield from (("types", "ftoi", pair) for pair in product(FLOATS, INTEGERS))
    yield from (("flagged", "ftoi", "saturating", pair) for pair in product(FLOATS, INTEGERS))
    yield from (("types", "itof", pair) for pair in product(INTEGERS, FLOATS) if pair[1] != "f8E8M0FNU")
    yield from (("types", "fpowi", (f, i, f)) for f, i in product(ARITHMETIC, ("i1", "i8", "i16", "i32")))
    yield from (("types", "offset", (p, i, p)) for p, i in product(EVERY_POINTER, INTEGERS))
    for source, accumulators in ACCUMULATORS.items():
        yield from (("types", "mmaf", (source, source, target, target)) for target in accumulators)
        yield from (("flagged", "mmaf", "fast_acc", (source, source, target, target)) for target in accumulators)
        yield from (("mma rank", "mmaf", source, rank) for rank in (2, 3))
    yield from (("scaled", name, scale, shared, rank) for (name, scale, shared), rank in product(SCALED, (2, 3)))
    yield from (("mma rank", "mmai", "i8", rank) for rank in (2, 3))
    signs = TABLE["enums"]["Signedness"]
    yield from (("signs", "mmai", pair) for pair in product(signs, signs))


def _accesses() -> Iterator[Fact]:
    for name, orderings in ORDERINGS.items():
        for ordering in orderings:
            scopes = ("tl_blk", "device") if name == "atomic_red_view_tko" else TABLE["enums"]["MemoryScope"]
            yield from (("access", name, ordering, scope) for scope in ((None,) if ordering == "weak" else scopes))
    for mode, element in PAIRS:
        yield ("mode", "atomic_rmw_tko", mode, element)
        if mode != "xchg":
            yield from (("red", mode, element, kind) for kind in VIEWS[:2])
    for reduction, elements in KINDS.items():
        halves = ("f16", "bf16") if reduction in ("min", "max") else ()
        yield from (("multimem", "multimem_load_reduce_view_tko", reduction, e) for e in (*elements, *halves))
        yield from (("multimem", "multimem_reduce_view_tko", reduction, e) for e in elements)


def _views() -> Iterator[Fact]:
    for name, kind, element in product(("load_view_tko", "store_view_tko"), VIEWS, NUMBERS):
        yield ("view", name, kind, element)
    for kind, element, padding in product(VIEWS, NUMBERS, (None, *PADDINGS)):
        if padding is None or padding_code(element, padding) is not None:
            yield ("padding", "load_view_tko", kind, padding, element)
    for name, kind in product(("load_view_tko", "store_view_tko"), VIEWS):
        yield from (("view rank", name, kind, rank) for rank in (1, 2, 3))
        if kind != "gather_scatter_view":
            yield from (("dim_map", name, kind, identity) for identity in (False, True))
    for name in ("load_view_tko", "store_view_tko"):
        yield from (("sparse_dim", name, axis) for axis in (0, 1))
        yield from (("steps", name, sign) for sign in (-1, 0, 1))
    yield from (("rank", "make_tensor_view", rank) for rank in range(5))
    yield from (("dynamic", "make_tensor_view", dynamic, dynamic) for dynamic in (False, True))
    yield from (("index space", kind) for kind in VIEWS)
