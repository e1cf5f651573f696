"""The contiguity analysis is exact for the programs of a table and valid for every value of random programs."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilec.dialect.mlir import ir
from tilec.lowering.tile.analysis.bounds import Interval, bounds
from tilec.lowering.tile.analysis.contiguity import contiguity
from tilec.lowering.tile.analysis.contiguity_rules import UNBOUNDED, Axes, Axis
from tilec.lowering.tile.analysis.divisibility import divisibility
from tilec.runtime.interpret.run import run as interpret
from tilec.text_input.module import Module


def tile(shape: tuple[int, ...], element: str) -> str:
    return f"tile<{''.join(f'{extent}x' for extent in shape)}{element}>"


class Program:
    """Lines of a kernel that stores each analysed value, so that its facts can be tested."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.analysed: list[tuple[str, tuple[int, ...], str]] = []
        self.count = 0

    def emit(self, text: str, shape: tuple[int, ...], element: str) -> str:
        self.count += 1
        name = f"%v{self.count}"
        self.lines.append(f"{name} = {text}")
        self.analysed.append((name, shape, element))
        return name

    def text(self) -> str:
        arguments, stores = ["%n: tile<i32>", "%p: tile<ptr<f16>>"], []
        for index, (name, shape, element) in enumerate(self.analysed):
            size = int(np.prod(shape))
            stored = "i64" if element.startswith("ptr") else element
            arguments.append(f"%o{index}: tile<ptr<{stored}>>")
            source = name
            if element.startswith("ptr"):
                stores.append(f"%w{index} = ptr_to_int {name} : {tile(shape, element)} -> {tile(shape, 'i64')}")
                source = f"%w{index}"
            flat, pointers = tile((size,), stored), tile((size,), f"ptr<{stored}>")
            stores.append(
                f"%f{index} = reshape {source} : {tile(shape, stored)} -> {flat}"
                f" %l{index} = iota : {tile((size,), 'i32')}"
                f" %a{index} = reshape %o{index} : tile<ptr<{stored}>> -> tile<1xptr<{stored}>>"
                f" %b{index} = broadcast %a{index} : tile<1xptr<{stored}>> -> {pointers}"
                f" %c{index} = offset %b{index}, %l{index} : {pointers}, {tile((size,), 'i32')} -> {pointers}"
                f" %t{index} = store_ptr_tko weak %c{index}, %f{index} : {pointers}, {flat} -> token"
            )
        body = "\n".join([*self.lines, *stores])
        return f"cuda_tile.module @m {{ entry @k({', '.join(arguments)}) {{\n{body}\n}} }}"


def entry_of(module: Module) -> Any:
    return next(op for op in module.ir.body.operations if op.operation.name == "cuda_tile.entry")


def facts(module: Module, count: int) -> list[Axes]:
    """The facts of the first result of each of the first operations."""
    entry = entry_of(module)
    with module.ir.context:
        known = contiguity(entry)
        operations = list(entry.operation.regions[0].blocks[0].operations)[:count]
        return [known[op.operation.results[0]] for op in operations]


def numbers_of(module: Module, count: int) -> list[tuple[Interval | None, int]]:
    """The intervals (of integers) and divisors of the elements of the results of the first operations."""
    entry = entry_of(module)
    with module.ir.context:
        operations = list(entry.operation.regions[0].blocks[0].operations)[:count]
        results = [op.operation.results[0] for op in operations]
        is_integer = [isinstance(result.type.element, ir.IntegerType) for result in results]
        return [
            (bounds(result) if integer else None, divisibility(result))
            for result, integer in zip(results, is_integer, strict=True)
        ]


def values(program: Program, module: Module, n: int, pointer: int) -> list[np.ndarray]:
    arrays = []
    for _, shape, element in program.analysed:
        dtype = "i8" if element.startswith("ptr") else {"i1": "?"}.get(element, f"i{int(element[1:]) // 8}")
        arrays.append(np.zeros(shape, dtype))
    interpret(module.ir, "k", 1, [n, pointer, *(array.ctypes.data for array in arrays)], check=False)
    return arrays


