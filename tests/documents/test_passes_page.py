"""docs/passes.md lists all passes in order, and its examples show the output of the passes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tilec
from tilec import pipeline
from tilec.dialect.mlir import passmanager
from tilec.lowering.tile.passes import DEFAULT, PASSES, run
from tilec.runtime.interpret.evaluate import evaluate
from tilec.text_input.module import Module

PAGE = (Path(__file__).parents[2] / "docs" / "passes.md").read_text()
ENTRY = re.search(r"`(entry @k\(.*?\))`", PAGE)[1]
EXAMPLE = re.compile(r"```mlir (before|after|unchanged)(?: (\S+))?\n(.*?)```", re.DOTALL)
SECTIONS: dict[str, dict[str, str]] = {}
# The passes that run after the pass of a section in its example.
FOLLOWING_PASSES: dict[str, tuple[str, ...]] = {}
for section in PAGE.split("\n## ")[1:]:
    name, text = section.split("\n", 1)
    SECTIONS[name] = {kind: body for kind, _, body in EXAMPLE.findall(text)}
    FOLLOWING_PASSES[name] = tuple(each for _, names, _ in EXAMPLE.findall(text) for each in names.split(",") if each)


def module_of(body: str) -> Module:
    return Module.parse(f"cuda_tile.module @m {{ {ENTRY} {{ {body} }} }}")


def after(names: tuple[str, ...], body: str) -> str:
    module = module_of(body)
    run(module.ir, names, evaluate=evaluate)
    module.verify()
    return module.to_text()


def test_page_lists_every_pass_in_order() -> None:
    assert list(SECTIONS) == list(PASSES)
    shown = re.search(r"Compiling runs `(.*?)`", PAGE, re.DOTALL)[1]
    assert tuple(re.split(r",\s+", shown)) == DEFAULT


def test_description_of_the_dialect_has_the_tables_of_passes_and_heuristics(monkeypatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "docs" / "extensions"))
    import pass_table

    description = (Path(tilec.__file__).parent / "dialect" / "tile_gpu" / "README.md").read_text()
    assert f"\n\n{pass_table.pass_table()}\n" in description
    assert f"\n\n{pass_table.heuristic_table()}\n" in description


@pytest.mark.parametrize("name", SECTIONS)
def test_example_of_a_pass(name: str) -> None:
    assert (
        after((name, *FOLLOWING_PASSES[name]), SECTIONS[name]["before"]) == module_of(SECTIONS[name]["after"]).to_text()
    )


@pytest.mark.parametrize("name", SECTIONS)
def test_example_that_a_pass_does_not_change(name: str) -> None:
    assert after((name,), SECTIONS[name]["unchanged"]) == module_of(SECTIONS[name]["unchanged"]).to_text()


def test_python_program_of_the_page() -> None:
    (program,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names = {"text": module_of(SECTIONS["simplify"]["before"]).to_text()}
    exec(program, names)
    expected = module_of(SECTIONS["simplify"]["after"]).to_text()
    assert names["module"].to_text() == expected
    assert names["passmanager"] is passmanager and names["pipeline"] is pipeline
