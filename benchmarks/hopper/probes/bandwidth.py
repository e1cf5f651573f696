"""Probes of the bandwidth of HBM and L2."""

from __future__ import annotations

from probes.text import ELECT, FIRST_SLOT, Probe, bulk_load, entry, expect_bytes, initialise_barriers, joined, wait_for

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
{joined(lines)}
add.u64 %address, %address, %step;
add.u64 %target, %target, %step;
sub.u32 %i, %i, 1;
setp.ne.u32 %again, %i, 0;
@%again bra TILE;
setp.eq.u32 %again, %sum, 0x12345678;
@%again st.global.u32 [%out], %sum;
"""
    registers = f".reg .b32 %v<{4 * VECTORS_PER_THREAD}>, %sum;\n.reg .b64 %target;"
    return Probe(name, entry(name, body, registers, STREAM_THREADS), threads=STREAM_THREADS)


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
            expect_bytes(f"%base+{8 * slot}", str(RING_SLOT_BYTES)),
            "add.u64 %address, %data, %wide;",
            bulk_load(
                f"%base+{FIRST_SLOT + slot * RING_SLOT_BYTES}", "%address", str(RING_SLOT_BYTES), f"%base+{8 * slot}"
            ),
            "add.u64 %wide, %wide, %step;",
        ]
        return [*load, f"and.b64 %wide, %wide, {L2_REGION_BYTES - 1};"] if kind == "l2" else load

    def store(slot: int) -> list[str]:
        source = f"%base+{FIRST_SLOT + slot * RING_SLOT_BYTES}"
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
        loop.append(wait_for(f"FULL_{slot}", f"%base+{8 * slot}", "%parity"))
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
        ELECT + initialise_barriers(RING_SLOTS) + start,
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
    shared = FIRST_SLOT + RING_SLOTS * RING_SLOT_BYTES
    return Probe(name, entry(name, joined(body), registers, 32), RING_SLOTS, shared_bytes=shared)
