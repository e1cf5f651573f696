"""malloc and free of device code: addresses, limits and lifetime (CUDA C++ guide, "Heap Memory Allocation")."""

from __future__ import annotations

import resource
import struct

import numpy as np
import pytest

from tilec.runtime.ptxsim import _native

MODULE = """
.version 9.0
.target sm_90a
.address_size 64
.extern .func (.param .b64 address) malloc (.param .b64 size);
.extern .func free (.param .b64 address);
.visible .entry k(.param .u64 out) {{
  .reg .b32 %r<4>; .reg .b64 %rd<8>; .reg .pred %p<2>;
  ld.param.u64 %rd1, [out];
  {body}
  ret;
}}
"""
MALLOC = (
    "{{ .param .b64 s; .param .b64 a; st.param.b64 [s], {size}; call.uni (a), malloc, (s); ld.param.b64 {to}, [a]; }}"
)
FREE = "{{ .param .b64 a; st.param.b64 [a], {address}; call.uni free, (a); }}"


def run(body: str) -> np.ndarray:
    out = np.zeros(4, np.uint64)
    program = _native.Program(MODULE.format(body=body))
    ranges = [(out.ctypes.data, out.nbytes, True)]
    program.run("k", (1,), (1,), parameters=struct.pack("<Q", out.ctypes.data), ranges=ranges)
    return out


def test_memory_is_aligned_and_holds_what_is_stored() -> None:
    body = MALLOC.format(size=20, to="%rd2") + MALLOC.format(size=4, to="%rd3")
    body += "st.global.b64 [%rd1], %rd2; st.global.b64 [%rd1+8], %rd3; st.global.b32 [%rd2+16], 7;"
    body += "ld.global.b32 %r1, [%rd2+16];"
    first, second, value, _ = run(body + "st.global.b32 [%rd1+16], %r1;")
    assert first % 16 == second % 16 == 0 and abs(int(first) - int(second)) >= 16
    assert value == 7


def test_full_heap_returns_zero_until_memory_is_freed() -> None:
    """The default heap has 8 MB."""
    made = [MALLOC.format(size=5 << 20, to=f"%rd{2 + i}") for i in range(3)]
    body = made[0] + made[1] + FREE.format(address="%rd2") + made[2]
    body += "".join(f"st.global.b64 [%rd1+{8 * i}], %rd{2 + i};" for i in range(3))
    first, second, third, _ = run(body)
    assert first and not second and third


@pytest.mark.parametrize("access", ["ld.global.b32 %r1, [%rd2];", "st.global.b32 [%rd2], %r1;"])
def test_access_after_free_is_reported(access: str) -> None:
    body = MALLOC.format(size=16, to="%rd2") + FREE.format(address="%rd2") + "mov.b32 %r1, 0;" + access
    with pytest.raises(_native.Trap) as caught:
        run(body)
    assert caught.value.kind == "bounds"


def test_access_beyond_the_memory_is_reported() -> None:
    with pytest.raises(_native.Trap) as caught:
        run(MALLOC.format(size=16, to="%rd2") + "ld.global.b32 %r1, [%rd2+16];")
    assert caught.value.kind == "bounds"


def test_memory_that_is_freed_does_not_accumulate() -> None:
    """1000 blocks of 8 MB are allocated and freed, one after another."""
    loop = "mov.b32 %r1, 0; again: {malloc} {free} add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 1000; @%p1 bra again;"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    run(loop.format(malloc=MALLOC.format(size=8 << 20, to="%rd2"), free=FREE.format(address="%rd2")))
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert kilobytes < 512 << 10


def test_smallest_memory_takes_sixteen_bytes_of_the_heap() -> None:
    loop = "mov.b32 %r1, 0; again: {malloc} add.u32 %r1, %r1, 1; setp.ne.b64 %p1, %rd2, 0; @%p1 bra again;"
    out = run(loop.format(malloc=MALLOC.format(size=1, to="%rd2")) + "st.global.b32 [%rd1], %r1;")
    assert out[0] == (8 << 20) // 16 + 1


def test_second_free_is_reported() -> None:
    free = FREE.format(address="%rd2")
    with pytest.raises(_native.Trap, match="free of an address that malloc has not returned"):
        run(MALLOC.format(size=16, to="%rd2") + free + free)


def test_free_of_zero_has_no_effect() -> None:
    run(FREE.format(address=0))
