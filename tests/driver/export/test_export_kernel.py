"""Exported kernels: constraints, symbols, calling conventions and the files of `ct.compilation.export_kernel`."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilec as ct
from tilec.compilation import (
    ArrayConstraint,
    ConstantConstraint,
    KernelSignature,
    ListConstraint,
    ScalarConstraint,
    TupleConstraint,
    export_kernel,
)

sys.path.insert(0, str(Path(__file__).parent))

from exported_kernel import SCALE, V1, V2, array, scale


def exported(kernel: ct.kernel, signatures: list[KernelSignature], **options: Any) -> bytes:
    file = io.BytesIO()
    export_kernel(kernel, signatures, file, **options)
    return file.getvalue()


def test_signature_of_a_call_has_its_divisors_and_constants() -> None:
    x, out = np.zeros((16, 8), np.float32)[:, ::2], np.zeros(8, np.float32)
    signature = KernelSignature.from_kernel_args(scale, (x, (2.0, 3), 8, np.broadcast_to(out[:1], (4, 8))), V2)
    matrix, pair, constant, repeated = signature.parameters
    assert isinstance(matrix, ArrayConstraint) and isinstance(repeated, ArrayConstraint)
    assert (matrix.stride_divisible_by, matrix.stride_constant) == ((4, 1), (None, None))
    assert pair == TupleConstraint([ScalarConstraint(ct.float32), ScalarConstraint(ct.int32)])
    assert constant == ConstantConstraint(8)
    assert (matrix.may_alias_internally, repeated.may_alias_internally) == (False, True)
    assert signature.symbol is not None and signature.symbol.startswith("scale_Kt2_A2f32_")


def test_extents_of_one_are_constant_from_version_2_on() -> None:
    @ct.kernel
    def column(x):
        pass

    x = np.zeros((8, 1), np.float32)
    found = [KernelSignature.from_kernel_args(column, (x,), version).parameters[0] for version in (V1, V2)]
    assert [parameter.shape_constant for parameter in found] == [(None, None), (None, 1)]


@ct.kernel
def rounded(x):
    ct.store(x, 0, ct.load(x, 0, 8).astype(ct.float4_e2m1fn).astype(ct.float32))


def test_feature_that_is_newer_than_the_bytecode_version_is_unsupported() -> None:
    signature = KernelSignature([array()], V1, "rounded")
    for output_format in ("tileir_bytecode", "cubin"):
        with pytest.raises(ct.TileUnsupportedFeatureError):
            exported(rounded, [signature], gpu_code="sm_100", output_format=output_format, bytecode_version="13.2")


@ct.kernel
def truncated(x):
    ct.store(x, 0, ct.load(x, 0, 8).astype(ct.float16, rounding_mode=ct.RoundingMode.RZ).astype(ct.float32))


def test_rounding_of_a_conversion_needs_its_bytecode_version() -> None:
    signature = KernelSignature([array()], V1, "truncated")
    options = {"gpu_code": "sm_100", "output_format": "tileir_bytecode"}
    with pytest.raises(ct.TileUnsupportedFeatureError, match="rounding 'zero' needs bytecode version 13.4") as caught:
        exported(truncated, [signature], bytecode_version="13.3", **options)
    assert caught.value.location is not None and caught.value.location.file == __file__
    assert exported(truncated, [signature], bytecode_version="13.4", **options)
    with pytest.raises(ValueError, match="unknown version '12.0'"):
        exported(truncated, [signature], bytecode_version="12.0", **options)


@ct.kernel
def added(x, y):
    ct.atomic_add(x, ct.arange(8, dtype=ct.int32), ct.load(y, 0, 8))


def test_atomic_addition_of_bfloat16_needs_its_bytecode_version() -> None:
    signature = KernelSignature([array(ct.bfloat16), array(ct.bfloat16)], V1, "added")
    options: dict[str, Any] = {"gpu_code": "sm_90", "output_format": "tileir_bytecode"}
    with pytest.raises(ct.TileUnsupportedFeatureError, match="'addf' of bf16 needs bytecode version 13.3") as caught:
        exported(added, [signature], bytecode_version="13.2", **options)
    assert caught.value.location is not None and caught.value.location.file == __file__
    assert exported(added, [signature], bytecode_version="13.3", **options)
    assert exported(added, [KernelSignature([array(), array()], V1, "added")], bytecode_version="13.2", **options)


@pytest.mark.parametrize(
    ("dtype", "gpu_code", "first"),
    [
        (ct.float8_e5m2, "sm_80", "sm_90"),
        (ct.float8_e8m0fnu, "sm_90", "sm_100"),
        (ct.float4_e2m1fn, "sm_90a", "sm_100"),
        (ct.float8_e5m3fnu, "sm_100", "sm_107"),
    ],
)
def test_element_type_that_cutile_refuses_for_a_gpu(dtype: ct.DType, gpu_code: str, first: str) -> None:
    """cuTile 1.7 refuses it when it compiles; without a GPU Tile IR is written."""

    @ct.kernel
    def narrow(x):
        ct.store(x, 0, ct.full(8, 2, dtype).astype(ct.float32))

    signature = KernelSignature([array()], V1, "narrow")
    for output_format in ("cubin", "ptx", "tileir_bytecode", "tileir_text"):
        with pytest.raises(ct.TileUnsupportedFeatureError) as caught:
            exported(narrow, [signature], gpu_code=gpu_code, output_format=output_format)
        assert caught.value.message.startswith(f"{dtype} needs {first} or later in cuTile, got {gpu_code}")
        assert caught.value.location is not None and caught.value.location.file == __file__
    assert exported(narrow, [signature], output_format="tileir_bytecode")


def test_error_of_the_kernel_precedes_that_of_the_gpu() -> None:
    @ct.kernel
    def negative(x):
        ct.store(x, 0, ct.astile(-1.0, dtype=ct.float8_e5m3fnu))

    with pytest.raises(ct.TileValueError):
        exported(negative, [KernelSignature([array()], V1, "negative")], gpu_code="sm_107", output_format="cubin")


def test_hint_that_is_newer_than_the_bytecode_version_is_ignored_with_a_warning() -> None:
    hinted = scale.replace_hints(num_worker_warps=8)
    options: dict[str, Any] = {"gpu_code": "sm_100", "output_format": "tileir_bytecode"}
    with pytest.warns(UserWarning, match="num_worker_warps is ignored: requires tileiras 13.3") as caught:
        old = exported(hinted, [SCALE], bytecode_version="13.2", **options)
    assert [each.filename for each in caught] == [__file__]
    new = exported(hinted, [SCALE], bytecode_version="13.3", **options)
    hint = "num_worker_warps_per_cta = 8"
    assert [hint in ct.Module.parse(bytecode).to_text() for bytecode in (old, new)] == [False, True]


def test_unknown_gpu_is_unsupported() -> None:
    with pytest.raises(ct.TileUnsupportedFeatureError, match="gpu_code 'sm_80' is not supported: expected one of"):
        exported(scale, [SCALE], gpu_code="sm_80", output_format="cubin")


def test_export_of_text_and_bytecode_has_an_entry_per_signature() -> None:
    other = KernelSignature([array(), (ScalarConstraint(ct.int32), 2), 16, array()], V2, "second")
    text = exported(scale, [SCALE, other], output_format="tileir_text").decode()
    assert "entry @scale_Kt2_A1f32_1t1_T2Sf32I2_I8_A1f32_1s8t1(" in text and "entry @second(" in text
    bytecode = exported(scale, [SCALE, other], output_format="tileir_bytecode")
    assert ct.Module.parse(bytecode).entries == ct.Module.parse(text.encode()).entries


@pytest.mark.parametrize("gpu_code", ["sm_90", "sm_100a"])
def test_exported_ptx_has_the_parameters_of_the_convention_and_computes(gpu_code: str, tmp_path: Path) -> None:
    path = tmp_path / "scale.ptx"
    export_kernel(scale, [SCALE.with_symbol("entry")], path, gpu_code=gpu_code, output_format="ptx")
    metadata = json.loads((tmp_path / "scale.ptx.entry.launch.json").read_text())
    kinds = [parameter["type"] for parameter in metadata["parameters"]]
    assert kinds == ["u64", "u32", "u32", "f32", "u64", "u32", "u32"]
    (tmp_path / "scale.launch.json").write_text((tmp_path / "scale.ptx.entry.launch.json").read_text())
    x, out = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    ct.run(ct.load_artifact(tmp_path / "scale"), 1, [x, (0.5, 2), 8, out])
    assert out.tolist() == (x * 0.5 + 2).tolist()


def test_exported_cubin_contains_every_symbol() -> None:
    content = exported(
        scale, [SCALE.with_symbol("first"), SCALE.with_symbol("second")], gpu_code="sm_90", output_format="cubin"
    )
    assert content[:4] == b"\x7fELF" and b".text.first" in content and b".text.second" in content


@ct.kernel
def total(arrays, out, n: ct.Constant[int]):
    found = ct.zeros(n, ct.float32)
    for index in range(len(arrays)):
        found += ct.load(arrays[index], 0, n)
    ct.store(out, 0, found)


def test_export_of_a_list_takes_its_table_and_length() -> None:
    signature = KernelSignature([ListConstraint(array(), alias_groups=(), elements_may_alias=True), array(), 8], V1)
    text = exported(total, [signature], output_format="tileir_text").decode()
    assert "tile<ptr<i64>>" in text.partition("{\n")[2].partition("{")[0]


@pytest.mark.parametrize(
    ("signature", "options", "kind", "problem"),
    [
        (SCALE, {"output_format": "elf"}, ValueError, "unknown output_format 'elf'"),
        (SCALE, {"output_format": "cubin"}, ValueError, "gpu_code is required"),
        (
            SCALE,
            {"output_format": "tileir_bytecode", "bytecode_version": "new"},
            ValueError,
            "expected a bytecode_version such as '13.3', got 'new'",
        ),
        (
            SCALE,
            {"output_format": "tileir_bytecode", "bytecode_version": "13.1"},
            ct.TileUnsupportedFeatureError,
            "version 13.3 or later",
        ),
        (KernelSignature([array()], V1), {"output_format": "tileir_text"}, TypeError, "has 4 parameters"),
        (
            KernelSignature([array(), (2.0, 2), ScalarConstraint(ct.int32), array()], V2),
            {"output_format": "tileir_text"},
            TypeError,
            "parameter 'n' is a ct.Constant: expected a ConstantConstraint, got ScalarConstraint",
        ),
        (
            KernelSignature([array(stride_lower_bound_incl=None), (2.0, 2), 8, array()], V2),
            {"output_format": "tileir_text"},
            ct.TileUnsupportedFeatureError,
            "parameter 'x': stride 0 may be negative",
        ),
        (
            KernelSignature([array(alias_groups=("a",)), (2.0, 2), 8, array(alias_groups=("a",))], V2),
            {"output_format": "tileir_text"},
            ct.TileUnsupportedFeatureError,
            "parameter 'x': arrays that overlap are not supported",
        ),
    ],
)
def test_invalid_export_has_the_class_of_cutile(
    signature: KernelSignature, options: dict[str, Any], kind: type[Exception], problem: str
) -> None:
    with pytest.raises(kind) as caught:
        exported(scale, [signature], **options)
    assert problem in str(caught.value)


@ct.kernel
def annotated(pair: tuple[ct.ScalarInt64, ct.ScalarInt64], x):
    pass


@pytest.mark.parametrize(
    ("pair", "x", "kind", "problem"),
    [
        ((1,), array(), TypeError, "parameter 'pair' is a tuple of 2, the signature's of 1"),
        (
            (ScalarConstraint(ct.int64),) * 2,
            array(base_addr_divisible_by=3),
            ValueError,
            "parameter 'x': base_addr_divisible_by 3 is not a multiple of the 4 bytes of an element",
        ),
        (
            (ScalarConstraint(ct.int64),) * 2,
            array(index_dtype=ct.uint32),
            ct.TileUnsupportedFeatureError,
            "parameter 'x': extents and strides of uint32 are not supported: use int64",
        ),
    ],
)
def test_constraint_that_does_not_fit_its_parameter(pair: tuple[Any, ...], x: Any, kind: type, problem: str) -> None:
    with pytest.raises(kind, match=problem):
        exported(annotated, [KernelSignature([pair, x], V2)], output_format="tileir_text")


def test_ptx_has_one_signature() -> None:
    signatures = [SCALE.with_symbol("first"), SCALE.with_symbol("second")]
    with pytest.raises(ValueError, match="output_format 'ptx' takes one signature, got 2"):
        exported(scale, signatures, gpu_code="sm_90", output_format="ptx")


def test_export_takes_a_kernel() -> None:
    with pytest.raises(TypeError, match="export_kernel expects a kernel, got builtin_function_or_method"):
        exported(min, [SCALE], output_format="tileir_text")  # type: ignore[arg-type]


def test_equal_symbols_and_missing_signatures_are_value_errors() -> None:
    with pytest.raises(ValueError, match="two signatures have the symbol 'one'"):
        exported(scale, [SCALE.with_symbol("one"), SCALE.with_symbol("one")], output_format="tileir_text")
    with pytest.raises(ValueError, match="needs at least one signature"):
        exported(scale, [], output_format="tileir_text")
