"""The lookup of a kernel in Python text that is not in a file."""

from __future__ import annotations

import re

from tilec.ast_to_tile.source_text import remember
from tilec.language.kernel import Kernel, import_error, selected

# No line of MLIR or PTX starts with an import statement, and a program needs one to define a kernel.
_IMPORT = re.compile(r"^(?:import|from)[ \t]+[\w.]+", re.MULTILINE)


def is_python(text: str) -> bool:
    """Whether a text is a Python program, rather than the text of a stage."""
    return _IMPORT.search(text) is not None


def find_in_text(text: str, file: str, name: str | None = None) -> Kernel:
    """The kernel `name` of a Python program, or its only kernel; `file` stands for the text in messages.

    Raises InputError if the program is invalid or has no such kernel.
    """
    remember(file, text)
    namespace: dict[str, object] = {"__name__": "tilec_source", "__file__": file}
    try:
        exec(compile(text, file, "exec", dont_inherit=True), namespace)
    except Exception as problem:
        raise import_error(file, problem) from problem
    return selected(namespace, file, name)
