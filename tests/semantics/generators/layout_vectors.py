"""Vectors of programs whose tiles are wider than a warp, and whose operands lie in registers in different layouts.

A compiler that places the elements of tiles in the registers of threads has to move them between threads here: through
shuffles or memory where an extent exceeds a warp, and where operands reach an operation by different paths.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

from program import Program, Shape, tile_type
from reduce_vectors import reduced
from sample import codes
from shape_vectors import finite, flat, moved

UNLIKE, WIDE = "unlike layouts", "wider than a warp"
ELEMENTS = ("i1", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64", "f8E4M3FN")
SHAPE = (16, 32)
COUNT = 512

# A tile of SHAPE: its name in the program, and its bits.
Tile = tuple[str, list[int]]


def transposed(program: Program, name: str, element: str, bits: list[int], shape: Shape) -> Tile:
    types = f"{tile_type(element, shape)} -> {tile_type(element, shape[::-1])}"
    return program.let(f"permute {name} [1, 0] : {types}"), moved(bits, shape, shape[::-1], lambda i, j: (j, i))


def by_rows(program: Program, element: str, bits: list[int]) -> Tile:
    return program.loaded_tile(element, bits, SHAPE), bits


def by_columns(program: Program, element: str, bits: list[int]) -> Tile:
    return transposed(program, program.loaded_tile(element, bits, SHAPE[::-1]), element, bits, SHAPE[::-1])


def of_one_row(program: Program, element: str, bits: list[int]) -> Tile:
    row = (1, SHAPE[1])
    name = program.loaded_tile(element, bits[: SHAPE[1]], row)
    types = f"{tile_type(element, row)} -> {tile_type(element, SHAPE)}"
    return program.let(f"broadcast {name} : {types}"), bits[: SHAPE[1]] * SHAPE[0]


def of_one_column(program: Program, element: str, bits: list[int]) -> Tile:
    column = (SHAPE[0], 1)
    name = program.loaded_tile(element, bits[: SHAPE[0]], column)
    types = f"{tile_type(element, column)} -> {tile_type(element, SHAPE)}"
    return program.let(f"broadcast {name} : {types}"), [x for x in bits[: SHAPE[0]] for _ in range(SHAPE[1])]


def of_a_line(program: Program, element: str, bits: list[int]) -> Tile:
    name = program.loaded_tile(element, bits, (COUNT,))
    return program.let(f"reshape {name} : {tile_type(element, (COUNT,))} -> {tile_type(element, SHAPE)}"), bits


SOURCES: dict[str, Callable[[Program, str, list[int]], Tile]] = {
    "rows": by_rows,
    "columns": by_columns,
    "one row": of_one_row,
    "one column": of_one_column,
    "a line": of_a_line,
}
_PAIRS = [pair for pair in product(SOURCES, SOURCES) if pair[0] != pair[1]]


def unlike() -> Iterator[dict[str, Any]]:
    """cat, select and insert of each pair of sources, with the element types in turn."""
    cases = (joined_rows, joined_columns, selected, inserted)
    for (at, (first, second)), (number, case) in product(enumerate(_PAIRS), enumerate(cases)):
        yield case(ELEMENTS[(at + 3 * number) % len(ELEMENTS)], first, second)


def operands(program: Program, element: str, first: str, second: str) -> tuple[Tile, Tile]:
    bits = finite(element, 2 * COUNT)
    return SOURCES[first](program, element, bits[:COUNT]), SOURCES[second](program, element, bits[COUNT:])


def joined_rows(element: str, first: str, second: str) -> dict[str, Any]:
    return joined(element, first, second, 0)


def joined_columns(element: str, first: str, second: str) -> dict[str, Any]:
    return joined(element, first, second, 1)


def joined(element: str, first: str, second: str, dim: int) -> dict[str, Any]:
    program = Program("cat", case=f"{first} and {second}, dim {dim}, {element}", edges=[UNLIKE])
    (a, left), (b, right) = operands(program, element, first, second)
    rows, columns = SHAPE
    shape = (2 * rows, columns) if dim == 0 else (rows, 2 * columns)
    bits = left + right
    if dim == 1:
        bits = [x for at in range(rows) for side in (left, right) for x in side[at * columns : (at + 1) * columns]]
    source = tile_type(element, SHAPE)
    name = program.let(f"cat {a}, {b} dim = {dim} : {source}, {source} -> {tile_type(element, shape)}")
    program.expect(name, element, bits, shape)
    return program.record()


def selected(element: str, first: str, second: str) -> dict[str, Any]:
    program = Program("select", case=f"{first} or {second}, {element}", edges=[UNLIKE])
    (a, left), (b, right) = operands(program, element, first, second)
    condition, chosen = by_columns(program, "i1", codes("i1", "condition", COUNT))
    types = f"{tile_type('i1', SHAPE)}, {tile_type(element, SHAPE)}"
    name = program.let(f"select {condition}, {a}, {b} : {types}")
    program.expect(name, element, [x if c else y for c, x, y in zip(chosen, left, right, strict=True)], SHAPE)
    return program.record()


def inserted(element: str, first: str, second: str) -> dict[str, Any]:
    """A part of a tile, extracted at (1, 1), inserted at (0, 3) of another tile."""
    program = Program("extract", "insert", case=f"a part of {first} into {second}, {element}", edges=[UNLIKE])
    (a, source), (b, bits) = operands(program, element, first, second)
    part, whole = (8, 8), tile_type(element, SHAPE)
    zero, one, three = (program.constant("i32", number) for number in (0, 1, 3))
    extracted = program.let(f"extract {a}[{one}, {one}] : {whole} -> {tile_type(element, part)}")
    name = program.let(f"insert {extracted}, {b}[{zero}, {three}] : {tile_type(element, part)}, {whole}")
    result = list(bits)
    for i, j in product(*map(range, part)):
        result[flat((i, 24 + j), SHAPE)] = source[flat((8 + i, 8 + j), SHAPE)]
    program.expect(name, element, result, SHAPE)
    return program.record()


def wide() -> Iterator[dict[str, Any]]:
    for element in ELEMENTS:
        bits = finite(element, COUNT)
        for shape, permutation in (((16, 32), (1, 0)), ((8, 4, 16), (2, 0, 1)), ((8, 4, 16), (1, 2, 0))):
            yield permuted(element, bits, shape, permutation)
        yield reshaped(element, bits, ((COUNT,), (4, 128), (128, 4), (8, 8, 8), (2, 256)))
        yield broadcast(element, bits)
    for element, dim, shape in product(("i8", "i32"), (0, 1), ((512, 2), (64, 16), (2, 512))):
        for reverse in (None, False, True):
            yield sums(element, shape, dim, reverse)


def permuted(element: str, bits: list[int], shape: Shape, permutation: Shape) -> dict[str, Any]:
    program = Program("permute", case=f"{shape} by {permutation}, {element}", edges=[WIDE])
    result = tuple(shape[axis] for axis in permutation)
    name = program.loaded_tile(element, bits, shape)
    types = f"{tile_type(element, shape)} -> {tile_type(element, result)}"
    name = program.let(f"permute {name} {list(permutation)} : {types}")

    def source_index(*index: int) -> Shape:
        return tuple(index[permutation.index(axis)] for axis in range(len(permutation)))

    program.expect(name, element, moved(bits, shape, result, source_index), result)
    return program.record()


def reshaped(element: str, bits: list[int], shapes: Sequence[Shape]) -> dict[str, Any]:
    """A chain of reshapes with a transposition in the middle, which no reshape can undo."""
    program = Program("reshape", case=f"a chain, {element}", edges=[WIDE])
    name, shape = program.loaded_tile(element, bits, shapes[0]), shapes[0]
    for following in shapes[1:]:
        name = program.let(f"reshape {name} : {tile_type(element, shape)} -> {tile_type(element, following)}")
        shape = following
        if shape == (128, 4):
            name, bits = transposed(program, name, element, bits, shape)
            shape = shape[::-1]
    program.expect(name, element, bits, shape)
    return program.record()


def broadcast(element: str, bits: list[int]) -> dict[str, Any]:
    program = Program("broadcast", case=f"a column of 256 rows, {element}", edges=[WIDE])
    name, shape = program.loaded_tile(element, bits[:256], (256, 1)), (256, 4)
    name = program.let(f"broadcast {name} : {tile_type(element, (256, 1))} -> {tile_type(element, shape)}")
    program.expect(name, element, [x for x in bits[:256] for _ in range(4)], shape)
    return program.record()


def sums(element: str, shape: Shape, dim: int, reverse: bool | None) -> dict[str, Any]:
    """Sums that wrap, which are exact in every order."""
    operation = "reduce" if reverse is None else "scan"
    direction = "" if reverse is None else f"reverse={str(reverse).lower()} "
    program = Program(operation, case=f"sums of {shape} {direction}along {dim}, {element}", edges=[WIDE])
    bits, width = codes(element, "wide", shape[0] * shape[1]), int(element[1:])

    def combine(x: tuple[int, ...], y: tuple[int, ...]) -> tuple[int, ...]:
        return ((x[0] + y[0]) % 2**width,)

    (expected,) = reduced([bits], shape, dim, combine, reverse)
    result = shape[:dim] + shape[dim + 1 :] if reverse is None else shape
    name, scalar = program.loaded_tile(element, bits, shape), tile_type(element)
    types = f"{tile_type(element, shape)} -> {tile_type(element, result)}"
    program.line(f"%s = {operation} {name} dim={dim} {direction}identities=[0 : {element}] : {types}")
    program.line(f"(%x: {scalar}, %y: {scalar}) {{ %r = addi %x, %y : {scalar} yield %r : {scalar} }}")
    program.expect("%s", element, expected, result)
    return program.record()


def vectors() -> Iterator[dict[str, Any]]:
    yield from unlike()
    yield from wide()
