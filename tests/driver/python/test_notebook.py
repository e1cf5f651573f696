"""Kernels in cells of a notebook, and the HTML of a compile."""

from __future__ import annotations

import asyncio
import re
import warnings
from html.parser import HTMLParser
from pathlib import Path

import pytest

import tilec as ct
from tilec.driver.provenance import Line, lines_of
from tilec.driver.stages import STAGE_NAMES

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")

TEXT_STAGES = [name for name in STAGE_NAMES if name != "cubin"]


@ct.kernel
def scaled(x, y, tile: ct.Constant[int]):
    block = (ct.bid(0),)
    loaded = ct.load(x, block, (tile,))
    ct.store(y, block, loaded * 2 < 3)


SIGNATURE = "x: f32[?], y: bool[?], tile=128"
FIRST = scaled.location.line


@pytest.fixture(scope="module")
def compiled() -> ct.Compiled:
    return ct.compile(scaled, signature=SIGNATURE, target="sm_100a", stop="ptx")


class Page(HTMLParser):
    """The elements of a page, and the text of each `<pre>`."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.panels: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.attributes += attributes
        if tag != "input":
            self.open.append(tag)
        if tag == "pre":
            self.panels.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "pre" in self.open:
            self.panels[-1] += data


def labels(html: str) -> list[str]:
    return re.findall(r"<label [^>]*>([\w-]+)", html)


def test_each_stage_has_a_tab(compiled: ct.Compiled) -> None:
    html = compiled._repr_html_()
    assert labels(html)[: len(TEXT_STAGES) + 1] == ["source", *TEXT_STAGES]
    page = Page(html)
    assert page.open == []
    assert ".visible .entry scaled" in page.panels[-1 - bool(compiled.remarks)]


def test_html_is_self_contained(compiled: ct.Compiled) -> None:
    html = compiled._repr_html_()
    assert not re.search(r"https?:|<script|<link|@import|url\(", html)


def test_html_escapes_the_text(compiled: ct.Compiled) -> None:
    """A comparison in the source and types such as tile<i32> contain markup."""
    source, tile = Page(compiled._repr_html_()).panels[:2]
    assert "loaded * 2 < 3)" in source
    assert "tile<128xf32>" in tile


def test_two_outputs_of_a_page_have_their_own_tabs(compiled: ct.Compiled) -> None:
    first, second = (set(re.findall(r'name="([^"]+)"', compiled._repr_html_())) for _ in range(2))
    assert len(first) == len(second) == 1
    assert first != second


@pytest.mark.parametrize("stage", TEXT_STAGES)
def test_every_stage_shows_where_the_store_comes_from(compiled: ct.Compiled, stage: str) -> None:
    result = compiled.stage(stage)
    assert result is not None
    lines = lines_of(result)
    store = "st.global" if stage in ("ptx", "ptx-mlir") else "store_view"
    stores = [line for line in lines if store in line.text]
    assert stores
    assert all(line.location is not None and line.location.line == FIRST + 3 for line in stores)
    assert not any("loc(" in line.text or line.text.startswith("#di_") for line in lines)


def test_innermost_location_of_an_inlined_call_is_shown() -> None:
    """The store of the called function, not the line of the call."""
    result = ct.compile(calling, signature="x: i32[?]", stop="gpu").stages[-1]
    (store,) = [line for line in lines_of(result) if "store_view" in line.text]
    assert store.location is not None
    assert store.location.line == called.__code__.co_firstlineno + 1


def called(x):
    ct.store(x, 0, ct.ones(4, ct.int32))


@ct.kernel
def calling(x):
    called(x)


def test_remarks_are_listed_with_their_reason() -> None:
    compiled = ct.compile(product, signature="a: f32[64,64], b: f32[64,64]", target="sm_100a", stop="ptx")
    html = compiled._repr_html_()
    assert labels(html)[-1] == "remarks"
    assert str(compiled.remarks[0]) in Page(html).panels[-1]


@ct.kernel
def product(a, b):
    tile = ct.load(a, (0, 0), (64, 64))
    ct.store(b, (0, 0), ct.mma(tile, tile, ct.zeros((64, 64), ct.float32)))


def test_cubin_has_no_lines() -> None:
    compiled = ct.compile(scaled, signature=SIGNATURE, stop="cubin")
    assert lines_of(compiled.stages[-1]) == []
    assert "cubin" not in labels(compiled._repr_html_())


def test_lines_without_a_location_have_none() -> None:
    assert Line("module {") == Line("module {", None)


CELLS = (
    "import numpy as np\nimport tilec as ct",
    "@ct.kernel\ndef fill(x):\n    ct.store(x, 0, ct.full(4, 7, ct.int32))",
    'x = np.zeros(4, np.int32)\nct.launch(None, 1, fill, (x,), backend="interpret")\nx.tolist()',
    'ct.compile(fill, signature="x: i32[?]", stop="gpu")',
    "@ct.kernel\ndef mistaken(x):\n    ct.store(x, 0, unknown)",
    'ct.launch(None, 1, mistaken, (x,), backend="interpret")',
)


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> list[list[dict]]:
    """The outputs of each cell, from a notebook that ran in a Jupyter kernel of this interpreter."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    folder = tmp_path_factory.mktemp("notebook")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        client = nbclient.NotebookClient(notebook, timeout=120, allow_errors=True, resources=_folder(folder))
        asyncio.run(client.async_execute())
    return [cell.outputs for cell in notebook.cells]


def _folder(path: Path) -> dict:
    return {"metadata": {"path": str(path)}}


def test_kernel_of_a_cell_runs(outputs: list[list[dict]]) -> None:
    assert outputs[2][0]["data"]["text/plain"] == "[7, 7, 7, 7]"


def test_compile_of_a_cell_shows_tabs(outputs: list[list[dict]]) -> None:
    html = outputs[3][0]["data"]["text/html"]
    assert labels(html) == ["source", "tile", "tile-opt", "gpu-raw", "gpu"]
    assert "ct.store(x, 0, ct.full(4, 7, ct.int32))" in Page(html).panels[0]


def test_mistake_in_a_cell_shows_the_line_of_the_cell(outputs: list[list[dict]]) -> None:
    error = outputs[5][0]
    assert error["ename"] == "TileSyntaxError"
    first, *excerpt = error["evalue"].splitlines()
    assert re.search(r":3:20: error: unknown name 'unknown'$", first)
    assert excerpt == ["        ct.store(x, 0, unknown)", " " * 23 + "^^^^^^^"]
