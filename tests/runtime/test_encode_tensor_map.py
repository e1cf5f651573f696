"""tilec.tensor_map: encoded maps of the three functions, and each refused argument by its name."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tensor_map_cases import CASES, MATRIX, NHWC, W128, Case, W

import tilec as ct
from tilec.errors import InputError
from tilec.lowering.tma.rules import ALL_RULES
from tilec.lowering.tma.tensor_map import TensorMap
from tilec.runtime.devices import devices
from tilec.runtime.tensor_maps.tensor_map import encode_for_simulator

_COMMON = ("element", "base", "extents", "strides", "element_strides", "interleave", "swizzle", "l2_promotion", "fill")
_PIXELS = ("lower", "upper", "channels_per_pixel", "pixels_per_column")
# Element types in the terms of the arguments: ct.float16 and so on have the same names.
FUNCTIONS = {
    "tiled": (ct.tensor_map.encode_tiled, (*_COMMON, "box")),
    "im2col": (ct.tensor_map.encode_im2col, (*_COMMON, *_PIXELS)),
    "im2col_w": (ct.tensor_map.encode_im2col_wide, (*_COMMON, *_PIXELS)),
    "im2col_w128": (ct.tensor_map.encode_im2col_wide, (*_COMMON, *_PIXELS)),
}


def call(tensor_map: TensorMap) -> tuple[Callable[..., bytes], dict[str, Any]]:
    """The function and the arguments that encode a map."""
    function, names = FUNCTIONS[tensor_map.kind]
    arguments = {name: getattr(tensor_map, name) for name in names}
    if tensor_map.kind in ("im2col_w", "im2col_w128"):
        arguments |= {"lower": tensor_map.lower[0], "upper": tensor_map.upper[0]}
        arguments["mode"] = tensor_map.kind.removeprefix("im2col_")
    return function, arguments


def encode(tensor_map: TensorMap, **changes: Any) -> bytes:
    function, arguments = call(tensor_map)
    return function(**{**arguments, **changes})


@pytest.mark.parametrize("tensor_map", [MATRIX, NHWC, W, W128], ids=lambda tensor_map: tensor_map.kind)
def test_map_for_the_simulator(tensor_map: TensorMap) -> None:
    assert encode(tensor_map) == encode_for_simulator(tensor_map)


def test_arguments_may_be_types_arrays_and_integers_of_numpy() -> None:
    array = np.zeros((100, 200), np.float16)
    changes = {"element": ct.float16, "extents": np.array([200, 100]), "box": [np.int64(64), np.uint8(32)]}
    if array.ctypes.data % 16 == 0:
        assert encode(MATRIX, base=array, **changes)[:8] == array.ctypes.data.to_bytes(8, "little")
    assert encode(MATRIX, **changes) == encode_for_simulator(MATRIX)


def test_element_strides_are_1_by_default() -> None:
    assert encode(NHWC, element_strides=None) == encode_for_simulator(NHWC)


def test_mode_w128_ignores_the_number_of_pixels() -> None:
    assert encode(W128, pixels_per_column=5000) == encode(W128)


def argument_of(case: Case) -> str:
    """The argument that the message names."""
    kind, field = case.illegal.kind, "extents" if case.field == "rank" else case.field
    if case.dimension is None or (kind.startswith("im2col_w") and field in ("lower", "upper")):
        return field
    return f"{field}[{case.dimension - (field == 'strides')}]"


# A call cannot pass corners to kind tiled, a box to the im2col kinds, or several corners of W.
PASSED = [
    case
    for case in CASES
    if not (
        case.rule == "number_of_values"
        and (case.field not in FUNCTIONS[case.illegal.kind][1] or case.illegal.kind in ("im2col_w", "im2col_w128"))
    )
]


@pytest.mark.parametrize("case", PASSED, ids=lambda case: case.name)
def test_violated_rule_names_argument_and_manual(case: Case) -> None:
    function = FUNCTIONS[case.illegal.kind][0].__name__
    (rule,) = [rule for rule in ALL_RULES if rule.name == case.rule]
    assert len(encode(case.legal, target=case.target)) == 128
    with pytest.raises(InputError) as raised:
        encode(case.illegal, target=case.target)
    subject = f"'tensor_map.{function}', argument '{argument_of(case)}'"
    source = rule.source(case.illegal.kind, case.field)
    assert raised.value.message == f"{subject}: expected {case.expected}, got {case.found} ({source})"


@pytest.mark.parametrize(
    ("tensor_map", "argument", "value", "message"),
    [
        (
            MATRIX,
            "element",
            "f128",
            "'element': expected one of .*, got 'f128' .CUDA driver API, cuTensorMapEncodeTiled, ",
        ),
        (MATRIX, "element", "i4", "'element': expected one of .*, got 'i4' .*tensorDataType; PTX ISA 5.5.1"),
        (MATRIX, "element", 3, "'element': expected one of .*, got 3"),
        (
            MATRIX,
            "base",
            "x",
            "'base': expected an integer, got 'x' .CUDA driver API, cuTensorMapEncodeTiled, globalAddress",
        ),
        (MATRIX, "base", -16, "'base': expected an address that is a multiple of 16 bytes, got -0x10"),
        (MATRIX, "extents", 5, "'extents': expected a sequence of integers, got 5 .*globalDim"),
        (MATRIX, "extents", "64", "'extents': expected a sequence of integers, got '64'"),
        (MATRIX, "extents", np.array(64), r"'extents': expected a sequence of integers, got array\(64\)"),
        (NHWC, "channels_per_pixel", 2**65, "'channels_per_pixel': expected an integer of at most 64 bits, got 368"),
        (MATRIX, "allow_unconfirmed", [], r"'allow_unconfirmed': expected True or False, got \[\]"),
        (
            MATRIX,
            "box",
            (64, 1.5),
            r"'box\[1\]': expected an integer, got 1.5 .CUDA driver API, cuTensorMapEncodeTiled, boxDim",
        ),
        (MATRIX, "box", (64, True), r"'box\[1\]': expected an integer, got True"),
        # PTX ISA 5.5.7: atoms of other sizes are for spans of 128 bytes alone.
        (MATRIX, "swizzle", "32B_atom_32B", "'swizzle': expected one of none, .*; PTX ISA 5.5.7"),
        (MATRIX, "swizzle", "64B_atom_32B", "'swizzle': expected one of none, .*; PTX ISA 5.5.7"),
        (MATRIX, "swizzle", "96B_atom_32B", "'swizzle': expected one of none, .*; PTX ISA 5.5.7"),
        (MATRIX, "swizzle", "64B_atom_64B", "'swizzle': expected one of none, .*; PTX ISA 5.5.7"),
        (MATRIX, "swizzle", ["none"], "'swizzle': expected one of none"),
        (MATRIX, "interleave", "8B", "'interleave': expected one of none, 16B, 32B, got '8B' .*; PTX ISA 5.5.6"),
        (MATRIX, "l2_promotion", "512B", "'l2_promotion': expected one of none, 64B, 128B, 256B, got '512B'"),
        (MATRIX, "fill", "one", "'fill': expected one of zero, nan, got 'one' .*oobFill; PTX ISA 5.5.3.3"),
        (MATRIX, "target", "sm_80", "'target': expected one of sm_100a, sm_90a, got 'sm_80'"),
        (MATRIX, "backend", "gpu", "'backend': expected one of simulate, launch, got 'gpu'"),
        (NHWC, "lower", -1, "'lower': expected a sequence of integers, got -1"),
        (NHWC, "upper", (-1,), "'upper': expected 2 values, got 1"),
        (W, "lower", (-1,), r"'lower': expected an integer, got \(-1,\)"),
        (
            W,
            "mode",
            "h",
            "'mode': expected one of w, w128, got 'h' .CUDA driver API, cuTensorMapEncodeIm2colWide, mode; PTX",
        ),
        (W, "channels_per_pixel", None, "'channels_per_pixel': expected an integer, got None"),
        (MATRIX, "device", 1.5, "'device': expected an integer, got 1.5$"),
        (W128, "pixels_per_column", "x", "'pixels_per_column': expected an integer, got 'x'"),
    ],
)
def test_refused_argument(tensor_map: TensorMap, argument: str, value: object, message: str) -> None:
    backend = {"backend": "launch"} if argument == "device" else {}
    with pytest.raises(InputError) as raised:
        encode(tensor_map, **{argument: value}, **backend)
    assert re.search(message, raised.value.message)


# Python refuses to convert an integer of more than 4300 digits to text.
@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        ("base", "an integer of at most 64 bits"),
        ("swizzle", "one of none, 32B, .*"),
        ("backend", "one of simulate, launch"),
        ("allow_unconfirmed", "True or False"),
    ],
)
def test_integer_of_many_digits(argument: str, expected: str) -> None:
    with pytest.raises(InputError, match=f"'{argument}': expected {expected}, got one of 16610 bits"):
        encode(MATRIX, **{argument: 10**5000})


def test_undocumented_map_needs_allow_unconfirmed() -> None:
    with pytest.raises(InputError, match="broadcasting by stride 0 is undocumented"):
        encode(MATRIX, strides=(0,))
    assert len(encode(MATRIX, strides=(0,), allow_unconfirmed=True)) == 128


def test_machine_without_a_gpu_cannot_encode_by_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "devices", lambda: ())
    with pytest.raises(InputError, match="'device': expected one of the 0 GPUs of this machine, got 0"):
        encode(MATRIX, backend="launch")


@pytest.mark.parametrize(
    ("tensor_map", "changes", "message"),
    [
        (MATRIX, {"device": 1}, "'device': expected one of the 1 GPUs of this machine, got 1"),
        (MATRIX, {"target": "sm_100a"}, "'target': expected the architecture sm_90 of GPU 0, got sm_100a"),
        (W, {}, "'target': expected compute capability 10.0 or later for kind im2col_w, got sm_90a "),
    ],
)
def test_refused_by_the_device(
    monkeypatch: pytest.MonkeyPatch, tensor_map: TensorMap, changes: dict[str, Any], message: str
) -> None:
    monkeypatch.setattr(devices, "devices", lambda: (devices.Device(0, "a GPU", (9, 0)),))
    with pytest.raises(InputError, match=message):
        encode(tensor_map, backend="launch", **changes)
