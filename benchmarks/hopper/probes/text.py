"""The text of probes: kernels in PTX that time one Hopper SM.

A probe has the parameters out, data (addresses), rounds, inner, size (u32) and map (a tensor map). Most probes are made
of rounds: %clock64 is read before and after `inner` iterations of an unrolled body, and one thread per warp stores both
clocks as u64 at out[block][round][warp]. The first rounds fill the instruction cache. A constant per operation is the
difference of the durations for two values of `inner`, over the operations in between, so that reading the clock costs
nothing; what remains is the branch of the loop, less than 20 cycles per body.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Probe:
    """A kernel.

    Attributes:
        name: of the probe and of its entry point.
        text: PTX.
        operations: operations of interest in one iteration of the inner loop.
        threads: threads of a block, unless a launch says otherwise.
        shared_bytes: dynamic shared memory of a block, unless a launch says otherwise.
        cluster: blocks of a cluster; 0 if the probe has no clusters.
        recorders: warps of a block that store clocks; 0 for each warp.
    """

    name: str
    text: str
    operations: int = 1
    threads: int = 32
    shared_bytes: int = 0
    cluster: int = 0
    recorders: int = 0


# Shared memory of a probe: mbarriers, and then the destinations.
FIRST_SLOT = 1024

_HEADER = """\
.version 8.6
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 dynamic[];
.visible .entry {name}(.param .u64 out, .param .u64 data, .param .u32 rounds, .param .u32 inner, .param .u32 size,
    .param .align 64 .b8 map[128])
.maxntid {maximum}
{cluster}{{
.reg .pred %again, %leader, %other, %true, %done;
.reg .b32 %thread, %warp, %lane, %warps, %block, %grid, %rounds, %inner, %size, %round, %i, %base, %bytes, %parity, %x;
.reg .b64 %out, %data, %record, %step, %start, %end, %map, %address, %wide;
{registers}
ld.param.u64 %out, [out];
ld.param.u64 %data, [data];
ld.param.u32 %rounds, [rounds];
ld.param.u32 %inner, [inner];
ld.param.u32 %size, [size];
mov.b64 %map, map;
cvta.param.u64 %map, %map;
mov.u32 %thread, %tid.x;
shr.u32 %warp, %thread, 5;
and.b32 %lane, %thread, 31;
mov.u32 %block, %ctaid.x;
mov.u32 %grid, %nctaid.x;
mov.u32 %base, dynamic;
setp.eq.u32 %true, %lane, %lane;
"""

# %record is the address of the clocks of the warp in the first round, %step the bytes from one round to the next.
_RECORDS = """\
mul.lo.u32 %x, %block, %rounds;
mad.lo.u32 %x, %x, %warps, {recorder};
mul.wide.u32 %record, %x, 16;
add.u64 %record, %record, %out;
mul.wide.u32 %step, %warps, 16;
"""

_WARPS = """\
mov.u32 %warps, %ntid.x;
shr.u32 %warps, %warps, 5;
"""


def entry(name: str, body: str, registers: str = "", maximum: int = 1024, cluster: int = 0) -> str:
    """A module of one entry point: declarations, the parameters in registers, the body, and the label FINISH."""
    clusters = f".explicitcluster\n.reqnctapercluster {cluster}, 1, 1\n" if cluster else ""
    head = _HEADER.format(name=name, maximum=maximum, cluster=clusters, registers=registers)
    return f"{head}{body}FINISH:\nret;\n}}\n"


def record_addresses(recorders: str = "", recorder: str = "%warp") -> str:
    """%record and %step of a block in which this many warps (all if empty) store clocks, this one as `recorder`."""
    count = f"mov.u32 %warps, {recorders};\n" if recorders else _WARPS
    return count + _RECORDS.format(recorder=recorder)


def timed_rounds(body: str, before: str = "bar.sync 0;", after: str = "", leader: str = "", label: str = "") -> str:
    """The loop of rounds: `before` and then, timed, `inner` iterations of `body` and `after`.

    The thread for which `leader` holds (lane 0 if empty) stores the clocks.
    """
    choose = "" if leader else "setp.eq.u32 %leader, %lane, 0;\n"
    return f"""\
{choose}mov.u32 %round, 0;
ROUND{label}:
{before}
mov.u32 %i, %inner;
mov.u64 %start, %clock64;
INNER{label}:
.pragma "nounroll";
{body}
sub.u32 %i, %i, 1;
setp.ne.u32 %again, %i, 0;
@%again bra INNER{label};
{after}
mov.u64 %end, %clock64;
@%{leader or "leader"} st.global.v2.u64 [%record], {{%start, %end}};
add.u64 %record, %record, %step;
add.u32 %round, %round, 1;
setp.lt.u32 %again, %round, %rounds;
@%again bra ROUND{label};
"""


def joined(lines: Iterable[str]) -> str:
    """Lines of PTX as a text."""
    return "\n".join(lines)


def braced(prefix: str, count: int) -> str:
    """A vector operand: the first registers of a range."""
    return "{" + ", ".join(f"%{prefix}{i}" for i in range(count)) + "}"


# Only the thread that elect.sync chooses goes on: ptxas then issues copies without a loop over the threads.
ELECT = """\
elect.sync %x|%leader, 0xffffffff;
@!%leader bra FINISH;
"""


def initialise_barriers(barriers: int, arrivals: int = 1) -> str:
    """mbarriers at the start of shared memory, initialised by the thread that runs this."""
    return joined(
        [
            *(f"mbarrier.init.shared::cta.b64 [%base+{8 * i}], {arrivals};" for i in range(barriers)),
            "fence.mbarrier_init.release.cluster;",
            "fence.proxy.async.shared::cta;\n",
        ]
    )


def wait_for(label: str, barrier: str, parity: str) -> str:
    """A loop until the phase of an mbarrier with this parity is complete."""
    return f"""\
{label}:
mbarrier.try_wait.parity.shared::cta.b64 %done, [{barrier}], {parity};
@!%done bra {label};"""


def bulk_load(destination: str, source: str, bytes_: str, barrier: str) -> str:
    """A copy of bytes to shared memory, which an mbarrier counts."""
    return (
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
        f"[{destination}], [{source}], {bytes_}, [{barrier}];"
    )


def box_load(destination: str, row: str, barrier: str) -> str:
    """A copy of a box of the tensor map, from a row on."""
    return (
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
        f"[{destination}], [%map, {{0, {row}}}], [{barrier}];"
    )


def expect_bytes(barrier: str, bytes_: str) -> str:
    """The arrival of the thread that issues copies, by their number of bytes."""
    return f"mbarrier.arrive.expect_tx.shared::cta.b64 _, [{barrier}], {bytes_};"
