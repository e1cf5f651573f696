"""The site of the documentation shows every page and every public name. `make docs` builds it."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
TREE = re.compile(r"```\{toctree\}\n(.*?)```", re.DOTALL)


def pages() -> dict[str, Path]:
    return {
        str(path.relative_to(DOCS).with_suffix("")): path for path in DOCS.rglob("*.md") if "editors" not in path.parts
    }


def test_each_page_is_in_one_table_of_contents() -> None:
    shown: list[str] = []
    for path in pages().values():
        for tree in TREE.findall(path.read_text()):
            names = [line for line in tree.splitlines() if line and not line.startswith(":")]
            shown += [str((path.parent / name).relative_to(DOCS)) for name in names]
    assert sorted(shown) == sorted(set(pages()) - {"index"})


def test_each_public_name_is_on_one_page_of_the_reference(monkeypatch) -> None:
    monkeypatch.syspath_prepend(str(DOCS / "extensions"))
    from public_names import modules

    named = re.findall(r"<!-- public names of (.*) -->", "".join(path.read_text() for path in pages().values()))
    listed = [module for modules in named for module in modules.split()]
    assert sorted(listed) == sorted(modules())


def test_picture_of_the_memory_plan_is_drawn_from_the_example(monkeypatch) -> None:
    monkeypatch.syspath_prepend(str(DOCS / "extensions"))
    from memory_picture import MARKER, picture

    page = (DOCS / "memory.md").read_text()
    # The first line and the contents of the regions, which the page shows as text, too.
    shown = page.partition("```text\n")[2].partition("```")[0].splitlines()
    drawn = picture(page)
    assert page.count(MARKER) == 1 and shown[0] in drawn
    assert all(row.split("  ")[-1] in drawn for row in shown[3:])


def test_pages_show_no_picture_that_nothing_draws() -> None:
    assert not list(DOCS.rglob("*.svg")) and not list(DOCS.rglob("*.png"))
