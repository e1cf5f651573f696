"""Kernels with tuples, lists, dataclasses and constants of all types as arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, IntEnum
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
import pytest

import tilec as ct
from tilec.signature import parse

BACKENDS = pytest.mark.parametrize("backend", ["interpret", "simulate sm_100a", "simulate sm_90a"])
f32 = np.float32


class Mode(Enum):
    ADD = "add"
    SUBTRACT = "subtract"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


@dataclass(frozen=True)
class Layer:
    weights: list[Any]
    scale: float
    width: ct.Constant[int]


@dataclass(slots=True)
class Bias:
    values: Any
    layer: Layer


@dataclass
class Pair:
    first: Any
    second: Any


class NamedPair(NamedTuple):
    first: Any
    second: Any


def filled(count: int, value: float, dtype: Any = f32) -> np.ndarray:
    return np.full(count, value, dtype)


def launched(kernel: ct.kernel, arguments: Sequence[Any], backend: str) -> None:
    name, _, target = backend.partition(" ")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILEC_TARGET", target or "sm_100a")
        ct.launch(None, 1, kernel, tuple(arguments), backend=name)


@ct.kernel
def add_pair(out, pair, scalars):
    total = ct.load(pair[0], 0, 8) + ct.load(pair[1][0], 0, 8) * pair[1][1]
    ct.store(out, 0, total + scalars[0] - scalars[1][0])


@BACKENDS
def test_nested_tuples_of_arrays_and_scalars(backend: str) -> None:
    out = filled(8, 0)
    launched(add_pair, (out, (filled(8, 1), (filled(8, 2), 3.0)), (0.5, (4,))), backend)
    assert out.tolist() == [1 + 2 * 3 + 0.5 - 4] * 8


@ct.kernel
def partly_constant(out, config: tuple[ct.Constant[int], int], rest: tuple[ct.Constant[int], ...], none: tuple):
    ct.store(out, 0, ct.full(config[0], config[1] + rest[0] * rest[1] + len(none), ct.int32))


@BACKENDS
def test_items_of_a_tuple_have_their_own_annotations(backend: str) -> None:
    out = filled(8, 0, np.int32)
    launched(partly_constant, (out, (8, 5), (2, 3), ()), backend)
    assert out.tolist() == [11] * 8
    signature = ct.Signature.from_arguments(partly_constant, (out, (8, 5), (2, 3), ()))
    assert str(signature).partition("config")[2] == ": (=8, i32), rest: (=2, =3), none: ()"


def test_only_constants_of_a_tuple_specialize_the_kernel() -> None:
    kernel, out = partly_constant.replace_hints(), filled(8, 0, np.int32)
    for value, constant, variants in ((5, 2, 1), (6, 2, 1), (6, 3, 2)):
        launched(kernel, (out, (8, value), (constant, 3), ()), "interpret")
        assert (len(kernel.compiled), out[0]) == (variants, value + constant * 3)


@ct.kernel
def scaled(out, bias, mode: ct.Constant, factor: ct.Constant):
    layer = bias.layer
    total = ct.zeros(layer.width, ct.float32)
    for index in range(len(layer.weights)):
        total += ct.load(layer.weights[index], 0, layer.width)
    total = total * layer.scale * factor[1]
    offset = ct.load(bias.values, 0, layer.width)
    ct.store(out, 0, total + offset if mode == Mode.ADD else total - offset)


@BACKENDS
@pytest.mark.parametrize(("mode", "sign"), [(Mode.ADD, 1), (Mode.SUBTRACT, -1)])
def test_dataclasses_nest_lists_and_constants(backend: str, mode: Mode, sign: int) -> None:
    out, weights = filled(8, 0), [filled(8, 1), filled(16, 2), filled(8, 4)]
    bias = Bias(filled(8, 0.25), Layer(weights, 0.5, 8))
    launched(scaled, (out, bias, mode, (Level.LOW, Level.HIGH)), backend)
    assert out.tolist() == [7 * 0.5 * 2 + sign * 0.25] * 8


@ct.kernel
def add_named(out, pair):
    ct.store(out, 0, ct.load(pair.first, 0, 8) + pair.second)


@ct.kernel
def unannotated(out, nothing, mode, name, dtype):
    value = 1 if nothing is None and mode == Mode.ADD and name == "one" else 2
    ct.store(out, 0, ct.full(8, value, dtype))


@BACKENDS
def test_values_without_a_type_at_run_time_are_constants(backend: str) -> None:
    out = filled(8, 0, np.int16)
    launched(unannotated, (out, None, Mode.ADD, "one", ct.int16), backend)
    assert out.tolist() == [1] * 8
    launched(unannotated, (out, None, Mode.SUBTRACT, "one", np.int16), backend)
    assert out.tolist() == [2] * 8


@ct.kernel
def same_text(out, record):
    ct.store(out, 0, ct.full(8, record.offset, ct.int32))


def test_classes_of_equal_names_have_their_own_kernels() -> None:
    def local_class(amount: int) -> Any:
        @dataclass
        class Record:
            x: int
            offset: ClassVar[int] = amount

        return Record(1)

    out = filled(8, 0, np.int32)
    for amount in (3, 4):
        launched(same_text, (out, local_class(amount)), "interpret")
        assert out.tolist() == [amount] * 8


@pytest.mark.parametrize("value", [float("nan"), -0.0, np.int32(4), np.float32, "text", True])
def test_every_constant_passes_the_check_of_its_own_launch(value: object) -> None:
    @ct.kernel
    def unused(constant: ct.Constant, nested: ct.Constant):
        pass

    launched(unused, (value, (value, (value,))), "interpret")


EXAMPLES = [
    (add_pair, (filled(8, 0), (filled(8, 1), (filled(8, 2), 3.0)), (0.5, (4,)))),
    (partly_constant, (filled(8, 0, np.int32), (8, 5), (2, 3), ())),
    (add_named, (filled(8, 0), Pair(filled(8, 1), 2.5))),
]


@pytest.mark.parametrize(("kernel", "arguments"), EXAMPLES)
def test_text_and_json_describe_structures(kernel: ct.kernel, arguments: tuple[Any, ...]) -> None:
    signature = ct.Signature.from_arguments(kernel, arguments)
    assert str(parse(str(signature)).bind(kernel)) == str(signature)
    assert str(ct.Signature.from_json(signature.to_json())) == str(signature)


def test_text_names_a_dataclass_and_a_list() -> None:
    text = "out: f32[?] strides (1) align 16, bias: Bias{values: f32[?], layer: Layer{weights: list f32[?], n=8}}"
    (_, bias) = parse(text).arguments
    assert bias.value_names()[3:] == ("bias.layer.weights", "len(bias.layer.weights)")
    assert parse(str(parse(text))) == parse(text)
    assert str(parse("shape=(8, (True,)), x: (i32,)")) == "shape: (=8, (=True,)), x: (i32,)"


@pytest.mark.parametrize(
    ("text", "column", "problem"),
    [
        ("x: (i32, f7)", 10, "unknown element type 'f7'"),
        ("x: (i32", 8, "expected ',' or ')'"),
        ("x: Layer{2}", 10, "expected the name of a field"),
        ("x: Layer{a i32}", 12, "expected ':' and a type, or '=' and a constant, after 'a'"),
        ("x: list f32", 12, "expected '[' and extents: lists contain arrays"),
        ("x: f32[?] index i8", 17, "expected i32 or i64 after 'index', got 'i8'"),
    ],
)
def test_syntax_errors_in_structures_have_their_column(text: str, column: int, problem: str) -> None:
    with pytest.raises(ct.TileError) as caught:
        parse(text)
    assert f"signature, column {column}: {problem}" in caught.value.message


def test_kernel_of_a_text_signature_runs_from_its_artifact(tmp_path: Path) -> None:
    text = "out: f32[?], pair: Pair{first: f32[?], second: f32}"

    @ct.kernel
    def add_fields(out, pair):
        ct.store(out, 0, ct.load(pair.first, 0, 8) + pair.second)

    compiled = ct.compile(add_fields, signature=text, stop="ptx", target="sm_90a")
    artifact = ct.load_artifact(compiled.save(tmp_path / "add"))
    out = filled(8, 0)
    ct.run(artifact, 1, [out, Pair(filled(8, 1), 2.5)])
    assert out.tolist() == [3.5] * 8
    with pytest.raises(TypeError, match="'pair' needs a Pair with the fields first, second, got tuple"):
        ct.run(artifact, 1, [out, (filled(8, 1), 2.5)])
    with pytest.raises(TypeError, match="'pair': expected a plain tuple or a dataclass, got NamedPair"):
        ct.run(artifact, 1, [out, NamedPair(filled(8, 1), 2.5)])
    with pytest.raises(TypeError, match="'pair.first' needs 1 axes, got shape"):
        ct.run(artifact, 1, [out, Pair(np.zeros((2, 2), f32), 2.5)])


# Lists of arrays.


@ct.kernel
def sum_list(arrays, out):
    total = ct.zeros((4, 8), out.dtype)
    for index in range(len(arrays)):
        total = total + ct.load(arrays[index], (0, 0), (4, 8))
    ct.store(out, (0, 0), total)


@ct.kernel
def constant_indices(arrays, out):
    zero = ct.bid(0)
    total = ct.load(arrays[0], (0, 0), (4, 8)) + ct.load(arrays[zero + 1], (0, 0), (4, 8))
    ct.store(out, (0, 0), total + ct.load(arrays[-1], (0, 0), (4, 8)))


def matrices(seed: int = 0) -> list[np.ndarray]:
    """Three matrices with different extents, row strides and, of the last, column strides."""
    random = np.random.default_rng(seed)
    shapes = [(4, 8), (16, 24), (8, 16)]
    made = [random.integers(-100, 100, shape).astype(np.int32) for shape in shapes]
    return [made[0], made[1], made[2][:, ::2]]


@BACKENDS
@pytest.mark.parametrize("kernel", [sum_list, constant_indices])
def test_list_is_indexed_at_run_time(kernel: ct.kernel, backend: str) -> None:
    arrays, out = matrices(), np.zeros((4, 8), np.int32)
    launched(kernel, (arrays, out), backend)
    assert (out == sum(array[:4, :8] for array in arrays)).all()


def test_lists_of_any_length_share_a_kernel() -> None:
    kernel, out = sum_list.replace_hints(), np.zeros((4, 8), np.int32)
    for count in (1, 2, 5):
        launched(kernel, ([np.ones((4, 8), np.int32)] * count, out), "interpret")
        assert out.tolist() == [[count] * 8] * 4
    assert len(kernel.compiled) == 1


@ct.kernel
def rotate(arrays, out):
    for index in range(len(arrays) - 1):
        ct.store(arrays[index + 1], 0, ct.load(arrays[index], 0, 8) + 1)
    ct.store(out, 0, ct.load(arrays[len(arrays) - 1], 0, 8))


@BACKENDS
def test_accesses_to_arrays_of_a_list_keep_their_order(backend: str) -> None:
    arrays, out = [filled(8, 0, np.int32) for _ in range(4)], filled(8, 0, np.int32)
    launched(rotate, (arrays, out), backend)
    assert [array[0] for array in arrays] == [0, 1, 2, 3] and out.tolist() == [3] * 8


StaticRows = Annotated[list, ct.ListAnnotation(element=ct.ArrayAnnotation(static_shape_dims=(0,)))]
StaticPitch = Annotated[list, ct.ListAnnotation(element=ct.ArrayAnnotation(static_stride_dims=(0,)))]


@ct.kernel
def static_rows(arrays: StaticRows, out):
    ct.store(out, (0, 0), ct.load(arrays[1], (0, 0), (arrays[0].shape[0], 8)))


@ct.kernel
def static_pitch(arrays: StaticPitch, out):
    first = arrays[0]
    ct.static_assert(first.strides[0] == 10)
    ct.store(out, (0, 0), ct.load(arrays[1], (0, 0), (4, 8)))


@BACKENDS
def test_annotation_of_a_list_makes_extents_and_strides_constant(backend: str) -> None:
    out = np.zeros((4, 8), np.int32)
    launched(static_rows, ([np.zeros((4, 8), np.int32), np.ones((4, 8), np.int32)], out), backend)
    assert (out == 1).all()
    launched(static_pitch, ([np.full((4, 10), value, np.int32)[:, :8] for value in (1, 2)], out), backend)
    assert (out == 2).all()


@pytest.mark.parametrize(
    ("kernel", "arguments", "kind", "message"),
    [
        (sum_list, ([], 0), TypeError, "'arrays' is an empty list: expected at least one array"),
        (sum_list, ([1, 2], 0), TypeError, "'arrays[0]': expected an array in a list, got int"),
        (sum_list, ([filled(8, 0), filled(8, 0, np.int8)], 0), TypeError, "equal element types, 'arrays[0]' has f32"),
        (sum_list, ([filled(8, 0), np.zeros((2, 2), f32)], 0), TypeError, "equal ranks, 'arrays[0]' has 1"),
        (static_rows, ([np.zeros((4, 8)), np.zeros((8, 8))], 0), ValueError, "vary in static shape at axis 0"),
        (
            static_pitch,
            ([np.zeros((4, 10))[:, :8], np.zeros((4, 12))[:, :8]], 0),
            ValueError,
            "vary in static stride at axis 0",
        ),
        (partly_constant, (0, (1, 2, 3), (), ()), TypeError, "'config': expected a tuple of 2 as annotated"),
        (partly_constant, (0, (filled(8, 0), 2), (), ()), TypeError, "'config[0]' is a ct.Constant and takes a bool"),
        (add_pair, (0, (iter(()), 2), ()), TypeError, "'pair[0]': expected an array or a number, got tuple_iterator"),
        (add_pair, (0, (2**63, 2), ()), OverflowError, "'pair[0]' is out of range of int64"),
        (add_named, (0, Bias(iter(()), None)), TypeError, "'pair.values': expected an array or a number"),
        (add_pair, (0, NamedPair(1, 2), ()), TypeError, "'pair': expected a plain tuple or a dataclass, got NamedPair"),
        (add_pair, (0, (1, NamedPair(1, 2)), ()), TypeError, "'pair[1]': expected a plain tuple or a dataclass"),
        (partly_constant, (0, (8, 5), NamedPair(2, 3), ()), TypeError, "'rest': expected a plain tuple"),
        (add_named, (0, Pair(NamedPair(1, 2), 0)), TypeError, "'pair.first': expected a plain tuple"),
        (add_named, (0,), TypeError, "kernel 'add_named' takes 2 arguments (out, pair), got 1"),
    ],
)
def test_invalid_argument_is_named_by_its_path(
    kernel: ct.kernel, arguments: tuple[Any, ...], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind) as caught:
        launched(kernel, arguments, "interpret")
    assert isinstance(caught.value, ct.TileError) and message in caught.value.message


def test_annotations_that_exclude_each_other_are_a_type_error_of_the_launch() -> None:
    @ct.kernel
    def confused(x: ct.Constant[tuple[ct.ScalarInt64, int]]):
        pass

    @ct.kernel
    def confused_array(x: Annotated[ct.Constant[int], ct.ArrayAnnotation()]):
        pass

    with pytest.raises(TypeError, match="ct.Constant cannot be combined with ct.ScalarInt64"):
        launched(confused, ((1, 2),), "interpret")
    with pytest.raises(
        TypeError, match="ct.Constant cannot be combined with ct.ArrayAnnotation or ct.IndexedWithInt64"
    ):
        launched(confused_array, (1,), "interpret")


def test_signature_with_a_tuple_of_another_length_than_the_annotation() -> None:
    @ct.kernel
    def pair_of_integers(pair: tuple[ct.ScalarInt64, int]):
        pass

    message = "parameter 'pair' is annotated as a tuple of 2, the signature has one of 1"
    with pytest.raises(ct.TileError, match=message):
        ct.compile(pair_of_integers, signature="pair: (i32,)", stop="tile")


def test_annotation_that_names_a_dimension_twice() -> None:
    @ct.kernel
    def repeated(x: Annotated[Any, ct.ArrayAnnotation(static_shape_dims=(0, -2))]):
        pass

    message = r"argument 'x': its annotation names a dimension twice in \(0, -2\)"
    with pytest.raises(ValueError, match=message):
        launched(repeated, (np.zeros((2, 2)),), "interpret")
