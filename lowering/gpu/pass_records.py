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
from tilec.lowering.gpu.columns.emulate_exponentials import emulate_exponentials
from tilec.lowering.gpu.columns.order_steps import order_steps
from tilec.lowering.gpu.columns.read_early import read_early
from tilec.lowering.gpu.columns.skip_updates import skip_updates
from tilec.lowering.gpu.kernel_pass import KernelPass, State
from tilec.lowering.gpu.roles.alternate_tiles import alternate_tiles
from tilec.lowering.gpu.roles.assign_roles import assign_roles
from tilec.lowering.gpu.roles.partition_roles import partition_roles
from tilec.lowering.gpu.roles.register_budgets import register_budgets
from tilec.lowering.gpu.roles.repeat_scalars import repeat_scalars
from tilec.lowering.gpu.schedule.advance_late_sums import advance_late_sums
from tilec.lowering.gpu.schedule.advance_loads import advance_loads
from tilec.lowering.gpu.schedule.advance_multiplies import advance_multiplies
from tilec.lowering.gpu.schedule.delay_multiplies import delay_multiplies
from tilec.lowering.gpu.schedule.expand_schedules import expand_schedules
from tilec.lowering.gpu.schedule.follow_schedule import follow_schedule
from tilec.lowering.gpu.schedule.issue_early import issue_early
from tilec.lowering.gpu.schedule.order_warpgroups import order_warpgroups
from tilec.lowering.gpu.schedule.unroll_loads import unroll_loads
from tilec.lowering.gpu.schedule.wgmma_in_flight import wgmma_in_flight

