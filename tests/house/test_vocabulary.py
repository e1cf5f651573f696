"""Names, comments, docstrings, messages and documents do not contain the replaced terms.

Only terms that have no other meaning in the sources are searched for. Of documents, code is not searched.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
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
    r"\bin front of\b": "before",
    r"\bfor ever\b": "deadlock, or do not terminate",
    r"\bnobody\b": "no thread, no role, no user",
    r"\bso many\b": "of n, at most n, this number of",
}
ROOT = Path(__file__).parents[2]
SUFFIXES = (".py", ".cpp", ".h", ".def", ".inc")


def _package() -> Path:
    spec = util.find_spec("tilec")
    assert spec is not None and spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0])


def _files() -> Iterator[tuple[str, Path]]:
    """Names and paths of the files of the package, of its tests, and of the folders and documents beside the tests."""
    package = _package()
    for folder in (package, *(path for path in package.iterdir() if path.is_symlink())):
        yield from ((str(path.relative_to(package)), path) for path in sorted(folder.rglob("*")))
    for folder in (ROOT / "tests", ROOT / "docs", ROOT / "benchmarks", ROOT / "examples"):
        yield from ((str(path.relative_to(ROOT)), path) for path in sorted(folder.rglob("*")))
    yield from ((path.name, path) for path in sorted(ROOT.glob("*.md")))


def searched_text(path: Path) -> str:
    """The text in which terms are searched for, with the lines of the file: none for this file, which has the terms."""
    if not path.is_file() or path == Path(__file__):
        return ""
    if path.suffix == ".md":
        return _prose(path.read_text())
    return path.read_text() if path.suffix in SUFFIXES else ""


def _prose(text: str) -> str:
    """The text of a document without fenced blocks and inline code."""
    lines, is_fenced = text.splitlines(), False
    for number, line in enumerate(lines):
        if line.startswith("```"):
            is_fenced = not is_fenced
        lines[number] = "" if is_fenced or line.startswith("```") else re.sub(r"`[^`]*`", "", line)
    return "\n".join(lines)


def uses(files: Iterable[tuple[str, Path]]) -> list[str]:
    """The file, the line, the text found, and its replacement."""
    found: list[str] = []
    for name, path in files:
        text = searched_text(path)
        for pattern, replacement in REPLACED.items():
            for match in re.finditer(pattern, text, re.IGNORECASE):
                line = text.count("\n", 0, match.start()) + 1
                found.append(f"{name}:{line}: '{match[0]}': write {replacement}")
    return found


def test_sources_and_documents_contain_no_replaced_terms() -> None:
    found = uses(_files())
    assert not found, "\n".join(found)


def test_prose_of_documents_is_searched_and_code_is_not(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("A wish.\n\n```python\nwish = 1\n```\n\nThe name `wish` is code, but not this wish.\n")
    found = "write hint, affinity"
    assert uses([("page.md", page)]) == [f"page.md:1: 'wish': {found}", f"page.md:7: 'wish': {found}"]
