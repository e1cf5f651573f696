"""Packed views: which bits of a row are an element, and what lies outside of the index space."""

from __future__ import annotations

import numpy as np
import pytest

from tilec.errors import SimulationError

TENSOR = "tensor_view<6xi8, strides=[1]>"


def access(
    execute, bits: int, tile: int, memory: np.ndarray, tiles: np.ndarray, index: int, operation: str, check: bool = True
) -> None:
    view = f"tilex.packed_view<tile=({tile}), bits={bits}, {TENSOR}>"
    whole = f"tensor_view<{tile}xi8, strides=[1]>"
    plain = f"partition_view<tile=({tile}), {whole}>"
    copies = {
        "load": f"""%x, %k = tilex.load_packed_tko weak %v[%i] : {view}, tile<i32> -> tile<{tile}xi8>, token
            %e = store_view_tko weak %x, %w[%zero] : tile<{tile}xi8>, {plain}, tile<i32> -> token""",
        "store": f"""%x, %k = load_view_tko weak %w[%zero] : {plain}, tile<i32> -> tile<{tile}xi8>, token
            %e = tilex.store_packed_tko weak %x, %v[%i] : tile<{tile}xi8>, {view}, tile<i32> -> token""",
    }
    execute(
        "%p: tile<ptr<i8>>, %q: tile<ptr<i8>>, %i: tile<i32>",
        f"""%t = make_tensor_view %p, shape = [6], strides = [1] : {TENSOR}
        %v = tilex.make_packed_view %t : {view}
        %o = make_tensor_view %q, shape = [{tile}], strides = [1] : {whole}
        %w = make_partition_view %o : {plain}
        %zero = constant <i32: 0> : tile<i32>
        {copies[operation]}""",
        memory,
        tiles,
        index,
        check=check,
    )


# The bytes 0x1b = 00'01'10'11 and 0xe4 = 11'10'01'00, lowest bits first, then zeros.
MEMORY = (0x1B, 0xE4, 0, 0, 0, 0)
ELEMENTS = {
    2: [3, 2, 1, 0, 0, 1, 2, 3],
    4: [0xB, 0x1, 0x4, 0xE, 0, 0, 0, 0],
    # 011011, 010000 (low bits 00, high bits 0100), 001110, 000000
    6: [0x1B, 0x10, 0x0E, 0, 0, 0, 0, 0],
}


@pytest.mark.parametrize("bits", ELEMENTS)
def test_load_by_hand(execute, bits: int) -> None:
    found = np.full(8, 99, np.int8)
    access(execute, bits, 8, np.array(MEMORY, np.uint8), found, 0, "load")
    assert found.tolist() == ELEMENTS[bits]


@pytest.mark.parametrize("bits", ELEMENTS)
def test_store_by_hand(execute, bits: int) -> None:
    """The bits above those of an element are not stored."""
    memory = np.zeros(6, np.uint8)
    access(execute, bits, 8, memory, (np.array(ELEMENTS[bits]) - (1 << bits)).astype(np.int8), 0, "store")
    assert memory.tolist() == list(MEMORY)


@pytest.mark.parametrize("operation", ["load", "store"])
@pytest.mark.parametrize(("bits", "tiles"), [(2, 3), (4, 2), (6, 1)])
def test_index_outside_of_the_view(execute, bits: int, tiles: int, operation: str) -> None:
    """Six bytes hold 24, 12 or 8 elements."""
    with pytest.raises(SimulationError, match=f"index 0 of the view must be at least 0 and below {tiles}, got {tiles}"):
        access(execute, bits, 8, np.zeros(6, np.uint8), np.zeros(8, np.int8), tiles, operation)


def test_negative_index_is_shown_as_it_was_given(execute) -> None:
    with pytest.raises(SimulationError, match="index 0 of the view must be at least 0 and below 1, got -1"):
        access(execute, 6, 8, np.zeros(6, np.uint8), np.zeros(8, np.int8), -1, "load")


@pytest.mark.parametrize("index", [1, 1 << 20, -1])
def test_unchecked_tile_outside_of_the_view(execute, index: int) -> None:
    """Tiles beyond the last one are zero and store nothing; the index is unsigned."""
    memory, found = np.full(6, 255, np.uint8), np.full(8, 99, np.int8)
    access(execute, 6, 8, memory, found, index, "load", check=False)
    assert not found.any()
    access(execute, 6, 8, memory, found, index, "store", check=False)
    assert (memory == 255).all()
