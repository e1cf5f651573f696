"""Register budgets of roles: how many registers a thread has, and the warps that must have equally many."""

from __future__ import annotations

from collections.abc import Sequence

# Threads per warp, WARP_SZ in PTX.
_LANES = 32
# CUDA programming guide, technical specifications: 32-bit registers of an SM, most of one thread.
REGISTER_FILE = 65536
MAXIMUM_REGISTERS = 255
# Warps get registers in groups of four, one per scheduler, and each thread a multiple of eight (ptxas 13.5 assigns 96
# registers to 17 warps, 168 to 9).
_WARP_GRANULE, _REGISTER_GRANULE = 4, 8
# PTX ISA 9.7.19.5, setmaxnreg: executed by all warps of a warpgroup, with a multiple of 8 from 24 to 256.
WARPS_OF_A_GROUP = 4
LEAST_BUDGET, LARGEST_BUDGET, BUDGET_STEP = 24, 256, 8


def whole_warpgroups(warps: int) -> int:
    """The number of warps, rounded up to whole warpgroups."""
    return -(-warps // WARPS_OF_A_GROUP) * WARPS_OF_A_GROUP


def registers_per_thread(warps: int, registers: int = REGISTER_FILE) -> int:
    """The most registers that a thread of a block of `warps` warps can have, of `registers` for the block."""
    threads = -(-warps // _WARP_GRANULE) * _WARP_GRANULE * _LANES
    return min(MAXIMUM_REGISTERS, registers // threads // _REGISTER_GRANULE * _REGISTER_GRANULE)


def roles_by_warpgroups(warps: Sequence[int]) -> list[range]:
    """Runs of consecutive roles that together have whole warpgroups; the last run may have fewer warps.

    `warps` are those of each role, in order.
    """
    runs, first, total = [], 0, 0
    for index, count in enumerate(warps):
        total += count
        if total % WARPS_OF_A_GROUP == 0 or index + 1 == len(warps):
            runs.append(range(first, index + 1))
            first = index + 1
    return runs


def launch_registers(warps: Sequence[int], budgets: Sequence[int]) -> int:
    """Registers per thread at the start of the kernel from which every role can get its budget.

    The average over the warps, the idle ones of the last warpgroup included, as a multiple of 8.
    """
    total = whole_warpgroups(sum(warps))
    used = sum(whole_warpgroups(_warps_of(run, warps)) * budgets[run[0]] for run in roles_by_warpgroups(warps))
    return -(-used // (total * BUDGET_STEP)) * BUDGET_STEP


def budget_error(names: Sequence[str], warps: Sequence[int], budgets: Sequence[int]) -> str | None:
    """Why roles cannot have these registers per thread, or None."""
    if len(budgets) != len(names):
        return f"expected the registers of each of {len(names)} roles, but got {len(budgets)}"
    for name, budget in zip(names, budgets, strict=True):
        if budget % BUDGET_STEP or not LEAST_BUDGET <= budget <= LARGEST_BUDGET:
            expected = f"a multiple of {BUDGET_STEP} from {LEAST_BUDGET} to {LARGEST_BUDGET}"
            return f"expected the registers of '{name}' to be {expected}, but got {budget}"
    for run in roles_by_warpgroups(warps):
        different = [names[index] for index in run if budgets[index] != budgets[run[0]]]
        if different:
            return f"expected equal registers of '{names[run[0]]}' and '{different[0]}', which share a warpgroup"
    needed = launch_registers(warps, budgets) * whole_warpgroups(sum(warps)) * _LANES
    if needed > REGISTER_FILE:
        return f"the roles need {needed} registers, of {REGISTER_FILE}"
    return None


def _warps_of(run: range, warps: Sequence[int]) -> int:
    return sum(warps[index] for index in run)
