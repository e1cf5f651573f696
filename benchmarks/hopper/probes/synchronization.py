"""Probes of barriers and fences."""

from __future__ import annotations

from probes.text import Probe, entry, initialise_barriers, joined, record_addresses, timed_rounds, wait_for


def mbarrier_exchange(all_threads: bool) -> Probe:
    """Two warps, two mbarriers: one thread (or all 32) of a warp arrives, the other warp waits and arrives in turn.

    An iteration has 4 arrivals and wakes per direction; barrier_latency_cycles is the time of one way, which includes
    the issue of the arrival.
    """
    name, ways = f"mbarrier_exchange{'_all' if all_threads else ''}", 8
    setup = (
        record_addresses()
        + "setp.ne.u32 %other, %thread, 0;\n@%other bra READY;\n"
        + initialise_barriers(2, 32 if all_threads else 1)
        + "READY:\nbar.sync 0;\nsetp.eq.u32 %leader, %lane, 0;\nsetp.ge.u32 %other, %thread, 32;\n@%other bra SECOND;\n"
    )

    def arrive(barrier: int) -> str:
        guard = "" if all_threads else "@%leader "
        return f"{guard}mbarrier.arrive.shared::cta.b64 _, [%base+{8 * barrier}];"

    first, second = [], []
    for i in range(ways // 2):
        first += [arrive(0), wait_for(f"FIRST_{i}", "%base+8", str(i % 2))]
        second += [wait_for(f"SECOND_{i}", "%base", str(i % 2)), arrive(1)]
    body = (
        setup + timed_rounds(joined(first)) + "bra FINISH;\nSECOND:\n" + timed_rounds(joined(second), label="_SECOND")
    )
    return Probe(name, entry(name, body, maximum=64), ways, threads=64, shared_bytes=64)


def named_exchange() -> Probe:
    """Two warpgroups: one arrives at barrier 1 and waits at barrier 2, the other waits at 1 and arrives at 2.

    named_barrier_cycles is the time of one way.
    """
    name, ways = "named_exchange", 32
    first = ["bar.arrive 1, 256;", "bar.sync 2, 256;"] * (ways // 2)
    second = ["bar.sync 1, 256;", "bar.arrive 2, 256;"] * (ways // 2)
    body = record_addresses() + "setp.ge.u32 %other, %thread, 128;\n@%other bra SECOND;\n" + timed_rounds(joined(first))
    body += "bra FINISH;\nSECOND:\n" + timed_rounds(joined(second), label="_SECOND")
    return Probe(name, entry(name, body, maximum=256), ways, threads=256)


def block_barriers() -> Probe:
    """bar.sync 0 repeatedly, by 1 to 16 warps: the line over the warps has block_barrier_cycles as its intercept.

    Its slope is block_barrier_cycles_per_warp.
    """
    name, count = "block_barriers", 64
    body = record_addresses() + timed_rounds(joined(["bar.sync 0;"] * count))
    return Probe(name, entry(name, body), count)


def proxy_fences(stores: bool) -> Probe:
    """fence.proxy.async.shared::cta repeatedly, with or without a store of the thread before it: proxy_fence_cycles."""
    name, count = "proxy_fences_after_stores" if stores else "proxy_fences", 32
    store = ["st.shared.u32 [%x], %i;"] if stores else []
    setup = record_addresses() + "shl.b32 %x, %thread, 2;\nadd.u32 %x, %x, %base;\n"
    body = joined([*store, "fence.proxy.async.shared::cta;"] * count)
    return Probe(name, entry(name, setup + timed_rounds(body)), count, threads=128, shared_bytes=4096)


def cluster_barriers(cluster: int, relaxed: bool = False) -> Probe:
    """barrier.cluster arrive and wait repeatedly by blocks of four warps: cluster_barrier_cycles.

    The arrival is a release, with a fence of the memory, or relaxed.
    """
    name, count = f"cluster_barriers_{cluster}{'_relaxed' if relaxed else ''}", 16
    order = "relaxed" if relaxed else "release"
    pair = [f"barrier.cluster.arrive.{order}.aligned;", "barrier.cluster.wait.acquire.aligned;"]
    body = record_addresses() + timed_rounds(joined(pair * count))
    return Probe(name, entry(name, body, maximum=128, cluster=cluster), count, threads=128, cluster=cluster)
