"""All four warps of a warpgroup must execute a wgmma instruction; its reads are ordered for all of them."""

from __future__ import annotations

import numpy as np
import pytest
from wgmma_product import PRODUCT, STAGE, TYPES, WAIT, WRITE

from tilec.runtime.ptxsim import _native as ptxsim

SEEDS = range(20)
WARP = "shr.u32 %r60, %r0, 5; setp.eq.u32 %p8, %r60, 3;\n"


def _text(stage: str = STAGE, product: str = PRODUCT, wait: str = WAIT, write: str = WRITE) -> str:
    _, depth, types, immediates = TYPES["f16"]
    text = stage + WARP + product + wait + write
    return text.replace("kK", f"k{depth}").replace("TYPES", types).replace("IMMEDIATES", immediates)


@pytest.fixture
def run(simulate, aligned):
    def of(text: str, seed: int, block: int = 128):
        random = np.random.default_rng(3)
        a, b = (aligned(random.integers(-4, 5, (rows, 16)).astype(np.float16)) for rows in (64, 16))
        d = np.zeros((64, 16), np.float32)
        simulate(text, a, b, d, block=block, target="sm_90a", seed=seed)
        np.testing.assert_array_equal(d, 2 * a.astype(np.float32) @ b.astype(np.float32).T)

    return of


def _reported(run, text: str, kind: str, message: str, seed: int) -> None:
    with pytest.raises(ptxsim.Trap) as trap:
        run(text, seed)
    assert (trap.value.kind, message in trap.value.message) == (kind, True), str(trap.value)


@pytest.mark.parametrize("seed", SEEDS)
def test_four_warps_are_accepted(run, seed):
    run(_text(), seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_three_of_four_warps_are_reported(run, seed):
    """Warp 3 skips the multiply, and exits or waits at a barrier."""
    skipped = _text(product="@%p8 bra skip;\n" + PRODUCT, write="skip:\n")
    _reported(run, skipped, "divergence", "warpgroup", seed)
    waiting = _text(product="@%p8 bra skip;\n" + PRODUCT, write="skip: bar.sync 0;\n")
    _reported(run, waiting, "divergence", "missing 3", seed)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("register", ["%rd3", "%rd4"])
def test_different_descriptor_in_one_warp_is_reported(run, register, seed):
    operand = {"%rd3": "descriptor of A", "%rd4": "descriptor of B"}[register]
    changed = _text(product=f"@%p8 xor.b64 {register}, {register}, 8;\n" + PRODUCT)
    _reported(run, changed, "divergence", operand, seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_different_scale_d_in_one_warp_is_reported(run, seed):
    changed = _text(product="@%p8 setp.eq.u32 %p3, %r0, %r0;\n@%p8 mov.f32 %f0, 0f00000000;\n" + PRODUCT)
    changed = changed.replace(
        "wgmma.fence", "\n".join(f"mov.f32 %f{i}, 0f00000000;" for i in range(8)) + "\nwgmma.fence"
    )
    _reported(run, changed, "divergence", "scale-d", seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_different_instructions_in_one_warp_are_reported(run, seed):
    """Warp 3 executes the multiply at another address, in a branch."""
    other = "@%p8 bra other;\n" + PRODUCT + "bra joined;\nother:\n" + PRODUCT + "joined:\n"
    _reported(run, _text(product=other), "divergence", "other warps of the warpgroup execute", seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_barrier_must_include_all_warps_of_the_group(run, seed):
    """Threads 0 to 63 write A and B; a barrier of warps 0 and 1 does not order warps 2 and 3."""
    some = STAGE.replace("bar.sync 0;", "@%p1 bar.sync 1, 64;")
    _reported(run, _text(stage=some), "race", "is not known to be complete", seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_fence_after_the_barrier_is_required_in_each_warp(run, seed):
    """A fence in only one warp after the barrier does not order the writes for the group."""
    late = STAGE.replace("fence.proxy.async.shared::cta;\nbar.sync 0;", "bar.sync 0;\n")
    run(_text(stage=late + "fence.proxy.async.shared::cta;\n"), seed)
    some = late + WARP + "@%p8 fence.proxy.async.shared::cta;\n"
    _reported(run, _text(stage=some), "race", "no fence.proxy.async follows the write", seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_write_before_the_wait_is_a_race(run, seed):
    """Warp 0 overwrites a row of A that the multiply of the warpgroup may still read."""
    first = "setp.eq.u32 %p9, %r0, 0;\n"
    text = _text(wait=first + "@%p9 st.shared.u32 [a+512], 0;\n" + WAIT)
    _reported(run, text, "race", "not known to be complete", seed)
    run(_text(wait=first + WAIT + "bar.sync 0;\n@%p9 st.shared.u32 [a+512], 0;\n"), seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_wait_of_one_warp_orders_reads_of_the_group(run, seed):
    """One thread of a warpgroup may release a slot after its wait_group, which covers the reads of all four warps."""
    text = _text(wait="setp.eq.u32 %p9, %r0, 0;\n" + WAIT + "@%p9 st.shared.u32 [a+512], 0;\n")
    run(text, seed)


def test_block_without_a_complete_warpgroup_is_refused(run):
    with pytest.raises(ptxsim.Trap, match="expected a warpgroup of 4 warps"):
        run(_text(), 0, block=96)
