"""The modelled timeline of a kernel: cycles of its main loop on B200 or H200, and the shares of its units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tilec.errors import TilecError
from tilec.explain.reports import reports_of
from tilec.lowering.gpu.cost.loop_cycles import cycles_of
from tilec.lowering.model.step import CHAIN, RING, TENSOR_PIPE


def timeline(compiled: Any, blocks_in_registers: int, iterations: Sequence[float] = ()) -> dict[str, Any] | None:
    """The modelled loop with the most cycles per kernel, or None without a loop or a model.

    `blocks_in_registers` are the blocks that an SM has by the registers of the machine code, which the report lacks.
    `iterations` are those of each loop that multiplies, in the order of the kernel, if it has several.

    Keys: `device`; `cycles` per iteration; `bound`, the unit that bounds them; `tensor_share` and `memory_share`, the
    parts of the time in which the tensor pipe multiplies and in which HBM transfers at its full bandwidth, 0 where
    operands may come from L2; `busiest`, the unit that works most, and `busiest_share`, its part of the time; `rings`,
    slots of each ring; `tma_bytes` per iteration; `blocks_per_processor`;
    `epilogue`, that of a tile in a persistent kernel: its cycles, and the share that multiplies of other tiles hide;
    `loops`, the cycles and the tensor share of each loop that multiplies, if iterations are given, and
    `tensor_share_of_loops`, that of all these iterations together.
    """
    try:
        (report,) = reports_of(compiled, "cost")
    except TilecError:
        return None
    blocks = min(report.blocks_per_processor, blocks_in_registers)
    costs = (replace(each, cycles=cycles_of(each.work, report.device, blocks)) for each in report.loops)
    kernel = replace(report, blocks_per_processor=blocks, loops=tuple(costs)).fields()
    if not kernel["loops"]:
        return None
    loop = max(kernel["loops"], key=lambda each: (each["multiply_adds"] > 0, each["depth"], each["cycles"]))
    units, cycles = loop["units"], loop["cycles"]
    # The tensor pipe first: of units that work equally long, the earlier one counts.
    busiest = max((unit for unit in units if unit not in (CHAIN, RING)), key=units.__getitem__)
    shares = shares_of_loops([each for each in kernel["loops"] if each["multiply_adds"] > 0], iterations)
    return {
        "device": kernel["device"],
        "blocks_per_processor": kernel["blocks_per_processor"],
        "cycles": cycles,
        "bound": loop["bound"],
        "tensor_share": round(units.get(TENSOR_PIPE, 0) / cycles, 3) if cycles else 0,
        "memory_share": round(loop["hbm_share"], 3),
        "busiest": busiest,
        "busiest_share": round(units[busiest] / cycles, 3) if cycles else 0,
        "rings": [ring["stages"] for ring in loop["rings"]],
        "tma_bytes": loop["tma_bytes"],
        "epilogue": next((each["epilogue"] for each in kernel["loops"] if each["epilogue"]), None),
        **shares,
    }


def shares_of_loops(loops: list[dict[str, Any]], iterations: Sequence[float]) -> dict[str, Any]:
    """`loops` and `tensor_share_of_loops` of loops with `units` and `cycles`; nothing without iterations."""
    if not iterations:
        return {}
    busy = [loop["units"].get(TENSOR_PIPE, 0) for loop in loops]
    cycles = [loop["cycles"] for loop in loops]
    in_all = float(np.dot(busy, iterations) / np.dot(cycles, iterations))
    parts = [{"cycles": each, "tensor_share": round(used / each, 3)} for each, used in zip(cycles, busy, strict=True)]
    return {"loops": parts, "tensor_share_of_loops": round(in_all, 3)}
