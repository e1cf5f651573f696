"""Random tiled copies, against a model in numpy: every element type, rank, stride, swizzle and edge of the tensor."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
from swizzle_images import UNIT_SWIZZLES, swizzled
from tensor_copies import UNIT_BYTES, load, store

# Bits of an element, and the bytes of 16 of them in shared memory.
BITS = {"u8": 8, "u16": 16, "bf16": 16, "s32": 32, "f32": 32, "u64": 64, "f64": 64, "b4x16": 4}
PADDED = {"b4x16_p64": 4, "b6x16_p32": 6}
# TMA copies rows of a tensor in these units: measured on H200 (benchmarks/hopper/bounds.py).
GRANULE_BYTES = 16
SPANS = {"32B": 32, "64B": 64, "128B": 128, "128B_atom_32B": 128, "128B_atom_64B": 128}


@dataclass(frozen=True)
class Case:
    """Dimensions are innermost first. Extents, boxes and coordinates of dimension 0 count elements."""

    element: str
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    element_strides: tuple[int, ...]
    first: tuple[int, ...]
    swizzle: str

    @property
    def bits(self) -> int:
        return {**BITS, **PADDED}[self.element]

    @property
    def counts(self) -> list[int]:
        """Rows of the box along each outer dimension."""
        return [-(-box // step) for box, step in zip(self.box[1:], self.element_strides[1:], strict=True)]

    def rows(self) -> list[tuple[int, ...]]:
        """The outer coordinates of the rows, dimension 1 fastest."""
        indices = np.ndindex(*self.counts[::-1])
        return [
            tuple(c + i * s for c, i, s in zip(self.first[1:], index[::-1], self.element_strides[1:], strict=True))
            for index in indices
        ]

    def segment(self) -> tuple[int, int, int]:
        """Of a row: the bytes before the tensor, the end of those inside, and the offset of the first in the tensor."""
        begin, end = max(0, -self.first[0]), max(0, min(self.box[0], self.extents[0] - self.first[0]))
        begin = min(begin, end)
        return begin * self.bits // 8, end * self.bits // 8, (self.first[0] + begin) * self.bits // 8

    def addresses(self) -> list[int | None]:
        """Offsets in memory of the rows; None outside of the tensor."""
        return [
            sum(x * stride for x, stride in zip(row, self.strides, strict=True))
            if all(0 <= x < extent for x, extent in zip(row, self.extents[1:], strict=True))
            else None
            for row in self.rows()
        ]


def random_case(random: np.random.Generator, stores: bool) -> Case:
    element = str(random.choice([*BITS, "b6x16_p32"] if stores else [*BITS, *PADDED]))
    bits, rank, padded = {**BITS, **PADDED}[element], int(random.integers(1, 6)), element in PADDED
    swizzle = str(random.choice([name for name in UNIT_SWIZZLES if not padded or name not in ("32B", "64B")]))
    # Extents are multiples of a group, which is whole bytes in memory, and coordinates of 16 bytes.
    group = 128 if padded else 16 if element == "b4x16" else 1
    least_step = 128 if padded else GRANULE_BYTES * 8 // bits
    row_bytes = SPANS.get(swizzle, 16 * int(random.integers(1, 9)))
    box = (128 if padded else min(256, row_bytes * 8 // bits), *map(int, random.integers(1, 5, rank - 1)))
    if not padded and box[0] * bits // 8 != row_bytes:
        swizzle = "none"
    extents = (group * int(random.integers(1, 256 // group + 1)), *map(int, random.integers(1, 6, rank - 1)))
    granule, strides = 32 if padded else 16, []
    size = extents[0] * bits // 8
    for extent in extents[1:]:
        strides.append(-(-size // granule) * granule + granule * int(random.integers(0, 3)))
        size = strides[-1] * extent
    steps = (1, *map(int, random.integers(1, 4, rank - 1)))
    least = 0 if stores else -1
    first = (least_step * int(random.integers(least, -(-extents[0] // least_step))),)
    first += tuple(int(random.integers(least, extent)) for extent in extents[1:])
    return Case(element, extents, tuple(strides), box, steps, first, swizzle)


def memory_of(case: Case, random: np.random.Generator) -> np.ndarray:
    strides = (*case.strides, case.extents[0] * case.bits // 8)
    size = strides[-2] * case.extents[-1] if case.strides else strides[-1]
    return random.integers(0, 256, -(-size // GRANULE_BYTES) * GRANULE_BYTES, np.uint8)


def encoded(encode_tensor_map, case: Case, memory: np.ndarray) -> bytes:
    return encode_tensor_map(
        memory.ctypes.data, case.element, case.extents, case.strides, case.box, case.swizzle, case.element_strides
    )


@pytest.mark.parametrize("number", range(150))
def test_loads(simulate, encode_tensor_map, aligned, number):
    random = np.random.default_rng(number)
    case = random_case(random, stores=False)
    memory = aligned(memory_of(case, random))
    rows = np.zeros((len(case.rows()), case.box[0] * case.bits // 8), np.uint8)
    begin, end, offset = case.segment()
    for row, address in zip(rows, case.addresses(), strict=True):
        if address is not None:
            row[begin:end] = memory[address + offset : address + offset + end - begin]
    data = 2 * case.bits if case.element in PADDED else UNIT_BYTES
    units = np.zeros((rows.size // data, UNIT_BYTES), np.uint8)
    units[:, :data] = rows.reshape(-1, data)
    image = aligned(np.zeros_like(units))
    text = load(case.first, rows.size, image.nbytes, bytes_of_unit=data)
    simulate(
        text, encoded(encode_tensor_map, case, memory), image, block=len(image), map_targets=[memory], seed=number % 4
    )
    np.testing.assert_array_equal(image, swizzled(units, case.swizzle))


@pytest.mark.parametrize("number", range(150))
def test_stores(simulate, encode_tensor_map, aligned, number):
    random = np.random.default_rng(1000 + number)
    case = random_case(random, stores=True)
    memory = aligned(memory_of(case, random))
    expected = memory.copy()
    width = case.box[0] if case.element in PADDED else case.box[0] * case.bits // 8
    given = random.integers(0, 256, (len(case.rows()), width), np.uint8)
    rows = given
    if case.element in PADDED:
        bits = (given[..., np.newaxis] >> np.arange(6)) & 1
        rows = np.packbits(bits.reshape(len(given), -1), axis=1, bitorder="little")
    begin, end, offset = case.segment()
    # A store writes 16 bytes as a whole, which the checks report.
    written = min(-(-end // GRANULE_BYTES) * GRANULE_BYTES, rows.shape[1])
    is_partial = written > end > begin and any(address is not None for address in case.addresses())
    for row, address in zip(rows, case.addresses(), strict=True):
        if address is not None and end > begin:
            expected[address + offset : address + offset + written - begin] = row[begin:written]
    image = aligned(swizzled(given.reshape(-1, UNIT_BYTES), case.swizzle))
    launch = partial(
        simulate, store(case.first, image.nbytes), encoded(encode_tensor_map, case, memory), image, block=len(image),
        map_targets=[memory], seed=number % 4,
    )  # fmt: skip
    if is_partial:
        with pytest.raises(RuntimeError, match="a store by TMA writes 16 bytes as a whole") as trap:
            launch()
        assert trap.value.kind == "illegal"
    launch(checks=not is_partial)
    np.testing.assert_array_equal(memory, expected)


@pytest.mark.parametrize("copy", [load, store])
def test_coordinates_are_multiples_of_16_bytes(simulate, encode_tensor_map, aligned, copy):
    """H200 reports an illegal instruction elsewhere."""
    case = Case("u16", (64, 8), (128,), (64, 8), (1, 1), (4, 0), "none")
    memory, image = aligned(np.zeros(1024, np.uint8)), aligned(np.zeros((64, UNIT_BYTES), np.uint8))
    text = load(case.first, 1024, image.nbytes, bytes_of_unit=UNIT_BYTES) if copy is load else store(case.first, 1024)
    with pytest.raises(RuntimeError, match="expected a coordinate 0 at a multiple of 16 bytes .*, got 8") as trap:
        simulate(text, encoded(encode_tensor_map, case, memory), image, block=64, map_targets=[memory])
    assert trap.value.kind == "illegal"
