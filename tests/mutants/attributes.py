"""Changes one attribute of tile_gpu, or one offset of its memory plan, at a time and prints what nothing detects.

`python tests/mutants/attributes.py` compiles and simulates every mutant of every kernel for both targets. Attributes
change after all passes (attribute_mutations.py), or after the pass that writes them (pass_mutations.py). A mutant is
detected if the verifier or the lowering rejects it, the simulator reports an error, or the result differs. The others
have the same code, or are harmless for a reason in HARMLESS, or they are printed, and the status is 1.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attribute_kernels import COLUMNS, DEPTH, HINTS, KERNELS, ROWS, TARGETS_OF, TENSOR_MEMORY_COLUMNS, TILES
from attribute_mutations import Mutation, mutated, mutations
from pass_mutations import PASS_MUTATIONS, PassMutation, changed_pass
from plan_mutations import changed_plan

sys.path.append(str(Path(__file__).parents[1]))
from ptx_instructions import instructions

import tilec
from tilec.errors import TilecError
from tilec.lowering.target import TARGETS
from tilec.signature import Signature

Mutant = Mutation | int | PassMutation
DETECTED, SAME_CODE, HARMLESS_CHANGE, SURVIVES = "detected", "with the same code", "harmless", "survives"
BLOCKS, SEEDS = 2, range(4)
# Most iterations of the loops, and the numbers for which each mutant runs: loops with none store what they begin with.
STEPS = 9
RUNS = (STEPS, 0)
# More steps than any of these kernels executes.
STEP_LIMIT = 300_000
_DEPTH = "the depth of a ring changes how far the producer runs ahead, not what a slot holds"
_ONCE = "a channel that is filled once has no empty barrier, and nothing waits for its release"
_BLOCKING = "a wait that moves up, or an arrival that moves down, only adds order: a deadlock would occur in every run"
_ARRIVALS = "two arrivals in a row: no access is between them"
_NOTHING = "TMA itself completes the slot: the operation emits nothing but the position, which is not used again"
_FIRST = "the first puts of a ring find its slots empty with or without a wait, and end no round"
_NO_ROUND = "attention: puts before the loop find empty slots, and the last but one of nine ends no round"
_BEHIND = "attention: the operand before these sums is put when a multiply behind them is complete, in order"
_WARPGROUP = "a multiply belongs to the warpgroup: threads that fill the slot again have waited for all of its reads"
_SCORES = "attention: the next multiply of the slot follows, in order, one whose operand is computed from this result"
_HANDED_OVER = "attention: the accumulator, which the threads hand over after they have stored the operand, orders both"
_IN_ORDER = "attention in one role: the scores have been read before the operand is stored, and come after its multiply"
_DISJOINT = "the two stores write other elements of the array, and the other wait covers the copy"
_EPILOGUE = "the tile is stored once, when all multiplies that read the slots are complete"
_STORES = "one role: the barriers of the stores are between the reads of a slot and the next multiply"
_STORE_FENCES = "one role: the fence and the barriers of a store are between the reads of a slot and the next copy"
_PACED = "another ring of the loop, which has as few slots and is released later, makes the role of the loads wait"
_ONE_COMMIT = "one commit, for which the threads wait too, covers all multiplies before it"
_IN_ONE_ROLE = "one role: what the threads wait for next covers the multiplies that read the slot"
_LAST = "no put follows the last release"
_LOST = "the two last releases are lost, fewer than the ring has slots: no put waits for them"
_COLUMNS_BACK = "the threads get the columns of the scores back when the multiply that reads the weights is complete"
_COMPUTES = "a role is who computes: channels are made for any roles, and a kernel that cannot be divided stays whole"
_REGISTERS = "registers of a role change what ptxas spills, not values"
_ARRIVES = "the thread that arrives has got all slots of the tile, and has waited for the copies of its stores"
_NEXT_VALUE = "the next value follows a tile that the other roles load and multiply because of this one"
_EVERY_THREAD = "every thread has the value: that which arrives too, and one thread that gets it stands for its warp"
_COUNTER = "threads store the tiles without copies, to other elements than the counter"
_WHOLE_POWERS = "the exponents are whole numbers, whose powers of two MUFU and the polynomial give exactly"
_FENCES = "the simulator orders tensor memory without tcgen05.fence, as hardware does; golden PTX has the fences"
_COPIES = "each copy of a body executes one iteration, and tests whether there is another"
_ORDER = "warpgroups wait for each other so that they multiply at different times: no value depends on it"
# Reasons by patterns of `kernel, target, roles or one role: attribute: change`; the first that matches counts.
HARMLESS = {
    "*: stages: one more, * once of 1": _ONCE,
    "*: stages: one more, *ring*": _DEPTH,
    "*: stages: one less, *ring*": _DEPTH,
    "*: reuse: ring, * once": "a slot that is filled once is empty when it is filled",
    "*, one role: reuse: once, * of tma-wgmma ring": _WARPGROUP,
    "attention, *: reuse: once, * of threads-*": _SCORES,
    "attention, *: reuse: once, * of mma-threads ring": _SCORES,
    "attention, sm_100a, one role: reuse: once, * of tma-mma ring": _SCORES,
    "*: consumers: *, * once": _ONCE,
    "*: consumers: wgmma, * of mma-threads ring": _FENCES,
    "*: consumers: threads, * of tma-wgmma ring": "the same arrivals, after one more fence",
    "attention, sm_100a, one role: consumers: *, * of *-mma ring": _SCORES,
    "rows, *, one role: consumers: wgmma, * of tma-threads ring": _STORE_FENCES,
    "rows, *, one role: reuse: once, * of tma-threads ring": _STORE_FENCES,
    "rows, *, one role: order: release of tma-threads ring before load_shared": _STORE_FENCES,
    "attention, sm_90a, *: consumers: tma, * of tma-wgmma ring": _WARPGROUP,
    "*: first_round: removed, *": _FIRST,
    "*: first_round: set, * once": _ONCE,
    "gemms in a row, *, one role: first_round: set, put_* of tma-*": _FIRST,
    "attention, *: first_round: set, put_commit of threads-*": _SCORES,
    "attention, sm_100a, *: first_round: set, put_* of mma-threads ring": _FIRST,
    "attention, sm_100a, roles: first_round: set, put_* of tma-mma ring": _NO_ROUND,
    "attention, sm_100a, roles: removed: put_commit of tma-mma ring before scf.yield": _NOTHING,
    "attention, sm_100a, roles: order: put_commit of mma-threads ring before tcgen05_mma": _BEHIND,
    "attention, sm_100a, *: producer: *, * of threads-mma ring": _HANDED_OVER,
    "attention, sm_100a, *: order: put_commit of threads-mma ring before store_tensor_memory": _HANDED_OVER,
    "*: names: *": "no rule of the lowering depends on the names of roles other than compute",
    "*: warps: *": "one thread issues the operations of these roles; other warps have none",
    "*: late: *": "the releases of a consumer count apart if one of them is late, in the order of its gets",
    "*: removed: release of * once before *": _ONCE,
    "gemm, sm_90a, roles: removed: release of tma-wgmma ring before scf.yield": _LAST,
    "gemms in a row, sm_90a, roles: removed: release of tma-wgmma ring before scf.yield": _LOST,
    "attention, sm_100a, roles: removed: release of threads-mma ring before scf.yield": _LAST,
    "attention, sm_90a, roles: removed: release of tma-wgmma ring before scf.yield": _LAST,
    "attention, sm_90a, roles: reuse: once, make_channel of tma-wgmma ring": _PACED,
    "attention, sm_90a, roles: order: release of tma-wgmma ring before wgmma_wait": _PACED,
    "attention, sm_90a, roles: order: wgmma_wait before release of tma-wgmma ring": _BLOCKING,
    "attention, sm_100a, roles: removed: release of tma-mma ring before release of threads-mma ring": _LAST,
    "*: removed: put_commit of tma-* once before *": _NOTHING,
    "attention, *: removed: barrier before store_view": _DISJOINT,
    "attention, *: removed: store_wait before *": _DISJOINT,
    "attention, *: order: barrier before store_wait": _DISJOINT,
    "*: order: put_commit of * once before put_begin of *": "a put of such a channel begins without a wait",
    "*: order: release of * once before *": _ONCE,
    "*: order: * before release of * once": _ONCE,
    "*: order: put_commit of tma-* before tma_load": _NOTHING,
    "*: order: * before put_commit of tma-*": _NOTHING,
    "persistent, sm_90a, roles: producer: tma, make_channel of threads-threads once": _ARRIVES,
    "counter, sm_100a, roles: producer: mma, make_channel of threads-warp*": _EVERY_THREAD,
    "counter, *, roles: consumers: *, make_channel of threads-warp* ring": _EVERY_THREAD,
    "counter, *, roles: reuse: once, make_channel of threads-warp* ring": _NEXT_VALUE,
    "counter, *, roles: order: release of threads-warp* ring before load_shared": _NEXT_VALUE,
    "counter, *: order: release of mma-threads ring before load_tensor_memory": _NEXT_VALUE,
    "persistent, *, one role: order: release of mma-threads ring before load_tensor_memory": _STORES,
    "counter, *: offset: *": _NEXT_VALUE,
    "counter, *: removed: store_wait before barrier": _COUNTER,
    "counter, *: removed: barrier before *": _COUNTER,
    "counter, *: order: barrier before store_wait": _COUNTER,
    "*: removed: put_begin of * once before *": "a put of such a channel begins without a wait",
    "*: order: skip of * before store_wait": "a skip changes the position only, which the next get uses",
    "*: order: get of *": _BLOCKING,
    "*: order: put_begin of *": _BLOCKING,
    "*: order: store_wait before *": _BLOCKING,
    "*: order: store_shared before release of *": _BLOCKING,
    "*: order: release of * before release of *": _ARRIVALS,
    "*: order: release of * before put_commit of *": _ARRIVALS,
    "*: order: put_commit of * before release of *": _ARRIVALS,
    "*: order: tma_load before tma_load": "one barrier counts the bytes of both copies",
    "*: order: barrier before fence_async": "the fence of the thread that issues the copy follows the barrier",
    "*, one role: order: release of tma-wgmma ring before wgmma_wait": _WARPGROUP,
    "*: order: release of threads-wgmma ring before wgmma_wait": _WARPGROUP,
    "attention, *: order: release of threads-mma ring before tcgen05_mma": _SCORES,
    "attention, *: order: release of mma-threads ring before load_tensor_memory": _SCORES,
    "persistent, *, one role: offset: all slots of mma-threads ring in the columns of the first": _STORES,
    "attention, *: offset: all slots of mma-threads ring in the columns of the first": _SCORES,
    "attention, sm_100a, one role: offset: columns of two channels in one place": _IN_ORDER,
    "gemm, *: offset: a staging buffer *": _EPILOGUE,
    "attention, *: offset: a staging buffer *": _EPILOGUE,
    "*: role: *": _COMPUTES,
    "*: wanted: *": _DEPTH,
    "*: repeats: *": _COPIES,
    "*: vector: half": "twice as many copies of half the size",
    "gathered, *: offset: a staging buffer *": _EPILOGUE,
    "gathered, sm_100a, one role: consumers: *, make_channel of tma-mma ring": _PACED,
    "gathered, sm_100a, one role: reuse: once, make_channel of tma-mma ring": _PACED,
    "gathered, sm_100a, one role: order: release of tma-mma ring before tcgen05_mma": _PACED,
    "gathered, sm_90a, *: reuse: once, make_channel of threads-wgmma ring": _WARPGROUP,
    "gathered, sm_90a, *: read_before_next: set": _WARPGROUP,
    "attention, sm_100a, one role: read_before_next: set": _IN_ORDER,
    "gathered, sm_90a, roles: removed: release of tma-wgmma ring before release of threads-wgmma ring": _LAST,
    "gathered, sm_90a, roles: removed: release of threads-wgmma ring before scf.yield": _LAST,
    "copied, *: offset: a staging buffer *": _EPILOGUE,
    "copied, sm_100a, one role: consumers: *, make_channel of tma-mma ring": _PACED,
    "copied, sm_100a, one role: reuse: once, make_channel of tma-mma ring": _PACED,
    "copied, sm_100a, one role: order: release of tma-mma ring before tcgen05_mma": _PACED,
    "copied, sm_90a, one role: reuse: once, make_channel of threads-wgmma ring": _WARPGROUP,
    "copied, sm_90a, *: read_before_next: set": _WARPGROUP,
    "copied, sm_90a, roles: removed: release of tma-wgmma ring before release of copies-wgmma ring": _LAST,
    "copied, sm_90a, roles: removed: release of copies-wgmma ring before scf.yield": _LAST,
    "warpgroups, *: order: order_* before *": _ORDER,
    "warpgroups, *: order: * before order_*": _ORDER,
    "warpgroups, *: removed: order_wait before *": _ORDER,
    "warpgroups, *: removed: release of tma-wgmma ring before scf.yield": _LAST,
    "warpgroups, *: order: release of tma-wgmma ring before wgmma_wait": _PACED,
    "warpgroups, *: order: wgmma_wait before release of tma-wgmma ring": _BLOCKING,
    "*: registers: *": _REGISTERS,
    "*: schedule: get behind *": _BLOCKING,
    "*: schedule: put_begin behind *": _BLOCKING,
    "*: schedule: put_commit behind put_begin": _BLOCKING,
    "*: schedule: put_commit behind get": _BLOCKING,
    "*: schedule: release behind get": _BLOCKING,
    "*: schedule: release behind release": _ARRIVALS,
    "*: schedule: put_commit behind release": _ARRIVALS,
    "attention, *: polynomials: *": _WHOLE_POWERS,
    "two chains over scores, *: producer: *, make_channel of mma-threads once": _COLUMNS_BACK,
    "two chains, *: producer: *, make_channel of mma-threads once": _ONE_COMMIT,
    "two chains*, sm_100a, roles: removed: put_commit of tma-mma ring before scf.yield": _NOTHING,
    "gradient, *: order: wgmma_wait before release of tma-wgmma ring": _BLOCKING,
    "gradient, *: offset: a staging buffer *": _EPILOGUE,
    "two chains*, roles: consumers: tma, make_channel of tma-mma ring": _PACED,
    "two chains*, roles: consumers: warp, make_channel of tma-mma ring": _PACED,
    "two chains*, roles: reuse: once, make_channel of tma-*": _PACED,
    "two chains*, sm_90a, roles: order: release of tma-wgmma ring before wgmma_wait": _PACED,
    "two chains*, sm_90a, roles: order: release of tma-wgmma-wgmma ring before wgmma_wait": _LAST,
    "two chains*, sm_90a, roles: order: wgmma_wait before release of tma-wgmma-wgmma ring": _BLOCKING,
    "two chains*, sm_90a, roles: removed: release of tma-wgmma-wgmma ring before scf.yield": _LAST,
    "two chains over scores, sm_100a, roles: order: release of tma-mma ring before tcgen05_mma": _PACED,
    "two chains*, one role: consumers: *, make_channel of *-mma ring": _IN_ONE_ROLE,
    "two chains*, one role: reuse: once, make_channel of *": _IN_ONE_ROLE,
    "two chains, sm_100a, one role: read_before_next: set": _IN_ONE_ROLE,
    "two chains*, sm_90a, one role: pending: 1, wgmma_wait": _WARPGROUP,
    "two chains*, *: consumers: threads and wgmma, *": "the same arrivals, after one more fence",
    "two chains, *: reuse: once, make_channel of mma-threads ring": _SCORES,
    "two chains, *: order: release of mma-threads ring before load_tensor_memory": _SCORES,
    "two chains, *: first_round: set, put_* of mma-threads ring": _SCORES,
    "two chains, sm_100a, roles: order: release of threads-mma ring before tcgen05_mma": _LAST,
    "two chains, sm_100a, one role: order: release of threads-mma ring before tcgen05_mma": _IN_ONE_ROLE,
    "two chains, sm_100a, roles: removed: release of threads-mma ring before *": _LAST,
    "two chains*, sm_100a, roles: removed: release of tma-mma ring before scf.yield": _LAST,
    "two chains*: order: load_tensor_memory before load_tensor_memory": "two reads of different places",
    "two chains*: order: put_commit of * before put_commit of *": _ARRIVALS,
    "two chains*: offset: a staging buffer *": _EPILOGUE,
    "two chains, sm_100a, one role: offset: all slots of mma-threads ring in the columns of the first": _SCORES,
    "two chains, sm_100a, one role: offset: columns of two channels in one place": _IN_ORDER,
    "*: offset: scratch in a slot": "the kernel exchanges nothing through scratch, or not before its last multiply",
}


@dataclass(frozen=True)
class Case:
    """A kernel on a target, with or without roles."""

    kernel: str
    target: str
    roles: bool

    def __str__(self) -> str:
        return f"{self.kernel}, {self.target}, {'roles' if self.roles else 'one role'}"


CASES = [
    Case(name, target, roles)
    for name in KERNELS
    for target in TARGETS_OF.get(name, ("sm_100a", "sm_90a"))
    for roles in (True, False)
]


def arguments(steps: int = STEPS) -> list[Any]:
    """New arguments for loops of `steps` iterations: small integers, whose sums are exact."""
    random = np.random.default_rng(0)
    A = random.integers(-1, 2, (BLOCKS * ROWS, STEPS * DEPTH)).astype(np.float16)
    B = random.integers(-1, 2, (STEPS * DEPTH, 3 * COLUMNS)).astype(np.float16)
    return [A, B, np.zeros((TILES * ROWS, STEPS * COLUMNS), np.float32), steps]


def simulated(compiled: Any, seed: int, steps: int) -> np.ndarray:
    given = arguments(steps)
    tilec.run(compiled, (BLOCKS,), given, backend="simulate", seed=seed, step_limit=STEP_LIMIT)
    return given[2]


def compiled(case: Case, text: str | None = None, stop: str = "ptx") -> Any:
    """A case, or the text of it after the passes over tile_gpu, for a target with as much memory as its kernel has."""
    target = TARGETS[case.target]
    columns = min(target.tensor_memory_columns, TENSOR_MEMORY_COLUMNS.get(case.kernel, target.tensor_memory_columns))
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(TARGETS, case.target, replace(target, tensor_memory_columns=columns))
        if text is not None:
            return tilec.compile(text, target=case.target, stop=stop)
        kernel = KERNELS[case.kernel]
        signature = Signature.from_arguments(kernel, arguments())
        hints = {"roles": case.roles}
        hints |= {name: given[case.kernel] for name, given in HINTS.items() if case.kernel in given}
        return tilec.compile(kernel, target=case.target, signature=signature, hints=hints, stop=stop)


@cache
def original(case: Case) -> str:
    """The text of the kernel after the passes over tile_gpu."""
    return compiled(case, stop="gpu").gpu


@cache
def interpreted(kernel: str, steps: int) -> np.ndarray:
    """The result of the interpretation of a kernel."""
    expected = arguments(steps)
    tilec.launch(None, (BLOCKS,), KERNELS[kernel], expected, backend="interpret")
    return expected[2]


@cache
def original_code(case: Case, from_text: bool) -> str:
    """The PTX of a case, compiled from its text after the passes or from its kernel."""
    return str(compiled(case, original(case) if from_text else None).ptx)


def has_its_result(case: Case, made: Any) -> bool:
    """Whether the simulator reports no error and the result of the interpreter, in all runs with all seeds."""
    try:
        return all(
            np.array_equal(simulated(made, seed, steps), interpreted(case.kernel, steps))
            for steps in RUNS
            for seed in SEEDS
        )
    except TilecError:
        return False


@cache
def attribute_mutants(case: Case) -> list[tuple[str, Mutation]]:
    """The mutations of the attributes of a case, with their names in HARMLESS."""
    return [(f"{case}: {mutation}", mutation) for mutation in mutations(original(case))]


def plan_mutants(case: Case) -> Iterator[tuple[str, int]]:
    """The numbers of the changes of the memory plan of a case, with their names in HARMLESS."""
    found: list[str] = []
    with changed_plan(None, found):
        compiled(case, original(case))
    return ((f"{case}: offset: {description}", number) for number, description in enumerate(found))


def pass_mutants(case: Case) -> Iterator[tuple[str, PassMutation]]:
    """The changes of what single passes write for a case, with their names in HARMLESS."""
    for name in PASS_MUTATIONS:
        found: list[str] = []
        with changed_pass(PassMutation(name, None), found):
            compiled(case)
        for number, description in enumerate(found):
            yield f"{case}: {name}: {description}", PassMutation(name, number)


def mutants(case: Case) -> list[tuple[str, Mutant]]:
    return [*attribute_mutants(case), *plan_mutants(case), *pass_mutants(case)]


def fate(case: Case, mutant: Mutant) -> str:
    """What becomes of a mutant: DETECTED, SAME_CODE, or SURVIVES with the same result."""
    text: str | None = original(case)
    change: AbstractContextManager[None] = nullcontext()
    if isinstance(mutant, PassMutation):
        text, change = None, changed_pass(mutant, [])
    elif isinstance(mutant, int):
        change = changed_plan(mutant, [])
    elif (text := mutated(original(case), mutant)) is None:
        return DETECTED
    try:
        with change:
            made = compiled(case, text)
    except TilecError:
        return DETECTED
    if instructions(made.ptx) == instructions(original_code(case, from_text=text is not None)):
        return SAME_CODE
    return SURVIVES if has_its_result(case, made) else DETECTED


def reason(name: str) -> str | None:
    """Why a mutant with this name changes no result, or None."""
    return next((why for pattern, why in HARMLESS.items() if fnmatchcase(name, pattern)), None)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernel", choices=KERNELS, help="mutants of one kernel only")
    selected = parser.parse_args().kernel
    counts, used, started = Counter[str](), Counter[str](), time.monotonic()
    for case in CASES:
        if selected not in (None, case.kernel):
            continue
        for name, mutant in mutants(case):
            found = fate(case, mutant)
            if found == SURVIVES and (why := reason(name)) is not None:
                found = HARMLESS_CHANGE
                used[why] += 1
            counts[found] += 1
            if found == SURVIVES:
                print(f"survives: {name}", flush=True)
        summary = ", ".join(f"{counts[kind]} {kind}" for kind in (DETECTED, SAME_CODE, HARMLESS_CHANGE, SURVIVES))
        print(f"{case}: {summary}, {time.monotonic() - started:.0f} s", flush=True)
    for why, count in used.most_common():
        print(f"{count:6} {why}")
    return 1 if counts[SURVIVES] else 0


if __name__ == "__main__":
    sys.exit(main())
