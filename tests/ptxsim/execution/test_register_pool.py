"""setmaxnreg moves registers between the warps of a CTA; an increase that the CTA cannot satisfy is a deadlock."""

from __future__ import annotations

import numpy as np
import pytest

from tilec.runtime.ptxsim import _native

SEEDS = range(20)
# Warps 0 to 3 release registers, warps 4 to 11 request them.
MODULE = """
.version 8.8
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 p) {directives}
{{
  .reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .pred %p<2>;
  mov.u32 %r0, %tid.x; setp.lt.u32 %p0, %r0, 128;
  @%p0 bra producer;
  setmaxnreg.inc.sync.aligned.u32 {more};
  bra done;
producer:
  setmaxnreg.dec.sync.aligned.u32 {less};
done:
  ld.param.u64 %rd0, [p]; mul.wide.u32 %rd1, %r0, 4; add.u64 %rd0, %rd0, %rd1; st.global.u32 [%rd0], %r0;
  ret;
}}
"""


def _run(directives: str, less: int, more: int, seed: int) -> None:
    out = np.zeros(384, np.uint32)
    _native.Program(MODULE.format(directives=directives, less=less, more=more)).run(
        "k", (1,), (384,), parameters=out.ctypes.data.to_bytes(8, "little"),
        ranges=[(out.ctypes.data, out.nbytes, True)], seed=seed,
    )  # fmt: skip
    np.testing.assert_array_equal(out, np.arange(384))


# 384 threads that share 65,536 registers start with 168 each (ptxas 13.5); 40 + 2 * 232 = 3 * 168.
@pytest.mark.parametrize("directives", [".maxntid 384 .minnctapersm 1", ".reqntid 384 .minnctapersm 1", ".maxnreg 168"])
def test_increase_within_the_pool(directives: str) -> None:
    for seed in SEEDS:
        _run(directives, 40, 232, seed)


@pytest.mark.parametrize(
    ("directives", "less", "more"),
    [
        (".maxntid 384 .minnctapersm 1", 48, 232),
        (".reqntid 384 .minnctapersm 1", 40, 240),
        (".maxntid 384 .minnctapersm 2", 40, 232),
        (".maxnreg 128", 40, 232),
    ],
)
def test_increase_beyond_the_pool_is_a_deadlock(directives: str, less: int, more: int) -> None:
    for seed in SEEDS:
        with pytest.raises(_native.Trap) as caught:
            _run(directives, less, more, seed)
        assert caught.value.kind == "deadlock"
        assert any("setmaxnreg.inc" in note for note in caught.value.notes)


@pytest.mark.parametrize("directives", ["", ".maxntid 384", ".reqntid 384"])
def test_setmaxnreg_is_ignored_if_the_registers_at_launch_are_unknown(directives: str) -> None:
    """ptxas 13.5 also ignores it, and warns with C7508."""
    _run(directives, 40, 256, 0)
