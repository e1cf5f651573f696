"""What prefetches to L2 could gain in the loops of each kernel of the sheet: an upper bound by the cost model.

    python benchmarks/prefetch_value.py [--only REGEX] [--target sm_100a]

The model lets each load by TMA wait as long as data of DRAM takes. The loops are evaluated once more as if all of these
loads found their data in L2, which perfect prefetches without any cost would do; the schedule stays as it is. Loads
that are issued before a loop begin with the block, as prefetches by the same role would. No GPU is needed.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import product

from progress import show_progress
from sheet.cases import CASES, TARGETS
from sheet.compilers import module_of

import tilec
from tilec.explain.cost import LoopCost
from tilec.explain.reports import reports_of
from tilec.lowering.model import constants
from tilec.lowering.target import target_named


@contextmanager
def data_in_l2(target: str) -> Iterator[None]:
    """Loads of the model take as long as those of data that L2 holds."""
    name = target_named(target).device
    device = constants.DEVICES[name]
    constants.DEVICES[name] = replace(device, tma_dram_latency_cycles=device.tma_l2_latency_cycles)
    try:
        yield
    finally:
        constants.DEVICES[name] = device


def loops_of(compiled: tilec.Compiled) -> list[LoopCost]:
    """The loops that load by TMA."""
    return [loop for report in reports_of(compiled, "cost") for loop in report.loops if loop.work.rings]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="a regular expression of the names of kernels")
    parser.add_argument("--target", choices=TARGETS, action="append")
    options = parser.parse_args()
    print("| kernel | target | cycles of an iteration | with data in L2 | gain | bound |\n|---|---|---|---|---|---|")
    cases = [case for case in CASES if re.search(options.only, case.name)]
    for case, target in product(cases, options.target or TARGETS):
        show_progress(f"{case.name}, {target}")
        compiled = tilec.compile(module_of(case), target=target, stop="ptx", hints=case.hints)
        loops = loops_of(compiled)
        with data_in_l2(target):
            others = loops_of(compiled)
        for loop, other in zip(loops, others, strict=True):
            cycles, least = loop.cycles.cycles, other.cycles.cycles
            if least < cycles:
                gain = f"{1 - least / cycles:.1%}"
                print(
                    f"| {case.name} | {target} | {cycles:.0f} | {least:.0f} | {gain} | {loop.cycles.bound} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
