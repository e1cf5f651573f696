"""Optimization hints: their structure is always verified, keys and values on request, as by NVIDIA's tools."""

from __future__ import annotations

import pytest

from tilec.dialect.cuda_tile.hints import ARCHITECTURES, HINTS
from tilec.errors import InputError, VerificationError
from tilec.text_input.module import Module

VIEW = "partition_view<tile=(8), tensor_view<64xf32, strides=[1]>>"
TENSOR = "tensor_view<1x8x8xf32, strides=[64,8,1]>"
IM2COL = f"tilex.im2col_view<tile=(8x8), window=[1], dilation=[1], stride=[1], lower=[0], upper=[0], {TENSOR}>"
IMAGES = (
    "entry @k(%p: tile<ptr<f32>>, %i: tile<i32>) {{"
    f" %t = make_tensor_view %p, shape = [1, 8, 8], strides = [64, 8, 1] : {TENSOR}"
    f" %v = tilex.make_im2col_view %t : {IM2COL}"
)
PACKED = "tilex.packed_view<tile=(8x8), bits=4, tensor_view<8x8xi8, strides=[8,1]>>"
BYTES = (
    "entry @k(%p: tile<ptr<i8>>, %i: tile<i32>) {{"
    " %t = make_tensor_view %p, shape = [8, 8], strides = [8, 1] : tensor_view<8x8xi8, strides=[8,1]>"
    f" %v = tilex.make_packed_view %t : {PACKED}"
)
# Text of each operation that has hints, by its name in HINTS.
OPERATIONS = {
    "cuda_tile.entry": "entry @k() optimization_hints = {} {{ }}",
    "cuda_tile.load_ptr_tko": "entry @k(%p: tile<ptr<f32>>) {{\n %0, %1 = load_ptr_tko weak %p optimization_hints = {}"
    " : tile<ptr<f32>> -> tile<f32>, token }}",
    "cuda_tile.store_ptr_tko": "entry @k(%p: tile<ptr<f32>>, %v: tile<f32>) {{\n %0 = store_ptr_tko weak %p, %v"
    " optimization_hints = {} : tile<ptr<f32>>, tile<f32> -> token }}",
    "cuda_tile.load_view_tko": "entry @k(%p: tile<ptr<f32>>, %i: tile<i32>) {{"
    " %t = make_tensor_view %p, shape = [64], strides = [1] : tensor_view<64xf32, strides=[1]>"
    f" %v = make_partition_view %t : {VIEW}\n %0, %1 = load_view_tko weak %v[%i] optimization_hints = {{}}"
    f" : {VIEW}, tile<i32> -> tile<8xf32>, token }}}}",
    "cuda_tile.store_view_tko": "entry @k(%p: tile<ptr<f32>>, %i: tile<i32>) {{"
    " %t = make_tensor_view %p, shape = [64], strides = [1] : tensor_view<64xf32, strides=[1]>"
    f" %v = make_partition_view %t : {VIEW} %c = constant <f32: 1.0> : tile<8xf32>\n"
    f" %0 = store_view_tko weak %c, %v[%i] optimization_hints = {{}} : tile<8xf32>, {VIEW}, tile<i32> -> token }}}}",
    "tilex.load_im2col_tko": f"{IMAGES}\n %0, %1 = tilex.load_im2col_tko weak %v[%i, %i] offset [%i]"
    f" optimization_hints = {{}} : {IM2COL}, tile<i32> -> tile<8x8xf32>, token }}}}",
    "tilex.store_im2col_tko": f"{IMAGES} %c = constant <f32: 1.0> : tile<8x8xf32>\n"
    " %0 = tilex.store_im2col_tko weak %c, %v[%i, %i] offset [%i]"
    f" optimization_hints = {{}} : tile<8x8xf32>, {IM2COL}, tile<i32> -> token }}}}",
    "tilex.load_packed_tko": f"{BYTES}\n %0, %1 = tilex.load_packed_tko weak %v[%i, %i]"
    f" optimization_hints = {{}} : {PACKED}, tile<i32> -> tile<8x8xi8>, token }}}}",
    "tilex.store_packed_tko": f"{BYTES} %c = constant <i8: 1> : tile<8x8xi8>\n"
    " %0 = tilex.store_packed_tko weak %c, %v[%i, %i]"
    f" optimization_hints = {{}} : tile<8x8xi8>, {PACKED}, tile<i32> -> token }}}}",
}
VALID = {
    "num_cta_in_cga": ("1", "2", "16"),
    "num_worker_warps_per_cta": ("1", "4", "32"),
    "occupancy": ("1", "3", "32"),
    "latency": ("1", "7", "10"),
    "allow_tma": ("true", "false"),
}
INVALID = {
    "num_cta_in_cga": [
        ("7", "expected power of two up to 16 for sm_100.num_cta_in_cga, but got 7"),
        ("32", "expected power of two up to 16 for sm_100.num_cta_in_cga, but got 32"),
        ("0", "expected power of two up to 16 for sm_100.num_cta_in_cga, but got 0"),
        ('"a"', 'integer value expected for sm_100.num_cta_in_cga, but got "a"'),
        ("true", "integer value expected for sm_100.num_cta_in_cga, but got true"),
    ],
    "num_worker_warps_per_cta": [
        ("9", "expected power of two up to 32 for sm_100.num_worker_warps_per_cta, but got 9"),
        ("64", "expected power of two up to 32 for sm_100.num_worker_warps_per_cta, but got 64"),
        ("[]", "integer value expected for sm_100.num_worker_warps_per_cta, but got []"),
    ],
    "occupancy": [
        ("0", "integer value in the range [1, 32] is expected for sm_100.occupancy, but got 0"),
        ("33", "integer value in the range [1, 32] is expected for sm_100.occupancy, but got 33"),
        ("1.5", "integer value expected for sm_100.occupancy, but got 1.500000e+00 : f64"),
    ],
    "latency": [
        ("0", "integer value in the range [1, 10] is expected for sm_100.latency, but got 0"),
        ("11", "integer value in the range [1, 10] is expected for sm_100.latency, but got 11"),
        ("-1", "integer value in the range [1, 10] is expected for sm_100.latency, but got -1"),
    ],
    "allow_tma": [("1", "boolean value expected for sm_100.allow_tma, but got 1")],
}
PAIRS = [(operation, hint) for operation, hints in HINTS.items() for hint in hints]
pairs = pytest.mark.parametrize(("operation", "hint"), PAIRS, ids=lambda each: each)