def check(array: np.ndarray, axes: Axes, element: str, interval: Interval | None, divisor: int) -> None:
    """Asserts that all facts of a tile hold for its elements."""
    bits = 64 if element.startswith("ptr") else int(element[1:])
    numbers = np.asarray(-array.astype(int) if element == "i1" else array, dtype=object)
    for number in numbers.reshape(-1):
        assert interval is None or interval.low <= number <= interval.high
        assert number % divisor == 0
    for dimension, axis in enumerate(axes[:-1]):
        check_axis(np.moveaxis(numbers, dimension, -1), axis, bits)
    # The last axis describes single elements.
    assert axes[-1][:2] == (1, 1)
    check_axis(numbers.reshape(-1, 1), axes[-1], bits)


def check_axis(numbers: np.ndarray, axis: Axis, bits: int) -> None:
    extent = numbers.shape[-1]
    assert 1 <= axis.contiguity <= extent and 1 <= axis.constancy <= extent
    runs = numbers.reshape(-1, axis.contiguity)
    for run in runs:
        assert all((run[i] - run[0] - i * axis.unit) % (1 << bits) == 0 for i in range(len(run)))
        assert run[0] % axis.divisibility == 0
    for group in numbers.reshape(-1, axis.constancy):
        assert all(number == group[0] for number in group)


SHAPES = [(), (2,), (8,), (16,), (256,), (4, 8), (8, 4), (1, 8), (8, 1), (2, 2, 8)]
NUMBERS = [-(1 << 31), -128, -64, -16, -3, -1, 0, 1, 2, 3, 4, 7, 8, 15, 16, 24, 64, 96, 127, 4096]


BINARY = "addi addi subi muli andi ori xori maxi mini divi remi shli shri select".split()


