"""Words of the tables of lists: the addresses, extents and strides of arrays that a kernel chooses by an index.

The launcher writes the table of a list (docs/signature.md), and nothing changes it while the kernel runs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tilec.dialect.cuda_tile.types import PointerType
from tilec.dialect.mlir import ir
from tilec.lowering.tile.analysis.constants import splat
from tilec.lowering.tile.analysis.index_arithmetic import Number
from tilec.lowering.tile.analysis.tile_operations import producer, without_assumptions

_SIGNATURE = "tilec.signature"


@dataclass(frozen=True)
class List:
    """A list by its argument of the entry, the address of the table, with the bits of extents and strides."""

    table: ir.Value
    words: int
    index_bits: int


@dataclass(frozen=True)
class ListItem:
    """The array at `index` of a list."""

    list: List
    index: Number


@dataclass(frozen=True)
class ListWord:
    """Word `number` of an array of a list: its address, then its extents, then its strides in elements."""

    item: ListItem
    number: int


def list_word(value: ir.Value) -> ListWord | None:
    """The word that an address, an extent or a stride is, seen through assumptions; None for another value."""
    known = without_assumptions(value)
    cast = producer(known, "trunci", "int_to_ptr")
    load = producer(known if cast is None else without_assumptions(cast.operation.operands[0]), "load_ptr_tko")
    word = None if load is None else loaded_word(load)
    if word is None or isinstance(known.type.element, PointerType) != (word.number == 0):
        return None
    # No array that the launcher passes has an extent or a stride that the index type does not have.
    return word if word.number == 0 or known.type.element.width == word.item.list.index_bits else None


def loaded_word(load: ir.OpView) -> ListWord | None:
    """The word that a load through a pointer reads; None if it reads other memory."""
    if load.mask is not None or load.memory_ordering_semantics != "weak":
        return None
    pointer, constant, variable = load.source, 0, None
    while (moved := producer(pointer, "assume", "offset")) is not None:
        if moved.operation.name == "cuda_tile.offset":
            term, number = _without_constant(moved.offset)
            if term is not None and variable is not None:
                return None
            variable, constant = term if term is not None else variable, constant + number
        pointer = moved.operation.operands[0]
    list = _list_at(pointer)
    if list is None:
        return None
    if variable is None:
        return ListWord(ListItem(list, constant // list.words), constant % list.words)
    index = variable if list.words == 1 else _divided(variable, list.words)
    is_word = index is not None and 0 <= constant < list.words
    return ListWord(ListItem(list, index), constant) if is_word else None


def _without_constant(value: ir.Value) -> tuple[ir.Value | None, int]:
    """A number as a value, None for 0, plus a constant."""
    number = splat(value)
    if number is not None:
        return None, number
    sum = producer(without_assumptions(value), "addi")
    for term, other in () if sum is None else ((sum.lhs, sum.rhs), (sum.rhs, sum.lhs)):
        number = splat(other)
        if number is not None:
            rest, more = _without_constant(term)
            return rest, more + number
    return without_assumptions(value), 0


def _divided(value: ir.Value, factor: int) -> ir.Value | None:
    """The number that a value is the product of, with a factor."""
    product = producer(value, "muli")
    for term, other in () if product is None else ((product.lhs, product.rhs), (product.rhs, product.lhs)):
        if splat(other) == factor:
            return term
    return None


def _list_at(pointer: ir.Value) -> List | None:
    """The list whose table a pointer is the address of; None for another pointer."""
    block = pointer.owner
    entry = block.owner if isinstance(block, ir.Block) else None
    if entry is None or entry.operation.name != "cuda_tile.entry" or _SIGNATURE not in entry.operation.attributes:
        return None
    elements = _elements(ir.StringAttr(entry.operation.attributes[_SIGNATURE]).value)
    element = elements.get(ir.BlockArgument(pointer).arg_number)
    if element is None:
        return None
    return List(pointer, 1 + 2 * element["rank"], int(element.get("index", "i32").removeprefix("i")))


@lru_cache(maxsize=64)
def _elements(signature: str) -> Mapping[int, dict[str, Any]]:
    """The arrays of each list of a signature in JSON, by the entry argument of its table."""
    found, number = dict[int, dict[str, Any]](), 0
    for argument in _leaves(json.loads(signature)["arguments"]):
        if argument["kind"] == "list":
            found[number] = argument["element"]
        number += _COUNTS[argument["kind"]] if argument["kind"] in _COUNTS else 1 + 2 * argument["rank"]
    return found


# The entry arguments of an argument by its kind; an array has its address, extents and strides.
_COUNTS = {"list": 2, "pointer": 1, "scalar": 1, "constant": 0}


def _leaves(arguments: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for argument in arguments:
        if argument["kind"] in ("tuple", "record"):
            yield from _leaves(argument["items"])
        else:
            yield argument
