"""Probes of the tensor pipe: wgmma in chains, in groups, and beside copies."""

from __future__ import annotations

from dataclasses import dataclass

from probes.text import (
    ELECT,
    FIRST_SLOT,
    Probe,
    braced,
    bulk_load,
    entry,
    expect_bytes,
    initialise_barriers,
    joined,
    record_addresses,
    timed_rounds,
    wait_for,
)

# The value of `size` with which the loader of a share_N probe copies nothing.
IDLE = 0

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
    return joined(lines) + "\n"


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
        return joined(lines) + "\n"

    def issue(self, step: int) -> str:
        depth, kind = (32, "e4m3.e4m3") if self.fp8 else (16, "f16.f16")
        a = braced("a", 4) if self.registers else f"%a_step{step % 4}"
        transposed = "" if self.fp8 else ", 0" if self.registers else ", 0, 0"
        return (
            f"wgmma.mma_async.sync.aligned.m64n{self.columns}k{depth}.f32.{kind} {braced('d', self.columns // 2)}, "
            f"{a}, %b_step{step % 4}, %true, 1, 1{transposed};"
        )

    def keep(self) -> str:
        """Uses the accumulator."""
        lines = [f"add.f32 %d0, %d0, %d{i};" for i in range(1, self.columns // 2)]
        return joined([*lines, "setp.eq.f32 %done, %d0, 0f4640e400;", "@%done st.global.f32 [%out], %d0;", ""])


def multiply_chain(columns: int, registers: bool = False, fp8: bool = False) -> Probe:
    """wgmma without a wait in between, 16 per iteration and commit group, all on one accumulator.

    The group before the last is waited for, so that the pipe always has work. tensor_columns_per_cycle is the columns
    over the interval, times the warpgroups that run the chain.
    """
    multiply, count = _Multiply(columns, registers, fp8), 16
    name = f"multiply_chain_{multiply.suffix}"
    setup = record_addresses() + _zero_operands(0, 128) + _descriptors(0) + multiply.start()
    body = ["wgmma.fence.sync.aligned;", *(multiply.issue(i) for i in range(count))]
    body += ["wgmma.commit_group.sync.aligned;", "wgmma.wait_group.sync.aligned 1;"]
    text = setup + timed_rounds(joined(body), after="wgmma.wait_group.sync.aligned 0;") + multiply.keep()
    text = entry(name, text, multiply.declarations, 256)
    return Probe(name, text, count, threads=128, shared_bytes=_OPERAND_BYTES)


def multiply_groups(columns: int, registers: bool = False, count: int = 1) -> Probe:
    """Groups of `count` wgmma, each committed and waited for before the next one.

    multiply_latency_cycles (tensor_memory_multiply_latency_cycles with A in registers) is the time of a group minus
    `count` intervals.
    """
    multiply, groups = _Multiply(columns, registers), 4
    name = f"multiply_groups_{multiply.suffix}_{count}"
    setup = record_addresses() + _zero_operands(0, 128) + _descriptors(0) + multiply.start()
    group = ["wgmma.fence.sync.aligned;", *(multiply.issue(i) for i in range(count))]
    group += ["wgmma.commit_group.sync.aligned;", "wgmma.wait_group.sync.aligned 0;"]
    text = entry(name, setup + timed_rounds(joined(group * groups)) + multiply.keep(), multiply.declarations, 256)
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
        record_addresses("9", "%warp")
        + "setp.ne.u32 %other, %thread, 0;\n@%other bra READY;\n"
        + initialise_barriers(SHARE_SLOTS)
        + f"st.shared.u32 [%base+{FIRST_SLOT}], 0;\nREADY:\n"
        + _zero_operands(first, 288)
        + _descriptors(first)
        # ptxas takes a branch by a value that shfl broadcasts as one of the whole warp.
        + "shfl.sync.idx.b32 %x, %warp, 0, 31, 0xffffffff;\nsetp.ge.u32 %other, %x, 8;\n@%other bra LOADER;\n"
        + multiply.start()
    )
    body = ["wgmma.fence.sync.aligned;", *(multiply.issue(i) for i in range(count))]
    body += ["wgmma.commit_group.sync.aligned;", "wgmma.wait_group.sync.aligned 1;"]
    chains = timed_rounds(joined(body), "bar.sync 1, 256;", "wgmma.wait_group.sync.aligned 0;") + multiply.keep()
    # The count of warps that have finished all rounds.
    chains += f"@%leader red.relaxed.cta.shared::cta.add.u32 [%base+{FIRST_SLOT}], 1;\nbra FINISH;\n"

    def refill(slot: int) -> list[str]:
        destination = f"%base+{slots + slot * SHARE_SLOT_BYTES}"
        return [
            expect_bytes(f"%base+{8 * slot}", str(SHARE_SLOT_BYTES)),
            "add.u64 %address, %data, %wide;",
            bulk_load(destination, "%address", str(SHARE_SLOT_BYTES), f"%base+{8 * slot}"),
            f"add.u64 %wide, %wide, {SHARE_SLOT_BYTES};",
            f"and.b64 %wide, %wide, {SHARE_REGION_BYTES - 1};",
        ]

    loop = []
    for slot in range(SHARE_SLOTS):
        loop += [wait_for(f"FULL_{slot}", f"%base+{8 * slot}", "%parity"), *refill(slot)]
    loader = [
        "LOADER:",
        f"setp.eq.u32 %done, %size, {IDLE};",
        "@%done bra FINISH;",
        ELECT,
        "mov.u64 %wide, 0;",
        "mov.u32 %parity, 0;",
        "mov.u64 %copied, 0;",
        "mov.u64 %start, %clock64;",
        *(line for slot in range(SHARE_SLOTS) for line in refill(slot)),
        "STREAM:",
        *loop,
        f"add.u64 %copied, %copied, {SHARE_SLOTS * SHARE_SLOT_BYTES};",
        "xor.b32 %parity, %parity, 1;",
        f"ld.relaxed.cta.shared::cta.u32 %x, [%base+{FIRST_SLOT}];",
        "setp.lt.u32 %again, %x, 8;",
        "@%again bra STREAM;",
        "mov.u64 %end, %clock64;",
        "sub.u64 %end, %end, %start;",
        "st.global.v2.u64 [%record], {%copied, %end};",
        *(wait_for(f"LAST_{slot}", f"%base+{8 * slot}", "%parity") for slot in range(SHARE_SLOTS)),
        "",
    ]
    registers = multiply.declarations + "\n.reg .b64 %copied;"
    text = entry(name, setup + chains + joined(loader), registers, 288)
    shared = slots + SHARE_SLOTS * SHARE_SLOT_BYTES
    return Probe(name, text, count, threads=288, shared_bytes=shared, recorders=9)