class Generator:
    """A random program over tiles of integers and pointers."""

    def __init__(self, random: Random, n: int, pointer: int) -> None:
        """Starts with assumptions about `n` and the pointer, which hold."""
        self.random = random
        self.program = Program()
        self.pool: list[tuple[str, tuple[int, ...], str]] = []
        self.add("addi %n, %n : tile<i32>", (), "i32")
        low, high = max(n - 3, -(1 << 31)), random.choice((n, n + 100))
        self.add(f"assume bounded<{low}, {high}>, %n : tile<i32>", (), "i32")
        self.add(f"assume div_by<{n & -n or 64}>, {self.pool[-1][0]} : tile<i32>", (), "i32")
        self.add(f"assume div_by<{pointer & -pointer}>, %p : tile<ptr<f16>>", (), "ptr<f16>")

    def add(self, text: str, shape: tuple[int, ...], element: str) -> tuple[str, tuple[int, ...], str]:
        value = (self.program.emit(text, shape, element), shape, element)
        self.pool.append(value)
        return value

    def any(self, *elements: str) -> tuple[str, tuple[int, ...], str]:
        found = [value for value in self.pool if not elements or value[2] in elements]
        return self.random.choice(found) if found else self.leaf(self.random.choice(elements))

    def like(self, shape: tuple[int, ...], element: str) -> str:
        """Another value of a type, mostly a leaf."""
        found = [value for value in self.pool if value[1:] == (shape, element)]
        if found and self.random.random() < 0.5:
            return self.random.choice(found)[0]
        return self.splat(shape, element)[0]

    def splat(self, shape: tuple[int, ...], element: str) -> tuple[str, tuple[int, ...], str]:
        bits = int(element[1:])
        number = self.random.choice([n for n in NUMBERS if -(1 << bits - 1) <= n < 1 << bits - 1])
        literal = ("true" if number else "false") if bits == 1 else str(number)
        return self.add(f"constant <{element}: {literal}> : {tile(shape, element)}", shape, element)

    def leaf(self, element: str) -> tuple[str, tuple[int, ...], str]:
        shape = self.random.choice(SHAPES)
        if len(shape) == 1 and element in ("i8", "i32", "i64") and self.random.random() < 0.7:
            return self.add(f"iota : {tile(shape, element)}", shape, element)
        if shape and np.prod(shape) <= 16 and element == "i32" and self.random.random() < 0.3:
            start, step = self.random.choice((0, 8, 3)), self.random.choice((0, 1, 2))
            listed = (start + step * np.arange(int(np.prod(shape)))).reshape(shape).tolist()
            return self.add(f"constant <i32: {listed}> : {tile(shape, 'i32')}", shape, "i32")
        return self.splat(shape, element)

    def step(self) -> None:
        kinds = ("leaf", "binary", "binary", "binary", "shape", "shape", "convert", "compare", "pointer")
        kind = self.random.choice(kinds)
        getattr(self, f"make_{kind}")()

    def make_leaf(self) -> None:
        self.leaf(self.random.choice(("i8", "i32", "i64")))

    def make_binary(self) -> None:
        a, shape, element = self.any("i8", "i32", "i64")
        b = self.like(shape, element)
        if self.random.random() < 0.3:
            a, b = b, a
        name = self.random.choice(BINARY)
        sign = self.random.choice(("signed", "unsigned"))
        if name in ("divi", "remi"):
            number = self.random.choice((1, 2, 4, 8, 16, 3, 64))
            b = self.add(f"constant <{element}: {number}> : {tile(shape, element)}", shape, element)[0]
            rounding = self.random.choice(("", " rounding<positive_inf>", " rounding<negative_inf>"))
            sign += rounding if name == "divi" and not (sign == "unsigned" and "negative" in rounding) else ""
        elif name in ("shli", "shri"):
            number = self.random.choice((0, 1, 2, 3, 5))
            b = self.add(f"constant <{element}: {number}> : {tile(shape, element)}", shape, element)[0]
            sign = sign if name == "shri" else ""
        elif name == "select":
            condition = self.like(shape, "i1")
            self.add(f"select {condition}, {a}, {b} : {tile(shape, 'i1')}, {tile(shape, element)}", shape, element)
            return
        elif name not in ("maxi", "mini"):
            sign = ""
        self.add(f"{name} {a}, {b} {sign} : {tile(shape, element)}", shape, element)

    def make_compare(self) -> None:
        a, shape, element = self.any("i8", "i32", "i64")
        b, sign = self.like(shape, element), self.random.choice(("signed", "unsigned"))
        predicate = self.random.choice(
            ("equal", "not_equal", "less_than", "less_than_or_equal", "greater_than", "greater_than_or_equal")
        )
        if self.random.random() < 0.5:
            a, b = b, a
        self.add(f"cmpi {predicate} {a}, {b}, {sign} : {tile(shape, element)} -> {tile(shape, 'i1')}", shape, "i1")

    def make_convert(self) -> None:
        a, shape, element = self.any("i8", "i32", "i64")
        other = self.random.choice([each for each in ("i8", "i32", "i64") if each != element])
        is_extension = int(other[1:]) > int(element[1:])
        operation = f"exti {a} {self.random.choice(('signed', 'unsigned'))}" if is_extension else f"trunci {a}"
        self.add(f"{operation} : {tile(shape, element)} -> {tile(shape, other)}", shape, other)

    def make_shape(self) -> None:
        a, shape, element = self.any()
        size = int(np.prod(shape))
        operations = ["reshape"]
        operations += ["permute"] if len(shape) >= 2 else []
        operations += ["broadcast"] if 1 in shape and size <= 64 else []
        operations += ["extract", "cat"] if shape and size <= 64 else []
        operation = self.random.choice(operations)
        if operation == "reshape":
            options = [other for other in [*SHAPES, (1,), (1, 1), (32,), (4, 4), (64,)] if np.prod(other) == size]
            other = self.random.choice(options or [shape])
            self.add(f"reshape {a} : {tile(shape, element)} -> {tile(other, element)}", other, element)
        elif operation == "permute":
            order = self.random.sample(range(len(shape)), len(shape))
            other = tuple(shape[axis] for axis in order)
            self.add(f"permute {a} {order} : {tile(shape, element)} -> {tile(other, element)}", other, element)
        elif operation == "broadcast":
            other = tuple(8 if extent == 1 else extent for extent in shape)
            self.add(f"broadcast {a} : {tile(shape, element)} -> {tile(other, element)}", other, element)
        elif operation == "cat":
            other = (2 * shape[0], *shape[1:])
            types = f"{tile(shape, element)}, {tile(shape, element)} -> {tile(other, element)}"
            b = a if element.startswith("ptr") else self.like(shape, element)
            self.add(f"cat {a}, {b} dim = 0 : {types}", other, element)
        else:
            other = tuple(max(1, extent // self.random.choice((1, 2, 4))) for extent in shape)
            indices = [self.splat_index(big // small) for big, small in zip(shape, other, strict=True)]
            self.add(
                f"extract {a}[{', '.join(indices)}] : {tile(shape, element)} -> {tile(other, element)}", other, element
            )

    def splat_index(self, count: int) -> str:
        return self.add(f"constant <i32: {self.random.randrange(count)}> : tile<i32>", (), "i32")[0]

    def make_pointer(self) -> None:
        a, shape, element = self.any("ptr<f16>", "ptr<f32>")
        if self.random.random() < 0.2:
            other = "ptr<f32>" if element == "ptr<f16>" else "ptr<f16>"
            self.add(f"ptr_to_ptr {a} : {tile(shape, element)} -> {tile(shape, other)}", shape, other)
            return
        if self.random.random() < 0.2:
            self.add(f"ptr_to_int {a} : {tile(shape, element)} -> {tile(shape, 'i64')}", shape, "i64")
            return
        if self.random.random() < 0.2:
            integer, shape, _ = self.any("i64")
            self.add(f"int_to_ptr {integer} : {tile(shape, 'i64')} -> {tile(shape, 'ptr<f32>')}", shape, "ptr<f32>")
            return
        if not shape:
            one = self.add(f"reshape {a} : {tile(shape, element)} -> {tile((1,), element)}", (1,), element)[0]
            shape = self.random.choice(((8,), (16,)))
            a = self.add(f"broadcast {one} : {tile((1,), element)} -> {tile(shape, element)}", shape, element)[0]
        integer = self.random.choice(("i8", "i32"))
        b = self.like(shape, integer)
        types = f"{tile(shape, element)}, {tile(shape, integer)} -> {tile(shape, element)}"
        self.add(f"offset {a}, {b} : {types}", shape, element)


@settings(max_examples=80, deadline=None)
@given(st.randoms(use_true_random=False), st.sampled_from(NUMBERS))
def test_facts_hold_for_random_programs(random: Random, n: int) -> None:
    pointer = random.choice((0x10000, 0x10002, 0x10010))
    generator = Generator(random, n, pointer)
    for _ in range(14):
        generator.step()
    program = generator.program
    module = Module.parse(program.text())
    module.verify()
    claims, ranges = facts(module, len(program.analysed)), numbers_of(module, len(program.analysed))
    found = values(program, module, n, pointer)
    for (_, _, element), array, axes, claim in zip(program.analysed, found, claims, ranges, strict=True):
        check(array, axes, element, *claim)


def known(body: str, results: int) -> Axes:
    """The facts of the last operation."""
    module = Module.parse(f"cuda_tile.module @m {{ entry @k(%n: tile<i32>, %p: tile<ptr<f16>>) {{ {body} }} }}")
    return facts(module, results)[-1]


I16 = "%i = iota : tile<16xi32> "


@pytest.mark.parametrize(
    ("body", "count", "contiguity", "constancy", "divisor"),
    [
        (I16, 1, 16, 1, UNBOUNDED),
        ("%i = iota : tile<256xi8>", 1, 128, 1, 128),
        ("%c = constant <i32: 24> : tile<16xi32>", 1, 1, 16, 8),
        ("%c = constant <i32: [4, 5, 6, 7, 0, 1, 2, 3]> : tile<8xi32>", 1, 4, 1, 4),
        ("%c = constant <i32: [5, 5, 3, 3]> : tile<4xi32>", 1, 1, 2, 1),
        (I16 + "%c = constant <i32: 24> : tile<16xi32> %a = addi %i, %c : tile<16xi32>", 3, 16, 1, 8),
        (I16 + "%c = constant <i32: 24> : tile<16xi32> %a = addi %c, %i : tile<16xi32>", 3, 16, 1, 8),
        (I16 + "%c = constant <i32: 24> : tile<16xi32> %a = subi %i, %c : tile<16xi32>", 3, 16, 1, 8),
        (I16 + "%c = constant <i32: 24> : tile<16xi32> %a = subi %c, %i : tile<16xi32>", 3, 1, 1, 1),
        (I16 + "%c = constant <i32: 4> : tile<16xi32> %a = muli %i, %c : tile<16xi32>", 3, 1, 1, 4),
        (I16 + "%c = constant <i32: 4> : tile<16xi32> %a = divi %i, %c signed : tile<16xi32>", 3, 1, 4, 1),
        (I16 + "%c = constant <i32: 4> : tile<16xi32> %a = remi %i, %c signed : tile<16xi32>", 3, 4, 1, 4),
        (I16 + "%c = constant <i32: 2> : tile<16xi32> %a = shri %i, %c signed : tile<16xi32>", 3, 1, 4, 1),
        (I16 + "%c = constant <i32: 7> : tile<16xi32> %a = andi %i, %c : tile<16xi32>", 3, 8, 1, 8),
        (I16 + "%c = constant <i32: -4> : tile<16xi32> %a = andi %i, %c : tile<16xi32>", 3, 1, 4, 4),
        (I16 + "%c = constant <i32: 8> : tile<16xi32> %a = cmpi less_than %i, %c, signed : tile<16xi32> -> tile<16xi1>",
         3, 1, 8, 1),
        (I16 + "%c = constant <i32: 8> : tile<16xi32>"
         " %a = cmpi less_than_or_equal %i, %c, signed : tile<16xi32> -> tile<16xi1>", 3, 1, 1, 1),
        (I16 + "%e = extract %i[%n] : tile<16xi32> -> tile<4xi32>", 2, 4, 1, 4),
        (I16 + "%e = cat %i, %i dim = 0 : tile<16xi32>, tile<16xi32> -> tile<32xi32>", 2, 16, 1, UNBOUNDED),
    ],
)  # fmt: skip
def test_rules_of_one_dimension(body: str, count: int, contiguity: int, constancy: int, divisor: int) -> None:
    assert known(body, count)[0][:3] == (contiguity, constancy, divisor)


def test_shapes_of_two_dimensions() -> None:
    row = I16 + "%r = reshape %i : tile<16xi32> -> tile<1x16xi32>"
    assert known(row, 2)[:2] == (Axis(), Axis(16, 1, UNBOUNDED))
    broadcast = f"{row} %b = broadcast %r : tile<1x16xi32> -> tile<8x16xi32>"
    assert known(broadcast, 3)[:2] == (Axis(1, 8), Axis(16, 1, UNBOUNDED))
    transposed = f"{broadcast} %t = permute %b [1, 0] : tile<8x16xi32> -> tile<16x8xi32>"
    assert known(transposed, 4)[:2] == (Axis(16, 1, UNBOUNDED), Axis(1, 8))
    halves = f"{I16} %h = reshape %i : tile<16xi32> -> tile<4x4xi32>"
    assert known(halves, 2)[:2] == (Axis(), Axis(4, 1, 4))


VECTOR_ADD = """%p16 = assume div_by<16>, %p : tile<ptr<f16>>
  %x, %y, %z = get_tile_block_id : tile<i32>
  %c = constant <i32: 128> : tile<i32> %s = muli %x, %c : tile<i32> %s1 = reshape %s : tile<i32> -> tile<1xi32>
  %s2 = broadcast %s1 : tile<1xi32> -> tile<128xi32> %l = iota : tile<128xi32> %o = addi %s2, %l : tile<128xi32>
  %p1 = reshape %p16 : tile<ptr<f16>> -> tile<1xptr<f16>>
  %p2 = broadcast %p1 : tile<1xptr<f16>> -> tile<128xptr<f16>>
  %q = offset %p2, %o : tile<128xptr<f16>>, tile<128xi32> -> tile<128xptr<f16>>"""


def test_pointers_of_a_vector_addition() -> None:
    """The offset of a block is a multiple of 128 elements, so the whole tile is contiguous and aligned to 16 bytes."""
    assert known(VECTOR_ADD, 11)[0] == Axis(128, 1, 16, 2)


def test_offsets_that_may_overflow_are_not_contiguous() -> None:
    """%n + iota may overflow in 32 bits; addresses have 64 bits."""
    body = VECTOR_ADD.replace("muli %x, %c", "addi %n, %n")
    assert known(body, 11)[0] == Axis(1, 1, 2, 2)
    bounded = body.replace("addi %n, %n : tile<i32>", "assume bounded<0, 1000>, %n : tile<i32>")
    assert known(bounded, 11)[0] == Axis(128, 1, 2, 2)


def test_assumptions() -> None:
    """div_by of groups makes their elements contiguous; same_elements makes them equal."""
    body = "%a = reshape %n : tile<i32> -> tile<1xi32> %b = broadcast %a : tile<1xi32> -> tile<8xi32>"
    body += "%l = iota : tile<8xi32> %m = muli %b, %l : tile<8xi32>"
    assert known(body, 4)[0] == Axis()
    assert known(f"{body} %r = assume div_by<16, every 4 along 0>, %m : tile<8xi32>", 5)[0] == Axis(4, 1, 16)
    assert known(f"{body} %r = assume div_by<16>, %m : tile<8xi32>", 5)[0] == Axis(1, 1, 16)
    assert known(f"{body} %r = assume same_elements<[4]>, %m : tile<8xi32>", 5)[0] == Axis(1, 4)
    assert known(f"{body} %r = assume same_elements<[0]>, %m : tile<8xi32>", 5)[0] == Axis()


def carried(step: str) -> dict[str, Axes]:
    """The facts of pointers carried by a loop, which adds a splat in each iteration."""
    body = f"""{VECTOR_ADD} %k0 = constant <i32: 0> : tile<i32> %k1 = constant <i32: 1> : tile<i32>
      %d = constant <i32: {step}> : tile<128xi32>
      %r = for %i in (%k0 to %n, step %k1) : tile<i32> iter_values(%w = %q) -> (tile<128xptr<f16>>) {{
        %e = offset %w, %d : tile<128xptr<f16>>, tile<128xi32> -> tile<128xptr<f16>>
        continue %e : tile<128xptr<f16>> }}"""
    module = Module.parse(f"cuda_tile.module @m {{ entry @k(%n: tile<i32>, %p: tile<ptr<f16>>) {{ {body} }} }}")
    entry = entry_of(module)
    with module.ir.context:
        loop = next(op for op in entry.body.blocks[0].operations if op.operation.name == "cuda_tile.for")
        found = contiguity(entry)
        return {"argument": found[loop.body.blocks[0].arguments[1]], "result": found[loop.operation.results[0]]}


@pytest.mark.parametrize(("step", "divisor"), [("64", 16), ("4", 8), ("1", 2)])
def test_facts_of_carried_values_hold_in_every_iteration(step: str, divisor: int) -> None:
    for axes in carried(step).values():
        assert axes[0] == Axis(128, 1, divisor, 2)


def test_square_matrix_products_are_not_elementwise() -> None:
    body = """%a = constant <f16: 1.0> : tile<16x16xf16> %z = constant <f32: 0.0> : tile<16x16xf32>
      %m = mmaf %a, %a, %z : tile<16x16xf16>, tile<16x16xf16>, tile<16x16xf32>"""
    assert known(body, 3)[0] == Axis()


def test_values_of_other_dialects_are_unknown() -> None:
    module = Module.parse("cuda_tile.module @m { entry @k(%n: tile<i32>) { %a = addi %n, %n : tile<i32> } }")
    entry = entry_of(module)
    with module.ir.context, ir.Location.unknown():
        block = entry.body.blocks[0]
        with ir.InsertionPoint.at_block_begin(block):
            ir.Operation.create("arith.constant", [ir.IntegerType.get_signless(32)], [],
                                {"value": ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 4)})  # fmt: skip
        module.verify()
        assert len(contiguity(entry)) == 1
