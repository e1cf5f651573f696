"""Multiplies with a sparse lhs: the element that each nibble of metadata keeps, and the nibbles that keep none."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tilec.errors import SimulationError

# The elements that a nibble keeps (PTX ISA 9.7.16.10.8.1).
PAIRS = {0b0100: (0, 1), 0b1000: (0, 2), 0b1100: (0, 3), 0b1001: (1, 2), 0b1101: (1, 3), 0b1110: (2, 3)}
SINGLES = {0b0100: 0, 0b1110: 1}


def multiply(execute, element: str, kept: np.ndarray, words: np.ndarray, rhs: np.ndarray, check: bool = True):
    """The product with an accumulator of zeros; operands are float32 or bytes in memory."""
    rows, half = kept.shape
    columns, memory = rhs.shape[1], "i8" if element == "i8" else "f32"
    sums = "i32" if element == "i8" else "f32"
    found = np.full((rows, columns), 99, np.int32 if element == "i8" else np.float32)
    shapes = {"a": (rows, half, memory), "e": (*words.shape, "i32"), "b": (*rhs.shape, memory)}
    shapes["c"] = (rows, columns, sums)
    lines = []
    for name, (m, n, type) in shapes.items():
        tensor = f"tensor_view<{m}x{n}x{type}, strides=[{n},1]>"
        lines += [
            f"%{name}t = make_tensor_view %{name}p, shape = [{m}, {n}], strides = [{n}, 1] : {tensor}",
            f"%{name}v = make_partition_view %{name}t : partition_view<tile=({m}x{n}), {tensor}>",
        ]
        if name != "c":
            view = f"partition_view<tile=({m}x{n}), {tensor}>, tile<i32> -> tile<{m}x{n}x{type}>, token"
            lines.append(f"%{name}, %{name}k = load_view_tko weak %{name}v[%zero, %zero] : {view}")
    if element != "i8":
        for name, tile in (("a", f"{rows}x{half}"), ("b", f"{2 * half}x{columns}")):
            lines.append(f"%{name}n = ftof %{name} : tile<{tile}xf32> -> tile<{tile}x{element}>")
    a, b = ("%a", "%b") if element == "i8" else ("%an", "%bn")
    zero = "0" if element == "i8" else "0.0"
    types = f"tile<{rows}x{half}x{element}>, tile<{words.shape[0]}x{words.shape[1]}xi32>"
    total = f"tile<{rows}x{columns}x{sums}>"
    target = f"tensor_view<{rows}x{columns}x{sums}, strides=[{columns},1]>"
    body = "\n".join(
        [
            "%zero = constant <i32: 0> : tile<i32>",
            *lines,
            f"%s = constant <{sums}: {zero}> : {total}",
            f"%d = tilex.mma_sparse {a}, %e, {b}, %s : {types}, tile<{2 * half}x{columns}x{element}>, {total}",
            f"%k = store_view_tko weak %d, %cv[%zero, %zero] : {total},"
            f" partition_view<tile=({rows}x{columns}), {target}>, tile<i32> -> token",
        ]
    )
    parameters = ", ".join(f"%{name}p: tile<ptr<{type}>>" for name, (_, _, type) in shapes.items())
    execute(parameters, body, kept, words.view(np.int32), rhs, found, check=check)
    return found


def positions(rows: np.ndarray, depth: int) -> np.ndarray:
    """A matrix with the columns [0, depth), so that products show which elements are kept."""
    return np.eye(depth, dtype=rows.dtype)


@pytest.mark.parametrize("nibble", PAIRS)
@pytest.mark.parametrize("element", ["f16", "bf16", "f8E5M2", "i8"])
def test_each_pair(execute, element: str, nibble: int) -> None:
    kept = np.array([[1, 2] * 8] * 16, np.int8 if element == "i8" else np.float32)
    words = np.full((16, 1), nibble * 0x11111111, np.uint32)
    found = multiply(execute, element, kept, words, positions(kept, 32))
    group = [0] * 4
    first, second = PAIRS[nibble]
    group[first], group[second] = 1, 2
    assert found.tolist() == [group * 8] * 16


@pytest.mark.parametrize("nibble", SINGLES)
def test_each_element_of_tf32(execute, nibble: int) -> None:
    kept = np.ones((16, 8), np.float32)
    words = np.full((16, 1), nibble * 0x11111111, np.uint32)
    group = [float(SINGLES[nibble] == at) for at in range(2)]
    assert multiply(execute, "tf32", kept, words, positions(kept, 16)).tolist() == [group * 8] * 16


@pytest.mark.parametrize(
    ("element", "word", "shift", "row", "group"),
    [
        # Words of elements of 8 bits have the groups of one row in order.
        ("i8", (3, 0), 20, 3, 5),
        ("f8E4M3FN", (9, 1), 4, 9, 9),
        # Words of other elements have 16 bits of row r in the low half, and of row r + 8 in the high half; rows 8 to 15
        # of words have the second four groups of each word.
        ("f16", (3, 0), 4, 3, 1),
        ("f16", (3, 1), 20, 11, 9),
        ("bf16", (12, 0), 8, 4, 6),
        ("bf16", (12, 1), 28, 12, 15),
        ("tf32", (17, 0), 0, 17, 0),
        ("tf32", (26, 1), 16, 26, 12),
    ],
)
def test_place_of_a_nibble(execute, element: str, word: tuple[int, int], shift: int, row: int, group: int) -> None:
    """One group keeps its last elements, all others their first ones."""
    size = 2 if element == "tf32" else 4
    kept = np.ones((32, 8 * size), np.int8 if element == "i8" else np.float32)
    words = np.full((32, 2), 0x44444444, np.uint32)
    words[word] ^= (0b0100 ^ 0b1110) << shift
    expected = np.tile([1] * (size // 2) + [0] * (size // 2), (32, 16))
    expected[row, group * size : (group + 1) * size] = [0] * (size // 2) + [1] * (size // 2)
    np.testing.assert_array_equal(multiply(execute, element, kept, words, positions(kept, 16 * size)), expected)


@pytest.mark.parametrize("nibble", sorted({*range(16)} - {*PAIRS}))
def test_pairs_that_are_not_ascending_are_faults(execute, nibble: int) -> None:
    kept, words = np.ones((16, 16), np.float32), np.full((16, 1), 0x44444444, np.uint32)
    # Row 11 of the words has groups 4 to 7 of rows 3 and 11.
    words[11] ^= (0b0100 ^ nibble) << 24
    legal = "0b0100, 0b1000, 0b1001, 0b1100, 0b1101, 0b1110"
    message = f"nibble 6 of row 11 (its group along K) of the metadata must be one of {legal}, got {nibble:#06b}"
    with pytest.raises(SimulationError, match=re.escape(message)):
        multiply(execute, "f16", kept, words, positions(kept, 32))
    multiply(execute, "f16", kept, words, positions(kept, 32), check=False)


def test_pairs_of_tf32_are_faults(execute) -> None:
    kept, words = np.ones((16, 8), np.float32), np.full((16, 1), 0x44444448, np.uint32)
    message = "nibble 0 of row 0 (its group along K) of the metadata must be one of 0b0100, 0b1110, got 0b1000"
    with pytest.raises(SimulationError, match=re.escape(message)):
        multiply(execute, "tf32", kept, words, positions(kept, 16))
