"""The records of the passes over a kernel of tile_gpu, in order; the kernel stays correct without any of them."""

from __future__ import annotations

from tilec.lowering.gpu.channels.copy_rows import copy_rows
from tilec.lowering.gpu.channels.fill_accumulators import fill_accumulators
from tilec.lowering.gpu.channels.fuse_channels import fuse_channels
from tilec.lowering.gpu.channels.make_channels import make_channels
from tilec.lowering.gpu.channels.pipeline import pipeline
from tilec.lowering.gpu.channels.reuse_channels import reuse_channels
from tilec.lowering.gpu.channels.share_loads import share_loads
from tilec.lowering.gpu.columns.divide_columns import divide_columns
from tilec.lowering.gpu.columns.order_steps import order_steps
from tilec.lowering.gpu.columns.read_early import read_early
from tilec.lowering.gpu.columns.skip_updates import skip_updates
from tilec.lowering.gpu.kernel_pass import KernelPass, State
from tilec.lowering.gpu.roles.alternate_tiles import alternate_tiles
from tilec.lowering.gpu.roles.assign_roles import assign_roles
from tilec.lowering.gpu.roles.partition_roles import partition_roles
from tilec.lowering.gpu.roles.persist import persist
from tilec.lowering.gpu.roles.register_budgets import register_budgets
from tilec.lowering.gpu.roles.repeat_scalars import repeat_scalars
from tilec.lowering.gpu.schedule.expand_schedules import expand_schedules
from tilec.lowering.gpu.schedule.order_warpgroups import order_warpgroups
from tilec.lowering.gpu.schedule.schedule_loops import schedule_loops

