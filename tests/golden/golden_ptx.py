"""Writes the golden PTX (`make golden`); the commit message must state which lines changed and why.

python tests/golden/golden_ptx.py
"""

from __future__ import annotations

from pathlib import Path

from tilec.driver.stages import compile as compile_entry

HERE = Path(__file__).parent


def compiled_ptx(name: str, signature: str, target: str) -> str:
    """The PTX of a kernel, without the folder of its source file."""
    found = compile_entry(f"{HERE}/kernels.py:{name}", signature=signature, target=target, stop="ptx")
    return found.ptx.replace(f"{HERE}/", "")


def golden_file(name: str, target: str) -> Path:
    return HERE / f"{name}.{target}.ptx"


if __name__ == "__main__":
    import sys

    sys.path.insert(0, str(HERE))
    from kernels import SIGNATURES, TARGETS

    for name, signature in SIGNATURES.items():
        for target in TARGETS:
            golden_file(name, target).write_text(compiled_ptx(name, signature, target))
