"""The programs and commands of README.md, CONTRIBUTING.md and the pages of docs run and print what the pages show."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from page import Block, PageError, Runner, blocks

from tilec.runtime.dispatch._dispatch import reset_launch_counts

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
# Pages with a separate test.
TESTED_SEPARATELY = ("README.md", "passes.md")
# Kinds of blocks that test_passes_page.py runs.
PASS_EXAMPLES = ("before", "after", "unchanged")


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def runnable(page: Path) -> list[Block]:
    return [
        block
        for block in blocks(page)
        if not block.not_run and not (block.language == "mlir" and block.argument.split(" ")[0] in PASS_EXAMPLES)
    ]


def run(page: Path, folder: Path) -> Runner:
    """Runs all blocks of a page in a folder that contains only the examples."""
    work = folder / "work"
    shutil.copytree(ROOT / "examples", work / "examples")
    runner, loaded = Runner(work, folder / "commands"), set(sys.modules)
    # A page shows the launches of a new process.
    reset_launch_counts()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(work)
        patch.syspath_prepend(str(work))
        for block in runnable(page):
            runner.run(block)
    # Other pages must not import the modules of this page.
    for name in set(sys.modules) - loaded:
        if str(getattr(sys.modules[name], "__file__", None)).startswith(str(work)):
            del sys.modules[name]
    return runner


@pytest.mark.parametrize("page", [page for page in PAGES if page.name not in TESTED_SEPARATELY], ids=_name)
def test_each_block_runs_as_shown(tmp_path: Path, page: Path) -> None:
    run(page, tmp_path)


def test_readme_runs_as_shown_and_its_products_are_correct(tmp_path: Path) -> None:
    folder = run(ROOT / "README.md", tmp_path).folder
    a, b, simulated, interpreted, piped = (np.load(folder / f"{name}.npy") for name in "ABCDE")
    exact = a.astype(np.float64) @ b.astype(np.float64)
    accumulated = 776 * 2.0**-24 * (np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64))
    for c in (simulated, interpreted, piped):
        assert (np.abs(c - exact) <= accumulated + 2.0**-11 * (np.abs(exact) + accumulated)).all()


def test_readme_shows_every_command() -> None:
    shown = "".join(block.text for block in runnable(ROOT / "README.md") if block.language == "sh")
    used = set(re.findall(r"\btilec (\w+)", shown))
    assert used >= {"compile", "simulate", "interpret", "opt", "dialect", "info"}


@pytest.mark.parametrize("page", [*PAGES, ROOT / "DECISIONS.md", ROOT / "CHANGELOG.md"], ids=_name)
def test_each_link_names_a_file(page: Path) -> None:
    text = re.sub(r"`[^`\n]+`", "", page.read_text())
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_each_target_of_make_exists(page: Path) -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert targets >= set(re.findall(r"(?:^|`)make ([\w-]+)", page.read_text(), re.MULTILINE))


class TestRunner:
    """Runner reports blocks that do not behave as the page shows."""

    def page(self, folder: Path, text: str) -> Path:
        (folder / "page.md").write_text(text)
        return folder / "page.md"

    def run(self, folder: Path, text: str) -> None:
        runner = Runner(folder, folder / "commands")
        for block in blocks(self.page(folder, text)):
            runner.run(block)

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("```sh\nfalse\n```\n", "expected status 0, found 1"),
            ("```sh exit=1\ntrue\n```\n", "expected status 1, found 0"),
            ("```sh\nfalse | true\n```\n", "expected status 0, found 1"),
            ("```python\nprint(2)\n```\n```text\n3\n```\n", "expected\n3\nfound\n2"),
            ("```\ntrue\n```\n", "expected python, sh, text or a file"),
            ("text\n\n    true\n", "expected a fenced block"),
        ],
    )
    def test_incorrect_pages_are_reported(self, tmp_path: Path, text: str, message: str) -> None:
        with pytest.raises(PageError, match=re.escape(message)):
            self.run(tmp_path, text)

    def test_programs_share_names_and_times_are_masked(self, tmp_path: Path) -> None:
        self.run(tmp_path, "```python\nx = 1.5\n```\n```python\nprint(f'{x} s')\n```\n```text\n2.5 s\n```\n")

    def test_excluded_block_has_its_reason(self, tmp_path: Path) -> None:
        (block,) = blocks(self.page(tmp_path, "<!-- not run: needs a GPU -->\n```sh\nfalse\n```\n"))
        assert block.not_run == "needs a GPU"
