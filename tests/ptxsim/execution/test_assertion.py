"""__assertfail stops the program with the message of the assertion and where it is."""

from __future__ import annotations

import pytest

from tilec.runtime.ptxsim import _native

# As nvcc 13.0 compiles `assert(threadIdx.x != 5)` in line 7 of a.cu.
MODULE = """
.version 9.0
.target sm_90a
.address_size 64
{file}
.extern .func __assertfail (.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);
.global .align 1 .b8 message[6] = {{120, 32, 33, 61, 32, 0}};
.global .align 1 .b8 file[5] = {{97, 46, 99, 117, 0}};
.global .align 1 .b8 function[2] = {{107, 0}};
.visible .entry k() {{
  .reg .pred %p<2>; .reg .b32 %r<2>; .reg .b64 %rd<4>;
  mov.u32 %r1, %tid.x;
  setp.ne.s32 %p1, %r1, {failing};
  @%p1 bra $after;
  mov.u64 %rd1, message; cvta.global.u64 %rd1, %rd1;
  mov.u64 %rd2, file; cvta.global.u64 %rd2, %rd2;
  mov.u64 %rd3, function; cvta.global.u64 %rd3, %rd3;
  {location}
  {{ .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e;
    st.param.b64 [a], %rd1; st.param.b64 [b], %rd2; st.param.b32 [c], 7; st.param.b64 [d], %rd3; st.param.b64 [e], 1;
    call.uni __assertfail, (a, b, c, d, e); }}
$after:
  ret;
}}
"""


def run(failing: int, file: str = "", location: str = "") -> None:
    _native.Program(MODULE.format(failing=failing, file=file, location=location)).run("k", (1,), (64,))


def test_failed_assertion_names_its_message_thread_and_arguments() -> None:
    with pytest.raises(_native.Trap) as caught:
        run(failing=5)
    trap = caught.value
    assert (trap.kind, trap.message, trap.thread) == ("assertion failed", "x != ", (5, 0, 0))
    assert trap.notes == ["a.cu:7: in k"]


def test_failed_assertion_has_the_location_of_the_call() -> None:
    with pytest.raises(_native.Trap) as caught:
        run(failing=40, file='.file 1 "b.py"', location=".loc 1 12 3")
    trap = caught.value
    assert (trap.file, trap.source_line, trap.thread, trap.notes) == ("b.py", 12, (40, 0, 0), [])


def test_message_that_is_not_valid_text() -> None:
    """Bytes that are not UTF-8 are shown as U+FFFD."""
    module = MODULE.replace("{{120, 32,", "{{120, 255,").format(failing=5, file="", location="")
    with pytest.raises(_native.Trap) as caught:
        _native.Program(module).run("k", (1,), (64,))
    assert caught.value.message == "x\ufffd!= "


def test_assertion_that_holds_has_no_effect() -> None:
    run(failing=64)
