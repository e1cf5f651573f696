"""Names, comments, docstrings and messages use the field's words: none of those that GLOSSARY replaces.

Only words whose every use is the replaced one are looked for. Files of TO_DO still hold some; a new file may not.
"""

from __future__ import annotations

import re
from importlib import util
from pathlib import Path

# What is looked for, and what to write.
REPLACED = {
    r"\bhand(s|ed|ing)? on\b": "forward, yield, pass",
    r"\bflying\b": "in flight",
    r"\bwish(es|ed)?\b": "hint, affinity",
    r"\bsettle[sd]?\b": "iterate to a fixed point",
    r"\bis_free\b": "is_rematerializable",
    r"\babsorbed\b": "folded into its user",
    r"\bchapters?\b": "op group",
    r"\b(whole|down the) road\b": "pipeline, stage order",
    r"\b(of|from) above\b": "defined outside, from the enclosing region",
    r"\b(is|are) no (?!longer\b)\w": "is not a valid ..., no ...",
    r"\bthreads? (have to |has to )?(meet|met)\b": "barrier, synchronize",
    r"\blook_around\b": "poll",
}
SUFFIXES = (".py", ".cpp", ".h", ".def", ".inc")
# Of a file listed here nothing is asked.
TO_DO: set[str] = {
    "ast_to_tile/convert.py",
    "ast_to_tile/emitter.py",
    "ast_to_tile/memory_effects.py",
    "ast_to_tile/token_order.py",
    "compile_options.py",
    "dialect/assembly/attribute_printer.py",
    "dialect/assembly/structure_printers.py",
    "dialect/assembly/unknown_operation.py",
    "dialect/bytecode/constant_table.py",
    "dialect/bytecode/function_reader.py",
    "dialect/bytecode/function_writer.py",
    "dialect/bytecode/global_writer.py",
    "dialect/bytecode/layout.py",
    "dialect/bytecode/writer.py",
    "dialect/operation.py",
    "dialect/ptx/entry_rules.py",
    "driver/compiled.py",
    "language/hints.py",
    "language/kernel.py",
    "lowering/tile/split_loops.py",
    "options.py",
    "runtime/binding.py",
    "runtime/devices.py",
    "runtime/interpret/convert.py",
    "runtime/interpret/machine.py",
    "runtime/interpret/printf.py",
    "runtime/interpret/rounding.py",
    "runtime/interpret/shape.py",
    "runtime/json_record.py",
    "runtime/launch_comment.py",
    "runtime/ptxsim/defined_bytes.cpp",
    "runtime/ptxsim/opcode_table.cpp",
    "runtime/ptxsim/opcodes/control.cpp",
    "runtime/ptxsim/tensor/tensor_allocation_opcodes.cpp",
    "runtime/ptxsim/tensor/tensor_memory.cpp",
    "runtime/ptxsim/tensor/tensor_memory.h",
    "runtime/ptxsim/tma/box_walk.h",
    "signature.py",
    "text_input/module.py",
}


def _package() -> Path:
    spec = util.find_spec("tilec")
    assert spec is not None and spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0])


def uses() -> dict[str, list[str]]:
    """By file of the package: line, what stands there, what to write."""
    found: dict[str, list[str]] = {}
    root = _package()
    for folder in (root, *(path for path in root.iterdir() if path.is_symlink())):
        for path in sorted(folder.rglob("*")):
            if path.suffix in SUFFIXES and path.is_file():
                name = str(path.relative_to(root))
                for number, line in enumerate(path.read_text().splitlines(), 1):
                    for pattern, better in REPLACED.items():
                        if match := re.search(pattern, line, re.IGNORECASE):
                            found.setdefault(name, []).append(f"{name}:{number}: '{match[0]}': write {better}")
    return found


def test_replaced_words_do_not_come_back() -> None:
    wrong = [line for name, lines in uses().items() if name not in TO_DO for line in lines]
    assert not wrong, "\n".join(wrong)
