"""multimem.ld_reduce, multimem.st and multimem.red over one device: its value, and updates of its memory."""

from __future__ import annotations

import numpy as np
import pytest

from tilec.runtime.ptxsim import _native

# The operation, the element before and the operand (as bits), and the element after: values worked by hand.
UPDATES = [
    ("add.u32", 5, 3, 8),
    ("add.s32", 2**31, 2**31, 0),
    ("min.s32", 5, 2**32 - 1, 2**32 - 1),
    ("max.u32", 5, 2**32 - 1, 2**32 - 1),
    ("and.b32", 0xC, 0xA, 0x8),
    ("or.b32", 0xC, 0xA, 0xE),
    ("xor.b32", 0xC, 0xA, 0x6),
    ("add.f32", 0x3F800000, 0x40000000, 0x40400000),
    ("add.f16x2", 0x3C003C00, 0x40003C00, 0x42004000),
    ("add.bf16x2", 0x3F803F80, 0x40003F80, 0x40404000),
]


@pytest.mark.parametrize(("operation", "before", "operand", "after"), UPDATES)
@pytest.mark.parametrize("order", ["relaxed.gpu", "release.sys"])
def test_reduction_of_one_device(simulate, operation, before, operand, after, order):
    out = np.array([before, 0], np.uint32)
    simulate(
        f"""ld.param.u64 %rd1, [p0]; mov.b32 %r1, {operand};
        multimem.ld_reduce.weak.global.{operation} %r2, [%rd1]; multimem.red.{order}.global.{operation} [%rd1], %r1;
        st.global.b32 [%rd1+4], %r2;""",
        out,
        block=1,
    )
    assert list(out) == [after, before]


def test_stores_and_vectors(simulate):
    out = np.arange(8, dtype=np.float32)
    simulate(
        """ld.param.u64 %rd1, [p0];
        multimem.ld_reduce.relaxed.sys.global.add.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1];
        multimem.st.weak.global.v4.f32 [%rd1+16], {%f4, %f3, %f2, %f1};
        multimem.red.relaxed.gpu.global.add.v2.f32 [%rd1], {%f2, %f3};
        multimem.ld_reduce.acquire.gpu.global.add.acc::f32.f16x2 %r1, [%rd1];
        multimem.st.release.gpu.global.b32 [%rd1+8], %r1;""",
        out,
        block=1,
    )
    assert list(out) == [1, 3, 1, 3, 3, 2, 1, 0]


def test_half_precision_vectors_at_generic_addresses(simulate):
    """A multicast address without a state space is generic."""
    out = np.array([1, 2, 3, 4, 0, 0, 0, 0], np.float16)
    simulate(
        """ld.param.u64 %rd1, [p0];
        multimem.ld_reduce.weak.max.v4.f16 {%h1, %h2, %h3, %h4}, [%rd1];
        multimem.st.weak.v4.f16 [%rd1+8], {%h4, %h3, %h2, %h1};
        multimem.red.relaxed.gpu.add.v2.f16 [%rd1+4], {%h4, %h4};""",
        out,
        block=1,
    )
    assert list(out) == [1, 2, 7, 8, 4, 3, 2, 1]


@pytest.mark.parametrize(
    "text",
    [
        "multimem.red.relaxed.gpu.global.min.f16x2 [%rd1], %r1;",
        "multimem.ld_reduce.weak.global.min.f32 %f1, [%rd1];",
        "multimem.ld_reduce.weak.global.add.s64 %rd2, [%rd1];",
        "multimem.ld_reduce.weak.global.add.v2.u32 {%r1, %r2}, [%rd1];",
        "multimem.st.weak.shared.b32 [%rd1], %r1;",
        "multimem.st.weak.global.b16 [%rd1], %h1;",
        "multimem.st.weak.global.f16 [%rd1], %h1;",
        "multimem.st.weak.global.v4.b32 [%rd1], {%r1, %r1, %r1, %r1};",
        "multimem.st.weak.global.v2.f64 [%rd1], {%rd2, %rd2};",
        "multimem.red.relaxed.gpu.global.u32 [%rd1], %r1;",
    ],
)
def test_other_forms_are_rejected(simulate, text):
    with pytest.raises(_native.PtxError, match="multimem"):
        simulate(f"ld.param.u64 %rd1, [p0]; {text}", np.zeros(4, np.uint32), block=1)
