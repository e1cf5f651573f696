"""Random control flow, loop-carried values and tied results: PTX text computes what the SSA form computes.

Two small interpreters, which share no code with the emitter, are compared before and after upstream passes: one runs
the ptx dialect with its values in a dictionary, the other runs PTX text. Both record what `st.local.b32` stores.
"""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from tilec.dialect.mlir import context, ir, passmanager
from tilec.dialect.ptx.builder import PtxBuilder, entry
from tilec.lowering.ptx.emit import emit

# Loops may be infinite, so both interpreters stop after this number of stores. Every block stores.
MOST_STORES = 60


def operate(opcode: str, arguments: list[int]) -> int:
    if opcode.startswith("mov"):
        return arguments[0]
    if opcode == "add.u32":
        return (arguments[0] + arguments[1]) & 0xFFFFFFFF
    if opcode == "mul.lo.u32":
        return (arguments[0] * arguments[1]) & 0xFFFFFFFF
    if opcode == "setp.lt.u32":
        return int(arguments[0] < arguments[1])
    if opcode == "selp.b32":
        return arguments[0] if arguments[2] else arguments[1]
    if opcode == "not.pred":
        return 1 - arguments[0]
    return {"xor.pred": int.__xor__, "and.pred": int.__and__, "or.pred": int.__or__}[opcode](*arguments)


def run_dialect(kernel: ir.Operation) -> list[int]:
    """The stored values of an entry; block arguments are assigned in parallel."""
    values: dict[ir.Value, int] = {}
    stored: list[int] = []
    block = kernel.regions[0].blocks[0]
    while True:
        operations = [view.operation for view in block.operations]
        for operation in operations[:-1]:
            run_operation(operation, values, stored)
            if len(stored) == MOST_STORES:
                return stored
        end = operations[-1]
        passed = [values[value] for value in end.operands]
        if end.name == "ptx.return":
            return stored
        block = end.successors[0]
        if end.name == "cf.cond_br":
            first = len(block.arguments)
            taken, passed = passed[0], passed[1:]
            block = end.successors[0 if taken else 1]
            passed = passed[:first] if taken else passed[first:]
        values.update(zip(list(block.arguments), passed, strict=True))


def run_operation(operation: ir.Operation, values: dict[ir.Value, int], stored: list[int]) -> None:
    opcode, _, rest = operation.attributes["text"].value.rstrip(";").partition(" ")
    operands = [values[value] for value in operation.operands]
    if opcode == "st.local.b32":
        stored.append(operands[0])
        return
    known = dict(enumerate(operands, 1))
    if "tied" in operation.attributes:
        known[0] = operands[operation.attributes["tied"][0]]
    sources = rest.split(", ")[1:]
    values[operation.results[0]] = operate(opcode, [known[int(s[1:])] if s[0] == "$" else int(s) for s in sources])


LINE = re.compile(r"(?:@(?P<negated>!?)(?P<guard>%p\d+) )?(?P<opcode>\S+)(?: (?P<rest>.*))?;")


def run_text(text: str) -> list[int]:
    """The stored values of PTX text."""
    inside = text[text.index("{") + 1 : text.rindex("}")]
    # A select of predicates is several instructions in braces on one line.
    lines = [part.strip() for line in inside.replace("; ", ";\n").splitlines() for part in [line.strip("{} ")]]
    lines = [line for line in lines if line and not line.startswith(".")]
    labels = {line[:-1]: number for number, line in enumerate(lines) if line.endswith(":")}
    registers: dict[str, int] = {}
    stored: list[int] = []
    at = 0
    while len(stored) < MOST_STORES:
        line = lines[at]
        at += 1
        if line.endswith(":"):
            continue
        match = LINE.fullmatch(line)
        assert match, line
        if match["guard"] and registers[match["guard"]] == bool(match["negated"]):
            continue
        operands = match["rest"].split(", ") if match["rest"] else []
        if match["opcode"] == "ret":
            break
        if match["opcode"].startswith("bra"):
            at = labels[operands[0]]
        elif match["opcode"] == "st.local.b32":
            stored.append(registers[operands[1]])
        else:
            sources = [registers[name] if name[0] == "%" else int(name) for name in operands[1:]]
            registers[operands[0]] = operate(match["opcode"], sources)
    return stored


