"""Probes of launches and of the start of blocks."""

from __future__ import annotations

from probes.text import Probe, entry, joined


def empty() -> Probe:
    """Nothing: launch_microseconds and graph_launch_microseconds are intervals of its launches."""
    return Probe("empty", entry("empty", ""))


def timer() -> Probe:
    """Stores %globaltimer in ns at start and end, at out[size]; one thread runs for about `inner` x 100 cycles."""
    body = """\
setp.ne.u32 %other, %thread, 0;
@%other bra FINISH;
mov.u64 %start, %globaltimer;
mul.wide.u32 %record, %size, 16;
add.u64 %record, %record, %out;
mul.wide.u32 %wide, %inner, 100;
mov.u64 %step, %clock64;
SPIN:
mov.u64 %end, %clock64;
sub.u64 %end, %end, %step;
setp.lt.u64 %again, %end, %wide;
@%again bra SPIN;
mov.u64 %end, %globaltimer;
st.global.v2.u64 [%record], {%start, %end};
"""
    return Probe("timer", entry("timer", body))


# With more than 85 registers per thread, an SM has room for one block of 384 threads.
_HELD_REGISTERS = 120


def block_starts() -> Probe:
    """Blocks of 384 threads, one per SM, run for about `inner` x 100 cycles and store (SM, start, end) as u64 each.

    block_start_cycles is the start of a block minus the end of the one before it on this SM: from the last instructions
    to the first. Registers allow one block per SM; dynamic shared memory is that of the launch.
    """
    name, threads = "block_starts", 384
    registers = f".reg .f32 %f<{_HELD_REGISTERS}>, %a;\n.reg .b64 %processor;\n.reg .pred %never;"
    spin = joined(f"fma.rn.f32 %f{i}, %f{i}, %a, %f{(i + 1) % _HELD_REGISTERS};" for i in range(_HELD_REGISTERS))
    keep = joined(f"add.f32 %f0, %f0, %f{i};" for i in range(1, _HELD_REGISTERS))
    body = f"""\
mov.u64 %start, %clock64;
cvt.rn.f32.u32 %a, %size;
{joined(f"add.f32 %f{i}, %a, 0f{0x3F800000 + (i << 16):08x};" for i in range(_HELD_REGISTERS))}
mul.wide.u32 %wide, %inner, 100;
SPIN:
.pragma "nounroll";
{spin}
mov.u64 %end, %clock64;
sub.u64 %end, %end, %start;
setp.lt.u64 %again, %end, %wide;
@%again bra SPIN;
{keep}
setp.eq.f32 %never, %f0, 0f4640e400;
@%never st.global.f32 [%data], %f0;
mul.wide.u32 %record, %block, 24;
add.u64 %record, %record, %out;
mov.u32 %x, %smid;
cvt.u64.u32 %processor, %x;
bar.sync 0;
setp.ne.u32 %other, %thread, 0;
@%other bra FINISH;
st.global.u64 [%record], %processor;
st.global.u64 [%record+8], %start;
mov.u64 %end, %clock64;
st.global.u64 [%record+16], %end;
"""
    return Probe(name, entry(name, body, registers, threads), threads=threads)
