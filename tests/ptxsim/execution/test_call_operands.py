"""Operands of call: registers, literals and .param variables of the caller that have the sizes of the parameters."""

from __future__ import annotations

import numpy as np
import pytest

from tilec.runtime.ptxsim import _native

MODULE = """
.version 9.0
.target sm_90a
.address_size 64
.extern .func (.param .b64 address) malloc (.param .b64 size);
.extern .func (.param .b32 address) {declared};
.func (.param .b64 r) same (.param .b64 a) {{ .reg .b64 %x; ld.param.b64 %x, [a]; st.param.b64 [r], %x; ret; }}
.func (.param .b32 r) narrow (.param .b8 a) {{ .reg .b32 %x; ld.param.u8 %x, [a]; st.param.b32 [r], %x; ret; }}
.func (.reg .pred r) negated (.reg .pred a) {{ not.pred r, a; ret; }}
.func (.param .b64 r) first (.param .align 8 .b8 a[16]) {{
  .reg .b64 %x; ld.param.b64 %x, [a]; st.param.b64 [r], %x; ret; }}
.global .align 8 .b8 array[16];
.visible .entry k(.param .u64 out) {{
  .reg .b16 %h<2>; .reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .pred %p1; .param .b8 byte; .shared .b64 shared;
  ld.param.u64 %rd1, [out]; mov.b16 %h1, 1; mov.b32 %r1, 1; mov.b64 %rd2, 0; setp.eq.u32 %p1, 0, 0;
  {body}
  st.global.b64 [%rd1], %rd2; ret;
}}
"""


def run(body: str, declared: str = "free (.param .b64 address)", threads: int = 1) -> int:
    out = np.zeros(1, np.uint64)
    program = _native.Program(MODULE.format(body=body, declared=declared))
    parameters = out.ctypes.data.to_bytes(8, "little")
    program.run("k", (1,), (threads,), parameters=parameters, ranges=[(out.ctypes.data, out.nbytes, True)])
    return int(out[0])


def test_literals_have_the_size_of_the_parameter() -> None:
    assert run("call (%rd2), same, (-2);") == 2**64 - 2
    assert run("call (%r2), narrow, (200); cvt.u64.u32 %rd2, %r2;") == 200


def test_predicates_are_passed_in_registers() -> None:
    assert run("call (%p1), negated, (%p1); selp.b64 %rd2, 5, 6, %p1;") == 6


def test_lanes_may_call_a_function_of_the_system_and_another() -> None:
    """Thread 0 calls malloc, thread 1 calls `same`, whose result it stores."""
    body = """
    .reg .pred %p2; .reg .b64 %a<6>; .reg .b32 %t;
    mov.u32 %t, %tid.x; setp.eq.u32 %p2, %t, 0; mov.b64 %a1, malloc; mov.b64 %a2, same; selp.b64 %a3, %a1, %a2, %p2;
    mov.b64 %a4, 16; types: .callprototype (.param .b64 _) _ (.param .b64 _);
    call (%a5), %a3, (%a4), types; @!%p2 st.shared.b64 [shared], %a5; bar.sync 0; ld.shared.b64 %rd2, [shared];"""
    assert run(body, threads=2) == 16


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("call (%rd2), same, (%r1);", "argument 1 of 'same' has 8 bytes, found 4"),
        ("call (%h1), same, (%rd2);", "result 1 of 'same' has 8 bytes, found 2"),
        ("call (byte), same, (%rd2);", "result 1 of 'same' has 8 bytes, found 1"),
        ("call (%rd2), same, (%p1);", "argument 1 of 'same' is a predicate in the call or in the function"),
        ("call (%rd2), negated, (%p1);", "result 1 of 'negated' is a predicate in the call or in the function"),
        ("call (%rd2), same, (%rd1, %rd1);", "'same' has 1 arguments, found 2"),
        ("call (byte), malloc, (%rd2);", "result 1 of 'malloc' has 8 bytes, found 1"),
        ("call (%rd2), malloc, ();", "'malloc' has 1 arguments, found 0"),
        ("call (%r1), free, (%rd2);", "'free' is declared with parameters of other sizes than it has"),
    ],
)
def test_operands_of_other_sizes_are_reported(call: str, message: str) -> None:
    with pytest.raises(_native.Trap) as caught:
        run(call)
    assert caught.value.kind == "illegal" and message in caught.value.message


@pytest.mark.parametrize("operand", ["array", "shared", "out"])
@pytest.mark.parametrize("call", ["call ({}), same, (%rd1);", "call (%rd2), same, ({});", "call (%rd2), malloc, ({});"])
def test_variables_are_parameters_of_the_function(call: str, operand: str) -> None:
    with pytest.raises(_native.PtxError, match=r"expected a \.param variable of the function"):
        run(call.format(operand))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("call (%rd2), same, (_);", "'_' as an argument"),
        ("call (%rd2), first, (1);", "a literal for a parameter of 16 bytes"),
        ("call (%rd2), same, (1, 2);", "a literal for an unknown parameter: expected a .param variable or register"),
        ("call (%rd2), %rd1, (1);", "a literal for an unknown parameter: expected a .param variable or register"),
        ("call ([%rd2]), same, (1);", "call with an address: expected a .param variable, register or literal"),
    ],
)
def test_operands_that_are_no_values_are_rejected(call: str, message: str) -> None:
    with pytest.raises(_native.PtxError, match=message):
        run(call)
