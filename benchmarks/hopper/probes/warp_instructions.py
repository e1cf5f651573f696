"""Probes of the instructions of warps: chains, rates of units, mma.sync."""

from __future__ import annotations

from probes.text import Probe, braced, entry, joined, record_addresses, timed_rounds

_CHAIN_LENGTH = 256


def _float_chains(name: str, instruction: str, chains: int, first: str = "") -> Probe:
    """`_CHAIN_LENGTH` instructions that belong in turn to this many chains, each instruction using the one before it.

    One chain on one warp takes dependent_issue_cycles per instruction. With 4 and more warps per scheduler and several
    chains, the instructions of all threads per cycle are the rate of the unit.
    """
    registers = f".reg .f32 %f<{chains}>, %a, %b;\n.reg .pred %never;"
    setup = joined(
        [
            record_addresses() + first,
            "cvt.rn.f32.u32 %a, %size;",
            "add.f32 %b, %a, 0f3f800000;",
            *(f"add.f32 %f{i}, %a, 0f{0x3F800000 + (i << 20):08x};" for i in range(chains)),
            "",
        ]
    )
    body = joined(instruction.format(x=f"%f{i % chains}") for i in range(_CHAIN_LENGTH))
    keep = [f"add.f32 %f0, %f0, %f{i};" for i in range(1, chains)]
    keep += ["setp.eq.f32 %never, %f0, 0f4640e400;", "@%never st.global.f32 [%out], %f0;", ""]
    return Probe(name, entry(name, setup + timed_rounds(body) + joined(keep), registers), _CHAIN_LENGTH)


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
    setup = record_addresses() + joined(f"add.u32 %u{i}, %thread, {17 * i + 1};" for i in range(chains)) + "\n"
    # 0xe8 is the majority of three bits.
    body = joined(
        f"lop3.b32 %u{i % chains}, %u{i % chains}, %u{(i + 1) % chains}, %u{(i + 2) % chains}, 0xe8;"
        for i in range(_CHAIN_LENGTH)
    )
    keep = (
        "lop3.b32 %u0, %u0, %u1, %u2, 0x96;\nsetp.eq.u32 %never, %u0, 0x12345678;\n@%never st.global.u32 [%out], %u3;\n"
    )
    return Probe(name, entry(name, setup + timed_rounds(body) + keep, registers), _CHAIN_LENGTH)


def maxima() -> Probe:
    """max.f32 of 4 chains that read each other: alu_per_cycle for comparisons."""
    name, chains = "maxima_4", 4
    registers = f".reg .f32 %f<{chains}>, %a;\n.reg .pred %never;"
    setup = record_addresses() + joined(
        [
            "cvt.rn.f32.u32 %a, %thread;",
            *(f"add.f32 %f{i}, %a, 0f{0x3F800000 + (i << 20):08x};" for i in range(chains)),
            "",
        ]
    )
    body = joined(
        f"{('max', 'min')[i // chains % 2]}.f32 %f{i % chains}, %f{i % chains}, %f{(i + 1) % chains};"
        for i in range(_CHAIN_LENGTH)
    )
    keep = "add.f32 %f0, %f0, %f1;\nadd.f32 %f2, %f2, %f3;\nadd.f32 %f0, %f0, %f2;\n"
    keep += "setp.eq.f32 %never, %f0, 0f4640e400;\n@%never st.global.f32 [%out], %f0;\n"
    return Probe(name, entry(name, setup + timed_rounds(body) + keep, registers), _CHAIN_LENGTH)


def warp_multiplies() -> Probe:
    """mma.sync m16n8k16 of f16 in 8 chains per warp: mma_sync_multiply_adds_per_cycle is 2048 per multiply."""
    name, chains, length = "warp_multiplies", 8, 64
    registers = f".reg .f32 %f<{4 * chains}>;\n.reg .b32 %a<4>, %b<2>;\n.reg .pred %never;"
    setup = joined(
        [
            record_addresses(),
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
            f"{braced('a', 4)}, {braced('b', 2)}, {accumulator};"
        )

    body = joined(multiply(i % chains) for i in range(length))
    keep = [f"add.f32 %f0, %f0, %f{i};" for i in range(1, 4 * chains)]
    keep += ["setp.eq.f32 %never, %f0, 0f4640e400;", "@%never st.global.f32 [%out], %f0;", ""]
    return Probe(name, entry(name, setup + timed_rounds(body) + joined(keep), registers), length)
