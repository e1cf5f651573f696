"""Time to read, verify and write a kernel as bytecode and as text: `python benchmarks/bytecode.py [operations]`.

Goals for 5,000 operations: 0.15 s to read and verify bytecode, 0.25 s for text. `Module.to_bytecode` verifies before it
writes; the benchmark prints the times with and without verification.
"""

from __future__ import annotations

from parse import best, kernel, operations_of_command_line

from tilec.dialect.assembly.reader import read_module as read_text
from tilec.dialect.bytecode.reading.reader import read_module
from tilec.dialect.bytecode.version import VERSIONS, Version
from tilec.dialect.bytecode.writing.writer import write_module
from tilec.text_input.module import Module


def main() -> None:
    operations = operations_of_command_line(__doc__)
    text = kernel(operations)
    module = Module.parse(text)
    data = module.to_bytecode()
    rows = {
        "bytecode: read": best(lambda: read_module(data, "k.tileirbc")),
        "verify": best(module.verify),
        "bytecode: read and verify": best(lambda: Module.parse(data, "k.tileirbc")),
        "text: read": best(lambda: read_text(text)),
        "text: read and verify": best(lambda: Module.parse(text)),
        "text: print": best(module.to_text),
    }
    for version in (str(VERSIONS[0]), str(VERSIONS[-1])):
        chosen = Version.parse(version)
        rows[f"bytecode: write {version}"] = best(lambda chosen=chosen: write_module(module.ir, chosen))
        rows[f"bytecode: verify and write {version}"] = best(lambda version=version: module.to_bytecode(version))
    print(f"{operations} operations: {len(data)} bytes of bytecode, {len(text)} characters of text")
    for name, seconds in rows.items():
        print(f"{name:40} {seconds * 1e3:8.1f} ms {seconds / operations * 1e6:6.1f} us per operation")


if __name__ == "__main__":
    main()
