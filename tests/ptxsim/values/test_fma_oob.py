"""fma.oob: a factor that is OOB-NaN, which TMA fills elements outside of a tensor with, makes the result zero."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from tensor_copies import load

from tilec.runtime.ptxsim import _native as ptxsim

TYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16}
OOB_NAN, OTHER_NAN = 0x7FF7, 0x7FFF


def fma(kind: str, modifiers: str = ".oob", factor: int = 2) -> str:
    """d = fma(a, b, c) of p0, p1, p2 to p3, one register per thread; `factor` elements per register."""
    bits, register = (16 * factor, "%h" if factor == 1 else "%r")
    suffix = f".{kind}" + ("x2" if factor == 2 else "")
    loads = "".join(
        f"ld.param.u64 %rd{i + 1}, [p{i}]; add.u64 %rd{i + 1}, %rd{i + 1}, %rd0;\n"
        + (f"ld.global.b{bits} {register}{i + 1}, [%rd{i + 1}];\n" if i < 3 else "")
        for i in range(4)
    )
    return f"""
    mov.u32 %r0, %tid.x;
    mul.wide.u32 %rd0, %r0, {2 * factor};
    {loads}
    fma.rn{modifiers}{suffix} {register}4, {register}1, {register}2, {register}3;
    st.global.b{bits} [%rd4], {register}4;
    """


@pytest.fixture
def cases(aligned):
    """Bits of a, b and c: numbers, and each operand OOB-NaN or another NaN."""

    def make(kind: str) -> list[np.ndarray]:
        two, three, one = (int(np.array(x, TYPES[kind]).view(np.uint16)) for x in (2, 3, 1))
        rows = [
            (two, three, one), (OOB_NAN, three, one), (two, OOB_NAN, one), (OOB_NAN, OOB_NAN, one),
            (two, three, OOB_NAN), (OTHER_NAN, three, one), (two, OTHER_NAN, one), (OOB_NAN | 0x8000, three, one),
        ]  # fmt: skip
        return [aligned(np.array(column, np.uint16)) for column in zip(*rows, strict=True)]

    return make


@pytest.mark.parametrize("elements", [1, 2])
@pytest.mark.parametrize("kind", TYPES)
def test_factors_that_are_oob_nan(simulate, cases, aligned, kind, elements):
    """PTX ISA 9.7.4.4: the result is 0 if a factor is OOB-NaN; other NaNs propagate. The operands are unconfirmed."""
    operands, result = cases(kind), aligned(np.zeros(8, np.uint16))
    simulate(fma(kind, factor=elements), *operands, result, block=8 // elements, allow_unconfirmed=True)
    values = result.view(TYPES[kind]).astype(np.float32)
    np.testing.assert_array_equal(values, [7, 0, 0, 0, np.nan, np.nan, np.nan, np.nan])
    simulate(fma(kind, "", elements), *operands, result, block=8 // elements)
    assert np.isnan(result.view(TYPES[kind]).astype(np.float32)[1:]).all()


@pytest.mark.parametrize("kind", TYPES)
def test_fill_of_tma_is_zero_in_fma_oob(simulate, encode_tensor_map, aligned, kind):
    """5.5.3.3: a load with NaN fill, then fma.oob of the image: elements outside of the tensor add nothing."""
    tensor, image = aligned(1 + np.arange(5).astype(TYPES[kind])), aligned(np.zeros(8, TYPES[kind]))
    map_bytes = encode_tensor_map(tensor.ctypes.data, kind, (5,), (), (8,), fill_nan=True)
    simulate(load((0,), 16), map_bytes, image, block=1, map_targets=[tensor], allow_unconfirmed=True)
    ones, zeros, result = (aligned(np.full(8, x, TYPES[kind])) for x in (1, 0, 9))
    simulate(fma(kind), image, ones, zeros, result, block=4, allow_unconfirmed=True)
    np.testing.assert_array_equal(result.astype(np.float32), [1, 2, 3, 4, 5, 0, 0, 0])


def test_fma_oob_is_unconfirmed(simulate, cases, aligned):
    with pytest.raises(ptxsim.Trap, match="the bit pattern of the OOB-NaN that fma.oob replaces by zero") as trap:
        simulate(fma("f16"), *cases("f16"), aligned(np.zeros(8, np.uint16)), block=4)
    assert trap.value.kind == "unconfirmed"


@pytest.mark.parametrize("form", ["fma.rn.oob.f32 d, a, a, a", "fma.rn.ftz.oob.f16 d, a, a, a"])
def test_forms_that_ptxas_refuses(evaluate, form):
    """ptxas 13.0: .oob is of 16-bit formats, and not with .ftz."""
    kind = form.split()[0].rsplit(".", maxsplit=1)[1]
    with pytest.raises(ptxsim.PtxError, match="with .oob"):
        evaluate(form, kind, (kind, 1.0))
