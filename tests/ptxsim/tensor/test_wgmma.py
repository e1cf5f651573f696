"""wgmma: a product by one warpgroup, and the error that each missing step causes."""

from __future__ import annotations

import numpy as np
import pytest
from wgmma_product import PRODUCT, STAGE, TYPES, WAIT, WRITE

from tilec.runtime.ptxsim import _native as ptxsim


def body(kind: str = "f16") -> str:
    _, depth, types, immediates = TYPES[kind]
    text = STAGE + PRODUCT + WAIT + WRITE
    return text.replace("kK", f"k{depth}").replace("TYPES", types).replace("IMMEDIATES", immediates)


@pytest.fixture
def operands(aligned):
    def make(kind="f16"):
        dtype, depth, *_ = TYPES[kind]
        rng = np.random.default_rng(3)
        a, b = (aligned(rng.integers(-4, 5, (rows, depth)).astype(dtype)) for rows in (64, 16))
        return a, b, np.zeros((64, 16), np.float32)

    return make


@pytest.mark.parametrize("kind", TYPES)
def test_product_is_accumulated_twice(simulate, operands, kind):
    a, b, d = operands(kind)
    simulate(body(kind), a, b, d, block=128, target="sm_90a")
    np.testing.assert_array_equal(d, 2 * a.astype(np.float32) @ b.astype(np.float32).T)


def test_immediate_negates_a(simulate, operands):
    a, b, d = operands()
    text = body().replace("%p3, 1, 1, 0, 0", "%p3, -1, 1, 0, 0").replace("%p4, 1, 1, 0, 0", "%p4, -1, 1, 0, 0")
    simulate(text, a, b, d, block=128, target="sm_90a")
    np.testing.assert_array_equal(d, -2 * a.astype(np.float32) @ b.astype(np.float32).T)


@pytest.mark.parametrize(
    ("line", "kinds"),
    [
        ("fence.proxy.async.shared::cta;", {"race"}),
        ("wgmma.fence.sync.aligned;", {"in-flight"}),
        ("wgmma.commit_group.sync.aligned;", {"in-flight"}),
        (WAIT, {"in-flight"}),
        ("bar.sync 0;", {"race", "uninitialised"}),
    ],
)
def test_missing_step_is_reported(simulate, operands, line, kinds):
    text = body().replace(line, "")
    assert text != body()
    for seed in range(4):
        with pytest.raises(ptxsim.Trap) as trap:
            simulate(text, *operands(), block=128, seed=seed, target="sm_90a")
        assert trap.value.kind in kinds


def test_use_of_the_accumulator_requires_another_fence(simulate, operands):
    use = WAIT + "add.f32 %f0, %f0, %f0;\n"
    second = PRODUCT[PRODUCT.index("wgmma.mma_async") :]
    text = STAGE + PRODUCT + use + second + WAIT + WRITE
    text = text.replace("kK", "k16").replace("TYPES", "f16.f16").replace("IMMEDIATES", ", 1, 1, 0, 0")
    with pytest.raises(ptxsim.Trap, match="expected wgmma.fence after other instructions used '%f0'"):
        simulate(text, *operands(), block=128, target="sm_90a")
    simulate(text.replace(use, use + "wgmma.fence.sync.aligned;"), *operands(), block=128, target="sm_90a")


def test_accumulator_of_two_groups_is_complete_after_the_second(simulate, operands):
    """The first group has written the registers, but the second will write them again."""
    first, second = PRODUCT.rsplit("wgmma.mma_async", 1)
    text = STAGE + first + "wgmma.commit_group.sync.aligned;\nwgmma.mma_async" + second + WAIT + WRITE
    text = text.replace("kK", "k16").replace("TYPES", "f16.f16").replace("IMMEDIATES", ", 1, 1, 0, 0")
    simulate(text, *operands(), block=128, target="sm_90a")
    for seed in range(4):
        with pytest.raises(ptxsim.Trap, match="'%f0' is read before wgmma.wait_group has completed it"):
            simulate(
                text.replace(WAIT, "wgmma.wait_group.sync.aligned 1;\n"),
                *operands(),
                block=128,
                seed=seed,
                target="sm_90a",
            )


def test_shared_memory_may_be_overwritten_only_after_the_wait(simulate, operands):
    write = "@%p1 st.shared.b32 [%r8], %r0;\n"
    simulate(body().replace(WAIT, WAIT + "bar.sync 0;\n" + write), *operands(), block=128, target="sm_90a")
    with pytest.raises(ptxsim.Trap) as trap:
        simulate(body().replace(WAIT, write + WAIT), *operands(), block=128, target="sm_90a")
    assert trap.value.kind == "race"


def test_scale_d_is_uniform(simulate, operands):
    text = body().replace("setp.eq.u32 %p4, %r0, %r0;", "setp.lt.u32 %p4, %r0, 5;")
    with pytest.raises(ptxsim.Trap, match="expected the same scale-d in all lanes") as trap:
        simulate(text, *operands(), block=128, target="sm_90a")
    assert trap.value.kind == "divergence"


def test_tcgen05_descriptor_is_refused(simulate, operands):
    with pytest.raises(ptxsim.Trap, match="46-48") as trap:
        simulate(body().replace("0x0000001000080000", "0x0000401000080000"), *operands(), block=128, target="sm_90a")
    assert trap.value.kind == "descriptor"


def test_operand_a_in_registers(simulate, operands):
    a, b, d = operands()
    # Lane L of warp w loads rows 16w + L/4 and 16w + L/4 + 8, columns 2*(L%4) + {0, 1, 8, 9}.
    load = """
    shr.u32 %r20, %r0, 5;
    shl.b32 %r20, %r20, 4;
    and.b32 %r21, %r0, 31;
    shr.u32 %r22, %r21, 2;
    add.u32 %r20, %r20, %r22;
    and.b32 %r21, %r21, 3;
    shl.b32 %r21, %r21, 1;
    mad.lo.u32 %r20, %r20, 16, %r21;
    mul.wide.u32 %rd10, %r20, 2;
    ld.param.u64 %rd11, [p0];
    add.u64 %rd11, %rd11, %rd10;
    ld.global.b32 %r30, [%rd11];
    ld.global.b32 %r31, [%rd11+256];
    ld.global.b32 %r32, [%rd11+16];
    ld.global.b32 %r33, [%rd11+272];
    """
    text = body().replace("wgmma.fence", load + "wgmma.fence")
    text = text.replace("%rd3, %rd4, %p", "{%r30, %r31, %r32, %r33}, %rd4, %p")
    simulate(text.replace("1, 1, 0, 0", "1, 1, 0"), a, b, d, block=128, target="sm_90a")
    np.testing.assert_array_equal(d, 2 * a.astype(np.float32) @ b.astype(np.float32).T)
    overwritten = text.replace("1, 1, 0, 0", "1, 1, 0").replace(WAIT, "mov.b32 %r31, 0;\n" + WAIT)
    with pytest.raises(ptxsim.Trap, match="'%r31' is overwritten before wgmma.wait_group") as trap:
        simulate(overwritten, a, b, d, block=128, target="sm_90a")
    assert trap.value.kind == "in-flight"
