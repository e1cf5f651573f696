"""Vectors of kernel launches: grids, arguments, hints."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from program import Program, Shape
from sample import INTEGERS, codes


def block_coordinates(grid: Shape) -> dict[str, Any]:
    """Each tile block stores its coordinates, x first, and the grid at its own index."""
    operations = ("get_tile_block_id", "get_num_tile_blocks", "entry")
    program = Program(*operations, case=f"grid {'x'.join(map(str, grid))}", grid=grid)
    extents = (*grid, 1, 1)[:3]
    expected: list[int] = []
    for z, y, x in product(*map(range, reversed(extents))):
        expected += [x, y, z, *extents, 0, 0]
    base = program.buffer("i32", [0] * len(expected), expected)
    ids, sizes = ("%x", "%y", "%z"), ("%nx", "%ny", "%nz")
    program.line(f"{', '.join(ids)} = get_tile_block_id : tile<i32>")
    program.line(f"{', '.join(sizes)} = get_num_tile_blocks : tile<i32>")
    row = program.let("muli %z, %ny : tile<i32>")
    row = program.let(f"addi {row}, %y : tile<i32>")
    base_index = program.let(f"muli {row}, %nx : tile<i32>")
    base_index = program.let(f"addi {base_index}, %x : tile<i32>")
    base_index = program.let(f"muli {base_index}, {program.constant('i32', 8)} : tile<i32>")
    for at, name in enumerate((*ids, *sizes)):
        index = program.let(f"addi {base_index}, {program.constant('i32', at)} : tile<i32>")
        pointer = program.let(f"offset {base}, {index} : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>")
        program.store(pointer, name, "i32")
    return program.record()


def scalar_arguments() -> Iterator[dict[str, Any]]:
    """Scalar arguments of the kernel."""
    for element in (*INTEGERS, "f16", "bf16", "f32", "f64"):
        for code in codes(element, "argument", 16)[6:9]:
            program = Program("entry", case=f"argument {element} {code}")
            program.expect(program.scalar(element, code), element, [code])
            yield program.record()


def shared_total(grid: Shape) -> dict[str, Any]:
    """Every tile block adds to one address."""
    program = Program("atomic_rmw_tko", "get_tile_block_id", case=f"sum over grid {grid[0]}", grid=grid)
    base = program.buffer("i32", [5], [5 + sum(range(grid[0]))])
    program.line("%x, %y, %z = get_tile_block_id : tile<i32>")
    program.pair(f"atomic_rmw_tko relaxed device {base}, add, %x : tile<ptr<i32>>, tile<i32> -> tile<i32>, token")
    return program.record()


def optimization_hints(producer: bool) -> dict[str, Any]:
    """Hints of the entry and a producer of the module do not change results."""
    program = Program("module", "entry", case=f"hints{' and producer' if producer else ''}")
    program.expect(program.constant("i32", 3), "i32", [3])
    record = program.record()
    module, entry, rest = record["module"].split("\n", 2)
    if producer:
        module = module.replace("{", 'attributes {producer = "vectors 1.0"} {')
    hints = "optimization_hints=<sm_100 = {num_cta_in_cga = 2, occupancy = 1}> {"
    record["module"] = "\n".join([module, entry.removesuffix("{") + hints, rest])
    return record


def vectors() -> Iterator[dict[str, Any]]:
    for grid in ((1,), (5,), (3, 2), (2, 3, 4), (1, 1, 3)):
        yield block_coordinates(grid)
    yield from scalar_arguments()
    for grid in ((1,), (7,)):
        yield shared_total(grid)
    yield optimization_hints(False)
    yield optimization_hints(True)
