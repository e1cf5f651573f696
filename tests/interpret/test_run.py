"""Arguments that `run` accepts and refuses, and source locations of its errors."""

from __future__ import annotations

import numpy as np
import pytest

from tilec.dialect.assembly.reader import read_module
from tilec.dialect.build import build
from tilec.dialect.mlir import context, ir
from tilec.errors import InputError, SimulationError, UnsupportedError
from tilec.runtime.interpret.location import source_location
from tilec.runtime.interpret.registry import interprets
from tilec.runtime.interpret.run import run

STORE = """cuda_tile.module @m {
  entry @first(%p: tile<ptr<f16>>, %x: tile<f16>, %i: tile<i8>, %b: tile<i1>) {
    %k = store_ptr_tko weak %p, %x : tile<ptr<f16>>, tile<f16> -> token
    return
  }
  entry @second() { return }
}"""


@pytest.fixture
def module() -> ir.Module:
    return read_module(STORE)


def test_float_parameter_is_rounded_to_its_type(module):
    result = np.zeros(1, np.float16)
    run(module, "first", 1, [result.ctypes.data, 1 / 3, -1, True], ranges=[(result.ctypes.data, 2, True)])
    assert result[0] == np.float16(1 / 3)


@pytest.mark.parametrize(
    ("entry", "grid", "values", "message"),
    [
        ("third", 1, [], "the module has no entry 'third'; its entries are: first, second"),
        ("second", 1, [1], r"entry 'second' has 0 parameters, got 1 values"),
        ("second", -1, [], "the grid needs one to three integers of at least 0, got -1"),
        ("second", (1, 70000), [], "the grid needs extents of at most"),
        ("first", 1, [4096, 1.0, 2.5, 0], "parameter 2 needs an integer for i8, got 2.5"),
        ("first", 1, [4096, 1.0, 256, 0], "parameter 2 needs a value of i8, got 256"),
        ("first", 1, [4096, 1.0, -129, 0], "parameter 2 needs a value of i8, got -129"),
        ("first", 1, [-1, 1.0, 1, 0], "parameter 0 needs a value of ptr<f16>, got -1"),
        ("first", 1, [4096, 1.0, 1, 2], "parameter 3 needs a value of i1, got 2"),
    ],
)
def test_invalid_arguments_are_refused(module, entry, grid, values, message):
    with pytest.raises(InputError, match=message):
        run(module, entry, grid, values)


def test_progress_counts_tile_blocks(module):
    calls: list[tuple[int, int]] = []
    run(module, "second", (2, 2), [], progress=lambda done, total: calls.append((done, total)))
    assert calls == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_operation_without_an_interpretation_is_unsupported(module, monkeypatch):
    from tilec.runtime.interpret.registry import MEANINGS

    monkeypatch.delitem(MEANINGS, "cuda_tile.store_ptr_tko")
    with pytest.raises(UnsupportedError, match="the interpreter does not support 'cuda_tile.store_ptr_tko'") as caught:
        run(module, "first", 1, [4096, 1.0, 1, 0])
    assert caught.value.location.line == 3


def test_duplicate_interpretation_is_refused_and_both_are_named():
    with pytest.raises(
        ValueError, match=r"'cuda_tile.addf' is interpreted by both .*float\._rounded and .*test_run\..*another"
    ):

        @interprets("addf")
        def another(op, machine, lhs, rhs):
            return lhs


def test_call_sites_of_a_location_become_notes():
    with context():
        helper, caller = ir.Location.file("k.py", 3, 5), ir.Location.file("k.py", 9, 2)
        found, notes = source_location(ir.Location.callsite(ir.Location.name("x", helper), [caller]))
    assert str(found) == "k.py:3:5"
    assert [(note.message, str(note.location)) for note in notes] == [("called from here", "k.py:9:2")]


def test_first_known_location_of_a_fused_location_is_used():
    with context():
        fused = ir.Location.fused([ir.Location.unknown(), ir.Location.file("k.py", 4, 1)])
        assert str(source_location(fused)[0]) == "k.py:4:1"
        assert source_location(ir.Location.unknown()) == (None, [])


def test_error_in_a_called_function_shows_the_call():
    with context(), ir.Location.callsite(ir.Location.file("k.py", 3, 5), [ir.Location.file("k.py", 9, 2)]):
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            entry = build("entry", [], [], {"sym_name": "k", "function_type": ir.FunctionType.get([], [])})
        kind = ir.IntegerType.get_signless(1)
        with ir.InsertionPoint(entry.regions[0].blocks.append()):
            from tilec.dialect.cuda_tile.types import TileType

            value = ir.DenseElementsAttr.get_splat(ir.RankedTensorType.get([], kind), ir.IntegerAttr.get(kind, 0))
            condition = build("constant", [], [TileType.get((), kind)], {"value": value}).result
            build("assert", [condition], [], {"message": "no"})
            build("return")
    with pytest.raises(SimulationError) as caught:
        run(module, "k", 1, [])
    assert str(caught.value).splitlines() == [
        "k.py:3:5: error: assertion failed: no",
        "k.py:9:2: note: called from here",
        "note: in tile block (0, 0, 0) of grid (1, 1, 1)",
    ]


def test_preview_calls_are_unsupported():
    call = "%r = preview$call @f(%a) : (tile<i32>) -> tile<i32>"
    text = f"cuda_tile.module @m {{ entry @k(%a: tile<i32>) {{ {call} return }} }}"
    with pytest.raises(UnsupportedError, match=r"the interpreter does not support 'cuda_tile\.preview.call'"):
        run(read_module(text), "k", 1, [1])
