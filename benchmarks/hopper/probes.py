"""PTX of the kernels that measure one Hopper SM: each docstring says what is timed and how a constant follows.

A probe has the parameters out, data (addresses), rounds, inner, size (u32) and map (a tensor map). Most probes are made
of rounds: %clock64 is read before and after `inner` iterations of an unrolled body, and one thread per warp stores both
clocks as u64 at out[block][round][warp]. The first rounds fill the instruction cache. A constant per operation is the
difference of the durations for two values of `inner`, over the operations in between, so that reading the clock costs
nothing; what remains is the branch of the loop, less than 20 cycles per body.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

# The value of `size` with which the loader of a share_N probe copies nothing.
IDLE = 0


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
mov.u32 %warps, {recorders};
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


def _kernel(name: str, body: str, registers: str = "", maximum: int = 1024, cluster: int = 0) -> str:
    clusters = f".explicitcluster\n.reqnctapercluster {cluster}, 1, 1\n" if cluster else ""
    head = _HEADER.format(name=name, maximum=maximum, cluster=clusters, registers=registers)
    return f"{head}{body}FINISH:\nret;\n}}\n"


def _records(recorders: str = "", recorder: str = "%warp") -> str:
    lines = _RECORDS.format(recorders=recorders or "%warps", recorder=recorder)
    return lines if recorders else _WARPS + lines.partition("\n")[2]


def _rounds(body: str, before: str = "bar.sync 0;", after: str = "", leader: str = "", label: str = "") -> str:
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


def _lines(lines: Iterable[str]) -> str:
    return "\n".join(lines)


def _list(prefix: str, count: int) -> str:
    return "{" + ", ".join(f"%{prefix}{i}" for i in range(count)) + "}"


# Only the thread that elect.sync chooses goes on: ptxas then issues copies without a loop over the threads.
_ELECT = """\
elect.sync %x|%leader, 0xffffffff;
@!%leader bra FINISH;
"""


def _initialise(barriers: int, arrivals: int = 1) -> str:
    """mbarriers at the start of shared memory, initialised by the thread that runs this."""
    return _lines(
        [
            *(f"mbarrier.init.shared::cta.b64 [%base+{8 * i}], {arrivals};" for i in range(barriers)),
            "fence.mbarrier_init.release.cluster;",
            "fence.proxy.async.shared::cta;\n",
        ]
    )


def _wait(label: str, barrier: str, parity: str) -> str:
    return f"""\
{label}:
mbarrier.try_wait.parity.shared::cta.b64 %done, [{barrier}], {parity};
@!%done bra {label};"""


def _load(destination: str, source: str, bytes_: str, barrier: str) -> str:
    return (
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
        f"[{destination}], [{source}], {bytes_}, [{barrier}];"
    )


def _load_box(destination: str, row: str, barrier: str) -> str:
    return (
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
        f"[{destination}], [%map, {{0, {row}}}], [{barrier}];"
    )


def _expect(barrier: str, bytes_: str) -> str:
    return f"mbarrier.arrive.expect_tx.shared::cta.b64 _, [{barrier}], {bytes_};"


# --- Instructions of warps ------------------------------------------------------------------------------------------

_CHAIN_LENGTH = 256


def _float_chains(name: str, instruction: str, chains: int, first: str = "") -> Probe:
    """`_CHAIN_LENGTH` instructions that belong in turn to this many chains, each instruction using the one before it.

    One chain on one warp takes dependent_issue_cycles per instruction. With 4 and more warps per scheduler and several
    chains, the instructions of all threads per cycle are the rate of the unit.
    """
    registers = f".reg .f32 %f<{chains}>, %a, %b;\n.reg .pred %never;"
    setup = _lines(
        [
            _records() + first,
            "cvt.rn.f32.u32 %a, %size;",
            "add.f32 %b, %a, 0f3f800000;",
            *(f"add.f32 %f{i}, %a, 0f{0x3F800000 + (i << 20):08x};" for i in range(chains)),
            "",
        ]
    )
    body = _lines(instruction.format(x=f"%f{i % chains}") for i in range(_CHAIN_LENGTH))
    keep = [f"add.f32 %f0, %f0, %f{i};" for i in range(1, chains)]
    keep += ["setp.eq.f32 %never, %f0, 0f4640e400;", "@%never st.global.f32 [%out], %f0;", ""]
    return Probe(name, _kernel(name, setup + _rounds(body) + _lines(keep), registers), _CHAIN_LENGTH)


def fma_chains(chains: int) -> Probe:
    """fma.rn.f32 in 1, 2, 4 or 8 chains per warp.

    dependent_issue_cycles: cycles per instruction of one chain on one warp. independent_instructions: chains with which
    four schedulers reach their rate, at the number of warps that kernels have. fma_per_cycle: 8 chains, 16 warps.
    """
    return _float_chains(f"fma_chains_{chains}", "fma.rn.f32 {x}, {x}, %a, %b;", chains)


def exponentials(chains: int) -> Probe:
    """ex2.approx.ftz.f32 in chains: exponentials_per_cycle is threads x instructions over cycles."""
    return _float_chains(f"exponentials_{chains}", "ex2.approx.ftz.f32 {x}, {x};", chains)


def shuffles(chains: int) -> Probe:
    """shfl.sync.idx in chains: shuffles_per_cycle is threads x instructions over cycles."""
    # ptxas removes two exchanges with constant lanes, but not those with a register.
    first = "xor.b32 %x, %thread, %size;\nadd.u32 %x, %x, 1;\n"
    return _float_chains(f"shuffles_{chains}", "shfl.sync.idx.b32 {x}, {x}, %x, 31, 0xffffffff;", chains, first)


def logic() -> Probe:
    """lop3 with three operands, which ptxas cannot merge, in 4 chains that read each other: alu_per_cycle."""
    name, chains = "logic_4", 4
    registers = f".reg .b32 %u<{chains}>;\n.reg .pred %never;"
    setup = _records() + _lines(f"add.u32 %u{i}, %thread, {17 * i + 1};" for i in range(chains)) + "\n"
    # 0xe8 is the majority of three bits.
    body = _lines(
        f"lop3.b32 %u{i % chains}, %u{i % chains}, %u{(i + 1) % chains}, %u{(i + 2) % chains}, 0xe8;"
        for i in range(_CHAIN_LENGTH)
    )
    keep = (
        "lop3.b32 %u0, %u0, %u1, %u2, 0x96;\nsetp.eq.u32 %never, %u0, 0x12345678;\n@%never st.global.u32 [%out], %u3;\n"
    )
    return Probe(name, _kernel(name, setup + _rounds(body) + keep, registers), _CHAIN_LENGTH)


def maxima() -> Probe:
    """max.f32 of 4 chains that read each other: alu_per_cycle for comparisons."""
    name, chains = "maxima_4", 4
    registers = f".reg .f32 %f<{chains}>, %a;\n.reg .pred %never;"
    setup = _records() + _lines(
        [
            "cvt.rn.f32.u32 %a, %thread;",
            *(f"add.f32 %f{i}, %a, 0f{0x3F800000 + (i << 20):08x};" for i in range(chains)),
            "",
        ]
    )
    body = _lines(
        f"{('max', 'min')[i // chains % 2]}.f32 %f{i % chains}, %f{i % chains}, %f{(i + 1) % chains};"
        for i in range(_CHAIN_LENGTH)
    )
    keep = "add.f32 %f0, %f0, %f1;\nadd.f32 %f2, %f2, %f3;\nadd.f32 %f0, %f0, %f2;\n"
    keep += "setp.eq.f32 %never, %f0, 0f4640e400;\n@%never st.global.f32 [%out], %f0;\n"
    return Probe(name, _kernel(name, setup + _rounds(body) + keep, registers), _CHAIN_LENGTH)


def warp_multiplies() -> Probe:
    """mma.sync m16n8k16 of f16 in 8 chains per warp: mma_sync_multiply_adds_per_cycle is 2048 per multiply."""
    name, chains, length = "warp_multiplies", 8, 64
    registers = f".reg .f32 %f<{4 * chains}>;\n.reg .b32 %a<4>, %b<2>;\n.reg .pred %never;"
    setup = _lines(
        [
            _records(),
            *(f"mov.f32 %f{i}, 0f00000000;" for i in range(4 * chains)),
            *(f"mov.b32 %a{i}, %size;" for i in range(4)),
            *(f"mov.b32 %b{i}, %size;" for i in range(2)),
            "",
        ]
    )

    def multiply(chain: int) -> str:
        accumulator = "{" + ", ".join(f"%f{4 * chain + i}" for i in range(4)) + "}"
        return (
            f"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {accumulator}, "
            f"{_list('a', 4)}, {_list('b', 2)}, {accumulator};"
        )

    body = _lines(multiply(i % chains) for i in range(length))
    keep = [f"add.f32 %f0, %f0, %f{i};" for i in range(1, 4 * chains)]
    keep += ["setp.eq.f32 %never, %f0, 0f4640e400;", "@%never st.global.f32 [%out], %f0;", ""]
    return Probe(name, _kernel(name, setup + _rounds(body) + _lines(keep), registers), length)


# --- Synchronization ------------------------------------------------------------------------------------------------


def mbarrier_exchange(all_threads: bool) -> Probe:
    """Two warps, two mbarriers: one thread (or all 32) of a warp arrives, the other warp waits and arrives in turn.

    An iteration has 4 arrivals and wakes per direction; barrier_latency_cycles is the time of one way, which includes
    the issue of the arrival.
    """
    name, ways = f"mbarrier_exchange{'_all' if all_threads else ''}", 8
    setup = (
        _records()
        + "setp.ne.u32 %other, %thread, 0;\n@%other bra READY;\n"
        + _initialise(2, 32 if all_threads else 1)
        + "READY:\nbar.sync 0;\nsetp.eq.u32 %leader, %lane, 0;\nsetp.ge.u32 %other, %thread, 32;\n@%other bra SECOND;\n"
    )

    def arrive(barrier: int) -> str:
        guard = "" if all_threads else "@%leader "
        return f"{guard}mbarrier.arrive.shared::cta.b64 _, [%base+{8 * barrier}];"

    first, second = [], []
    for i in range(ways // 2):
        first += [arrive(0), _wait(f"FIRST_{i}", "%base+8", str(i % 2))]
        second += [_wait(f"SECOND_{i}", "%base", str(i % 2)), arrive(1)]
    body = setup + _rounds(_lines(first)) + "bra FINISH;\nSECOND:\n" + _rounds(_lines(second), label="_SECOND")
    return Probe(name, _kernel(name, body, maximum=64), ways, threads=64, shared_bytes=64)


def named_exchange() -> Probe:
    """Two warpgroups: one arrives at barrier 1 and waits at barrier 2, the other waits at 1 and arrives at 2.

    named_barrier_cycles is the time of one way.
    """
    name, ways = "named_exchange", 32
    first = ["bar.arrive 1, 256;", "bar.sync 2, 256;"] * (ways // 2)
    second = ["bar.sync 1, 256;", "bar.arrive 2, 256;"] * (ways // 2)
    body = _records() + "setp.ge.u32 %other, %thread, 128;\n@%other bra SECOND;\n" + _rounds(_lines(first))
    body += "bra FINISH;\nSECOND:\n" + _rounds(_lines(second), label="_SECOND")
    return Probe(name, _kernel(name, body, maximum=256), ways, threads=256)


def block_barriers() -> Probe:
    """bar.sync 0 repeatedly, by 1 to 16 warps: the line over the warps has block_barrier_cycles as its intercept.

    Its slope is block_barrier_cycles_per_warp.
    """
    name, count = "block_barriers", 64
    body = _records() + _rounds(_lines(["bar.sync 0;"] * count))
    return Probe(name, _kernel(name, body), count)


def proxy_fences(stores: bool) -> Probe:
    """fence.proxy.async.shared::cta repeatedly, with or without a store of the thread before it: proxy_fence_cycles."""
    name, count = "proxy_fences_after_stores" if stores else "proxy_fences", 32
    store = ["st.shared.u32 [%x], %i;"] if stores else []
    setup = _records() + "shl.b32 %x, %thread, 2;\nadd.u32 %x, %x, %base;\n"
    body = _lines([*store, "fence.proxy.async.shared::cta;"] * count)
    return Probe(name, _kernel(name, setup + _rounds(body)), count, threads=128, shared_bytes=4096)


def cluster_barriers(cluster: int, relaxed: bool = False) -> Probe:
    """barrier.cluster arrive and wait repeatedly by blocks of four warps: cluster_barrier_cycles.

    The arrival is a release, with a fence of the memory, or relaxed.
    """
    name, count = f"cluster_barriers_{cluster}{'_relaxed' if relaxed else ''}", 16
    order = "relaxed" if relaxed else "release"
    pair = [f"barrier.cluster.arrive.{order}.aligned;", "barrier.cluster.wait.acquire.aligned;"]
    body = _records() + _rounds(_lines(pair * count))
    return Probe(name, _kernel(name, body, maximum=128, cluster=cluster), count, threads=128, cluster=cluster)


# --- TMA ------------------------------------------------------------------------------------------------------------

# Bytes from the source of one set of copies to that of the next: a launch loads each source once, which misses L2 the
# first time and hits it later.
SOURCE_STRIDE = 32768
# Shared memory of a probe: mbarriers, and then the destinations.
_FIRST_SLOT = 1024
BOX_ROWS, BOX_COLUMNS = 64, 64
BOX_BYTES = BOX_ROWS * BOX_COLUMNS * 2


def copies(number: int, boxes: bool) -> Probe:
    """One thread issues 1 to 4 copies on one mbarrier and waits; one set after the other.

    tma_l2_latency_cycles and tma_dram_latency_cycles are the time of a set of one copy, issue and wake included;
    tma_cycles_per_kilobyte its slope over the size; tma_further_copy_cycles the increase by each further copy. Sources
    are bytes, or boxes of 64 x 64 f16 with the swizzle of 128 bytes. The time per set includes expect_tx.
    """
    name, unrolled = f"copies_{'boxes' if boxes else 'bytes'}_{number}", 2
    setup = _records("1", "0") + _ELECT + _initialise(1)
    setup += f"mul.lo.u32 %bytes, %size, {number};\nmov.u32 %row, 0;\nmov.u64 %address, %data;\n"
    lines = []
    for parity in range(unrolled):
        lines.append(_expect("%base", "%bytes"))
        for i in range(number):
            destination = f"%base+{_FIRST_SLOT + 16384 * i}"
            if boxes:
                lines += [f"add.u32 %other_row, %row, {i * BOX_ROWS};", _load_box(destination, "%other_row", "%base")]
            else:
                lines.append(_load(destination, f"%address+{i * SOURCE_STRIDE // 4}", "%size", "%base"))
        lines.append(_wait(f"WAIT_{parity}", "%base", str(parity)))
        lines += [f"add.u64 %address, %address, {SOURCE_STRIDE};", f"add.u32 %row, %row, {SOURCE_STRIDE // 128};"]
    body = setup + _rounds(_lines(lines), before="", leader="leader")
    shared = _FIRST_SLOT + 4 * 16384
    registers = ".reg .b32 %row, %other_row;"
    return Probe(name, _kernel(name, body, registers, 32), unrolled, shared_bytes=shared, recorders=1)


def copy_issues(boxes: bool, same: bool) -> Probe:
    """One thread issues copies without waiting, 16 per iteration: tma_issue_cycles is the interval of their issue.

    All copies of a round count on one mbarrier, whose wait is not timed. Sources, which L2 holds, and destinations are
    16 places, for which each copy needs some instructions of the uniform datapath, or one place if `same`.
    """
    name, unrolled = f"issues_{'boxes' if boxes else 'bytes'}{'_same' if same else ''}", 16
    setup = _records("1", "0") + _ELECT + _initialise(1) + "mul.lo.u32 %bytes, %size, %inner;\n"
    setup += f"mul.lo.u32 %bytes, %bytes, {unrolled};\nmov.u32 %parity, 0;\n"
    lines = []
    for i in [0] * unrolled if same else range(unrolled):
        destination = f"%base+{_FIRST_SLOT + BOX_BYTES * i}"
        if boxes:
            lines.append(_load_box(destination, str(i * BOX_ROWS), "%base"))
        else:
            lines.append(_load(destination, f"%data+{i * BOX_BYTES}", "%size", "%base"))
    timed = _rounds(_lines(lines), before=_expect("%base", "%bytes"), leader="leader")
    # The wait comes between the timed region and the next round.
    wait = _wait("WAIT", "%base", "%parity") + "\nxor.b32 %parity, %parity, 1;\nadd.u64 %record"
    body = setup + timed.replace("add.u64 %record", wait, 1)
    shared = _FIRST_SLOT + unrolled * BOX_BYTES
    return Probe(name, _kernel(name, body, maximum=32), unrolled, shared_bytes=shared, recorders=1)


def stores(read: bool) -> Probe:
    """One thread stores `size` bytes of shared memory and waits for the group, or until it has read its source.

    tma_store_latency_cycles is the time of the first minus the transfer, from the line over the size; the time of
    wait_group.read is that after which a slot may be written again.
    """
    name, unrolled = "stores_read" if read else "stores_done", 2
    setup = _records("1", "0") + "mov.u32 %i, %lane;\nCLEAR:\nshl.b32 %x, %i, 2;\nadd.u32 %x, %x, %base;\n"
    setup += f"st.shared.u32 [%x+{_FIRST_SLOT}], %i;\nadd.u32 %i, %i, 32;\nsetp.lt.u32 %again, %i, 4096;\n"
    setup += "@%again bra CLEAR;\nfence.proxy.async.shared::cta;\nbar.warp.sync 0xffffffff;\n" + _ELECT
    setup += "mov.u64 %address, %data;\n"
    lines = [
        f"cp.async.bulk.global.shared::cta.bulk_group [%address], [%base+{_FIRST_SLOT}], %size;",
        "cp.async.bulk.commit_group;",
        f"cp.async.bulk.wait_group{'.read' if read else ''} 0;",
        f"add.u64 %address, %address, {SOURCE_STRIDE};",
    ]
    body = setup + _rounds(_lines(lines * unrolled), before="", leader="leader") + "cp.async.bulk.wait_group 0;\n"
    shared = _FIRST_SLOT + 16384
    return Probe(name, _kernel(name, body, maximum=32), unrolled, shared_bytes=shared, recorders=1)


# --- Loads of threads -----------------------------------------------------------------------------------------------


def pointer_chase() -> Probe:
    """One thread loads the address of its next load, without L1: load_l2_latency_cycles, load_dram_latency_cycles.

    The list is in random order; it misses L2 when it is read for the first time after L2 was overwritten.
    """
    name, unrolled = "pointer_chase", 16
    setup = _records("1", "0") + _ELECT + "mov.u64 %address, %data;\n"
    body = _lines(["ld.global.cg.u64 %address, [%address];"] * unrolled)
    # The end of the round depends on the last load.
    after = "setp.eq.u64 %done, %address, 0;\n@%done bra FINISH;"
    text = _kernel(name, setup + _rounds(body, before="", after=after, leader="leader"), maximum=32)
    return Probe(name, text, unrolled, recorders=1)


# --- Tensor pipe ----------------------------------------------------------------------------------------------------

# Tiles of 64 columns of f16, or 128 of fp8, with the swizzle of 128 bytes: 128 bytes per row.
_A_BYTES = 64 * 128
_B_OFFSET = _A_BYTES
_OPERAND_BYTES = _B_OFFSET + 256 * 128
# PTX ISA 9.7.15.5.1: stride of 1024 bytes between groups of 8 rows (bits 32 and up), swizzle of 128 bytes (bit 62).
_DESCRIPTOR = 1 << 62 | (1024 >> 4) << 32 | 1 << 16


def _zero_operands(first: int, threads: int) -> str:
    """All threads write zeros to the operands, which start at this offset, and make them visible to multiplies."""
    return f"""\
