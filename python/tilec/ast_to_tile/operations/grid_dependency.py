"""Builds the operations that order a grid and the grids before and after it on a stream."""

from __future__ import annotations

from collections.abc import Callable

from tilec.ast_to_tile.emitter import Emitter
from tilec.ast_to_tile.registry import implements_each
from tilec.dialect.cuda_tile.types import TokenType
from tilec.language.operations import grid_dependency as language

_OPERATIONS: dict[Callable[..., object], str] = {
    language.grid_dependency_control_wait: "gdc_wait_tko",
    language.grid_dependency_control_launch_dependents: "gdc_launch_dependents_tko",
}


def _control(operation: str, emitter: Emitter) -> None:
    emitter.build(operation, [None], [TokenType.get()])


implements_each(_OPERATIONS, _control)
