"""Without ranges, an access outside the mappings of the process is an error at the user's line."""

from __future__ import annotations

import mmap

import numpy as np
import pytest

from tilec.errors import SimulationError
from tilec.runtime.interpret.memory import mapped_memory
from tilec.runtime.interpret.memory.mapped_memory import MappedMemory

POINTERS = "%p: tile<ptr<f32>>, %q: tile<ptr<f32>>"
COPY = """%x, %k = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token
%e = store_ptr_tko weak %q, %x : tile<ptr<f32>>, tile<f32> -> token"""


def addresses(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.uint64)


def test_mapped_address_needs_no_range(execute):
    source, result = np.full(1, 7, np.float32), np.zeros(1, np.float32)
    execute(POINTERS, COPY, source, result, ranges=None)
    assert result[0] == 7


@pytest.mark.parametrize("wrong", [0, 0x1230, 2**47 + 16, 2**64 - 4])
def test_unmapped_address_is_an_error_for_loads_and_stores(execute, wrong):
    where = f"of 4 bytes at {wrong:#x} is not mapped"
    with pytest.raises(SimulationError, match=f"load {where} readable in this process"):
        execute(POINTERS, COPY, wrong, np.zeros(1, np.float32), ranges=None)
    with pytest.raises(SimulationError, match=f"store {where} writable in this process") as caught:
        execute(POINTERS, COPY, np.zeros(1, np.float32), wrong, ranges=None)
    assert (caught.value.location.file, caught.value.location.line) == ("kernel.mlir", 3)


def test_store_to_read_only_memory_is_an_error(execute):
    """A file is mapped for reading, and a load succeeds."""
    with open(__file__, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
        start = np.frombuffer(mapped, np.uint8).ctypes.data
        result = np.zeros(1, np.uint32)
        execute(POINTERS, COPY, start, result, ranges=None)
        assert result.tobytes() == b'"""W'
        with pytest.raises(SimulationError, match="is not mapped writable in this process"):
            execute(POINTERS, COPY, result, start, ranges=None)


def test_later_mappings_are_found():
    memory = MappedMemory()
    with mmap.mmap(-1, 2**24) as mapped:
        start = np.frombuffer(mapped, np.uint8).ctypes.data
        assert not memory.outside(addresses(start, start + 2**24 - 8), 8, writing=True).any()


def test_without_a_list_of_mappings_only_the_first_page_is_invalid(monkeypatch, tmp_path):
    monkeypatch.setattr(mapped_memory, "_MAPS", tmp_path / "none")
    outside = MappedMemory().outside(addresses(0, 4088, 4096, 2**50), 8, writing=False)
    assert outside.tolist() == [True, True, False, False]
