"""Channels without buffers: each producer and each consumer has its arrivals and waits, but no bytes."""

from __future__ import annotations

import re

import pytest

import tilec as ct
from tilec.dialect.tile_gpu.operations.channel import CLAIMS, CONSUMERS, COPIES, PRODUCERS, THREADS

SIGNALS = """
tile_gpu.kernel @k(%n: i32) target "sm_100a" warps 4 {{
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %c = tile_gpu.make_channel stages {stages} producer {producer} consumers [{consumer}] reuse ring : channel<[]>
  tile_gpu.roles compute warps 4 {{
    scf.for %i = %zero to %n step %one : i32 {{
      tile_gpu.put_begin %c : channel<[]>
      tile_gpu.put_commit %c : channel<[]>
    }}
  }} compute1 warps 4 {{
    scf.for %i = %zero to %n step %one : i32 {{
      tile_gpu.get %c consumer 0 : channel<[]>
      tile_gpu.release %c consumer 0 : channel<[]>
    }}
  }}
}}
"""
PARTIES = [
    (producer, consumer)
    for producer in PRODUCERS
    for consumer in CONSUMERS
    if producer != COPIES and (consumer != COPIES or producer in (THREADS, CLAIMS))
]
ARRIVALS = {"tma": 1, "mma": 1, "claims": 1, "warp": 32, "copies": 128, "threads": 128, "wgmma": 128}


@pytest.mark.parametrize("stages", [1, 2])
@pytest.mark.parametrize(("producer", "consumer"), PARTIES)
def test_slots_without_bytes(producer: str, consumer: str, stages: int) -> None:
    text = SIGNALS.format(producer=producer, consumer=consumer, stages=stages)
    ptx = str(ct.compile(text, target="sm_100a", stop="ptx", hints={"pipeline": False}).ptx)
    arrivals = [int(count) for count in re.findall(r"mbarrier.init.shared::cta.b64 \[\S+\], (\d+);", ptx)]
    assert sorted(arrivals) == sorted([ARRIVALS[producer], ARRIVALS[consumer]] * stages)
    assert len(re.findall(r"mbarrier.try_wait", ptx)) == 2
    expected = [int(size) for size in re.findall(r"expect_tx\S* _, \[\S+\], (\d+);", ptx)]
    assert expected == [0] * (producer in ("tma", "claims"))