RECORDS = (
    KernelPass(
        "persist",
        persist,
        guarantees=(
            "with `persistent=on` a tile block computes others after itself, which it claims before they start: a "
            'loop is around the code of the kernel ("Claims")'
        ),
        without="the hardware starts a block for each tile block",
        needs=(State.UNDIVIDED,),
        option="persistent",
    ),
    KernelPass(
        "assign-roles",
        assign_roles,
        guarantees=(
            "tiles that a multiply reads are placed as soon as they are computed, before the loops in which they do "
            "not change, and once per block and layout; unless `roles=off`, each chain of tiles that reads products in "
            "a loop and gives operands to multiplies has a `tile_gpu.role`: `compute`, `compute1`, ..; the "
            "accumulators that chains update in loops, and what is computed from them, have the role after those"
        ),
        without="one role computes all chains, and tiles are in registers until the multiply",
    ),
    KernelPass(
        "make-channels",
        make_channels,
        guarantees="no placed tiles: each has a slot of a channel, a staging buffer, or the columns of an accumulator",
        without="runs before the lowering to PTX",
        gives=(State.CHANNELLED,),
        after=("persist", "assign-roles"),
    ),
    KernelPass(
        "copy-rows",
        copy_rows,
        guarantees=(
            "rings of operands that threads only load and store are filled by copies of a role of its own (`producer "
            "copies`), as far as their addresses need nothing of other threads"
        ),
        without="threads that multiply load the operands",
        needs=(State.CHANNELLED, State.UNDIVIDED),
        option="roles",
    ),
    KernelPass(
        "divide-columns",
        divide_columns,
        guarantees=(
            "columns of an accumulator are read where they are used, if that leaves columns for the others; threads "
            "update accumulators in parts of 32 columns, and compute and store operands of multiplies in parts of 16; "
            "an operand over an accumulator is multiplied in two parts, the first as soon as its columns are stored; "
            "threads wait for the slot of an operand before they compute the last columns of its functions of MUFU"
        ),
        without="a thread has whole rows in registers, and a multiply waits for the whole tile",
        needs=(State.CHANNELLED, State.UNDIVIDED),
    ),
    KernelPass(
        "order-steps",
        order_steps,
        guarantees=(
            "a slot of tensor memory is released after the reduction of its tile, and what is not stored in a slot "
            "precedes the wait for it; tiles that TMA loads for threads are read where they meet others; signals stay "
            "before later computations and stores; products of `wgmma` with as many registers as the largest "
            "accumulator, which are multiplied by tiles and added to one, are computed in parts of its columns "
            "(`promote .. times`)"
        ),
        without="waits and signals stand between arithmetic that could overlap",
        needs=(State.CHANNELLED, State.UNDIVIDED),
        after=("divide-columns",),
    ),
    KernelPass(
        "fuse-channels",
        fuse_channels,
        guarantees="TMA loads that are got and released together have one channel",
        without="one pair of barriers per load",
        needs=(State.CHANNELLED, State.UNDIVIDED),
    ),
    KernelPass(
        "share-loads",
        share_loads,
        guarantees=(
            "CTAs of a tile block load once what all need: for multiplies of pairs, or by multicast; so do adjacent "
            "tile blocks of one CTA, which are a cluster then, where L2 takes 1.7 times as long as any other unit in "
            "the loop of `wgmma`"
        ),
        without="each CTA loads all that it needs",
        needs=(State.CHANNELLED, State.UNDIVIDED),
        after=("fuse-channels",),
        option="multicast",
    ),
    KernelPass(
        "reuse-channels",
        reuse_channels,
        guarantees=(
            "channels with the same roles that are never in use at the same time share slots, as do the equal loads of "
            "the multiplies of a loop body; one role computes if the operands of several do not fit in shared memory"
        ),
        without="each has memory of its own",
        needs=(State.CHANNELLED, State.UNDIVIDED),
        after=("share-loads", "divide-columns"),
    ),
    KernelPass(
        "partition-roles",
        partition_roles,
        guarantees="TMA, copies, tensor cores and the threads of each role run concurrently",
        without="one role runs all in program order",
        needs=(State.CHANNELLED, State.UNDIVIDED),
        after=("reuse-channels",),
        option="roles",
    ),
    KernelPass(
        "alternate-tiles",
        alternate_tiles,
        guarantees=(
            'on `sm_90a` the roles `compute` and `compute1` compute alternate tiles of a persistent loop ("Alternate '
            'tiles")'
        ),
        without="the tensor core idles during the epilogue of a tile",
        needs=(State.CHANNELLED,),
        after=("partition-roles",),
        option="roles",
        unit="wgmma",
    ),
    KernelPass(
        "read-early",
        read_early,
        guarantees=(
            "where tensor memory has no room for a second accumulator, the last columns for which a thread has 160 "
            "registers are read, and converted to narrower elements, before they are stored; then the slot is "
            "released"
        ),
        without="multiplies of the next tile wait until all columns but the last are stored",
        needs=(State.CHANNELLED,),
        after=("reuse-channels",),
        option="pipeline",
    ),
    KernelPass(
        "skip-updates",
        skip_updates,
        guarantees="warps leave accumulators in tensor memory as they are where they multiply all of their rows by 1",
        without="all rows are loaded, multiplied and stored",
        needs=(State.CHANNELLED,),
        after=("partition-roles",),
    ),
    KernelPass(
        "register-budgets",
        register_budgets,
        guarantees=(
            "roles whose tiles need more than an equal share of the registers have `registers`, and the other roles "
            "fewer, unless the kernel calls functions"
        ),
        without="all threads have the same number of registers",
        needs=(State.CHANNELLED,),
        after=("partition-roles", "read-early", "skip-updates"),
        option="register_budgets",
    ),
    KernelPass(
        "pipeline",
        pipeline,
        guarantees=(
            "rings of TMA loads and of copies have `wanted`, the slots that hide the latency of the loads, and two for "
            "operands that threads load and store in a loop; they have these slots, and more that cost nothing, as far "
            "as memory allows"
        ),
        without="one slot",
        needs=(State.CHANNELLED,),
        after=("partition-roles",),
        option="pipeline",
    ),
    KernelPass(
        "schedule-loops",
        schedule_loops,
        guarantees=(
            "loops have the order, the iterations ahead and the slots that heuristics and `lowering/schedule` find "
            '("Schedules"): each heuristic, in their order, gives schedules to loops of which it knows a shorter '
            "iteration"
        ),
        without="loops keep the order of the program",
        needs=(State.CHANNELLED,),
        after=("partition-roles", "pipeline", "register-budgets"),
    ),
    KernelPass(
        "expand-schedules",
        expand_schedules,
        guarantees=(
            'no loop has a schedule ("Schedules"): operations are in its order, with a prologue for those that run '
            "iterations ahead and an epilogue for the others; unless `pipeline=off`, rings of loads have fewer slots, "
            "and the kernel `tilec.occupancy`, where more blocks on an SM then take at least 5 % less time by the "
            "model; tiles of rings of at most two slots that several tile blocks read are prefetched to L2, where that "
            "takes at least 2 % less time by the model"
        ),
        without=(
            "loops keep the order of the program, other blocks have the memory that rings leave, and nothing is "
            "prefetched"
        ),
        needs=(State.CHANNELLED,),
        gives=(State.EXPANDED,),
        after=("schedule-loops",),
    ),
    KernelPass(
        "order-warpgroups",
        order_warpgroups,
        guarantees=(
            "on `sm_90a` the warpgroups of a role issue the multiplies of a loop one after the other, where threads "
            'and multiplies take similar times ("Order of warpgroups")'
        ),
        without="warpgroups may multiply together and compute together",
        needs=(State.CHANNELLED, State.EXPANDED),
        after=("expand-schedules",),
        option="pipeline",
        unit="wgmma",
    ),
    KernelPass(
        "fill-accumulators",
        fill_accumulators,
        guarantees=(
            "an accumulator that no multiply has written, as after a loop without iterations, is filled in tensor "
            "memory before its load"
        ),
        without="the branches that load it and that give the constant end in the same registers, with a move for each",
        needs=(State.CHANNELLED, State.EXPANDED),
        after=("partition-roles",),
    ),
    KernelPass(
        "repeat-scalars",
        repeat_scalars,
        guarantees=(
            "roles with `registers` compute the short scalars that they use: those of parameters and program numbers "
            "without a division by another scalar"
        ),
        without="each thread keeps them from the launch, in the registers that it has there, or in local memory",
        needs=(State.CHANNELLED, State.EXPANDED),
        after=("register-budgets",),
        option="register_budgets",
    ),
)
