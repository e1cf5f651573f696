"""Builds the loads and stores of `Array.get_raw_memory`, by element offset."""

from __future__ import annotations

from tilec.ast_to_tile.emitter import Emitter
from tilec.ast_to_tile.operations.memory import load_pointer, store_pointer, to_index_shape
from tilec.ast_to_tile.operations.pointers import offset_addresses
from tilec.ast_to_tile.registry import implements
from tilec.ast_to_tile.values.bound_method import bound_method
from tilec.ast_to_tile.values.values import Array, KernelValue, RawArrayMemory, Tile
from tilec.language.operations import raw_memory as language
from tilec.language.operations import view as view_language


@implements(view_language.Array.get_raw_memory)
def _get_raw_memory(self: Array, emitter: Emitter) -> RawArrayMemory:
    return RawArrayMemory(self)


def raw_memory_attribute(memory: RawArrayMemory, name: str) -> KernelValue:
    """`memory.name`; raises CompileError for an unknown attribute."""
    if name == "dtype":
        return memory.array.dtype
    return bound_method(memory, name, language.RawArrayMemory, "raw memories of arrays")


@implements(language.RawArrayMemory.load_offset)
def _load_offset(
    self: RawArrayMemory,
    emitter: Emitter,
    offset: KernelValue,
    mask: KernelValue,
    padding_value: KernelValue,
    **options: KernelValue,
) -> Tile:
    pointers, shape, chosen = offset_addresses(emitter, self.array, offset, mask)
    padding = None
    if chosen is not None and padding_value is not None:
        padding = to_index_shape(emitter, padding_value, "padding_value", self.array.dtype, shape)
    return load_pointer(emitter, self.array, pointers, shape, chosen, padding, options)


@implements(language.RawArrayMemory.store_offset)
def _store_offset(
    self: RawArrayMemory,
    emitter: Emitter,
    offset: KernelValue,
    value: KernelValue,
    mask: KernelValue,
    **options: KernelValue,
) -> None:
    pointers, shape, chosen = offset_addresses(emitter, self.array, offset, mask)
    stored = to_index_shape(emitter, value, "value", self.array.dtype, shape)
    store_pointer(emitter, pointers, stored, chosen, options)
