"""Prefetches of tiles, which have no effect."""

from __future__ import annotations

from tilec.runtime.interpret.machine import Machine
from tilec.runtime.interpret.registry import interprets
from tilec.runtime.interpret.step import Step


@interprets("tilex.prefetch")
def _prefetch(_op: Step, _machine: Machine, _view: object, _index: object) -> tuple[()]:
    return ()
