"""The bytes of kernel parameters."""

import struct

import numpy as np
import pytest

from tilec.lowering.tma.contract import TensorMap
from tilec.runtime.arguments import PointerArgument, ScalarArgument
from tilec.runtime.binding import bind
from tilec.runtime.expression import Parameter
from tilec.runtime.metadata import Metadata, TensorMapParameter, ValueParameter
from tilec.runtime.parameters import block, pack, pack_value
from tilec.runtime.tensor_map import Recipe


@pytest.mark.parametrize(
    ("type_name", "value", "content"),
    [
        ("u8", 1, "01"),
        ("s32", -2, "feffffff"),
        ("u32", -1, "ffffffff"),
        ("u64", 2**63, "0000000000000080"),
        ("f16", 1.0, "003c"),
        ("bf16", 1.0, "803f"),
        ("f32", 0.5, "0000003f"),
        ("f64", -2.0, "00000000000000c0"),
    ],
)
def test_value(type_name: str, value: float, content: str) -> None:
    assert pack_value(type_name, value).hex() == content


def test_each_value_lies_at_its_natural_alignment() -> None:
    contents = [pack_value("u8", 7), pack_value("u64", 1), pack_value("u16", 2), pack_value("f32", 0.5)]
    assert block(contents) == struct.pack("<B7xQH2xf", 7, 1, 2, 0.5)


def test_tensor_maps_lie_at_64_bytes_and_may_be_used_twice() -> None:
    recipe = Recipe(Parameter(0), "f32", (Parameter(1),), (), (4,), (1,))
    metadata = Metadata(
        entry="k",
        target="sm_100a",
        arguments=(PointerArgument("p", "f32"), ScalarArgument("n", "i32")),
        parameters=(
            ValueParameter("u64", "p"),
            ValueParameter("s32", "n"),
            TensorMapParameter(0),
            TensorMapParameter(0),
        ),
        tensor_maps=(recipe,),
        block=(32, 1, 1),
    )
    array = np.zeros(64, np.float32)
    seen: list[TensorMap] = []

    def encode(tensor_map: TensorMap) -> bytes:
        seen.append(tensor_map)
        return bytes([len(seen)]) * 128

    laid_out = block(pack(metadata, bind(metadata.arguments, [array, 64]), encode))
    assert (seen[0].base, seen[0].extents) == (array.ctypes.data, (64,))
    assert laid_out == struct.pack("<Qi52x", array.ctypes.data, 64) + bytes([1]) * 128 + bytes([2]) * 128
