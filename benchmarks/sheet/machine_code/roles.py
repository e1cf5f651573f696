"""The roles of warps: what each warp of a block can reach, from the values that depend on its number alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sheet.machine_code.control_flow import Graph
from sheet.machine_code.disassembly import Instruction

# Instructions that one role has and others lack: TMA, tensor cores and tensor memory, exponentials.
_ANCHOR = re.compile(r"UTMA(LDG|STG|REDG)|UBLK|UTC\w*MMA|[HQI]GMMA|[HQID]MMA|LDTM|STTM|MUFU\.EX2")
_REGISTER = re.compile(r"(U?R)(\d+)$")
_PREDICATE = re.compile(r"!?(U?P\d+)$")
_ZERO = ("RZ", "URZ")
_TRUE = ("PT", "UPT")
_LANES = 32
# The consecutive registers that an instruction writes, by its opcode; the first row that matches counts.
_WRITTEN = tuple(
    (re.compile(pattern), count)
    for pattern, count in (
        (r"LDTM|[HQI]GMMA", 256),
        (r".*\.256", 8),
        (r".*\.128|LDSM|[HQI]MMA", 4),
        (r".*(64|WIDE)|D(ADD|MUL|FMA)|CS2R|DMMA|F[A-Z]+2", 2),
        (r"", 1),
    )
)
_MOVES = re.compile(r"(MOV|UMOV|R2UR|IMAD\.MOV\.U32|UIMAD\.MOV\.U32)$")
_SHIFTS = re.compile(r"U?SHF\.R\.[US]32\.HI$")
_COMPARES = re.compile(r"U?ISETP\.(EQ|NE|LT|LE|GT|GE)(\.U32)?\.AND$")


@dataclass(frozen=True)
class Interval:
    """The values that a register can have in the lanes of a warp, both ends included."""

    low: int
    high: int


_Values = dict[str, Interval]
# Whether a comparison holds for all values, for none (False), or for some (None).
_COMPARISONS: dict[str, Callable[[Interval, Interval], bool | None]] = {
    "LT": lambda a, b: True if a.high < b.low else False if a.low >= b.high else None,
    "GE": lambda a, b: False if a.high < b.low else True if a.low >= b.high else None,
    "GT": lambda a, b: True if a.low > b.high else False if a.high <= b.low else None,
    "LE": lambda a, b: False if a.low > b.high else True if a.high <= b.low else None,
    "EQ": lambda a, b: _equal(a, b),
    "NE": lambda a, b: None if _equal(a, b) is None else not _equal(a, b),
}


@dataclass(frozen=True)
class Role:
    """Warps that share TMA, tensor core, tensor memory or exponential instructions, and the blocks of them alone."""

    warps: int
    blocks: frozenset[int]


def roles(graph: Graph, threads: int) -> list[Role]:
    """The roles in the order of their warps, those without such instructions as one; empty if all warps are one."""
    anchors = {number for number in graph.order if any(_ANCHOR.match(each.opcode) for each in graph.block(number))}
    groups: list[tuple[list[int], set[int]]] = []
    for warp in range(threads // _LANES):
        reached = _reached(graph, warp)
        own = reached & anchors
        same = [group for group in groups if (group[1] & own if own else not group[1] & anchors)]
        groups = [group for group in groups if group not in same]
        joined = [warp for group in same for warp in group[0]]
        groups.append(([*joined, warp], reached.union(*(group[1] for group in same))))
    groups.sort(key=lambda group: group[0])
    if len(groups) < 2:
        return []
    return [Role(len(warps), frozenset(blocks - _others(groups, blocks))) for warps, blocks in groups]


def _others(groups: list[tuple[list[int], set[int]]], blocks: set[int]) -> set[int]:
    """The blocks that other groups reach."""
    return {number for _, other in groups if other is not blocks for number in other}


def _reached(graph: Graph, warp: int) -> set[int]:
    """The blocks that a warp can reach, as far as constants tell."""
    states: dict[int, _Values] = {0: {}}
    stack = [0]
    while stack:
        number = stack.pop()
        values = dict(states[number])
        code = graph.block(number)
        for instruction in code[:-1]:
            _run(instruction, values, warp)
        last = code[-1]
        taken = _taken(last, values)
        _run(last, values, warp)
        for following in graph.successors[number]:
            address = graph.block(following)[0].address
            if taken is not None and (address == last.target) != taken:
                continue
            known = states.get(following)
            joined = (
                values if known is None else {name: known[name] for name in known if values.get(name) == known[name]}
            )
            if known is None or joined != known:
                states[following] = dict(joined)
                stack.append(following)
    return set(states)


def _taken(instruction: Instruction, values: _Values) -> bool | None:
    """Whether a branch is taken, None if that is unknown; both successors of a call are reached."""
    if not instruction.opcode.startswith("BRA"):
        return None
    conditions = [instruction.predicate.removeprefix("@")] if instruction.predicate else []
    conditions += [word for word in _words(instruction) if _PREDICATE.match(word)]
    found = [_condition(condition, values) for condition in conditions]
    if False in found:
        return False
    return None if None in found else True


def _condition(text: str, values: _Values) -> bool | None:
    """The value of a predicate such as `!UP1`."""
    if text.removeprefix("!") in _TRUE:
        return not text.startswith("!")
    known = values.get(text.removeprefix("!"))
    return None if known is None else bool(known.low) != text.startswith("!")


def _run(instruction: Instruction, values: _Values, warp: int) -> None:
    """Updates the known values by an instruction."""
    holds = _condition(instruction.predicate.removeprefix("@"), values) if instruction.predicate else True
    if holds is False:
        return
    results = dict(_results(instruction, values, warp)) if holds else {}
    for name in _written(instruction):
        values.pop(name, None)
    values.update(results)


def _results(instruction: Instruction, values: _Values, warp: int) -> Iterator[tuple[str, Interval]]:
    """The results that are known."""
    opcode, words = instruction.opcode, _words(instruction)
    if opcode in ("S2R", "S2UR") and words[1] == "SR_TID.X":
        yield words[0], Interval(warp * _LANES, warp * _LANES + _LANES - 1)
    elif _MOVES.match(opcode) and (known := _value(words[-1], values)):
        yield words[0], known
    elif opcode == "SHFL.IDX" and (known := _value(words[2], values)) and known.low == known.high:
        yield words[1], known
    elif _SHIFTS.match(opcode) and words[1] in _ZERO:
        count, known = _value(words[2], values), _value(words[3], values)
        if count and known and count.low == count.high:
            yield words[0], Interval(known.low >> count.low, known.high >> count.low)
    else:
        holds = _predicate(opcode, words, values)
        if holds is not None:
            yield words[0], Interval(int(holds), int(holds))


def _predicate(opcode: str, words: list[str], values: _Values) -> bool | None:
    """The predicate that a comparison or a table of three predicates sets, None if it is unknown."""
    if (found := _COMPARES.match(opcode)) and words[-1] in _TRUE:
        one, other = _value(words[2], values), _value(words[3], values)
        return _COMPARISONS[found[1]](one, other) if one and other else None
    if re.match(r"U?PLOP3\.LUT$", opcode):
        inputs = [_condition(word, values) for word in words[2:5]]
        if None not in inputs:
            index = sum(bool(given) << place for given, place in zip(inputs, (2, 1, 0), strict=True))
            return bool(int(words[5], 16) >> index & 1)
    return None


def _value(word: str, values: _Values) -> Interval | None:
    if word in _ZERO:
        return Interval(0, 0)
    if re.match(r"0x[0-9a-f]+$", word):
        return Interval(int(word, 16), int(word, 16))
    return values.get(word)


def _written(instruction: Instruction) -> Iterator[str]:
    """The registers and predicates that an instruction may write."""
    words = _words(instruction)
    for word in words[:2]:
        if _PREDICATE.match(word) and not word.startswith("!"):
            yield word
    target = next((word for word in words[:2] if _REGISTER.match(word)), None)
    if target is not None and (found := _REGISTER.match(target)):
        first = int(found[2])
        count = next(count for pattern, count in _WRITTEN if pattern.match(instruction.opcode))
        yield from (f"{found[1]}{number}" for number in range(first, first + count))


def _words(instruction: Instruction) -> list[str]:
    """The operands; nvdisasm leaves out the comma before an address."""
    return [word.strip().removesuffix(".reuse") for word in re.split(r",|(?=\[)", instruction.operands)]


def _equal(one: Interval, other: Interval) -> bool | None:
    if one.high < other.low or other.high < one.low:
        return False
    return True if one.low == one.high == other.low == other.high else None
