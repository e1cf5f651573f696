"""Packed views read and write the bits that numpy and a walk over the bits find, before and after they are expanded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from packed_accesses import Case, random_case

import tilec
from tilec.lowering.target import TARGETS
from tilec.lowering.tile.passes import DEFAULT, run
from tilec.runtime.interpret.evaluate import evaluate
from tilec.text_input.module import Module

SEEDS = range(40)


def expanded(text: str, *passes: str) -> Module:
    module = Module.parse(text)
    run(module.ir, (passes or ("expand-tilex",)), evaluate=evaluate)
    module.verify()
    assert "tilex" not in module.to_text()
    return module


def interpreted(module: Module, grid: tuple[int, ...], arguments: list[object]) -> None:
    tilec.run(module, grid, arguments, backend="interpret", check=True)


FORMS: dict[str, Callable[[str], Module]] = {
    "original": Module.parse,
    "expanded": expanded,
    "by the default passes": lambda text: expanded(text, *DEFAULT),
}


def memory_of(case: Case, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, case.allocated, np.uint8)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", SEEDS)
def test_loads(seed: int, form: str) -> None:
    case = random_case(seed)
    memory, found = memory_of(case, seed), np.full(case.padded, 99, np.uint8)
    interpreted(FORMS[form](case.loads()), case.grid, [memory, *case.parameters, found])
    np.testing.assert_array_equal(found, case.elements(memory), str(case))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", SEEDS)
def test_stores(seed: int, form: str) -> None:
    """Bytes between the rows keep their values, and of an element only its low bits are stored."""
    case = random_case(seed)
    memory, elements = memory_of(case, seed), np.random.default_rng(seed + 1).integers(0, 256, case.padded, np.uint8)
    wanted = case.stored(memory, elements)
    interpreted(FORMS[form](case.stores()), case.grid, [memory, *case.parameters, elements])
    np.testing.assert_array_equal(memory, wanted, str(case))


@pytest.mark.parametrize("seed", SEEDS)
def test_index_space(seed: int) -> None:
    case = random_case(seed)
    for form in FORMS.values():
        found = np.full(len(case.tile), -1, np.int64)
        interpreted(form(case.shapes()), (1, 1, 1), [np.zeros(case.allocated, np.uint8), *case.parameters, found])
        assert tuple(found) == case.counts, case


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("seed", range(8))
def test_simulated_accesses(seed: int, target: str) -> None:
    """PTX for both targets: loads of all tiles, then stores of what was loaded."""
    case = random_case(seed)
    memory, found = memory_of(case, seed), np.full(case.padded, 99, np.uint8)
    settings = {"backend": "simulate", "target": target}
    tilec.run(Module.parse(case.loads()), case.grid, [memory, *case.parameters, found], **settings)
    np.testing.assert_array_equal(found, case.elements(memory), str(case))
    empty = np.full(case.allocated, 0xFF, np.uint8)
    wanted = case.stored(empty, found)
    tilec.run(Module.parse(case.stores()), case.grid, [empty, *case.parameters, found], **settings)
    np.testing.assert_array_equal(empty, wanted, str(case))


SIX = Case(6, (2, 4), (4, 6), (6, 1), (False, True), (True, False))


def test_six_bit_elements_by_hand() -> None:
    """The elements 1, 2, 3, 4 are the bits 000001, 000010, 000011, 000100 from the lowest on: 0x103081."""
    memory = np.frombuffer(bytes([0x81, 0x30, 0x10]) * 8, np.uint8).copy()
    for form in FORMS.values():
        found = np.zeros((4, 8), np.uint8)
        interpreted(form(SIX.loads()), SIX.grid, [memory, *SIX.parameters, found])
        assert found.tolist() == [[1, 2, 3, 4, 1, 2, 3, 4]] * 4


@pytest.mark.parametrize(("size", "elements", "last"), [(4, 5, 0x3F), (5, 6, 0x0F), (6, 8, 0xFF)])
def test_last_byte_of_a_row(size: int, elements: int, last: int) -> None:
    """Bits of the last byte that are too few for an element belong to none, and a store makes them zero."""
    case = replace(SIX, extents=(4, size), strides=(size, 1))
    for form in FORMS.values():
        memory, found = np.full(case.allocated, 0xFF, np.uint8), np.full((4, 8), 99, np.uint8)
        interpreted(form(case.loads()), case.grid, [memory, *case.parameters, found])
        assert found.tolist() == [[63] * elements + [0] * (8 - elements)] * 4
        interpreted(form(case.stores()), case.grid, [memory, *case.parameters, np.full((4, 8), 63, np.uint8)])
        assert memory.reshape(4, size).tolist() == [[0xFF] * (size - 1) + [last]] * 4


def test_neighbours_of_a_tile_keep_their_elements() -> None:
    """A tile covers whole bytes, so that tiles may be stored in any order and by any block."""
    for form in FORMS.values():
        memory = np.full(24, 0xFF, np.uint8)
        interpreted(form(SIX.stores()), (1, 1, 1), [memory, *SIX.parameters, np.zeros((4, 8), np.uint8)])
        assert memory.reshape(4, 6).tolist() == [[0, 0, 0, 255, 255, 255]] * 2 + [[255] * 6] * 2


def test_more_than_two_to_the_32_bytes() -> None:
    """The last tile of 4.5 GiB, of which only the pages that are used exist; its number exceeds 2^32 too."""
    size = 9 << 29
    case = Case(2, (4,), (size,), (1,), (True,), (False,), "i64", "i64")
    for form in FORMS.values():
        memory, found = np.zeros(size, np.uint8), np.full(4, 99, np.uint8)
        memory[-1] = 0b11100100
        text = LAST.replace("VIEW", case.view)
        interpreted(form(text), (1, 1, 1), [memory, size, found, case.counts[0] - 1])
        assert found.tolist() == [0, 1, 2, 3]


LAST = """cuda_tile.module @m { entry @k(%p: tile<ptr<i8>>, %n: tile<i64>, %q: tile<ptr<i8>>, %i: tile<i64>) {
  %t = make_tensor_view %p, shape = [%n], strides = [1] : tile<i64> -> tensor_view<?xi8, strides=[1]>
  %v = tilex.make_packed_view %t : VIEW
  %x, %k = tilex.load_packed_tko weak %v[%i] : VIEW, tile<i64> -> tile<4xi8>, token
  %lane = iota : tile<4xi32>
  %r = reshape %q : tile<ptr<i8>> -> tile<1xptr<i8>>
  %b = broadcast %r : tile<1xptr<i8>> -> tile<4xptr<i8>>
  %a = offset %b, %lane : tile<4xptr<i8>>, tile<4xi32> -> tile<4xptr<i8>>
  %s = store_ptr_tko weak %a, %x : tile<4xptr<i8>>, tile<4xi8> -> token
  return
} }"""


@pytest.mark.parametrize("target", ["interpret", *TARGETS])
def test_tensor_without_elements(target: str) -> None:
    case = replace(SIX, extents=(4, 0), strides=(6, 1))
    settings = {"backend": "interpret"} if target == "interpret" else {"backend": "simulate", "target": target}
    for form in FORMS.values() if target == "interpret" else (Module.parse,):
        found = np.full((4, 8), 99, np.uint8)
        text = SIX.loads()
        tilec.run(form(text), (1, 1, 1), [np.ones(24, np.uint8), *case.parameters, found], **settings)
        assert not found[:2, :4].any()


V, T = "tilex.packed_view<tile=(4), bits=6, tensor_view<?xi8, strides=[1]>>", "tensor_view<?xi8, strides=[1]>"
# A store, and loads of the elements before and after it.
ORDERED = f"""cuda_tile.module @m {{ entry @k(%p: tile<ptr<i8>>, %n: tile<i32>) {{
  %t = make_tensor_view %p, shape = [%n], strides = [1] : tile<i32> -> {T}
  %v = tilex.make_packed_view %t : {V}
  %zero = constant <i32: 0> : tile<i32> %one = constant <i32: 1> : tile<i32> %five = constant <i8: 5> : tile<4xi8>
  %x, %loaded = tilex.load_packed_tko weak %v[%zero] : {V}, tile<i32> -> tile<4xi8>, token
  %s = tilex.store_packed_tko weak %five, %v[%zero] token = %loaded : tile<4xi8>, {V}, tile<i32> -> token
  %y, %again = tilex.load_packed_tko weak %v[%zero] token = %s : {V}, tile<i32> -> tile<4xi8>, token
  %sum = addi %x, %y : tile<4xi8>
  %e = tilex.store_packed_tko weak %sum, %v[%one] : tile<4xi8>, {V}, tile<i32> -> token
  return
}} }}"""


@pytest.mark.parametrize("target", ["interpret", *TARGETS])
def test_accesses_stay_ordered(target: str) -> None:
    """Tokens order the accesses of the bytes: the interpreter reports accesses without order."""
    settings = {"backend": "interpret", "check": True} if target == "interpret" else {"target": target}
    for form in FORMS.values() if target == "interpret" else (Module.parse,):
        memory = np.frombuffer(bytes([0x81, 0x30, 0x10, 0, 0, 0]), np.uint8).copy()
        tilec.run(form(ORDERED), (1, 1, 1), [memory, 6], **{"backend": "simulate", **settings})
        # 5 in each element: 000101 four times is 0x145145; the sums are 6, 7, 8, 9.
        assert memory.tolist() == [0x45, 0x51, 0x14, 0xC6, 0x81, 0x24]
