"""Branches, divergence, reconvergence, calls, exit, spinning and traps."""

from __future__ import annotations

import numpy as np
import pytest

from tilec.runtime.ptxsim import _native


def test_divergent_branch(over_lanes):
    got = over_lanes("""
    setp.lt.u32 %p1, %r0, 10; @%p1 bra less; mov.u32 %r1, 2; bra done; less: mov.u32 %r1, 1; done: bar.sync 0;""")
    assert list(got) == [1] * 10 + [2] * 22


def test_trip_counts_that_differ_by_lane(over_lanes):
    got = over_lanes("mov.u32 %r1, 0; again: add.u32 %r1, %r1, 2; setp.le.u32 %p1, %r1, %r0; @%p1 bra again;")
    assert list(got) == [i // 2 * 2 + 2 for i in range(32)]


def test_indexed_branch(over_lanes):
    got = over_lanes("""
    and.b32 %r2, %r0, 3; targets: .branchtargets a, b, c, b; brx.idx %r2, targets;
    a: mov.u32 %r1, 10; bra done; b: mov.u32 %r1, 20; bra done; c: mov.u32 %r1, 30; done: bar.sync 0;""")
    assert list(got[:5]) == [10, 20, 30, 20, 10]


def test_index_beyond_the_targets_is_reported(simulate):
    with pytest.raises(_native.Trap, match="brx.idx with index 2 into 2 targets") as caught:
        simulate("mov.u32 %r2, 2; targets: .branchtargets a, b; brx.idx %r2, targets; a: b:")
    assert caught.value.kind == "illegal"


def test_labels_and_registers_are_local_to_a_block(over_lanes):
    """Two blocks in braces declare the same names."""
    inner = (
        "{ .reg .u32 x; .reg .pred q; mov.u32 x, 0; L: add.u32 x, x, 1; setp.lt.u32 q, x, %d; "
        "@q bra L; add.u32 %%r1, %%r1, x; }"
    )
    assert (over_lanes("mov.u32 %r1, 0;" + inner % 3 + inner % 4) == 7).all()


def test_barrier_does_not_wait_for_exited_threads(over_lanes):
    """Threads 0 to 31 exit; the barrier waits for the other threads."""
    got = over_lanes("mov.u32 %r1, 5; setp.lt.u32 %p1, %r0, 32; @%p1 exit; bar.sync 0; mov.u32 %r1, 6;", block=96)
    assert list(got) == [0] * 32 + [6] * 64


CALLS = """
.version 8.0
.target sm_90a
.address_size 64
.func (.param .b32 result) twice(.param .b32 value);
.func (.reg .u32 sum) add(.reg .u32 x, .reg .u32 y) { add.u32 sum, x, y; ret; }
.func (.param .b32 result) twice(.param .b32 value)
{
  .reg .b32 %r<4>; .reg .pred %p;
  ld.param.b32 %r1, [value];
  setp.lt.u32 %p, %r1, 4; @%p bra small;
  call (%r1), add, (%r1, 100);
small:
  call (%r2), add, (%r1, %r1);
  st.param.b32 [result], %r2;
  ret;
}
.func loop(.param .b32 value) { .param .b32 again; call loop, (again); ret; }
.visible .entry kernel(.param .u64 out)
{
  .reg .b32 %r<4>; .reg .b64 %rd<8>; .reg .pred %p;
  mov.u32 %r1, %tid.x;
  { .param .b32 argument; .param .b32 value; st.param.b32 [argument], %r1;
    call.uni (value), twice, (argument); ld.param.b32 %r2, [value]; }
  ld.param.u64 %rd1, [out]; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2; st.global.u32 [%rd1], %r2;
  ret;
}
.visible .entry indirect(.param .u64 out)
{
  .reg .b32 %r<4>; .reg .b64 %rd<8>;
  mov.u64 %rd3, twice;
  { .param .b32 argument; .param .b32 value; st.param.b32 [argument], 3;
    prototype: .callprototype (.param .b32 _) _ (.param .b32 _);
    call (value), %rd3, (argument), prototype; ld.param.b32 %r2, [value]; }
  ld.param.u64 %rd1, [out]; st.global.u32 [%rd1], %r2;
  ret;
}
.visible .entry recursion(.param .u64 out) { .param .b32 value; call loop, (value); ret; }
"""


def _run(entry: str, block: int) -> np.ndarray:
    out = np.zeros(block, np.uint32)
    _native.Program(CALLS).run(
        entry,
        (1,),
        (block,),
        parameters=out.ctypes.data.to_bytes(8, "little"),
        ranges=[(out.ctypes.data, out.nbytes, True)],
    )
    return out


def test_divergence_in_a_called_function():
    assert list(_run("kernel", 32)) == [2 * (i if i < 4 else i + 100) for i in range(32)]


def test_indirect_call():
    assert _run("indirect", 1)[0] == 6


def test_recursion_is_refused():
    with pytest.raises(_native.Trap, match="recursive call of 'loop'"):
        _run("recursion", 1)


def test_function_without_a_body():
    text = CALLS.replace(".visible .entry recursion", ".extern .func other();\n.visible .entry recursion", 1)
    text = text.replace("call loop, (value); ret; }", "call other; ret; }").replace("call loop, (again);", "")
    with pytest.raises(_native.Trap, match="call of 'other', which has no body") as caught:
        _native.Program(text).run("recursion", (1,), (1,), parameters=bytes(8))
    assert caught.value.kind == "unsupported"


@pytest.mark.parametrize("instruction", ["trap", "brkpt"])
def test_trap_instructions_name_their_thread(simulate, instruction):
    with pytest.raises(_native.Trap) as caught:
        simulate(f"mov.u32 %r0, %tid.x; setp.eq.u32 %p1, %r0, 5; @%p1 {instruction};")
    assert (caught.value.kind, caught.value.thread) == ("program", (5, 0, 0))


def test_instructions_without_effect(over_lanes):
    got = over_lanes(
        "nanosleep.u32 100; pmevent 3; griddepcontrol.wait; griddepcontrol.launch_dependents; "
        "setmaxnreg.dec.sync.aligned.u32 40; mov.u32 %r1, 1;"
    )
    assert got.all()


def test_infinite_loop_reaches_the_step_limit(simulate):
    with pytest.raises(_native.Trap) as caught:
        simulate("L: bra L;", step_limit=1000)
    assert caught.value.kind == "step-limit"


def test_long_run_without_a_write_is_a_deadlock(simulate):
    """The loop counts to 2^64 - 1, so that it does not repeat a state."""
    body = "mov.u64 %rd1, 0; L: add.u64 %rd1, %rd1, 1; setp.ne.u64 %p1, %rd1, -1; @%p1 bra L;"
    message = r"no thread has written memory in 100000 warp instructions \(a step_limit allows more\)"
    with pytest.raises(_native.Trap, match=message) as caught:
        simulate(body, idle_limit=100_000)
    assert caught.value.kind == "deadlock"
    with pytest.raises(_native.Trap, match="the run exceeds 200000 warp instructions"):
        simulate(body, idle_limit=100_000, step_limit=200_000)


@pytest.mark.parametrize("seed", range(6))
def test_spinning_lanes_do_not_block_their_warp(over_lanes, seed):
    """Half of a warp spins on memory that the other half writes later in program order."""
    got = over_lanes(
        """
        ld.param.u64 %rd5, [p1];
        setp.lt.u32 %p1, %r0, 16; @!%p1 bra writer;
        spin: ld.acquire.gpu.global.u32 %r1, [%rd5]; setp.eq.u32 %p2, %r1, 0; @%p2 bra spin; bra done;
        writer: mov.u32 %r1, 9; st.release.gpu.global.u32 [%rd5], %r1;
        done: bar.sync 0;""",
        np.zeros(1, np.uint32),
        seed=seed,
    )
    assert (got == 9).all()


@pytest.mark.parametrize("seed", range(3))
def test_block_may_wait_for_a_block_that_starts_later(simulate, seed):
    """Blocks 0 to 14 spin until block 15 has written; initially not all blocks are resident."""
    flag = np.zeros(1, np.uint32)
    counters = simulate(
        """
        ld.param.u64 %rd1, [p0]; mov.u32 %r1, %ctaid.x; setp.eq.u32 %p1, %r1, 15;
        @%p1 st.release.gpu.global.u32 [%rd1], 1;
        setp.eq.u32 %p2, %r1, 15; @%p2 bra done;
        spin: ld.acquire.gpu.global.u32 %r2, [%rd1]; setp.eq.u32 %p3, %r2, 0; @%p3 bra spin;
        done:""",
        flag,
        grid=16,
        seed=seed,
    )
    assert flag[0] == 1
    assert counters["clusters"] == 16


def test_spinning_without_progress_is_a_deadlock(simulate):
    """No thread writes the flag."""
    with pytest.raises(_native.Trap) as caught:
        simulate(
            "ld.param.u64 %rd1, [p0]; s: ld.acquire.gpu.global.u32 %r1, [%rd1]; setp.eq.u32 %p1, %r1, 0; @%p1 bra s;",
            np.zeros(1, np.uint32),
            block=1,
        )
    assert caught.value.kind == "deadlock"
    assert "repeat the same state" in caught.value.message
