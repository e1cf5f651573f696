"""A constant out of range of its element type gives a warning at its line, with the value that the kernel uses."""

from __future__ import annotations

import math
import warnings
from pathlib import Path

import numpy as np
import pytest

import tilec as ct
from tilec.ast_to_tile.values.constant_value import replacement
from tilec.language.datatypes import DType

E4M3, E5M2, E8M0, E2M1 = ct.float8_e4m3fn, ct.float8_e5m2, ct.float8_e8m0fnu, ct.float4_e2m1fn

# The constant, the element type, and the value that the type stores. Floats of 8 bits and fewer saturate.
REPLACED = [
    (300, ct.int8, 44),
    (-129, ct.int8, 127),
    (-1, ct.uint32, 2**32 - 1),
    (1.5, ct.int32, 1),
    (2**63, ct.int64, -(2**63)),
    (1e39, ct.float32, math.inf),
    (70000, ct.float16, math.inf),
    (-70000.0, ct.float16, -math.inf),
    (1e-8, ct.float16, 0.0),
    (500.0, E4M3, 448.0),
    (math.inf, E4M3, 448.0),
    (-math.inf, E5M2, -57344.0),
    (1e6, E5M2, 57344.0),
    (7.5, E2M1, 6.0),
    (math.inf, E2M1, 6.0),
]
# Constants that their type stores, or rounds to the nearest value in its range.
KEPT = [
    (127, ct.int8),
    (-128.0, ct.int8),
    (2**32 - 1, ct.uint32),
    (2, ct.bool_),
    (0.1, ct.float32),
    (65519.9, ct.float16),
    (1e-7, ct.float16),
    (math.inf, ct.float16),
    (math.nan, E4M3),
    (-0.0, ct.float32),
    (463, E4M3),
    (3.0, E8M0),
    (0, E8M0),
    (6.9, E2M1),
]


@pytest.mark.parametrize(("constant", "dtype", "value"), REPLACED)
def test_replaced_constants(constant: float, dtype: DType, value: float) -> None:
    found = replacement(constant, dtype)
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize(("constant", "dtype"), KEPT)
def test_kept_constants(constant: float, dtype: DType) -> None:
    assert replacement(constant, dtype) is None


@pytest.mark.parametrize(
    ("expression", "constant", "stored"),
    [
        ("ct.full(4, 300, ct.int8)", "300", 44),
        ("ct.full(4, ct.int32(300), ct.int8)", "300", 44),
        ("ct.astile((1, 300, 2, 3), dtype=ct.int8)", "300", None),
        ("ct.broadcast_to(ct.int8(300), (4,))", "300", 44),
        ("ct.arange(4, dtype=ct.int8, start=300)", "300", None),
        ("ct.arange(4, dtype=ct.int8, step=256)", "256", 0),
        ("ct.full(4, ct.reduce(ct.ones(4, ct.int8), 0, lambda a, b: a + b, 256), ct.int8)", "256", 4),
        ("ct.scan(ct.full(4, 7, ct.uint8), 0, min, -1)", "-1", 7),
        ("ct.ones(4, ct.float16) * 70000.0", "70000.0", math.inf),
        ("ct.ones(4, ct.float16) + 1e-8", "1e-08", 1),
        ("ct.where(ct.ones(4, ct.int32) == 1, 70000.0, ct.zeros(4, ct.float16))", "70000.0", math.inf),
        ("ct.gather(out, ct.arange(4, dtype=ct.int32) + 9, padding_value=1e39)", "1e+39", math.inf),
    ],
)
def test_warning_states_the_line_and_the_value(tmp_path: Path, expression: str, constant: str, stored: object) -> None:
    path = tmp_path / "constants.py"
    statement = f"ct.store(out, 0, ct.astype({expression}, ct.float32))"
    path.write_text(f"import tilec as ct\n@ct.kernel\ndef kernel(out):\n    {statement}\n")
    namespace: dict[str, object] = {"__name__": "constants"}
    exec(compile(path.read_text(), str(path), "exec"), namespace)
    out = np.zeros(4, np.float32)
    with warnings.catch_warnings(record=True, action="always") as caught:
        ct.launch(None, 1, namespace["kernel"], (out,), backend="interpret")
    assert [(warning.category, warning.filename, warning.lineno) for warning in caught] == [
        (ct.ConstantWarning, str(path), 4)
    ]
    assert str(caught[0].message).startswith(f"the constant {constant} is out of range of ")
    if stored is not None:
        assert out.tolist() == [stored] * 4


@ct.kernel
def in_a_loop(out, n):
    for i in range(n):
        for _ in range(i):
            ct.store(out, i, ct.full(1, 300, ct.int8))


def test_one_warning_for_a_constant_in_nested_loops() -> None:
    with warnings.catch_warnings(record=True, action="always") as caught:
        ct.launch(None, 1, in_a_loop, (np.zeros(4, np.int8), 3), backend="interpret")
    assert len(caught) == 1


@ct.kernel
def intended(out):
    ct.store(out, 0, ct.broadcast_to(ct.astype(300, ct.int8), (4,)))
    ct.store(out, 1, ct.full(4, ct.astype(-1, ct.uint8), ct.uint8).astype(ct.int8))


@pytest.mark.parametrize("backend", ["interpret", "simulate"])
def test_astype_gives_no_warning(backend: str) -> None:
    out = np.zeros(8, np.int8)
    ct.launch(None, 1, intended, (out,), backend=backend)
    assert out.tolist() == [44] * 4 + [-1] * 4


@ct.kernel
def saturating(out):
    ct.store(out, 0, ct.full(4, float("inf"), ct.float8_e5m2).astype(ct.float32))
    ct.store(out, 1, ct.astype(ct.full(4, float("inf"), ct.float32), ct.float8_e5m2).astype(ct.float32))


@pytest.mark.parametrize("backend", ["interpret", "simulate"])
def test_constants_saturate_as_conversions_do(backend: str) -> None:
    """PTX `cvt.rn.satfinite.e5m2x2.f32`, the conversion of the hardware, replaces infinity by the largest value."""
    out = np.zeros(8, np.float32)
    with pytest.warns(ct.ConstantWarning, match="inf is out of range of float8_e5m2 and becomes 57344.0"):
        ct.launch(None, 1, saturating, (out,), backend=backend)
    assert out.tolist() == [57344.0] * 8


@ct.kernel
def negative(out):
    ct.store(out, 0, ct.full(4, -1, ct.uint8))


def test_filter_makes_the_warning_an_error_of_the_kernel() -> None:
    is_out_of_range = pytest.raises(ct.TileValueError, match="-1 is out of range of uint8 and becomes 255")
    with warnings.catch_warnings(action="error"), is_out_of_range as caught:
        ct.launch(None, 1, negative, (np.zeros(4, np.uint8),), backend="interpret")
    assert caught.value.location is not None and "ct.full(4, -1, ct.uint8)" in caught.value.location.excerpt()
