"""Indirect calls: each lane may call another function, unless the call has .uni."""

from __future__ import annotations

import numpy as np
import pytest

from tilec.runtime.ptxsim import _native

MODULE = """
.version 8.8
.target sm_100a
.address_size 64
.func (.param .b32 r) one (.param .b32 a) {{ .reg .b32 %x; ld.param.b32 %x, [a]; add.u32 %x, %x, 100;
  st.param.b32 [r], %x; ret; }}
.func (.param .b32 r) two (.param .b32 a) {{ .reg .b32 %x; ld.param.b32 %x, [a]; mul.lo.u32 %x, %x, 3;
  st.param.b32 [r], %x; ret; }}
.visible .entry k(.param .u64 p) {{
  .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .pred %p<4>;
  mov.u32 %r0, %tid.x; and.b32 %r1, %r0, 1; setp.eq.u32 %p0, %r1, 0;
  mov.u64 %rd0, one; mov.u64 %rd1, two; selp.b64 %rd2, %rd0, {second}, %p0;
  setp.lt.u32 %p1, %r0, {active};
  mov.u32 %r3, 7;
  {{ .param .b32 a; .param .b32 r;
    st.param.b32 [a], %r0;
    prototype: .callprototype (.param .b32 _) _ (.param .b32 _);
    @%p1 call{uni} (r), %rd2, (a), prototype;
    @%p1 ld.param.b32 %r3, [r]; }}
  ld.param.u64 %rd3, [p]; mul.wide.u32 %rd4, %r0, 4; add.u64 %rd3, %rd3, %rd4; st.global.u32 [%rd3], %r3; ret;
}}
"""


def _run(
    seed: int, uni: str = "", second: str = "%rd1", active: int = 32, block: int = 64, module: str = MODULE
) -> np.ndarray:
    out = np.zeros(block, np.uint32)
    _native.Program(module.format(uni=uni, second=second, active=active)).run(
        "k", (1,), (block,), parameters=out.ctypes.data.to_bytes(8, "little"),
        ranges=[(out.ctypes.data, out.nbytes, True)], seed=seed,
    )  # fmt: skip
    return out


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("active", [7, 32, 64])
def test_targets_that_differ_by_lane(seed, active):
    lanes = np.arange(64)
    expected = np.where(lanes < active, np.where(lanes % 2, lanes * 3, lanes + 100), 7)
    np.testing.assert_array_equal(_run(seed, active=active), expected)


@pytest.mark.parametrize("seed", range(20))
def test_uni_requires_one_target(seed):
    np.testing.assert_array_equal(_run(seed, ".uni", second="%rd0", active=64), np.arange(64) + 100)
    with pytest.raises(_native.Trap) as caught:
        _run(seed, ".uni")
    assert caught.value.kind == "divergence"


@pytest.mark.parametrize("value", ["0", "24", "999999"])
def test_invalid_function_address_is_a_trap(value):
    """A null pointer, an address between two functions, and an address after the last one."""
    with pytest.raises(_native.Trap, match="does not hold the address of a function"):
        _run(0, second=value)


TABLE = MODULE.replace(".visible", ".global .align 8 .u64 table[3] = {{two, one, generic(two)}};\n.visible").replace(
    "mov.u64 %rd0, one; mov.u64 %rd1, two; selp.b64 %rd2, %rd0, {second}, %p0;",
    """mov.u64 %rd0, table; rem.u32 %r4, %r0, 3; mul.wide.u32 %rd1, %r4, 8; add.u64 %rd0, %rd0, %rd1;
  ld.global.u64 %rd2, [%rd0];""",
)


@pytest.mark.parametrize("seed", range(20))
def test_function_addresses_in_an_initialiser(seed):
    lanes = np.arange(64)
    expected = np.choose(lanes % 3, [lanes * 3, lanes + 100, lanes * 3])
    np.testing.assert_array_equal(_run(seed, active=64, module=TABLE), expected)


def test_undeclared_name_in_an_initialiser_is_refused():
    with pytest.raises(_native.PtxError, match="'three' in the initialiser of 'table' is not declared"):
        _run(0, module=TABLE.replace("generic(two)", "three"))
