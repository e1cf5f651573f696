"""`build` accepts Python values as attributes, groups of operands and defaults; accessors return the same values."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tilec.dialect.build import build
from tilec.dialect.cuda_tile.types import PartitionViewType, PointerType, TensorViewType, TileType, TokenType
from tilec.dialect.fields import MANY_RUNS
from tilec.dialect.mlir import context, ir


@pytest.fixture
def values() -> Iterator[list[ir.Value]]:
    """Arguments of the current block: a pointer, an i32, a partition view and a tile of 8 f32."""
    with context(), ir.Location.file("user.py", 3, 5):
        module = ir.Module.create()
        carrier = ir.Operation.create("builtin.module", regions=1, ip=ir.InsertionPoint(module.body))
        f32 = ir.F32Type.get()
        view = PartitionViewType.get([8], TensorViewType.get([None], f32, [1]))
        scalar = TileType.get([], ir.IntegerType.get_signless(32))
        block = carrier.regions[0].blocks.append(
            TileType.get([], PointerType.get(f32)), scalar, view, TileType.get([8], f32)
        )
        with ir.InsertionPoint(block):
            yield list(block.arguments)


def test_defaults_are_stored(values: list[ir.Value]) -> None:
    *_, tile = values
    added = build("addf", [tile, tile], [tile.type])
    assert added.attributes["rounding_mode"].value == "nearest_even"
    assert "flush_to_zero" not in added.attributes
    assert added.opview.rounding_mode == "nearest_even"
    assert added.opview.flush_to_zero is False


def test_python_values_become_attributes(values: list[ir.Value]) -> None:
    _, scalar, _, tile = values
    flushed = build("addf", [tile, tile], [tile.type], {"rounding_mode": "zero", "flush_to_zero": True}).opview
    assert (flushed.rounding_mode, flushed.flush_to_zero) == ("zero", True)
    looped = build("for", [scalar, scalar, scalar, tile], [tile.type], {"unsignedCmp": False}).opview
    assert looped.unsignedCmp is False
    assert (
        str(build("cat", [tile, tile], [TileType.get([16], tile.type.element)], {"dim": 0}).attributes["dim"])
        == "0 : i64"
    )


def test_groups_by_field(values: list[ir.Value]) -> None:
    pointer, scalar, view, tile = values
    token = build("make_token", [], [TokenType.get()]).result
    loaded = build(
        "load_view_tko", [view, [scalar], None], [tile.type, TokenType.get()], {"memory_ordering_semantics": "weak"}
    )
    assert loaded.opview.index == [scalar]
    assert loaded.opview.token is None
    assert list(loaded.attributes["operandSegmentSizes"]) == [1] + [1, 0, 0] + [0]
    stored = build(
        "store_ptr_tko", [pointer, pointer, None, token], [TokenType.get()], {"memory_ordering_semantics": "weak"}
    )
    assert stored.opview.mask is None
    assert stored.opview.token == token
    assert list(stored.attributes["operandSegmentSizes"]) == [1, 1, 0, 1]


def test_groups_by_segments(values: list[ir.Value]) -> None:
    pointer, scalar, *_ = values
    view = TensorViewType.get([None, 4], ir.F32Type.get(), [4, 1])
    made = build("make_tensor_view", [pointer, scalar], [view], segments=[1, 1, 0]).opview
    assert (made.base, made.dynamicShape, made.dynamicStrides) == (pointer, [scalar], [])


def test_one_variadic_group_needs_no_sizes(values: list[ir.Value]) -> None:
    _, scalar, _, tile = values
    looped = build("for", [scalar, scalar, scalar, tile, tile], [tile.type, tile.type]).opview
    assert looped.initValues == [tile, tile]
    assert list(looped.attributes["resultSegmentSizes"]) == [2] + [0] * (MANY_RUNS - 1)


def test_variadic_group_of_mixed_types(values: list[ir.Value]) -> None:
    _, scalar, _, tile = values
    initial = [tile] * 1000 + [scalar] * 200 + [tile, scalar] * 127
    looped = build("loop", initial, [tile.type, scalar.type]).opview
    assert looped.initValues == initial
    assert list(looped.attributes["operandSegmentSizes"]) == [1000, 200] + [1] * 254
    looped.regions[0].blocks.append(*[v.type for v in initial], arg_locs=[looped.location] * len(initial))
    with ir.InsertionPoint(looped.regions[0].blocks[0]):
        build("break", [tile, scalar])
    assert looped.operation.verify()


def test_ambiguous_groups_are_refused(values: list[ir.Value]) -> None:
    pointer, scalar, *_ = values
    view = TensorViewType.get([None], ir.F32Type.get(), [1])
    with pytest.raises(ValueError, match="several optional groups of operands"):
        build("make_tensor_view", [pointer, scalar], [view])


def test_segments_that_do_not_fit_are_refused(values: list[ir.Value]) -> None:
    pointer, scalar, *_ = values
    view = TensorViewType.get([None, 4], ir.F32Type.get(), [4, 1])
    for sizes in ([1, 1], [1, 2, 0]):
        with pytest.raises(ValueError) as caught:
            build("make_tensor_view", [pointer, scalar], [view], segments=sizes)
        message = f"'cuda_tile.make_tensor_view' has 3 groups of operands, got sizes {sizes} for 2 values"
        assert str(caught.value) == message


def test_too_many_runs_of_types_are_refused(values: list[ir.Value]) -> None:
    _, scalar, _, tile = values
    many = [tile, scalar] * 129
    message = "expected at most 256 runs of values of one type for 'initValues' of 'cuda_tile.loop', but got 258"
    with pytest.raises(ValueError, match=message):
        build("loop", many, [])


def test_default_location_is_the_current_one(values: list[ir.Value]) -> None:
    *_, tile = values
    assert build("negf", [tile], [tile.type]).location == ir.Location.file("user.py", 3, 5)
    other = ir.Location.file("user.py", 9, 1)
    assert build("negf", [tile], [tile.type], loc=other).location == other


def test_verifier_reports_the_users_line(values: list[ir.Value]) -> None:
    _, scalar, _, tile = values
    wrong = build("addf", [tile, scalar], [tile.type])
    with pytest.raises(ir.MLIRError) as caught:
        wrong.verify()
    (diagnostic,) = caught.value.error_diagnostics
    assert diagnostic.location == ir.Location.file("user.py", 3, 5)
    assert (
        diagnostic.message
        == "'cuda_tile.addf' op operand #1 must be tile of f16 or bf16 or f32 or f64 values, but got 'tile<i32>'"
    )
