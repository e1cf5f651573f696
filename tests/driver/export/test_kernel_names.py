"""The constraints of kernel parameters, and the symbols of exported kernels."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import tilec as ct
from tilec.compilation import (
    ConstantConstraint,
    KernelSignature,
    ListConstraint,
    ScalarConstraint,
    TupleConstraint,
    demangle_kernel_name,
    mangle_kernel_name,
)

sys.path.insert(0, str(Path(__file__).parent))

from exported_kernel import SCALE, V1, V2, array, scale


def test_constants_and_tuples_stand_for_their_constraints() -> None:
    assert SCALE.parameters[1] == TupleConstraint([ScalarConstraint(ct.float32), ConstantConstraint(2)])
    assert SCALE.parameters[2] == ConstantConstraint(8) != ConstantConstraint(8.0)
    assert len({ConstantConstraint(value) for value in (1, 1.0, True, 0.0, -0.0, float("nan"), float("nan"))}) == 6


def test_symbol_contains_the_constraints() -> None:
    name = "scale_Kt2_A1f32_1t1_T2Sf32I2_I8_A1f32_1s8t1"
    assert SCALE.with_mangled_symbol("scale").symbol == name
    assert demangle_kernel_name(name) == ("scale", SCALE.with_symbol(name))


def test_properties_of_dimensions_are_grouped_by_their_mask() -> None:
    matrix = array(
        ct.float16, 3, stride_divisible_by=(8, 8, 1), stride_constant=(None, None, 1), base_addr_divisible_by=16
    )
    assert mangle_kernel_name("k", KernelSignature([matrix], V1)) == "k_Kt1_A3f16_3v8l0_4t1_p16"


@pytest.mark.parametrize(
    ("symbol", "problem"),
    [
        ("plain", "it has no '_K'"),
        ("k_Kt3", "Unknown calling convention code 't3'"),
        ("k_Kt1_Q", "expected the code of a parameter"),
        ("k_K_Si32", "expected a calling convention at offset 3, got '_Si32'"),
        ("k_Kt1_Sx3", "expected an element type"),
        ("k_Kt2_TI3", "expected the number of items at offset 7, got 'I3'"),
        ("k_Kt1_Fx", "expected 16 hexadecimal digits at offset 7, got 'x'"),
        ("k_Kt1_LSi32", "expected the code A of the arrays of a list at offset 7, got 'Si32'"),
        ("k_Kt1_Af32", "expected the number of dimensions at offset 7, got 'f32'"),
        ("k_Kt1_A1f32_gz", "expected the number of an alias group at offset 13, got 'z'"),
        ("k_Kt1_A1f32_2l0", "expected a mask of 1 dimensions"),
        ("k_Kt1_A1f32_1v1", "expected a divisor greater than 1"),
        ("k_Kt1_A2f32_1v4_3v8", "'stride_divisible_by' of dimension 0 only once"),
        ("k_Kt1_A1f32_1t1v4", "no assumption about dimension 0 beside its 'stride_constant'"),
        ("k_Kt1_A1f32_g1", "increasing numbers of alias groups"),
        ("k_Kt1_T1I3", "version >= 2 is required"),
        ("k_Kt1_A1f32_1s8", "version >= 2 is required"),
    ],
)
def test_invalid_symbol_is_a_value_error(symbol: str, problem: str) -> None:
    with pytest.raises(ValueError) as caught:
        demangle_kernel_name(symbol)
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("make", "kind", "problem"),
    [
        (lambda: ScalarConstraint("f32"), TypeError, "expected an element type"),  # type: ignore[arg-type]
        (lambda: ScalarConstraint(ct.float4_e2m1fn), TypeError, "elements of float4_e2m1fn share bytes and cannot be"),
        (
            lambda: array(stride_constant=("1",)),
            TypeError,
            "expected None or an integer as stride_constant[0], got '1'",
        ),
        (
            lambda: array(base_addr_divisible_by="8"),
            TypeError,
            "expected an integer as base_addr_divisible_by, got '8'",
        ),
        (lambda: array(alias_groups=(1,)), TypeError, "expected a string as alias_groups[0], got int"),
        (lambda: array(ndim=-1), ValueError, "expected an ndim of at least 0"),
        (lambda: array(ndim="1"), TypeError, "expected an integer as ndim"),  # type: ignore[arg-type]
        (lambda: array(index_dtype=ct.int8), ValueError, "expected an index_dtype of int32, uint32 or int64"),
        (lambda: array(stride_constant=(1, 2)), ValueError, "'stride_constant' has 2 values for 1 dimensions"),
        (lambda: array(shape_constant=(-1,)), ValueError, "expected at least 0 as shape_constant[0]"),
        (lambda: array(shape_constant=(True,)), TypeError, "expected None or an integer as shape_constant[0]"),
        (lambda: array(stride_divisible_by=0 or (0,)), TypeError, "expected a positive integer"),
        (lambda: array(stride_constant=(3,), stride_divisible_by=2), ValueError, "not a multiple of 2"),
        (
            lambda: array(stride_constant=(1,), stride_lower_bound_incl=2),
            ValueError,
            "stride_constant[0] is 1, below its lower bound 2",
        ),
        (lambda: array(base_addr_divisible_by=0), ValueError, "expected a positive base_addr_divisible_by"),
        (lambda: array(alias_groups="ab"), TypeError, "expected a sequence of strings"),
        (
            lambda: ListConstraint(3, alias_groups=(), elements_may_alias=False),
            TypeError,
            "expected an ArrayConstraint",
        ),  # type: ignore[arg-type]
        (lambda: ConstantConstraint("x"), TypeError, "expected a bool, an int or a float"),  # type: ignore[arg-type]
        (lambda: KernelSignature(["x"], V1), TypeError, "expected a constraint of ct.compilation"),  # type: ignore[list-item]
        (lambda: KernelSignature([], V1, 3), TypeError, "expected a string as symbol, got int"),  # type: ignore[arg-type]
        (
            lambda: KernelSignature([array(alias_groups=("a", "a"))], V1),
            ValueError,
            "alias_groups ['a', 'a'] contains a group twice",
        ),
        (
            lambda: KernelSignature(
                [array(alias_groups=("a",)), ListConstraint(array(), alias_groups=("a",), elements_may_alias=False)], V1
            ),
            ValueError,
            "alias group 'a' contains an array and the table of a list",
        ),
        (
            lambda: mangle_kernel_name("f", KernelSignature([ScalarConstraint(ct.float8_e5m3fnu)], V1)),
            ValueError,
            "element type float8_e5m3fnu has no mangled name: give the signature a symbol",
        ),
        (
            lambda: KernelSignature.from_kernel_args(scale, (np.zeros(8), (2.0, 3), "text", np.zeros(8)), V2),
            TypeError,
            "argument 'n': calling conventions have no str: expected an array, a number, a tuple, or a list of arrays",
        ),
        (lambda: KernelSignature([], "t1"), TypeError, "expected a CallingConvention"),  # type: ignore[arg-type]
        (lambda: KernelSignature([(1,)], V1), ValueError, "Tuple parameters are not supported by calling convention"),
        (lambda: KernelSignature([array(alias_groups=("a",))], V1), ValueError, "alias group 'a' has one member"),
    ],
)
def test_invalid_constraint_has_the_class_of_cutile(make: Callable[[], object], kind: type, problem: str) -> None:
    with pytest.raises(kind) as caught:
        make()
    assert isinstance(caught.value, ct.TileError) and problem in str(caught.value)
