"""The elements of array attributes, which are read once for all attributes that are equal."""

from __future__ import annotations

from tilec.dialect.cache import cached
from tilec.dialect.mlir import ir


@cached
def integers_of(array: ir.Attribute) -> tuple[int, ...]:
    """The elements of a dense array, by index: bindings end an iteration with an exception of C++, for 20,000 steps."""
    return tuple([array[number] for number in range(len(array))])


@cached
def texts_of(array: ir.ArrayAttr) -> tuple[str, ...]:
    """The values of an array of strings."""
    return tuple([entry.value for entry in array])
