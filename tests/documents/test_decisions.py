"""Each decision is in the file of one area, has a status, and names files and entries that exist."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

import tilec

ROOT = Path(__file__).parents[2]
AREAS = sorted((ROOT / "docs" / "decisions").glob("*.md"))
PACKAGE = Path(tilec.__file__).parent
INDEX = ROOT / "DECISIONS.md"
STATUS = re.compile(r"standing|superseded by \[[^\]]+\]\([^)]*#[^)]+\)")
LINK = re.compile(r"\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)")
FOLDERS = "dialect|lowering|runtime|tests|benchmarks|examples|docs"


def entries(text: str) -> dict[str, str]:
    """The texts of the entries of a page, with their status, by title."""
    return dict(part.split("\n", 1) for part in text.split("\n## ")[1:])


def anchor(title: str) -> str:
    """The anchor of a heading, as MyST and GitHub make it."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def without_status(text: str) -> list[str]:
    """The titles of the entries whose first line is not a status."""
    found = []
    for title, body in entries(text).items():
        line = body.strip().split("\n", 1)[0]
        if not (line.startswith("Status: ") and STATUS.fullmatch(line.removeprefix("Status: "))):
            found.append(title)
    return found


def broken_links(page: Path, text: str) -> list[str]:
    """The links of a page to a file, or to an entry of a file, that does not exist."""
    broken = []
    for name, entry in LINK.findall(text):
        file = page.parent / name if name else page
        if not file.exists() or (entry and entry not in map(anchor, re.findall(r"^#+ (.*)", file.read_text(), re.M))):
            broken.append(f"{name}#{entry}" if entry else name)
    return broken


@pytest.mark.parametrize("area", AREAS, ids=lambda path: path.stem)
def test_each_entry_has_a_status_and_its_links_resolve(area: Path) -> None:
    text = area.read_text()
    assert entries(text)
    assert without_status(text) == []
    assert broken_links(area, text) == []


def test_check_finds_an_entry_without_status_and_links_to_nothing(tmp_path: Path) -> None:
    text = (
        "# Area\n\n## First\n\nStatus: standing\n\nSee [second](#second), [third](#third), [file](missing.md).\n\n"
        "## Second\n\nNo status.\n\n## Fourth\n\nStatus: superseded\n\n"
        "## Fifth\n\nStatus: superseded by [First](#first)\n"
    )
    page = tmp_path / "area.md"
    page.write_text(text)
    assert without_status(text) == ["Second", "Fourth"]
    assert broken_links(page, text) == ["#third", "missing.md"]


def test_no_decision_is_in_two_areas() -> None:
    count = Counter(title for area in AREAS for title in entries(area.read_text()))
    assert [title for title, times in count.items() if times > 1] == []


def test_index_and_site_list_each_area_once() -> None:
    names = [f"docs/decisions/{area.name}" for area in AREAS]
    assert sorted(re.findall(r"\]\((docs/decisions/[^)]+)\)", INDEX.read_text())) == names
    site = re.findall(r"^decisions/\w+$", (ROOT / "docs" / "decisions.md").read_text(), re.M)
    assert sorted(f"docs/{name}.md" for name in site) == names


@pytest.mark.parametrize("area", AREAS, ids=lambda path: path.stem)
def test_each_named_file_exists(area: Path) -> None:
    """Files of the package are looked up in the installed package: tests run without its sources."""
    named = re.findall(rf"`((?:{FOLDERS})/[\w./]+)`", area.read_text())
    assert [path for path in named if not (ROOT / path).exists() and not (PACKAGE / path).exists()] == []
