"""The names of the values of a kernel in its text."""

from __future__ import annotations

from tilec.dialect.mlir import ir


class ValueNames:
    """Names by value, filled while the kernel is printed."""

    def __init__(self) -> None:
        self._given: dict[ir.Value, str] = {}
        # The text before ` = ` of an operation, by its first result.
        self._definitions: dict[ir.Value, str] = {}

    def of(self, value: ir.Value) -> str:
        """`%name`, or `%name#1` for one of several results."""
        return self._given[value]

    def results(self, op: ir.Operation) -> str:
        """The text before ` = `; empty without results."""
        return self._definitions[op.results[0]] if len(op.results) else ""

    def _give_results(self, results: list[ir.Value], name: str) -> None:
        """Names one result, or several as parts of one name."""
        pack = len(results) > 1
        self._definitions[results[0]] = f"%{name}:{len(results)}" if pack else f"%{name}"
        for index, value in enumerate(results):
            self._given[value] = f"%{name}#{index}" if pack else f"%{name}"
