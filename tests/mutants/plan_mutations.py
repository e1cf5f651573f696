"""Mutations of one offset of a memory plan: slots, barriers, staging buffers, columns and scratch memory overlap."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest

from tilec.lowering.gpu.memory.shared_plan import ChannelPlan, SharedPlan
from tilec.lowering.gpu_to_ptx import kernel

PlanChange = tuple[str, Callable[[], None]]


def plan_changes(plan: SharedPlan) -> Iterator[PlanChange]:
    """The changes of a plan: descriptions and functions that make them in place."""
    owners = [channel for channel in plan.channels.values() if channel.ring is None]
    for channel in owners:
        name = f"{channel.producer}-{'-'.join(channel.consumers)} {'ring' if channel.is_ring else 'once'}"
        if channel.slot_bytes and channel.stages > 1:
            yield f"slots of {name} half as far apart", partial(setattr, channel, "slot_bytes", channel.slot_bytes // 2)
        if channel.slot_columns and channel.stages > 1:
            yield f"all slots of {name} in the columns of the first", partial(setattr, channel, "slot_columns", 0)
        if channel.is_ring:
            yield f"full barriers of {name} instead of empty ones", partial(setattr, channel, "empty", channel.full)
        for buffer, offset in plan.buffers.items():
            if channel.slot_bytes:
                yield (
                    f"a staging buffer at {offset} in {name}",
                    partial(plan.buffers.__setitem__, buffer, channel.first_byte),
                )
    for first, second in zip(owners, owners[1:], strict=False):
        yield "full barriers of two channels in one place", partial(setattr, second, "full", first.full)
        if first.slot_bytes and second.slot_bytes and first.first_byte != second.first_byte:
            yield "slots of two channels in one place", partial(_move, second, first.first_byte - second.first_byte)
        if first.slot_columns and second.slot_columns and first.first_column != second.first_column:
            yield (
                "columns of two channels in one place",
                partial(_move, second, first.first_column - second.first_column),
            )
    if owners and owners[0].slot_bytes:
        yield "scratch in a slot", partial(setattr, plan, "scratch", owners[0].first_byte)


def _move(channel: ChannelPlan, distance: int) -> None:
    channel.offsets = [offset + distance for offset in channel.offsets]


@contextmanager
def changed_plan(change: int | None, found: list[str]) -> Iterator[None]:
    """The lowering to PTX with a change of its memory plan; `found` gets the descriptions of all changes."""
    original = kernel.shared_plan

    def plan_with_change(*arguments: Any) -> SharedPlan:
        plan = original(*arguments)
        changes = list(plan_changes(plan))
        found[:] = [description for description, _ in changes]
        if change is not None:
            changes[change][1]()
        return plan

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel, "shared_plan", plan_with_change)
        yield
