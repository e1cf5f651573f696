"""The bytes of kernel parameters: values, alignment and tensor maps."""

import struct

import numpy as np
import pytest

from tilec.errors import InputError
from tilec.lowering.target import target_named
from tilec.lowering.tma.rules import violations
from tilec.lowering.tma.tensor_map import TensorMap
from tilec.runtime.arguments.arguments import ArrayArgument, PointerArgument, ScalarArgument
from tilec.runtime.arguments.binding import bind
from tilec.runtime.artifact.metadata import Metadata, TensorMapParameter, ValueParameter
from tilec.runtime.parameters import block, offsets, pack, pack_value
from tilec.runtime.tensor_maps.expression import Operation, Parameter
from tilec.runtime.tensor_maps.tensor_map import Recipe


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
        ("f8E4M3FN", -2.0, "c0"),
        ("f8E5M2", -2.0, "c0"),
        ("f8E8M0FNU", 2.0, "80"),
        ("fnv8E5M3FNU", 2.0, "80"),
    ],
)
def test_value(type_name: str, value: float, content: str) -> None:
    assert pack_value(type_name, value).hex() == content


@pytest.mark.parametrize(("value", "content"), [(1e300, "0000807f"), (-1e300, "000080ff"), (1e-300, "00000000")])
def test_value_out_of_range_does_not_depend_on_the_errors_of_numpy(value: float, content: str) -> None:
    with np.errstate(all="raise"):
        assert pack_value("f32", value).hex() == content


def test_number_beyond_every_float() -> None:
    with pytest.raises(InputError, match="a parameter of type f32 needs a number within the range of float64"):
        pack_value("f32", 10**400)


def test_each_value_is_aligned_to_its_size() -> None:
    contents = [pack_value("u8", 7), pack_value("u64", 1), pack_value("u16", 2), pack_value("f32", 0.5)]
    assert block(contents) == struct.pack("<B7xQH2xf", 7, 1, 2, 0.5)


def no_tables(_maps: np.ndarray) -> int:
    raise AssertionError("the kernel has no maps of lists")


def no_padding(index: int, byte: int) -> int:
    raise AssertionError("padding is requested, but every array has elements")


def test_tensor_maps_are_aligned_to_64_bytes_and_may_be_used_twice() -> None:
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

    parameters = block(pack(metadata, bind(metadata.arguments, [array, 64]), encode, no_padding, no_tables))
    assert (seen[0].base, seen[0].extents) == (array.ctypes.data, (64,))
    assert parameters == struct.pack("<Qi52x", array.ctypes.data, 64) + bytes([1]) * 128 + bytes([2]) * 128


def test_launch_buffers_align_tensor_maps_to_128_bytes() -> None:
    contents = [bytes(8), bytes(128), bytes(4), bytes(128)]
    assert offsets(contents, 128) == [0, 128, 256, 384]
    assert len(block(contents, 128)) == 512


@pytest.mark.parametrize(("fill", "byte"), [("zero", 0x00), ("nan", 0xFF)])
def test_tensor_map_of_an_empty_array_has_padding_as_memory(fill: str, byte: int) -> None:
    recipe = Recipe(
        Parameter(0),
        "f16",
        (Parameter(2), Parameter(1)),
        (Operation("mul", Parameter(3), 2),),
        (64, 8),
        (1, 1),
        fill=fill,
    )
    metadata = Metadata(
        entry="k",
        target="sm_100a",
        arguments=(ArrayArgument("A", "f16", (None, None), (None, 1)),),
        parameters=(*(ValueParameter("u32", f"v{i}") for i in range(5)), TensorMapParameter(0)),
        tensor_maps=(recipe,),
        block=(32, 1, 1),
    )
    requests: list[tuple[int, int]] = []
    seen: list[TensorMap] = []

    def padding(index: int, byte: int) -> int:
        requests.append((index, byte))
        return 0x1000

    def encode(tensor_map: TensorMap) -> bytes:
        seen.append(tensor_map)
        return bytes(128)

    for shape in ((0, 64), (64, 0), (0, 0)):
        pack(metadata, bind(metadata.arguments, [np.zeros(shape, np.float16)]), encode, padding, no_tables)
    assert requests == [(0, byte)] * 3
    assert {(each.base, each.extents, each.box) for each in seen} == {(0x1000, (8, 1), (64, 8))}
    assert not [violation for each in seen for violation in violations(each, target_named("sm_100a"))]