RECORDS = (
    KernelPass(
        "assign-roles",
        assign_roles,
        guarantees=(
            "tiles that a multiply reads are placed as soon as they are computed; unless `roles=off`, each chain of "
            "tiles that reads products in a loop and gives operands to multiplies has a `tile_gpu.role`: `compute`, "
            "`compute1`, ..; the accumulators that chains update in loops, and what is computed from them, have the "
            "role after those"
        ),
        without="one role computes all chains, and tiles are in registers until the multiply",
    ),
    KernelPass(
        "make-channels",
        make_channels,
        guarantees="no placed tiles: each has a slot of a channel, a staging buffer, or the columns of an accumulator",
        without="runs before the lowering to PTX",
        gives=(State.CHANNELLED,),
        after=("assign-roles",),
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
            "an operand over an accumulator is multiplied in two parts, the first as soon as its columns are stored"
        ),
        without="a thread has whole rows in registers, and a multiply waits for the whole tile",
        needs=(State.CHANNELLED, State.UNDIVIDED),
    ),
    KernelPass(
        "order-steps",
        order_steps,
        guarantees=(
            "a slot of tensor memory is released behind the reduction of its tile, and what is not stored in a slot "
            "precedes the wait for it; signals stay in front of what is computed and stored behind them"
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
        guarantees="channels that are never in use at the same time share slots",
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
        "advance-multiplies",
        advance_multiplies,
        guarantees=(
            "in the role `mma`, multiplies that need only loads are scheduled one iteration ahead of those that wait "
            "for threads; so are their loads in the role `load`, where one behind them has a ring of one slot, if it "
            'is proven that all roles still terminate ("Schedules", "Liveness")'
        ),
        without="the tensor core waits for the threads",
        needs=(State.CHANNELLED, State.EXPANDED),
        after=("pipeline",),
        option="pipeline",
    ),
    KernelPass(
        "issue-early",
        issue_early,
        guarantees=(
            "in loops of roles with several `wgmma`, those that need only tiles of `tma` are scheduled behind the first"
            " one, as far as the role of the loads needs nothing between; waits are in front of the first use or "
            "release, in the order of the multiplies, if the registers of the sums remain"
        ),
        without="each multiply is awaited before the next one is issued",
        needs=(State.CHANNELLED, State.EXPANDED),
        after=("pipeline",),
        option="pipeline",
        unit="wgmma",
    ),
    KernelPass(
        "delay-multiplies",
        delay_multiplies,
        guarantees=(
            "a `wgmma` whose lhs is in registers, and whose accumulator a loop carries, is scheduled behind the "
            "`wgmma` that starts the next iteration, if the registers of lhs remain"
        ),
        without="the tensor core waits for the threads",
        needs=(State.CHANNELLED, State.EXPANDED),
        after=("pipeline", "issue-early"),
        option="pipeline",
        unit="wgmma",
    ),
    KernelPass(
        "unroll-loads",
        unroll_loads,
        guarantees=(
            "innermost loops whose threads load few bytes early contain up to four iterations, as long as their early"
            " loads have at most 64 bytes per thread; these loads come first, and the remaining iterations run in a "
            "loop of their own"
        ),
        without="the loads of one iteration are in flight",
        needs=(State.CHANNELLED, State.EXPANDED),
        after=("pipeline",),
        option="pipeline",
    ),
    KernelPass(
        "wgmma-in-flight",
        wgmma_in_flight,
        guarantees=(
            "loops whose multiplies carry an accumulator wait for the `wgmma` of the iteration before (`pending`), "
            "and release its slot; the last ones are awaited after the loop"
        ),
        without="each multiply is awaited in its iteration",
        needs=(State.CHANNELLED, State.EXPANDED),
        after=("pipeline", "delay-multiplies"),
        option="pipeline",
        unit="wgmma",
    ),
    KernelPass(
        "advance-loads",
        advance_loads,
        guarantees=(
            "in innermost loops of multiplies, loads of threads that are `early` run so many iterations ahead that "
            "they hide the latency of memory, as far as registers last; the loop carries the tiles on their way, and "
            "has `tile_gpu.repeats`"
        ),
        without="threads wait for memory in each iteration",
        needs=(State.CHANNELLED, State.EXPANDED),
        after=("pipeline", "register-budgets"),
        option="pipeline",
    ),
    KernelPass(
        "emulate-exponentials",
        emulate_exponentials,
        guarantees=(
            "in loops where MUFU takes as long as other units, `exp2.approx.ftz` of tiles of f32 has `polynomials`: "
            "the share of the elements with which all units together take the fewest cycles"
        ),
        without="MUFU computes all",
        needs=(State.CHANNELLED, State.EXPANDED),
        after=("partition-roles",),
    ),
    KernelPass(
        "advance-late-sums",
        advance_late_sums,
        guarantees=(
            "multiplies that `advance-multiplies` has one iteration ahead are scheduled two ahead, and so are their "
            "loads, where the steady state of the loop (`lowering/schedule`) is then shorter and the sums have two "
            "slots; loops that then meet their bound have `tile_gpu.bound`, which `follow-schedule` removes"
        ),
        without="threads wait for the sums, which are multiplied behind the tile that they made before",
        needs=(State.CHANNELLED, State.EXPANDED),
        after=("advance-multiplies", "emulate-exponentials"),
        option="pipeline",
    ),
    KernelPass(
        "follow-schedule",
        follow_schedule,
        guarantees=(
            "loops of roles that multiply, and whose steady state is more than 1 % longer than its bound, have a "
            'schedule ("Schedules"), and their rings the slots of it'
        ),
        without="loops are as the passes before leave them",
        needs=(State.CHANNELLED, State.EXPANDED),
        after=("advance-late-sums",),
        option="pipeline",
    ),
    KernelPass(
        "expand-schedules",
        expand_schedules,
        guarantees=(
            'no loop has a schedule ("Schedules"): operations are in its order, with a prologue for those that run '
            "iterations ahead and an epilogue for the others; runs before each pass that needs expanded loops"
        ),
        without="loops keep the order of the program",
        needs=(State.CHANNELLED,),
        gives=(State.EXPANDED,),
        after=("follow-schedule",),
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
        after=("issue-early", "delay-multiplies", "wgmma-in-flight", "follow-schedule"),
        option="pipeline",
        unit="wgmma",
    ),
    KernelPass(
        "fill-accumulators",
        fill_accumulators,
        guarantees=(
            "an accumulator that no multiply has written, as behind a loop without iterations, is filled in tensor "
            "memory in front of its load"
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
