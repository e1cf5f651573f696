"""The registers of roles: as many as the roles need that need most, from those that need few."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tilec.dialect.tile_gpu.registers import (
    BUDGET_STEP,
    LARGEST_BUDGET,
    LEAST_BUDGET,
    REGISTER_FILE,
    WARPS_OF_A_GROUP,
    launch_registers,
    registers_per_thread,
    roles_by_warpgroups,
    whole_warpgroups,
)

# The registers of threads that only issue asynchronous operations, as tileiras 13.5 chooses them.
LEAST_REGISTERS = 32
# Of an equal share, if one block has the SM: ptxas 13.0 spills 328 bytes where 164 registers are needed of 168 (two
# products of 128x256 in a row on sm_90a), and nothing where 157 are.
_SHARE_MARGIN = 8
# Of a budget, likewise: ptxas 13.5 spills 104 bytes where 170 are needed of 184 (attention of 256x128 keys, a sink).
_BUDGET_MARGIN = 16
# The most warps of all chains of tiles with roles of their own: with more, threads have too few registers.
MOST_CHAIN_WARPS = 12


def chosen_budgets(
    warps: Sequence[int], needed: Sequence[int], blocks: int = 1, at_launch: int = 0
) -> list[int] | None:
    """The registers per thread of each role, if `blocks` blocks are on an SM.

    None if an equal share is enough, or if no budgets are enough for more than one block. `at_launch` are the registers
    without which ptxas refuses an instruction of several blocks: no thread has more than an equal share at launch.

    Roles are served in the order of their needs, at least with LEAST_REGISTERS; the neediest have all that remains. If
    that leaves several of them no margin, the needs of the others, which include one, are rounded down. If it is too
    little for them, roles that need no more than LEAST_REGISTERS have LEAST_BUDGET.
    """
    runs = roles_by_warpgroups(warps)
    share = registers_per_thread(whole_warpgroups(sum(warps)), REGISTER_FILE // blocks) // BUDGET_STEP * BUDGET_STEP
    groups = {run: whole_warpgroups(sum(warps[index] for index in run)) // WARPS_OF_A_GROUP for run in runs}
    highest, is_alone = max(needed), blocks == 1
    if len(runs) == 1 or highest + is_alone * _SHARE_MARGIN <= share or share >= LARGEST_BUDGET - BUDGET_STEP:
        return None
    most = {run: max(needed[index] for index in run) for run in runs}
    needs = {run: -(-most[run] // BUDGET_STEP) * BUDGET_STEP for run in runs}
    neediest = [run for run in runs if needs[run] == max(needs.values())]
    choices = [_served(groups, needs, share, LEAST_REGISTERS)]
    if is_alone and any(choices[0][run[0]] < needs[run] + _BUDGET_MARGIN for run in neediest) and len(neediest) > 1:
        rounded = {run: most[run] // BUDGET_STEP * BUDGET_STEP for run in runs if run not in neediest}
        choices.append(_served(groups, {**needs, **rounded}, share, LEAST_REGISTERS))
    if not _are_enough(needs, choices[0]):
        choices.append(_served(groups, needs, share, LEAST_BUDGET))
    # Fewer registers of the others count only where the neediest then have more.
    budgets = max(choices, key=lambda each: sum(each[run[0]] for run in neediest))
    if blocks > 1 and (share < at_launch or not _are_enough(needs, budgets)):
        return None
    return _with_rest(groups, needs, warps, share, budgets)


def _with_rest(
    groups: Mapping[range, int], needs: Mapping[range, int], warps: Sequence[int], share: int, budgets: Sequence[int]
) -> list[int]:
    """The budgets, plus the unused registers for the roles that need least, if threads then have more at launch.

    ptxas 13.0 and 13.5 keep values that are live across setmaxnreg in registers that each thread has at launch, and
    spill them if those are too few beside aligned groups of registers.
    """
    if launch_registers(warps, budgets) >= share:
        return list(budgets)
    made = list(budgets)
    rest = share * sum(groups.values()) - sum(budgets[run[0]] * count for run, count in groups.items())
    for run in sorted(groups, key=needs.__getitem__):
        added = max(0, min(rest // groups[run], share - budgets[run[0]])) // BUDGET_STEP * BUDGET_STEP
        rest -= added * groups[run]
        for index in run:
            made[index] += added
    return made


def _served(groups: Mapping[range, int], needs: Mapping[range, int], share: int, least: int) -> list[int]:
    """The registers of each role, if those that need no more than LEAST_REGISTERS have `least`.

    `groups` has the warpgroups of consecutive roles, `needs` the registers that they need.
    """
    highest = max(needs.values())
    left, left_groups = share * sum(groups.values()), sum(groups.values())
    budgets = [0] * sum(map(len, groups))
    for run in sorted(groups, key=needs.__getitem__):
        budget = left // left_groups
        if needs[run] < highest:
            budget = min(budget, least if needs[run] <= LEAST_REGISTERS else needs[run])
        budget = min(budget, LARGEST_BUDGET) // BUDGET_STEP * BUDGET_STEP
        for index in run:
            budgets[index] = budget
        left, left_groups = left - budget * groups[run], left_groups - groups[run]
    return budgets


def _are_enough(needs: Mapping[range, int], budgets: Sequence[int]) -> bool:
    return all(need <= budgets[run[0]] for run, need in needs.items())