mov.u32 %i, %thread;
CLEAR:
shl.b32 %x, %i, 4;
add.u32 %x, %x, %base;
st.shared.v4.u32 [%x+{first}], {{0, 0, 0, 0}};
add.u32 %i, %i, {threads};
setp.lt.u32 %again, %i, {_OPERAND_BYTES // 16};
@%again bra CLEAR;
fence.proxy.async.shared::cta;
bar.sync 0;
"""


def _descriptors(first: int) -> str:
    """%a_tile and %b_tile, which all warpgroups share: only then ptxas keeps descriptors in uniform registers."""
    lines = []
    for name, offset in (("a", first), ("b", first + _B_OFFSET)):
        lines += [
            f"add.u32 %x, %base, {offset};",
            "shr.u32 %x, %x, 4;",
            f"cvt.u64.u32 %{name}_tile, %x;",
            f"or.b64 %{name}_tile, %{name}_tile, {_DESCRIPTOR};",
        ]
    return _lines(lines) + "\n"


@dataclass(frozen=True)
class _Multiply:
    """wgmma of 64 rows and these columns; `fp8`: e4m3, else f16; `registers`: A is in registers."""

    columns: int
    registers: bool = False
    fp8: bool = False

    @property
    def suffix(self) -> str:
        return f"{self.columns}{'_registers' if self.registers else ''}{'_fp8' if self.fp8 else ''}"

    @property
    def declarations(self) -> str:
        return (
            f".reg .b64 %a_tile, %b_tile, %a_step<4>, %b_step<4>;\n.reg .f32 %d<{self.columns // 2}>;\n.reg .b32 %a<4>;"
        )

    def start(self) -> str:
        """Zeros in the registers, and the descriptors of the four steps along K within a tile."""
        lines = [f"mov.f32 %d{i}, 0f00000000;" for i in range(self.columns // 2)]
        # Zeros that ptxas does not know.
        lines += [f"shr.u32 %a{i}, %thread, {12 + i};" for i in range(4)]
        for i in range(4):
            # 32 bytes in units of 16.
            lines += [f"add.u64 %a_step{i}, %a_tile, {2 * i};", f"add.u64 %b_step{i}, %b_tile, {2 * i};"]
        return _lines(lines) + "\n"

    def issue(self, step: int) -> str:
        depth, kind = (32, "e4m3.e4m3") if self.fp8 else (16, "f16.f16")
        a = _list("a", 4) if self.registers else f"%a_step{step % 4}"
        transposed = "" if self.fp8 else ", 0" if self.registers else ", 0, 0"
        return (
            f"wgmma.mma_async.sync.aligned.m64n{self.columns}k{depth}.f32.{kind} {_list('d', self.columns // 2)}, "
            f"{a}, %b_step{step % 4}, %true, 1, 1{transposed};"
        )

    def keep(self) -> str:
        """Uses the accumulator."""
        lines = [f"add.f32 %d0, %d0, %d{i};" for i in range(1, self.columns // 2)]
        return _lines([*lines, "setp.eq.f32 %done, %d0, 0f4640e400;", "@%done st.global.f32 [%out], %d0;", ""])


def multiply_chain(columns: int, registers: bool = False, fp8: bool = False) -> Probe:
    """wgmma without a wait in between, 16 per iteration and commit group, all on one accumulator.

    The group before the last is waited for, so that the pipe always has work. tensor_columns_per_cycle is the columns
    over the interval, times the warpgroups that run the chain.
    """
    multiply, count = _Multiply(columns, registers, fp8), 16
    name = f"multiply_chain_{multiply.suffix}"
    setup = _records() + _zero_operands(0, 128) + _descriptors(0) + multiply.start()
    body = ["wgmma.fence.sync.aligned;", *(multiply.issue(i) for i in range(count))]
    body += ["wgmma.commit_group.sync.aligned;", "wgmma.wait_group.sync.aligned 1;"]
    text = setup + _rounds(_lines(body), after="wgmma.wait_group.sync.aligned 0;") + multiply.keep()
    text = _kernel(name, text, multiply.declarations, 256)
    return Probe(name, text, count, threads=128, shared_bytes=_OPERAND_BYTES)


def multiply_groups(columns: int, registers: bool = False, count: int = 1) -> Probe:
    """Groups of `count` wgmma, each committed and waited for before the next one.

    multiply_latency_cycles (tensor_memory_multiply_latency_cycles with A in registers) is the time of a group minus
    `count` intervals.
    """
    multiply, groups = _Multiply(columns, registers), 4
    name = f"multiply_groups_{multiply.suffix}_{count}"
    setup = _records() + _zero_operands(0, 128) + _descriptors(0) + multiply.start()
    group = ["wgmma.fence.sync.aligned;", *(multiply.issue(i) for i in range(count))]
    group += ["wgmma.commit_group.sync.aligned;", "wgmma.wait_group.sync.aligned 0;"]
    text = _kernel(name, setup + _rounds(_lines(group * groups)) + multiply.keep(), multiply.declarations, 256)
    return Probe(name, text, groups, threads=128, shared_bytes=_OPERAND_BYTES)


SHARE_SLOTS, SHARE_SLOT_BYTES = 8, 16384
# The loads of share_N cycle through this region, which L2 holds.
SHARE_REGION_BYTES = 1 << 20


def multiplies_beside_loads(columns: int) -> Probe:
    """Two warpgroups run chains of wgmma with both operands in shared memory; a further warp copies into other slots.

    Clocks of warps 0 to 7 are those of the chains, those of warp 8 are (bytes copied, cycles) while both chains ran.
    With `size` IDLE the copies are left out. If multiplies and copies together need more than the port of shared memory
    has, the interval I grows, and shared_write_share is (128 I - bytes read by two multiplies) / bytes written in I.
    """
    multiply, count, first = _Multiply(columns), 16, 2048
    name = f"share_{columns}"
    slots = -(-(first + _OPERAND_BYTES) // 1024) * 1024
    setup = (
        _records("9", "%warp")
        + "setp.ne.u32 %other, %thread, 0;\n@%other bra READY;\n"
        + _initialise(SHARE_SLOTS)
        + f"st.shared.u32 [%base+{_FIRST_SLOT}], 0;\nREADY:\n"
        + _zero_operands(first, 288)
        + _descriptors(first)
        # ptxas takes a branch by a value that shfl broadcasts as one of the whole warp.
        + "shfl.sync.idx.b32 %x, %warp, 0, 31, 0xffffffff;\nsetp.ge.u32 %other, %x, 8;\n@%other bra LOADER;\n"
        + multiply.start()
    )
    body = ["wgmma.fence.sync.aligned;", *(multiply.issue(i) for i in range(count))]
    body += ["wgmma.commit_group.sync.aligned;", "wgmma.wait_group.sync.aligned 1;"]
    chains = _rounds(_lines(body), "bar.sync 1, 256;", "wgmma.wait_group.sync.aligned 0;") + multiply.keep()
    # The count of warps that have finished all rounds.
    chains += f"@%leader red.relaxed.cta.shared::cta.add.u32 [%base+{_FIRST_SLOT}], 1;\nbra FINISH;\n"

    def refill(slot: int) -> list[str]:
        return [
            _expect(f"%base+{8 * slot}", str(SHARE_SLOT_BYTES)),
            "add.u64 %address, %data, %wide;",
            _load(f"%base+{slots + slot * SHARE_SLOT_BYTES}", "%address", str(SHARE_SLOT_BYTES), f"%base+{8 * slot}"),
            f"add.u64 %wide, %wide, {SHARE_SLOT_BYTES};",
            f"and.b64 %wide, %wide, {SHARE_REGION_BYTES - 1};",
        ]

    loop = []
    for slot in range(SHARE_SLOTS):
        loop += [_wait(f"FULL_{slot}", f"%base+{8 * slot}", "%parity"), *refill(slot)]
    loader = [
        "LOADER:",
        f"setp.eq.u32 %done, %size, {IDLE};",
        "@%done bra FINISH;",
        _ELECT,
        "mov.u64 %wide, 0;",
        "mov.u32 %parity, 0;",
        "mov.u64 %copied, 0;",
        "mov.u64 %start, %clock64;",
        *(line for slot in range(SHARE_SLOTS) for line in refill(slot)),
        "STREAM:",
        *loop,
        f"add.u64 %copied, %copied, {SHARE_SLOTS * SHARE_SLOT_BYTES};",
        "xor.b32 %parity, %parity, 1;",
        f"ld.relaxed.cta.shared::cta.u32 %x, [%base+{_FIRST_SLOT}];",
        "setp.lt.u32 %again, %x, 8;",
        "@%again bra STREAM;",
        "mov.u64 %end, %clock64;",
        "sub.u64 %end, %end, %start;",
        "st.global.v2.u64 [%record], {%copied, %end};",
        *(_wait(f"LAST_{slot}", f"%base+{8 * slot}", "%parity") for slot in range(SHARE_SLOTS)),
        "",
    ]
    registers = multiply.declarations + "\n.reg .b64 %copied;"
    text = _kernel(name, setup + chains + _lines(loader), registers, 288)
    shared = slots + SHARE_SLOTS * SHARE_SLOT_BYTES
    return Probe(name, text, count, threads=288, shared_bytes=shared, recorders=9)


# --- Blocks and launches --------------------------------------------------------------------------------------------


def empty() -> Probe:
    """Nothing: launch_microseconds and graph_launch_microseconds are intervals of its launches."""
    return Probe("empty", _kernel("empty", ""))


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
    return Probe("timer", _kernel("timer", body))


# With more than 85 registers per thread, an SM has room for one block of 384 threads.
_HELD_REGISTERS = 120


def block_starts() -> Probe:
    """Blocks of 384 threads, one per SM, run for about `inner` x 100 cycles and store (SM, start, end) as u64 each.

    block_start_cycles is the start of a block minus the end of the one before it on this SM: from the last instructions
    to the first. Registers allow one block per SM; dynamic shared memory is that of the launch.
    """
    name, threads = "block_starts", 384
    registers = f".reg .f32 %f<{_HELD_REGISTERS}>, %a;\n.reg .b64 %processor;\n.reg .pred %never;"
    spin = _lines(f"fma.rn.f32 %f{i}, %f{i}, %a, %f{(i + 1) % _HELD_REGISTERS};" for i in range(_HELD_REGISTERS))
    keep = _lines(f"add.f32 %f0, %f0, %f{i};" for i in range(1, _HELD_REGISTERS))
    body = f"""\
mov.u64 %start, %clock64;
cvt.rn.f32.u32 %a, %size;
{_lines(f"add.f32 %f{i}, %a, 0f{0x3F800000 + (i << 16):08x};" for i in range(_HELD_REGISTERS))}
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
    return Probe(name, _kernel(name, body, registers, threads), threads=threads)


# --- Bandwidth ------------------------------------------------------------------------------------------------------

VECTORS_PER_THREAD = 8
STREAM_THREADS = 512


def stream(copy: bool) -> Probe:
    """Threads read `inner` tiles of 64 KB by ld.global.v4, grid stride, and add, or store them at out: HBM bandwidth.

    A thread has several loads in flight. Bytes over the time of the launch are hbm_terabytes_per_second.
    """
    name = "stream_copy" if copy else "stream_read"
    tile = STREAM_THREADS * 16 * VECTORS_PER_THREAD
    vectors = ["{" + ", ".join(f"%v{4 * i + j}" for j in range(4)) + "}" for i in range(VECTORS_PER_THREAD)]
    offsets = [STREAM_THREADS * 16 * i for i in range(VECTORS_PER_THREAD)]
    lines = [
        f"ld.global.v4.u32 {vector}, [%address+{offset}];" for vector, offset in zip(vectors, offsets, strict=True)
    ]
    if copy:
        lines += [
            f"st.global.v4.u32 [%target+{offset}], {vector};" for vector, offset in zip(vectors, offsets, strict=True)
        ]
    else:
        lines += [f"xor.b32 %sum, %sum, %v{i};" for i in range(4 * VECTORS_PER_THREAD)]
    body = f"""\
mul.wide.u32 %wide, %block, {tile};
mul.wide.u32 %step, %thread, 16;
add.u64 %wide, %wide, %step;
add.u64 %address, %data, %wide;
add.u64 %target, %out, %wide;
mul.wide.u32 %step, %grid, {tile};
mov.u32 %sum, 0;
mov.u32 %i, %inner;
TILE:
.pragma "nounroll";
{_lines(lines)}
add.u64 %address, %address, %step;
add.u64 %target, %target, %step;
sub.u32 %i, %i, 1;
setp.ne.u32 %again, %i, 0;
@%again bra TILE;
setp.eq.u32 %again, %sum, 0x12345678;
@%again st.global.u32 [%out], %sum;
"""
    registers = f".reg .b32 %v<{4 * VECTORS_PER_THREAD}>, %sum;\n.reg .b64 %target;"
    return Probe(name, _kernel(name, body, registers, STREAM_THREADS), threads=STREAM_THREADS)


RING_SLOTS, RING_SLOT_BYTES = 8, 16384
L2_REGION_BYTES = 1 << 24


def ring(kind: str) -> Probe:
    """One thread per block keeps eight bulk copies of 16 KB in flight; kind "hbm", "hbm_copy" or "l2".

    "hbm" reads each byte of its data once, "hbm_copy" stores it too, at out: hbm_terabytes_per_second, by events. "l2"
    reads a region of 16 MB around, each block from a place of its own: l2_bytes_per_cycle is the bytes of a block over
    its cycles, of which the first thread stores the clocks. A block makes `inner` x 8 copies.
    """
    name = f"ring_{kind}"

    def refill(slot: int) -> list[str]:
        load = [
            _expect(f"%base+{8 * slot}", str(RING_SLOT_BYTES)),
            "add.u64 %address, %data, %wide;",
            _load(
                f"%base+{_FIRST_SLOT + slot * RING_SLOT_BYTES}", "%address", str(RING_SLOT_BYTES), f"%base+{8 * slot}"
            ),
            "add.u64 %wide, %wide, %step;",
        ]
        return [*load, f"and.b64 %wide, %wide, {L2_REGION_BYTES - 1};"] if kind == "l2" else load

    def store(slot: int) -> list[str]:
        source = f"%base+{_FIRST_SLOT + slot * RING_SLOT_BYTES}"
        return [
            f"cp.async.bulk.global.shared::cta.bulk_group [%target], [{source}], {RING_SLOT_BYTES};",
            "cp.async.bulk.commit_group;",
            "add.u64 %target, %target, %step;",
        ]

    copying = kind == "hbm_copy"
    # A slot is stored one step before it is filled again, so that its store overlaps with the next one.
    lag = 1 if copying else 0
    loop = []
    for slot in range(RING_SLOTS):
        loop.append(_wait(f"FULL_{slot}", f"%base+{8 * slot}", "%parity"))
        if copying:
            loop += [*store(slot), f"cp.async.bulk.wait_group.read {lag};"]
        loop += [
            "setp.lt.u32 %again, %next, %total;",
            f"@!%again bra SKIP_{slot};",
            *refill((slot - lag) % RING_SLOTS),
            f"SKIP_{slot}:",
            "add.u32 %next, %next, 1;",
        ]
    start = f"mul.wide.u32 %wide, %block, {RING_SLOT_BYTES};\nmul.wide.u32 %step, %grid, {RING_SLOT_BYTES};\n"
    if kind == "l2":
        spread = 7 * RING_SLOT_BYTES
        start = f"mul.wide.u32 %wide, %block, {spread};\nand.b64 %wide, %wide, {L2_REGION_BYTES - 1};\n"
        start += f"mov.u64 %step, {RING_SLOT_BYTES};\n"
    primed = RING_SLOTS - lag
    body = [
        _ELECT + _initialise(RING_SLOTS) + start,
        "mul.wide.u32 %record, %block, 16;",
        "add.u64 %record, %record, %out;",
        "add.u64 %target, %out, %wide;",
        f"mul.lo.u32 %total, %inner, {RING_SLOTS};",
        f"mov.u32 %next, {primed};",
        "mov.u32 %parity, 0;",
        "mov.u32 %i, %inner;",
        "mov.u64 %start, %clock64;",
        *(line for slot in range(primed) for line in refill(slot)),
        "STREAM:",
        '.pragma "nounroll";',
        *loop,
        "xor.b32 %parity, %parity, 1;",
        "sub.u32 %i, %i, 1;",
        "setp.ne.u32 %again, %i, 0;",
        "@%again bra STREAM;",
        "mov.u64 %end, %clock64;",
        "cp.async.bulk.wait_group 0;" if copying else "st.global.v2.u64 [%record], {%start, %end};",
        "",
    ]
    registers = ".reg .b32 %next, %total;\n.reg .b64 %target;"
    shared = _FIRST_SLOT + RING_SLOTS * RING_SLOT_BYTES
    return Probe(name, _kernel(name, _lines(body), registers, 32), RING_SLOTS, shared_bytes=shared)


COLUMNS = (64, 128, 256)

PROBES = {
    probe.name: probe
    for probe in (
        empty(),
        timer(),
        block_starts(),
        *(fma_chains(chains) for chains in (1, 2, 4, 8)),
        exponentials(1),
        exponentials(4),
        shuffles(1),
        shuffles(4),
        logic(),
        maxima(),
        warp_multiplies(),
        mbarrier_exchange(all_threads=False),
        mbarrier_exchange(all_threads=True),
        named_exchange(),
        block_barriers(),
        proxy_fences(stores=False),
        proxy_fences(stores=True),
        *(cluster_barriers(cluster, relaxed) for cluster in (2, 4) for relaxed in (False, True)),
        *(copies(number, boxes) for boxes in (False, True) for number in (1, 2, 3, 4)),
        *(copy_issues(boxes, same) for boxes in (False, True) for same in (False, True)),
        stores(read=False),
        stores(read=True),
        pointer_chase(),
        *(multiply_chain(columns, registers) for columns in COLUMNS for registers in (False, True)),
        *(multiply_chain(columns, fp8=True) for columns in COLUMNS),
        *(
            multiply_groups(columns, registers, count)
            for columns in COLUMNS
            for registers in (False, True)
            for count in (1, 4)
        ),
        *(multiplies_beside_loads(columns) for columns in COLUMNS),
        stream(copy=False),
        stream(copy=True),
        ring("hbm"),
        ring("hbm_copy"),
        ring("l2"),
    )
}
