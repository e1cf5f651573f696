"""Writes docs/operations.md from the vectors: each operation and element type with its results on both targets.

python tests/semantics/operations_page.py
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from op_groups import OP_GROUPS
from refused import REFUSALS, TARGETS, Refusal, refusal
from required_facts import OPERATIONS, UNDOCUMENTED
from unit_tiles import enlarged
from vector_facts import element, operations, values
from vector_files import Vector, load_group
from vector_module import case_of

from tilec.dialect.mlir import ir
from tilec.dialect.operation import groups

PAGE = Path(__file__).parents[2] / "docs" / "operations.md"
# The columns of all tables: element types, pointers of any element, and operations that have neither.
ELEMENTS = (
    "i1", "i4", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "tf32", "f64",
    "f8E4M3FN", "f8E5M2", "f8E8M0FNU", "fnv8E5M3FNU", "f4E2M1FN", "pointer", "none",
)  # fmt: skip
NOT_LEGAL = "not legal"
HEAD = """# Operations of Tile IR

`python tests/semantics/operations_page.py` writes this page from the vectors in `tests/semantics`, which the tests run.

A cell says what {targets} do with an operation on an element type, of an operand, result, view or pointer:

* *right (24)*: 24 vectors with this operation and element type run in the simulator with the expected result.
* *[1]*: vectors are refused for the reason with this number; a target at the start of a cell limits it to this target.
* *{not_legal}*: the specification has no such operation.

A column without a legal cell is left out. *none* stands for operations without elements.
"""

Outcome = dict[str, Refusal | None]


@dataclass
class Cell:
    """The outcomes of the vectors of one operation and element type, by target."""

    outcomes: dict[str, Counter[Refusal | None]] = field(default_factory=lambda: defaultdict(Counter))

    def add(self, outcome: Outcome) -> None:
        for target, found in outcome.items():
            self.outcomes[target][found] += 1

    def text(self) -> str:
        """The outcome in words, once if the targets agree."""
        texts = {target: _counted(self.outcomes[target]) for target in TARGETS}
        if len(set(texts.values())) == 1:
            return texts[TARGETS[0]]
        return "; ".join(f"{target}: {text}" for target, text in texts.items())


def _counted(outcomes: Counter[Refusal | None]) -> str:
    right = [f"right ({outcomes[None]})"] if outcomes[None] else []
    refused = [f"[{number}]" for number, each in enumerate(REFUSALS, 1) if outcomes[each]]
    return ", ".join(right + refused)


Table = dict[str, dict[str, Cell]]


def tables() -> dict[str, Table]:
    """The cells by op group, operation and element type; an operation is in the first group that has vectors of it."""
    found: dict[str, Table] = {}
    table_of: dict[str, Table] = {}
    for group in OP_GROUPS:
        own: Table = defaultdict(lambda: defaultdict(Cell))
        for vector in _vectors(group):
            module = case_of(vector).module
            outcome = {target: refusal(operations(module), target) for target in TARGETS}
            names = {f"cuda_tile.{name}" for name in vector.get("operations", [vector.get("operation")])}
            for name, column in _cells(operations(module), names):
                table_of.setdefault(name, own)[name][column].add(outcome)
        if own:
            found[group] = own
    return found


def _vectors(group: str) -> Iterator[Vector]:
    """The vectors of a group; multiplies with block scaling also as tiles that a unit multiplies."""
    for vector in load_group(group):
        yield vector
        if vector.get("operation", "") == "mmaf_scaled":
            yield enlarged(vector)


def _cells(ops: Iterable[Any], names: set[str]) -> set[tuple[str, str]]:
    """The operation and column of each tested operation of a module, each once."""
    found = {("module", "none")} & {(name.removeprefix("cuda_tile."), "none") for name in names}
    for op in ops:
        if op.operation.name in names:
            columns = {_column(element(type)) for type in _types(op)} & set(ELEMENTS) or {"none"}
            found |= {(op.operation.name.removeprefix("cuda_tile."), column) for column in columns}
    return found


def _types(op: Any) -> list[ir.Type]:
    """The types of the operands, results and arguments of blocks; of an access without those of its indices."""
    indices = {value for field in ("index", "indices") for value in (groups(op, "operand") or {}).get(field, ())}
    return [value.type for value in values(op) if value not in indices]


def _column(name: str) -> str:
    return "pointer" if name.startswith("ptr<") else name


def page() -> str:
    """The text of the page."""
    found = tables()
    missing = set(OPERATIONS) - UNDOCUMENTED - {name for table in found.values() for name in table}
    assert not missing, f"operations without a vector: {missing}"
    head = HEAD.format(targets=" and ".join(TARGETS), not_legal=NOT_LEGAL)
    sections = [f"## {group}\n\n{_markdown(table)}" for group, table in found.items()]
    return "\n".join([head, *sections, _refusals()])


def _markdown(table: Table) -> str:
    columns = [name for name in ELEMENTS if any(name in row for row in table.values())]
    rows = [
        [f"`{name}`", *(row[column].text() if column in row else NOT_LEGAL for column in columns)]
        for name, row in sorted(table.items())
    ]
    return "".join(map(_line, [["operation", *columns], ["---"] * (1 + len(columns)), *rows]))


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |\n"


def _refusals() -> str:
    if not REFUSALS:
        return "## Refused\n\nNothing.\n"
    lines = [f"{number}. {each.reason}\n" for number, each in enumerate(REFUSALS, 1)]
    return "## Refused\n\n" + "".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page())
