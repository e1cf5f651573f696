"""The schema `tilec.launch/1`: metadata round trips, and errors name the path of an invalid field."""

import copy
import json
from typing import Any

import pytest

from tilec.errors import InputError
from tilec.runtime.artifact import metadata
from tilec.runtime.artifact.metadata import TensorMapParameter, TensorMapTableParameter, ValueParameter
from tilec.runtime.json_record import Record

# One f16 matrix read by TMA in boxes of 64x128, and a scalar.
VALID: dict[str, Any] = {
    "schema": "tilec.launch/1",
    "entry": "scale",
    "target": "sm_100a",
    "ptx_version": "9.0",
    "ptx_sha256": "",
    "tilec_version": "0.1.0",
    "assembler": "nvJitLink 13.5",
    "arguments": [
        {
            "name": "A",
            "kind": "array",
            "element": "f16",
            "rank": 2,
            "shape": [None, None],
            "strides": [None, 1],
            "alignment": 16,
            "divisibility": {"shape": [1, 1], "strides": [8, 1]},
        },
        {"name": "x", "kind": "scalar", "element": "f32"},
        {"name": "TM", "kind": "constant", "value": 128},
    ],
    "parameters": [
        {"kind": "value", "type": "u64", "name": "A"},
        {"kind": "value", "type": "s32", "name": "A.shape[0]"},
        {"kind": "value", "type": "s32", "name": "A.shape[1]"},
        {"kind": "value", "type": "s32", "name": "A.strides[0]"},
        {"kind": "value", "type": "s32", "name": "A.strides[1]"},
        {"kind": "value", "type": "f32", "name": "x"},
        {"kind": "tensor_map", "index": 0},
    ],
    "tensor_maps": [
        {
            "base": {"parameter": 0},
            "element": "f16",
            "extents": [{"parameter": 2}, {"parameter": 1}],
            "strides": [{"op": "mul", "arguments": [{"parameter": 3}, 2]}],
            "box": [64, 128],
            "element_strides": [1, 1],
            "swizzle": "128B",
            "interleave": "none",
            "fill": "zero",
            "l2_promotion": "128B",
            "location": "scale.py:7:9",
        }
    ],
    "block": [192, 1, 1],
    "cluster": [1, 1, 1],
    "shared_bytes": 65536,
    "allow_unconfirmed": False,
}


def read(fields: dict[str, Any]) -> metadata.Metadata:
    return metadata.read(Record.parse(json.dumps(fields), "scale.launch.json"))


def test_round_trip() -> None:
    assert json.loads(metadata.to_text(read(VALID))) == VALID


# Images of two dimensions of A, read by TMA in columns of 128 pixels.
IM2COL: dict[str, Any] = {
    "base": {"parameter": 0},
    "element": "f16",
    "extents": [64, {"parameter": 2}, {"parameter": 1}],
    "strides": [128, {"op": "mul", "arguments": [{"parameter": 3}, 2]}],
    "element_strides": [1, 2, 1],
    "swizzle": "128B",
    "interleave": "none",
    "fill": "zero",
    "l2_promotion": "128B",
    "location": "scale.py:7:9",
    "kind": "im2col",
    "lower": [-1],
    "upper": [-1],
    "channels_per_pixel": 64,
    "pixels_per_column": 128,
}