def module(operation: str, hints: str) -> Module:
    return Module.parse(f"cuda_tile.module @m {{ {OPERATIONS[operation].format(hints)} }}", "<hints>")


def verification_error(read: Module) -> VerificationError:
    with pytest.raises(VerificationError) as caught:
        read.verify(hints=True)
    return caught.value


@pairs
def test_valid_values_have_no_warning(operation: str, hint: str) -> None:
    for value in VALID[hint]:
        found = module(operation, f"<sm_100 = {{{hint} = {value}}}, default = {{{hint} = {value}}}>")
        assert found.warnings(hints=True) == []
        found.verify(hints=True)


@pairs
def test_invalid_values_are_reported_on_request(operation: str, hint: str) -> None:
    for value, message in INVALID[hint]:
        found = module(operation, f"<sm_100 = {{{hint} = {value}}}>")
        found.verify()
        assert found.warnings() == []
        (warning,) = found.warnings(hints=True)
        assert warning.message == f"'{operation}' op {message}"
        assert str(warning).startswith(f"<hints>:{1 if operation == 'cuda_tile.entry' else 2}:")
        assert f": warning: '{operation}' op {message}\n" in str(warning)
        assert verification_error(found).message == warning.message


@pytest.mark.parametrize("operation", HINTS)
def test_hint_of_another_operation_is_unknown(operation: str) -> None:
    for hint in {hint for _, hint in PAIRS} - set(HINTS[operation]):
        (warning,) = module(operation, f"<sm_90 = {{{hint} = {VALID[hint][0]}}}>").warnings(hints=True)
        expected = (
            f"'{operation}' op {hint} is not a known hint for '{operation}': expected {', '.join(HINTS[operation])}"
        )
        assert warning.message == expected


