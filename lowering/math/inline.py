"""A short straight function as one instruction of the ptx dialect: its body in place of a call."""

from __future__ import annotations

import re

# A call costs about as much as twenty instructions: parameters, jump, return, and what it keeps from being scheduled.
INSTRUCTION_LIMIT = 24
_REGISTER = re.compile(r"%(?=(?:p|f|fd|r|rd|rs)(?:\d|<))")
_LOAD = re.compile(r"ld\.param\.(?P<kind>\w+) (?P<register>%\w+), \[\w+_param_(?P<index>\d+)\];")
_ONE_INSTRUCTION = re.compile(
    r"(?:\.reg .*\n)*mov\.\w+ (?P<argument>%\w+), \$1;\n"
    r"(?P<opcode>[\w.]+) (?P<result>%\w+), (?P=argument);\nmov\.\w+ \$0, (?P=result);"
)
_STORE = re.compile(r"st\.param\.(?P<kind>\w+) \[func_retval0(?:\+0)?\], (?P<register>%\w+);")


def inline_text(text: str) -> str | None:
    """The instruction with `$0` for the result and `$1, $2` for the arguments, or None where a call is better.

    Registers are renamed, because inside the braces they would hide those of the kernel.
    """
    head, _, body = text.partition("\n{\n")
    lines = [line.strip() for line in body.rpartition("}")[0].splitlines()]
    alone = text.count(".func") == 1 and head.count(".global") == 0
    if not alone or any(word in body for word in ("bra", "call", ".local", "$L", "{")):
        return None
    if lines[-1] != "ret;" or sum(not line.startswith(".reg") for line in lines) > INSTRUCTION_LIMIT:
        return None
    renamed = [_REGISTER.sub("%math_", line) for line in lines[:-1]]
    moved = [_STORE.sub(r"mov.\g<kind> $0, \g<register>;", _LOAD.sub(_argument, line)) for line in renamed]
    return _single("\n".join(moved)) or "\n".join(["{", *moved, "}"])


def _single(body: str) -> str | None:
    """`ex2.approx.f32 $0, $1;` where the body is one instruction between two moves."""
    match = _ONE_INSTRUCTION.fullmatch(body)
    return f"{match['opcode']} $0, $1;" if match else None


def _argument(match: re.Match[str]) -> str:
    return f"mov.{match['kind']} {match['register']}, ${int(match['index']) + 1};"
