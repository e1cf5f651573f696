"""The drawings of docs/architecture.md, and README.md's table of stages, are those of the records."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tilec.driver.stages import STAGE_NAMES, STAGES
from tilec.lowering.gpu.kernel_pass import State
from tilec.lowering.gpu.passes import PASSES

ROOT = Path(__file__).parents[2]


@pytest.fixture
def architecture(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "extensions"))
    import architecture

    return architecture


def test_page_has_the_drawings_of_the_records(architecture) -> None:
    text = architecture.PAGE.read_text()
    assert all(f"not run: {name}, drawn" in text for name in architecture.DRAWINGS)
    assert text == architecture.page(text), "python docs/extensions/architecture.py writes the drawings"


def test_drawings_show_each_stage_and_each_pass_once(architecture) -> None:
    assert re.findall(r"│ (\S+) +│ ", architecture.stages_as_text()) == list(STAGE_NAMES)
    assert [line.split()[0] for line in architecture.passes_as_text().splitlines()[len(State) + 1 :]] == list(PASSES)
    drawn = ElementTree.fromstring(architecture.passes_as_svg())
    labels = ["".join(text.itertext()) for text in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert all(sum(label.endswith(name) for label in labels) for name in PASSES)
    assert all(name in architecture.stages_as_svg() for name in STAGE_NAMES)


def test_states_are_marked_where_passes_give_and_need_them(architecture) -> None:
    rows = {line.split()[0]: line for line in architecture.passes_as_text().splitlines()[len(State) + 1 :]}
    for name, record in PASSES.items():
        assert rows[name].count("◆") == len(record.gives)
        assert rows[name].count("●") == len(record.needs)


def test_page_describes_each_state(architecture) -> None:
    table = architecture.PAGE.read_text().partition("| state |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| (\w+) \|", table, re.MULTILINE) == [state.name.lower() for state in State]


def test_table_of_stages_in_the_readme() -> None:
    rows = [
        f"| {stage.name} | {stage.content} | {', '.join(f'`{folder}`' for folder in stage.folders)} | `{stage.suffix}`"
        for stage in STAGES
    ]
    readme = (ROOT / "README.md").read_text()
    assert [row for row in rows if f"\n{row}" not in readme] == []


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.name)
def test_folders_of_a_stage_exist(architecture, stage) -> None:
    for folder in stage.folders:
        assert (architecture.PACKAGE / folder.removeprefix("python/tilec/")).exists(), folder