def dominators(targets: list[list[int]]) -> list[set[int]]:
    """For each block the blocks on every path to it; an unreachable block has only itself."""
    count = len(targets)
    everything = set(range(count))
    found = [{0}] + [everything] * (count - 1)
    for _ in range(count):
        for block in range(1, count):
            before = [found[other] for other in range(count) if block in targets[other]]
            found[block] = {block} | set.intersection(everything, *before) if before else everything
    reached, stack = {0}, [0]
    while stack:
        stack += (new := set(targets[stack.pop()]) - reached)
        reached |= new
    return [dominating if block in reached else {block} for block, dominating in enumerate(found)]


class Flow:
    """A random kernel: blocks with integers and predicates as arguments, and branches to any of them."""

    def __init__(self, draw: st.DrawFn, module: ir.Module) -> None:
        self.draw = draw
        self.b = PtxBuilder(entry(module, "kernel", target="sm_90a", threads=[32]))
        count = draw(st.integers(2, 6))
        inner = st.integers(1, count - 1)
        self.targets = [draw(st.lists(inner, min_size=int(block == 0), max_size=2)) for block in range(count)]
        types = [[]] + [
            draw(st.lists(st.sampled_from([self.b.i32, self.b.i32, self.b.i1]), max_size=4)) for _ in self.targets[1:]
        ]
        self.blocks = [self.b.current, *(self.b.block(kinds) for kinds in types[1:])]
        self.dominators = dominators(self.targets)
        self.values: list[list[ir.Value]] = [[] for _ in range(count)]
        # A block may use values of its dominators, so those are filled first.
        for block in sorted(range(count), key=lambda block: len(self.dominators[block])):
            self.fill(block)

    def value(self, block: int, kind: ir.Type) -> ir.Value:
        known = [
            value for other in sorted(self.dominators[block]) for value in self.values[other] if value.type == kind
        ]
        return self.draw(st.sampled_from(known))

    def fill(self, block: int) -> None:
        b, values = self.b, self.values[block]
        b.at(self.blocks[block])
        values += self.blocks[block].arguments
        values += [b.compute(f"mov.b32 $0, {number};", b.i32) for number in (block, block + 2)]
        values.append(b.compute("setp.lt.u32 $0, $1, 3;", b.i1, self.value(block, b.i32)))
        for _ in range(self.draw(st.integers(0, 4))):
            self.instruction(block)
        b.execute("st.local.b32 [0], $0;", (), self.value(block, b.i32))
        targets = [self.blocks[target] for target in self.targets[block]]
        passed = [[self.value(block, argument.type) for argument in target.arguments] for target in targets]
        if not targets:
            b.leave()
        elif len(targets) == 1:
            b.branch(targets[0], *passed[0])
        else:
            b.cond_branch(self.value(block, b.i1), targets[0], passed[0], targets[1], passed[1])

    def instruction(self, block: int) -> None:
        b = self.b
        first, second = (self.value(block, b.i32) for _ in range(2))
        choice = self.draw(st.sampled_from(["add", "mul", "tied", "tied second", "setp", "xor"]))
        instructions = {
            "add": lambda: b.compute("add.u32 $0, $1, $2;", b.i32, first, second),
            "mul": lambda: b.compute("mul.lo.u32 $0, $1, $2;", b.i32, first, second),
            "tied": lambda: b.execute("add.u32 $0, $2, $0;", b.i32, first, second, tied=[0]),
            "tied second": lambda: b.execute("mul.lo.u32 $0, $0, $1;", b.i32, first, second, tied=[1]),
            "setp": lambda: b.compute("setp.lt.u32 $0, $1, $2;", b.i1, first, second),
            "xor": lambda: b.compute("xor.pred $0, $1, $2;", b.i1, self.value(block, b.i1), self.value(block, b.i1)),
        }
        self.values[block].append(instructions[choice]())


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_text_computes_what_the_ssa_form_computes(data: st.DataObject) -> None:
    with context(), ir.Location.unknown():
        module = ir.Module.create()
        flow = data.draw(st.composite(Flow)(module))
        assert module.operation.verify()
        expected = run_dialect(flow.b.entry)
        assert run_text(emit(module)) == expected
        passmanager.PassManager.parse("builtin.module(canonicalize,cse)").run(module.operation)
        assert run_text(emit(module)) == expected