@pytest.mark.parametrize("architecture", ["sm_100a", "sm_70", "blackwell"])
def test_unknown_architecture(architecture: str) -> None:
    (warning,) = module("cuda_tile.entry", f"<{architecture} = {{occupancy = 99}}>").warnings(hints=True)
    assert warning.message.startswith(
        f"'cuda_tile.entry' op unknown hint key {architecture}: expected default, sm_80, "
    )


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_num_cta_in_cga_requires_clusters(architecture: str) -> None:
    found = module("cuda_tile.entry", f"<{architecture} = {{num_cta_in_cga = 2}}>").warnings(hints=True)
    message = f"'cuda_tile.entry' op expected 1 for {architecture}.num_cta_in_cga, but got 2"
    assert [warning.message for warning in found] == (
        [message] if architecture < "sm_90" and "_8" in architecture else []
    )


def test_error_has_the_other_problems_as_notes() -> None:
    found = module("cuda_tile.entry", "<sm_1 = {}, sm_90 = {occupancy = 0, num_cta_in_cga = 3}>")
    messages = [warning.message for warning in found.warnings(hints=True)]
    assert len(messages) == 3
    error = verification_error(found)
    assert [error.message, *(note.message for note in error.notes)] == messages


def test_unknown_hints_are_preserved() -> None:
    text = "entry @k() optimization_hints=<sm_100a = {num_qqq = 1}> {"
    assert text in module("cuda_tile.entry", "<sm_100a = {num_qqq = 1}>").to_text()


@pytest.mark.parametrize(
    ("given", "stored", "printed"),
    [
        # tileirdisasm 13.5 prints hints of 32 bits, which cuTile writes, without a type.
        ("3", "3 : i32", "3"),
        ("3 : i32", "3 : i32", "3"),
        ("3 : i64", "3 : i64", "3 : i64"),
        ("4294967296", "4294967296 : i64", "4294967296"),
        ("-1", "-1 : i32", "-1"),
    ],
)
@pytest.mark.parametrize("operation", HINTS)
def test_integers_without_a_type_have_32_bits(operation: str, given: str, stored: str, printed: str) -> None:
    read = module(operation, f"<sm_100 = {{occupancy = {given}}}>")
    assert f"{{occupancy = {stored}}}" in read.to_text(generic=True)
    assert f"{{occupancy = {printed}}}" in read.to_text()
    assert Module.parse(read.to_text()).to_text(generic=True) == read.to_text(generic=True)


@pytest.mark.parametrize("operation", HINTS)
def test_value_that_is_not_a_dictionary_is_always_refused(operation: str) -> None:
    with pytest.raises(
        InputError, match="expected dictionary attribute for optimization_hints entry `sm_100` got value=2"
    ):
        module(operation, "<sm_100 = 2>")
    text = module(operation, "<sm_100 = {occupancy = 2}>").to_text(generic=True)
    with pytest.raises(VerificationError) as caught:
        Module.parse(text.replace("{occupancy = 2 : i32}", "2 : i64"))
    assert (
        "expected dictionary attribute for optimization_hints entry `sm_100` got value=2 : i64" in caught.value.message
    )


def test_key_that_is_not_an_identifier_is_refused() -> None:
    with pytest.raises(InputError, match="expected a key, a bare word or a string, but got '2'"):
        module("cuda_tile.entry", "<2>")


def test_empty_hints_are_preserved() -> None:
    assert "optimization_hints=<> {" in module("cuda_tile.entry", "<>").to_text()
