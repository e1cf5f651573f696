"""The registers of roles: as many as the roles need that need most, from those that need few."""

from __future__ import annotations

from collections.abc import Sequence

from tilec.dialect.tile_gpu.registers import (
    BUDGET_STEP,
    LARGEST_BUDGET,
    REGISTER_FILE,
    WARPS_OF_A_GROUP,
    registers_per_thread,
    roles_by_warpgroups,
    whole_warpgroups,
)

# The registers of threads that only issue asynchronous operations, as tileiras 13.5 chooses them.
LEAST_REGISTERS = 32
# The most warps of all chains of tiles with roles of their own: with more, threads have too few registers.
MOST_CHAIN_WARPS = 12


def chosen_budgets(warps: Sequence[int], needed: Sequence[int], blocks: int = 1) -> list[int] | None:
    """The registers per thread of each role, if `blocks` blocks are on an SM.

    None if an equal share is enough, or if no budgets are enough for more than one block.

    Roles are served in the order of their needs, at least with LEAST_REGISTERS; the neediest have all that remains.
    """
    runs = roles_by_warpgroups(warps)
    share = registers_per_thread(whole_warpgroups(sum(warps)), REGISTER_FILE // blocks) // BUDGET_STEP * BUDGET_STEP
    needs = {run: max(needed[index] for index in run) for run in runs}
    highest = max(needs.values())
    if len(runs) == 1 or highest <= share or share >= LARGEST_BUDGET - BUDGET_STEP:
        return None
    groups = {run: whole_warpgroups(sum(warps[index] for index in run)) // WARPS_OF_A_GROUP for run in runs}
    left, left_groups = share * sum(groups.values()), sum(groups.values())
    budgets = [0] * len(warps)
    for run in sorted(runs, key=needs.__getitem__):
        budget = left // left_groups
        if needs[run] < highest:
            budget = min(budget, max(LEAST_REGISTERS, needs[run] + BUDGET_STEP - 1))
        budget = min(budget, LARGEST_BUDGET) // BUDGET_STEP * BUDGET_STEP
        for index in run:
            budgets[index] = budget
        left, left_groups = left - budget * groups[run], left_groups - groups[run]
    enough = all(needs[run] <= budgets[run[0]] for run in runs)
    return budgets if enough or blocks == 1 else None
