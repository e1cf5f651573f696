"""Two small machines for straight integer code: one runs the ptx dialect in SSA form, one runs PTX text.

They share nothing with the emitter. Both record what `st.local.b32` stores, and stop after `FUEL` stores.
"""

from __future__ import annotations

import re

from tilec.dialect.mlir import ir

FUEL = 60
MASK = 0xFFFFFFFF


def _operate(opcode: str, arguments: list[int]) -> int:
    if opcode.startswith("mov"):
        return arguments[0]
    if opcode == "add.u32":
        return (arguments[0] + arguments[1]) & MASK
    if opcode == "mul.lo.u32":
        return (arguments[0] * arguments[1]) & MASK
    if opcode == "setp.lt.u32":
        return int(arguments[0] < arguments[1])
    if opcode == "xor.pred":
        return arguments[0] ^ arguments[1]
    raise ValueError(f"the model has no instruction {opcode}")


def run_dialect(entry: ir.Operation) -> list[int]:
    """What an entry stores; values are evaluated in a dictionary, block arguments all at once."""
    values: dict[ir.Value, int] = {}
    stored: list[int] = []
    block = entry.regions[0].blocks[0]
    while True:
        target, passed = None, []
        for view in block.operations:
            operation = view.operation
            operands = [values[value] for value in operation.operands]
            if operation.name == "ptx.return":
                return stored
            if operation.name == "cf.br":
                target, passed = operation.successors[0], operands
            elif operation.name == "cf.cond_br":
                first = len(operation.successors[0].arguments)
                chosen = 0 if operands[0] else 1
                target = operation.successors[chosen]
                passed = operands[1 : first + 1] if operands[0] else operands[first + 1 :]
            else:
                _run_operation(operation, operands, values, stored)
                if len(stored) == FUEL:
                    return stored
        block = target
        values.update(zip(list(block.arguments), passed, strict=True))


def _run_operation(operation: ir.Operation, operands: list[int], values: dict[ir.Value, int], stored: list[int]) -> None:
    text = operation.attributes["text"].value
    opcode, _, rest = text.rstrip(";").partition(" ")
    words = rest.split(", ")
    results = list(operation.results)
    if opcode == "st.local.b32":
        stored.append(operands[-1])
        return
    known = dict(enumerate(operands, len(results)))
    if "tied" in operation.attributes:
        known |= {result: operands[tie] for result, tie in enumerate(operation.attributes["tied"]) if tie >= 0}
    read = [known[int(word[1:])] if word[0] == "$" else int(word) for word in words[1:]]
    values[results[0]] = _operate(opcode, read)


_LINE = re.compile(r"(?:@(?P<not>!?)(?P<guard>%p\d+) )?(?P<opcode>\S+)(?: (?P<rest>.*))?;")


def run_text(text: str) -> list[int]:
    """What PTX text stores, its registers and labels taken literally."""
    body = text[text.index("{") + 1 : text.rindex("}")]
    lines = [line.partition("//")[0].strip() for line in body.splitlines()]
    lines = [line for line in lines if line and not line.startswith(".")]
    labels = {line[:-1]: number for number, line in enumerate(lines) if line.endswith(":")}
    registers: dict[str, int] = {}
    stored: list[int] = []
    at = 0
    while len(stored) < FUEL:
        line = lines[at]
        at += 1
        if line.endswith(":"):
            continue
        match = _LINE.fullmatch(line)
        assert match, line
        if match["guard"] and registers[match["guard"]] == bool(match["not"]):
            continue
        words = match["rest"].split(", ") if match["rest"] else []
        if match["opcode"] == "ret":
            return stored
        if match["opcode"].startswith("bra"):
            at = labels[words[0]]
        elif match["opcode"] == "st.local.b32":
            stored.append(registers[words[1]])
        else:
            read = [registers[word] if word[0] == "%" else int(word) for word in words[1:]]
            registers[words[0]] = _operate(match["opcode"], read)
    return stored
