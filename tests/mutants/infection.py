"""Records which tests reach a mutation: pytest with probes that compare mutated expressions with the original ones.

`python infection.py COUNT SEED OUTPUT pytest-arguments` runs the tests once and appends to OUTPUT a line of JSON per
test, with its processor time and the numbers of the mutations of the sample that changed a value. The other tests have
the same result with a mutation as without it, so they need not run with it. Where a mutated expression cannot be
evaluated beside the original one, each execution counts. A mutation that is executed while its module is imported is
reached by all tests.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import copy
import importlib.abc
import importlib.machinery
import json
import os
import sys
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator, Sequence
from types import CodeType, ModuleType
from typing import Any, TextIO

import pytest
from compiler_mutations import Mutation, offsets, sampled

PREFIX = "__tilec_probe_"
# The node of pytest that contains all tests.
EVERY_TEST = ""


class Probes:
    """The functions that replace mutated expressions, and the mutations that they recorded per test."""

    def __init__(self) -> None:
        # The node of pytest that runs: a test, or the file or session that a shared fixture or an import belongs to.
        self.node = EVERY_TEST
        self.reached: dict[str, set[int]] = defaultdict(set)

    @contextlib.contextmanager
    def within(self, node: str) -> Iterator[None]:
        outer, self.node = self.node, node
        try:
            yield
        finally:
            self.node = outer

    def executed(self, number: int, value: Any) -> Any:
        self.reached[self.node].add(number)
        return value

    def operator(self, number: int, left: Any, right: Any, original: Callable, mutated: Callable) -> Any:
        return self.thunks(number, lambda: original(left, right), lambda: mutated(left, right))

    def thunks(self, number: int, original: Callable, mutated: Callable) -> Any:
        value = original()
        if number not in self.reached[self.node]:
            try:
                differs = bool(mutated() != value)
            except Exception:
                differs = True
            if differs:
                self.reached[self.node].add(number)
        return value

    def truth(self, number: int, value: Any, replacement: bool) -> Any:
        if bool(value) != replacement:
            self.reached[self.node].add(number)
        return value


class _Instrument(ast.NodeTransformer):
    """Replaces the mutated expressions of a module with calls of probes."""

    def __init__(self, text: str, mutations: dict[int, Mutation]) -> None:
        self._offset = offsets(text)
        self._mutations = mutations
        self.placed: set[int] = set()

    def visit(self, node: ast.AST) -> Any:
        wraps = [number for number in self._mutations if self._is_mutated(node, self._mutations[number])]
        original = copy.deepcopy(node) if wraps else node
        node = super().generic_visit(node)
        for number in wraps:
            self.placed.add(number)
            node = self._probed(node, original, number, self._mutations[number])
        return node

    def _is_mutated(self, node: ast.AST, mutation: Mutation) -> bool:
        start, end = mutation.start, mutation.start + mutation.length
        match mutation.kind:
            case "comparison":
                return isinstance(node, ast.Compare) and self._between(node.left, start, node.comparators[0])
            case "and, or":
                return isinstance(node, ast.BoolOp) and self._between(node.values[0], start, node.values[1])
            case "arithmetic":
                return isinstance(node, ast.BinOp) and self._between(node.left, start, node.right)
            case "not":
                return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not) and self._is_at(node, start, end)
            case "bool" | "number":
                return isinstance(node, ast.Constant) and self._is_at(node, start, end)
            case "call":
                return isinstance(node, ast.Call) and self._is_at(node.func, start, end)
            case "condition":
                return isinstance(node, ast.IfExp) and self._is_at(node.test, start, end)
            case "guard":
                return isinstance(node, ast.If) and self._is_at(node.test, start, end)
            case _:
                return isinstance(node, ast.Expr) and self._is_at(node, start, end)

    def _between(self, left: ast.expr, start: int, right: ast.expr) -> bool:
        after = self._offset(left.end_lineno or 0, left.end_col_offset or 0)
        return after <= start < self._offset(right.lineno, right.col_offset)

    def _is_at(self, node: ast.expr | ast.stmt, start: int, end: int) -> bool:
        first = self._offset(node.lineno, node.col_offset)
        return first == start and self._offset(node.end_lineno or 0, node.end_col_offset or 0) == end

    def _probed(self, node: Any, original: Any, number: int, mutation: Mutation) -> ast.AST:
        if isinstance(node, ast.IfExp | ast.If):
            node.test = _call("truth", number, node.test, ast.Constant(mutation.replacement == "True"))
            return node
        if isinstance(node, ast.Expr):
            node.value = _call("executed", number, node.value)
            return node
        if isinstance(original, ast.Compare | ast.BinOp) and not _has_walrus(original):
            old, new = (f"lambda a, b: a {text} b" for text in _operators(original, mutation))
            left, right = (node.left, node.comparators[0]) if isinstance(node, ast.Compare) else (node.left, node.right)
            return _call("operator", number, left, right, _expression(old), _expression(new))
        if isinstance(original, ast.BoolOp) and not _has_walrus(original):
            return _call("thunks", number, _lambda(node), _lambda(_exchanged(original)))
        return _call("executed", number, node)


def _operators(node: ast.Compare | ast.BinOp, mutation: Mutation) -> tuple[str, str]:
    operator = node.ops[0] if isinstance(node, ast.Compare) else node.op
    names = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=", ast.In: "in"}
    names |= {ast.NotIn: "not in", ast.Is: "is", ast.IsNot: "is not"}
    names |= {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%"}
    return names[type(operator)], mutation.replacement


def _exchanged(node: ast.BoolOp) -> ast.expr:
    """`a and b and c` as `a or b and c`: only the first operator is mutated, and `and` binds closer than `or`."""
    first, second, *rest = node.values
    if isinstance(node.op, ast.And):
        return ast.BoolOp(ast.Or(), [first, ast.BoolOp(ast.And(), [second, *rest]) if rest else second])
    conjunction = ast.BoolOp(ast.And(), [first, second])
    return ast.BoolOp(ast.Or(), [conjunction, *rest]) if rest else conjunction


def _has_walrus(node: ast.AST) -> bool:
    return any(isinstance(part, ast.NamedExpr | ast.Await | ast.Yield | ast.YieldFrom) for part in ast.walk(node))


def _call(name: str, number: int, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(f"{PREFIX}{name}__", ast.Load()), [ast.Constant(number), *arguments], [])


def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _lambda(body: ast.expr) -> ast.Lambda:
    empty = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    return ast.Lambda(empty, body)


class _ProbedLoader(importlib.machinery.SourceFileLoader):
    """Compiles a module with probes, without the bytecode cache, which has the original code."""

    mutations: dict[int, Mutation]
    probes: Probes

    def exec_module(self, module: ModuleType) -> None:
        with self.probes.within(EVERY_TEST):
            super().exec_module(module)

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        text = self.get_data(path).decode()
        instrument = _Instrument(text, self.mutations)
        tree = ast.fix_missing_locations(instrument.visit(ast.parse(text)))
        assert instrument.placed == set(self.mutations), f"{path}: a mutation of {self.mutations} has no expression"
        return compile(tree, path, "exec", dont_inherit=True)


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, mutations: Sequence[Mutation], probes: Probes) -> None:
        self._probes = probes
        self._by_module: dict[str, dict[int, Mutation]] = defaultdict(dict)
        for number, mutation in enumerate(mutations):
            self._by_module[mutation.module][number] = mutation

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> Any:
        if name not in self._by_module:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is not None and spec.origin is not None:
            spec.loader = _ProbedLoader(name, spec.origin)
            spec.loader.mutations, spec.loader.probes = self._by_module[name], self._probes
        return spec


class Recorder:
    """The plugin of pytest that says which test runs, and writes a line per test, file and session."""

    def __init__(self, probes: Probes, output: TextIO) -> None:
        self._probes, self._output = probes, output

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Generator[None, Any, Any]:
        with self._probes.within(collector.nodeid):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        started = _processor_time_s()
        with self._probes.within(item.nodeid):
            result = yield
        self._write(item.nodeid, _processor_time_s() - started)
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Generator[None, Any, Any]:
        """A fixture that several tests share is computed in the first: all of them reach its mutations."""
        with self._probes.within(self._probes.node if fixturedef.scope == "function" else request.node.nodeid):
            return (yield)

    def _write(self, node: str, time_s: float) -> None:
        row = {"node": node, "time_s": round(time_s, 3), "reached": sorted(self._probes.reached.pop(node, ()))}
        print(json.dumps(row), file=self._output, flush=True)

    def pytest_sessionfinish(self) -> None:
        for node in list(self._probes.reached):
            self._write(node, 0)


def _processor_time_s() -> float:
    """Processor time of this process and of its children that ended."""
    return sum(os.times()[:4])


if __name__ == "__main__":
    count, seed, output, *arguments = sys.argv[1:]
    probes = Probes()
    for name in ("executed", "operator", "thunks", "truth"):
        setattr(builtins, f"{PREFIX}{name}__", getattr(probes, name))
    sys.meta_path.insert(0, _Finder(sampled(int(count), int(seed)), probes))
    with open(output, "a") as lines:
        sys.exit(pytest.main(arguments, plugins=[Recorder(probes, lines)]))
