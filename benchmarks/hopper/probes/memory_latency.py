"""Probes of the latency of memory: copies by TMA, their issue, stores, and loads of threads."""

from __future__ import annotations

from probes.text import (
    ELECT,
    FIRST_SLOT,
    Probe,
    box_load,
    bulk_load,
    entry,
    expect_bytes,
    initialise_barriers,
    joined,
    record_addresses,
    timed_rounds,
    wait_for,
)

# Bytes from the source of one set of copies to that of the next: a launch loads each source once, which misses L2 the
# first time and hits it later.
SOURCE_STRIDE = 32768
BOX_ROWS, BOX_COLUMNS = 64, 64
BOX_BYTES = BOX_ROWS * BOX_COLUMNS * 2


def copies(number: int, boxes: bool) -> Probe:
    """One thread issues 1 to 4 copies on one mbarrier and waits; one set after the other.

    tma_l2_latency_cycles and tma_dram_latency_cycles are the time of a set of one copy, issue and wake included;
    tma_cycles_per_kilobyte its slope over the size; tma_further_copy_cycles the increase by each further copy. Sources
    are bytes, or boxes of 64 x 64 f16 with the swizzle of 128 bytes. The time per set includes expect_tx.
    """
    name, unrolled = f"copies_{'boxes' if boxes else 'bytes'}_{number}", 2
    setup = record_addresses("1", "0") + ELECT + initialise_barriers(1)
    setup += f"mul.lo.u32 %bytes, %size, {number};\nmov.u32 %row, 0;\nmov.u64 %address, %data;\n"
    lines = []
    for parity in range(unrolled):
        lines.append(expect_bytes("%base", "%bytes"))
        for i in range(number):
            destination = f"%base+{FIRST_SLOT + 16384 * i}"
            if boxes:
                lines += [f"add.u32 %other_row, %row, {i * BOX_ROWS};", box_load(destination, "%other_row", "%base")]
            else:
                lines.append(bulk_load(destination, f"%address+{i * SOURCE_STRIDE // 4}", "%size", "%base"))
        lines.append(wait_for(f"WAIT_{parity}", "%base", str(parity)))
        lines += [f"add.u64 %address, %address, {SOURCE_STRIDE};", f"add.u32 %row, %row, {SOURCE_STRIDE // 128};"]
    body = setup + timed_rounds(joined(lines), before="", leader="leader")
    shared = FIRST_SLOT + 4 * 16384
    registers = ".reg .b32 %row, %other_row;"
    return Probe(name, entry(name, body, registers, 32), unrolled, shared_bytes=shared, recorders=1)


def copy_issues(boxes: bool, same: bool) -> Probe:
    """One thread issues copies without waiting, 16 per iteration: tma_issue_cycles is the interval of their issue.

    All copies of a round count on one mbarrier, whose wait is not timed. Sources, which L2 holds, and destinations are
    16 places, for which each copy needs some instructions of the uniform datapath, or one place if `same`.
    """
    name, unrolled = f"issues_{'boxes' if boxes else 'bytes'}{'_same' if same else ''}", 16
    setup = record_addresses("1", "0") + ELECT + initialise_barriers(1) + "mul.lo.u32 %bytes, %size, %inner;\n"
    setup += f"mul.lo.u32 %bytes, %bytes, {unrolled};\nmov.u32 %parity, 0;\n"
    lines = []
    for i in [0] * unrolled if same else range(unrolled):
        destination = f"%base+{FIRST_SLOT + BOX_BYTES * i}"
        if boxes:
            lines.append(box_load(destination, str(i * BOX_ROWS), "%base"))
        else:
            lines.append(bulk_load(destination, f"%data+{i * BOX_BYTES}", "%size", "%base"))
    timed = timed_rounds(joined(lines), before=expect_bytes("%base", "%bytes"), leader="leader")
    # The wait comes between the timed region and the next round.
    wait = wait_for("WAIT", "%base", "%parity") + "\nxor.b32 %parity, %parity, 1;\nadd.u64 %record"
    body = setup + timed.replace("add.u64 %record", wait, 1)
    shared = FIRST_SLOT + unrolled * BOX_BYTES
    return Probe(name, entry(name, body, maximum=32), unrolled, shared_bytes=shared, recorders=1)


def stores(read: bool) -> Probe:
    """One thread stores `size` bytes of shared memory and waits for the group, or until it has read its source.

    tma_store_latency_cycles is the time of the first minus the transfer, from the line over the size; the time of
    wait_group.read is that after which a slot may be written again.
    """
    name, unrolled = "stores_read" if read else "stores_done", 2
    setup = record_addresses("1", "0") + "mov.u32 %i, %lane;\nCLEAR:\nshl.b32 %x, %i, 2;\nadd.u32 %x, %x, %base;\n"
    setup += f"st.shared.u32 [%x+{FIRST_SLOT}], %i;\nadd.u32 %i, %i, 32;\nsetp.lt.u32 %again, %i, 4096;\n"
    setup += "@%again bra CLEAR;\nfence.proxy.async.shared::cta;\nbar.warp.sync 0xffffffff;\n" + ELECT
    setup += "mov.u64 %address, %data;\n"
    lines = [
        f"cp.async.bulk.global.shared::cta.bulk_group [%address], [%base+{FIRST_SLOT}], %size;",
        "cp.async.bulk.commit_group;",
        f"cp.async.bulk.wait_group{'.read' if read else ''} 0;",
        f"add.u64 %address, %address, {SOURCE_STRIDE};",
    ]
    body = setup + timed_rounds(joined(lines * unrolled), before="", leader="leader") + "cp.async.bulk.wait_group 0;\n"
    shared = FIRST_SLOT + 16384
    return Probe(name, entry(name, body, maximum=32), unrolled, shared_bytes=shared, recorders=1)


def pointer_chase() -> Probe:
    """One thread loads the address of its next load, without L1: load_l2_latency_cycles, load_dram_latency_cycles.

    The list is in random order; it misses L2 when it is read for the first time after L2 was overwritten.
    """
    name, unrolled = "pointer_chase", 16
    setup = record_addresses("1", "0") + ELECT + "mov.u64 %address, %data;\n"
    body = joined(["ld.global.cg.u64 %address, [%address];"] * unrolled)
    # The end of the round depends on the last load.
    after = "setp.eq.u64 %done, %address, 0;\n@%done bra FINISH;"
    text = entry(name, setup + timed_rounds(body, before="", after=after, leader="leader"), maximum=32)
    return Probe(name, text, unrolled, recorders=1)
