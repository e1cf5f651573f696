"""The table of constants: every row has a certainty and a source, and docs/cost_model.md shows it."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from tilec.lowering.model.constants import (
    ASSUMED,
    CERTAINTIES,
    DEVICES,
    ROWS,
    SOURCES,
    VENDOR,
    Device,
    as_markdown,
    device_of,
)

PAGE = (Path(__file__).parents[2] / "docs" / "cost_model.md").read_text()


def test_page_shows_the_table() -> None:
    assert as_markdown() in PAGE


@pytest.mark.parametrize("source", SOURCES)
def test_page_names_each_source(source: str) -> None:
    assert f"| {source} | {SOURCES[source]} |" in PAGE


@pytest.mark.parametrize("certainty", CERTAINTIES)
def test_page_explains_each_certainty(certainty: str) -> None:
    assert f"| {certainty} | {CERTAINTIES[certainty]} |" in PAGE


def test_each_row_is_an_attribute_of_a_device() -> None:
    assert [row.name for row in ROWS] == [field.name for field in fields(Device)][1:]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_each_value_has_a_certainty_and_a_source(row) -> None:
    assert list(row.values) == list(DEVICES)
    for constant in row.values.values():
        assert constant.certainty in CERTAINTIES and constant.source
        # A measurement names who measured.
        if constant.certainty not in (VENDOR, ASSUMED):
            assert any(source in constant.source for source in SOURCES)


# TFLOP/s of dense 16-bit products and TB/s of HBM: NVIDIA's data sheets.
@pytest.mark.parametrize(("target", "teraflops", "hbm"), [("sm_100a", 2250, 8.0), ("sm_90a", 989, 4.8)])
def test_rates_agree_with_the_data_sheet(target: str, teraflops: float, hbm: float) -> None:
    device = device_of(target)
    # One instruction multiplies rows x columns x 16 elements in columns / 2 cycles.
    flop_per_cycle = 2 * device.tensor_rows * device.tensor_columns_per_cycle * device.tensor_operand_bytes / 2
    peak = flop_per_cycle * device.processors * device.clock_ghz / 1e3
    assert peak == pytest.approx(teraflops, rel=0.01)
    assert 0.8 * hbm < device.hbm_terabytes_per_second < hbm
