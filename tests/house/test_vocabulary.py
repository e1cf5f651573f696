"""Names, comments, docstrings and messages do not contain the replaced terms.

Only terms that have no other meaning in the sources are searched for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import util
from pathlib import Path

# Patterns of the replaced terms, and the terms to write instead.
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
    r"(?<!\bthere )\b(is|are) no (?!longer\b)\w": "is not a valid ..., no ...",
    r"\bthere (is|are) no \w+ that\b": "no ...",
    r"\bthreads? (have to |has to )?(meet|met)\b": "barrier, synchronize",
    r"\blook_around\b": "poll",
    r"\b(each|every|one|first|later|next) turns?\b": "iteration",
}
SUFFIXES = (".py", ".cpp", ".h", ".def", ".inc")


def _package() -> Path:
    spec = util.find_spec("tilec")
    assert spec is not None and spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0])


def _sources() -> Iterator[tuple[str, Path]]:
    """Names and paths of the files of the package and of its tests."""
    root, tests = _package(), Path(__file__).parents[1]
    for folder in (root, *(path for path in root.iterdir() if path.is_symlink())):
        yield from ((str(path.relative_to(root)), path) for path in sorted(folder.rglob("*")))
    yield from ((f"tests/{path.relative_to(tests)}", path) for path in sorted(tests.rglob("*")))


def uses() -> list[str]:
    """The file, the line, the text found, and its replacement."""
    found: list[str] = []
    for name, path in _sources():
        # This file contains the patterns.
        if path.suffix in SUFFIXES and path.is_file() and path != Path(__file__):
            for number, line in enumerate(path.read_text().splitlines(), 1):
                for pattern, replacement in REPLACED.items():
                    if match := re.search(pattern, line, re.IGNORECASE):
                        found.append(f"{name}:{number}: '{match[0]}': write {replacement}")
    return found


def test_sources_contain_no_replaced_terms() -> None:
    found = uses()
    assert not found, "\n".join(found)
