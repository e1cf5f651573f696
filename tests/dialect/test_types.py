"""Types of Tile IR: constructors and properties, text round trips, and invalid types."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tilec.dialect.assembly.types import TypeSyntaxError, parse_type
from tilec.dialect.cuda_tile.types import (
    GatherScatterViewType,
    PartitionViewType,
    PointerType,
    StridedViewType,
    TensorViewType,
    TileType,
    TokenType,
)
from tilec.dialect.mlir import context, ir
from tilec.dialect.spelling import spell


@pytest.fixture(autouse=True)
def _in_context() -> Iterator[None]:
    with context():
        yield


def test_properties_are_python_values() -> None:
    tensor = TensorViewType.get([None, 64], ir.F16Type.get(), [..., 1])
    view = StridedViewType.get([4, 2], [3, 2], tensor, dim_map=[1, 0], padding="nan")
    assert (tensor.shape, tensor.strides, tensor.rank) == ((None, 64), (None, 1), 2)
    assert (view.tile_shape, view.traversal_strides, view.dim_map, view.padding) == ((4, 2), (3, 2), (1, 0), "nan")
    assert view.tensor_view == tensor
    assert view.tile_type == TileType.get([4, 2], ir.F16Type.get())
    assert PartitionViewType.get([4, 2], tensor).dim_map == (0, 1)
    assert PartitionViewType.get([4, 2], tensor).padding is None
    assert PointerType.get(ir.F16Type.get()).element == ir.F16Type.get()


@pytest.mark.parametrize(
    "text",
    [
        "token",
        "f32",
        "tile<f32>",
        "tile<4x2xi1>",
        "tile<2xfnv8E5M3FNU>",
        "tile<8xptr<bf16>>",
        "tile<ptr<i8, <multicast>>>",
        "tensor_view<f32>",
        "tensor_view<?x64xf16, strides=[?,1]>",
        "tensor_view<8xf32, strides=[1], #cuda_tile.ptr_attr<unicast>>",
        "partition_view<tile=(4x2), tensor_view<64x16xf32, strides=[16,1]>>",
        "partition_view<tile=(4x2), padding_value = neg_zero, tensor_view<64x16xf32, strides=[16,1]>, dim_map=[1, 0]>",
        "strided_view<tile=(4x2), traversal_strides=[4,3], padding_value = zero, tensor_view<8x8xf32, strides=[8,1]>>",
        "gather_scatter_view<tile=(8x16), padding_value = zero, tensor_view<64x16xf32, strides=[16,1]>, sparse_dim=1>",
    ],
)
def test_text_round_trip(text: str) -> None:
    assert spell(parse_type(text)) == text


@pytest.mark.parametrize(
    ("spelled", "canonical"),
    [
        ("!cuda_tile.tile<4x!cuda_tile.ptr<i8>>", "tile<4xptr<i8>>"),
        ("!cuda_tile.partition_view<tile=(8), !cuda_tile.tensor_view<64xf32, strides=[1]>>", None),
        ("partition_view<tile=(4x2), tensor_view<8x8xf32,strides=[8,1]>, dim_map=[0,1]>", None),
        ("!cuda_tile.token", "token"),
        ("!cuda_tile.tile<array<i64: 4, 2>, f32>", "tile<4x2xf32>"),
        ("!cuda_tile.tile<array<i64>, !cuda_tile.ptr<f32, unit>>", "tile<ptr<f32>>"),
    ],
)
def test_other_spellings_are_read(spelled: str, canonical: str | None) -> None:
    type = parse_type(spelled)
    assert canonical is None or type == parse_type(canonical)
    assert parse_type(str(type)) == type


_TENSOR = "tensor_view<64x16xf32, strides=[16,1]>"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tile<3xf32>", "all dimensions must be powers of two, got [3]"),
        ("tile<0xf32>", "all dimensions must be positive constants, got [0]"),
        ("tile<4096x8192xf32>", "tile would exceed the maximum of 16777216 elements"),
        ("tile<f4E2M1FN>", "F4E2M1FN tiles must have an even number of elements"),
        ("tile<1xptr<f4E2M1FN>>", "tiles of ptr<f4E2M1FN> must have rank 0; use an f4 tile view for memory accesses"),
        ("tile<4xu8>", "expected a number type or a pointer, but got 'u8'"),
        ("tile<4", "expected 'x' after the dimension"),
        ("tile<4xptr<i4>>", "pointee must be a number type, but got 'i4'"),
        ("ptr<f32, <everywhere>>", "pointer attribute must be one of: none, unicast, multicast, but got: everywhere"),
        ("tensor_view<4xf32>", "expected 'strides'"),
        ("tensor_view<f32, strides=[]>", "strides must not be provided for 0-d tiles"),
        ("tensor_view<4x4xf32, strides=[1]>", "expected shape and stride to be of same rank"),
        ("tensor_view<4xf32, strides=[0]>", "expected strictly positive integer, got 0"),
        ("tensor_view<4xf32, strides=[x]>", "expected either 64-bit integer or question mark"),
        (
            "tensor_view<9223372036854775808xf32, strides=[1]>",
            "sizes of dimensions must be below 2^63, but got 9223372",
        ),
        ("tensor_view<4xf32, strides=[9223372036854775808]>", "strides of dimensions must be below 2^63"),
        # The number that represents `?` in bytecode.
        ("tensor_view<-9223372036854775808xf32, strides=[1]>", "dimensions must have strictly positive constant sizes"),
        (f"strided_view<tile=(4x4), traversal_strides=[1,2147483648], {_TENSOR}>", "strides must be below 2^31"),
        (f"tensor_view<{'9' * 5000}xf32, strides=[1]>", "integer constant out of range for type"),
        ("tensor_view<0xf32, strides=[1]>", "dimensions must have strictly positive constant sizes but got [0]"),
        ("partition_view<tile=(), tensor_view<f32>>", "0-dimension tile shape is not supported"),
        (f"partition_view<tile=(4), {_TENSOR}>", "expected tensor_view rank and tile rank to match"),
        (
            f"partition_view<tile=(3x4), {_TENSOR}>",
            "tile shape dimensions must have power of two length but got [3, 4]",
        ),
        (f"partition_view<tile=(4x0), {_TENSOR}>", "tile shape dimensions must have positive length but got [4, 0]"),
        (f"partition_view<tile=(4294967296x1), {_TENSOR}>", "tile dimension 0 exceeds i32 limitations (4294967296)"),
        (f"partition_view<tile=(4x4), {_TENSOR}, dim_map=[0]>", "expected dim_map to map exactly all 2 dimensions"),
        (f"partition_view<tile=(4x4), {_TENSOR}, dim_map=[0, 0]>", "target dimension 0 mapped at least twice"),
        (
            f"partition_view<tile=(4x4), {_TENSOR}, dim_map=[0, 2]>",
            "target dimension is outside of tensor view dimensions",
        ),
        (f"partition_view<tile=(4x4), {_TENSOR}, dim_map=[-1, 0]>", "target dimension must not be negative, got -1"),
        (f"partition_view<tile=(4x4), padding_value = one, {_TENSOR}>", 'Got "one" but expect one of: zero, neg_zero'),
        (
            "partition_view<tile=(4), padding_value = nan, tensor_view<64xi32, strides=[1]>>",
            "padding_value nan can only be used with floating point element types, got i32",
        ),
        ("partition_view<tile=(4), tile<4xf32>>", "expected 'tensor_view' type, but got 'tile'"),
        (f"strided_view<tile=(4x4), traversal_strides=[1], {_TENSOR}>", "expected 2 traversal strides, got 1"),
        (
            f"strided_view<tile=(4x4), traversal_strides=[1,0], {_TENSOR}>",
            "traversal strides must be strictly positive but got [1, 0]",
        ),
        (
            f"gather_scatter_view<tile=(4x4), {_TENSOR}, sparse_dim=2>",
            "gather dimension is outside of tensor view dimensions",
        ),
        ("tensr<4xf32>", "unknown type: tensr"),
        ("!cuda_tile.tensr<4xf32>", "unknown type: tensr"),
    ],
)
def test_invalid_type_is_refused(text: str, message: str) -> None:
    with pytest.raises(TypeSyntaxError) as caught:
        parse_type(text)
    assert message in caught.value.message


@pytest.mark.parametrize(
    "make",
    [
        lambda f32: TileType.get([3], f32),
        lambda f32: TileType.get([4], ir.IndexType.get()),
        lambda f32: PartitionViewType.get([4], TensorViewType.get([8, 8], f32, [8, 1])),
        lambda f32: GatherScatterViewType.get([4], TensorViewType.get([8], f32, [1]), 1),
        lambda f32: TensorViewType.get([8], f32, [-1]),
    ],
)
def test_get_refuses_invalid_types(make: Callable[[ir.Type], Any]) -> None:
    with pytest.raises(ValueError):
        make(ir.F32Type.get())


def test_equal_types_are_uniqued() -> None:
    assert TileType.get([4], ir.F32Type.get()) == TileType.get((4,), ir.F32Type.get())
    assert len({TokenType.get(), TokenType.get()}) == 1
