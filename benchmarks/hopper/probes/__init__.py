"""The kernels that measure the constants of the cost model: each docstring says what is timed and what follows."""

from __future__ import annotations

from probes.bandwidth import ring, stream
from probes.launches import block_starts, empty, timer
from probes.memory_latency import copies, copy_issues, pointer_chase, stores
from probes.multiplies import multiplies_beside_loads, multiply_chain, multiply_groups
from probes.synchronization import block_barriers, cluster_barriers, mbarrier_exchange, named_exchange, proxy_fences
from probes.warp_instructions import exponentials, fma_chains, logic, maxima, shuffles, warp_multiplies

# The columns of the multiplies that are timed.
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
