"""A function in a PTX file of NVRTC: its text, self-contained, or if it is short its body as a list of instructions."""

from __future__ import annotations

import re
from dataclasses import dataclass

_DIRECTIVE = re.compile(r"^\.(?:version|target|address_size)\b.*$", re.MULTILINE)
_COMMENT = re.compile(r"//.*$", re.MULTILINE)
_VISIBLE = re.compile(r"\.visible\s+(?=\.func\b)")
# A function or a table at module level, `.func (.param .b64 x) name` or `.global .align 8 .b8 name[128]`.
_SYMBOL = re.compile(
    r"^\.(?:func\s+(?:\([^)]*\)\s*)?|(?:global|const)\b[^;={]*?)(?P<name>[A-Za-z_$][\w$]*)\s*[(\[\n]", re.MULTILINE
)
# A call costs about as much as twenty instructions: parameters, branch, return, and lost scheduling freedom.
STEP_LIMIT = 24

_LINE = re.compile(r"(?P<opcode>[\w.:]+) (?P<first>%\w+), (?P<rest>[^{}\[\]]+);")
_LOAD = re.compile(r"ld\.param\.\w+ (?P<register>%\w+), \[\w+_param_(?P<index>\d+)\];")
_STORE = re.compile(r"st\.param\.\w+ \[func_retval0(?:\+0)?\], (?P<register>%\w+);")
_CONSTANT = re.compile(r"mov\.[fbu]\d+ (?P<register>%\w+), (?P<value>-?\d+|0[fd][0-9A-F]+);")
_TYPES = {"%f": "f32", "%fd": "f64", "%r": "i32", "%rd": "i64", "%p": "i1", "%rs": "i16"}


@dataclass(frozen=True)
class Step:
    """An instruction of the ptx dialect with one result; its operands are arguments, then results of earlier steps."""

    text: str
    type: str
    operands: tuple[int, ...]


def inline_steps(text: str, arguments: int) -> tuple[Step, ...] | None:
    """The steps of a `.func` text, or None if it branches, calls, accesses memory, or is too long to inline.

    The last step computes the result. Constants are folded into their users.
    """
    if text.count(".func") != 1 or ".global" in text:
        return None
    body = text.partition("\n{\n")[2].rpartition("}")[0]
    lines = [line.strip() for line in body.splitlines() if not line.strip().startswith(".reg")]
    if len(lines) > STEP_LIMIT + arguments + 2 or lines[-1] != "ret;":
        return None
    return _Reader(arguments).read(lines[:-1])


class _Reader:
    def __init__(self, arguments: int) -> None:
        self.arguments = arguments
        # A register holds a numbered value or a constant, kept as text.
        self.registers: dict[str, int | str] = {}
        self.steps: list[Step] = []

    def read(self, lines: list[str]) -> tuple[Step, ...] | None:
        for line in lines[:-1]:
            if load := _LOAD.fullmatch(line):
                self.registers[load["register"]] = int(load["index"])
            elif constant := _CONSTANT.fullmatch(line):
                self.registers[constant["register"]] = constant["value"]
            elif not self.step(line):
                return None
        store = _STORE.fullmatch(lines[-1])
        last = self.arguments + len(self.steps) - 1
        return tuple(self.steps) if store and self.registers.get(store["register"]) == last else None

    def step(self, line: str) -> bool:
        match = _LINE.fullmatch(line)
        kind = _TYPES.get(match["first"].rstrip("0123456789")) if match else None
        # A register with two definitions implies control flow.
        if match is None or kind is None or match["first"] in self.registers:
            return False
        arguments, operands = [], []
        for word in match["rest"].split(", "):
            value = self.registers.get(word, word)
            if isinstance(value, int):
                operands.append(value)
                value = f"${len(operands)}"
            elif value.startswith("%"):
                return False
            arguments.append(value)
        self.registers[match["first"]] = self.arguments + len(self.steps)
        self.steps.append(Step(f"{match['opcode']} $0, {', '.join(arguments)};", kind, tuple(operands)))
        return True


def device_function(ptx: str, name: str) -> str:
    """The function `name` of a PTX file and everything it refers to, without module directives.

    Other functions and tables get names that begin with `name`, so that several such texts fit in one module.
    """
    text = _COMMENT.sub("", _DIRECTIVE.sub("", ptx))
    text = _VISIBLE.sub("", text)
    for symbol in dict.fromkeys(match["name"] for match in _SYMBOL.finditer(text)):
        if symbol != name:
            text = re.sub(rf"(?<![\w$%]){re.escape(symbol)}(?![\w$])", f"{name}_{symbol.lstrip('_')}", text)
    return "\n".join(line for line in (_tidied(line) for line in text.splitlines()) if line)


def _tidied(line: str) -> str:
    """The line with indentation of four spaces and single spaces between tokens."""
    text = " ".join(line.split())
    return f"    {text}" if line[:1] in "\t " and text else text