@pytest.mark.parametrize("kind", ["im2col", "im2col_w", "im2col_w128"])
def test_round_trip_of_im2col_kinds(kind: str) -> None:
    fields = changed(["tensor_maps"], [{**IM2COL, "kind": kind}])
    assert json.loads(metadata.to_text(read(fields))) == fields


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("kind", "im2row", r"'tensor_maps\[0\].kind' needs one of tiled, im2col, im2col_w, im2col_w128"),
        ("box", [64], r"'tensor_maps\[0\]' needs no field 'box'"),
        ("extents", [64, 8], "extents' needs a list of 3 to 5"),
        ("lower", [-1, -1], r"lower' needs a list of 1, got"),
        ("lower", [-(2**15) - 1], r"lower\[0\]' needs an integer of -32768 to 32767, got -32769"),
        ("upper", [2**15], r"upper\[0\]' needs an integer of -32768 to 32767, got 32768"),
        ("channels_per_pixel", 257, "channels_per_pixel' needs an integer of 1 to 256, got 257"),
        ("pixels_per_column", 1025, "pixels_per_column' needs an integer of 1 to 1024, got 1025"),
        ("element_strides", [1, 9, 1], r"element_strides\[1\]' needs an integer of 1 to 8, got 9"),
    ],
)
def test_error_names_the_invalid_field_of_an_im2col_map(field: str, value: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(changed(["tensor_maps"], [{**IM2COL, field: value}]))


@pytest.mark.parametrize("name", ["lower", "upper", "channels_per_pixel", "pixels_per_column"])
def test_error_names_the_missing_field_of_an_im2col_map(name: str) -> None:
    fields = {key: value for key, value in IM2COL.items() if key != name}
    with pytest.raises(InputError, match=rf"'tensor_maps\[0\]' needs a field '{name}'"):
        read(changed(["tensor_maps"], [fields]))


@pytest.mark.parametrize(("rank", "low", "high"), [(3, -(2**15), 2**15 - 1), (4, -128, 127), (5, -16, 15)])
def test_range_of_corners_depends_on_the_rank(rank: int, low: int, high: int) -> None:
    ranked = {**IM2COL, "extents": [64] * rank, "strides": [128] * (rank - 1), "element_strides": [1] * rank}
    fields = {**ranked, "lower": [low] * (rank - 2), "upper": [high] * (rank - 2)}
    (recipe,) = read(changed(["tensor_maps"], [fields])).tensor_maps
    assert (recipe.lower, recipe.upper) == ((low,) * (rank - 2), (high,) * (rank - 2))
    with pytest.raises(InputError, match=f"needs an integer of {low} to {high}, got {high + 1}"):
        read(changed(["tensor_maps"], [{**ranked, "lower": [high + 1] * (rank - 2), "upper": [0] * (rank - 2)}]))


def test_tiled_map_has_no_corners() -> None:
    with pytest.raises(InputError, match=r"'tensor_maps\[0\]' needs no field 'lower'"):
        read(changed(["tensor_maps", 0, "lower"], [0]))
    assert read(changed(["tensor_maps", 0, "kind"], "tiled")) == read(VALID)


def test_parameters_are_values_then_tensor_maps() -> None:
    parameters = read(VALID).parameters
    assert parameters[5:] == (ValueParameter("f32", "x"), TensorMapParameter(0))


def changed(path: list[Any], value: Any) -> dict[str, Any]:
    fields = copy.deepcopy(VALID)
    inner: Any = fields
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    return fields


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["schema"], "tilec.launch/9", "'schema' needs 'tilec.launch/1', got \"tilec.launch/9\""),
        (["entry"], 3, "'entry' needs a string, got 3"),
        (["blocks"], [1, 1, 1], "'the file' needs no field 'blocks'"),
        (["block"], [1, 1], r"'block' needs a list of 3, got \[1, 1\]"),
        (["block", 0], 0, r"'block\[0\]' needs an integer of 1 to 1024, got 0"),
        (["block"], [1024, 2, 1], "'block' needs a product of at most 1024"),
        (["shared_bytes"], True, "'shared_bytes' needs an integer of at least 0, got true"),
        (["arguments", 0, "kind"], "matrix", r"'arguments\[0\].kind' needs one of"),
        (["arguments", 0, "shape"], [1], r"'arguments\[0\].shape' needs a list of 2"),
        (["arguments", 0, "align"], 16, r"'arguments\[0\]' needs no field 'align'"),
        (["arguments", 1, "signless"], 1, r"'arguments\[1\].signless' needs true or false, got 1"),
        (["arguments", 1], {"name": "n", "kind": "constant", "value": {"dtype": "q"}}, r"value.dtype' needs one of"),
        (["arguments", 1], {"name": "n", "kind": "constant", "value": [1]}, r"value' needs a number, true"),
        (["arguments", 1, "element"], "f128", r"'arguments\[1\].element' needs one of"),
        (["parameters", 0, "type"], "ptr", r"'parameters\[0\].type' needs one of"),
        (["parameters", 6, "index"], 1, r"'parameters\[6\].index' needs an integer of 0 to 0, got 1"),
        (["parameters"], [], "'parameters' needs 6 values, one per entry argument"),
        (["tensor_maps", 0, "box"], [64], r"'tensor_maps\[0\].box' needs a list of 2"),
        (["tensor_maps", 0, "box", 1], 257, r"'tensor_maps\[0\].box\[1\]' needs an integer of 1 to 256, got 257"),
        (["tensor_maps", 0, "swizzle"], "256B", r"'tensor_maps\[0\].swizzle' needs one of none, 32B"),
        (["tensor_maps", 0, "base"], {"parameter": 6}, r"'tensor_maps\[0\]' needs parameters below 6"),
        (["tensor_maps", 0, "base"], {"op": "pow", "arguments": [1, 2]}, r"base.op' needs one of add, sub"),
        (["tensor_maps", 0, "extents"], [], r"extents' needs a list of 1 to 5"),
    ],
)
def test_error_names_the_invalid_field(path: list[Any], value: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(changed(path, value))


@pytest.mark.parametrize("name", ["schema", "entry", "target", "arguments", "parameters", "tensor_maps", "block"])
def test_error_names_the_missing_field(name: str) -> None:
    fields = {key: value for key, value in VALID.items() if key != name}
    with pytest.raises(InputError, match=f"'the file' needs a field '{name}'"):
        read(fields)


def test_json_syntax_error_has_line_and_column() -> None:
    with pytest.raises(InputError, match="scale.launch.json:2:3 is not valid JSON"):
        metadata.read(Record.parse('{"schema": 1,\n  x}', "scale.launch.json"))


def listed() -> dict[str, Any]:
    """The metadata of a kernel of a list of such matrices."""
    fields = copy.deepcopy(VALID)
    fields["arguments"][0] = {"name": "A", "kind": "list", "element": {**fields["arguments"][0], "name": "A[?]"}}
    fields["parameters"] = [
        {"kind": "value", "type": "u64", "name": "A"},
        {"kind": "value", "type": "s32", "name": "len(A)"},
        {"kind": "value", "type": "f32", "name": "x"},
        {"kind": "tensor_map_table", "index": 0},
    ]
    fields["tensor_maps"][0] = {"list": 0, **fields["tensor_maps"][0]}
    return fields


def test_tensor_map_of_a_list() -> None:
    found = read(listed())
    assert json.loads(metadata.to_text(found)) == listed()
    assert found.parameters[3] == TensorMapTableParameter(0) and found.tensor_maps[0].list == 0


def test_error_names_the_invalid_field_of_the_tensor_map_of_a_list() -> None:
    table, words, parameter, kind = listed(), listed(), listed(), listed()
    table["tensor_maps"][0]["list"] = 1
    words["tensor_maps"][0]["base"] = {"parameter": 5}
    parameter["parameters"][3]["kind"] = "tensor_map"
    kind["tensor_maps"][0].pop("list")
    kind["tensor_maps"][0] |= {"extents": [64, 64], "strides": [128]}
    for fields, message in (
        (table, r"'tensor_maps\[0\]' needs the entry argument of the table of a list"),
        (words, r"'tensor_maps\[0\]' needs parameters below 5"),
        (parameter, "'parameters' needs a tensor_map_table for each tensor map of a list, and for no other"),
        (kind, "'parameters' needs a tensor_map_table for each tensor map of a list, and for no other"),
    ):
        with pytest.raises(InputError, match=message):
            read(fields)
