"""The table of constants: every row has a certainty and a source, and docs/cost_model.md shows it."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from tilec.lowering.model.constant import ASSUMED, CERTAINTIES, SOURCES, VENDOR
from tilec.lowering.model.constants import CONSTANTS, DEVICES, QUANTITIES, Device, device_of
from tilec.lowering.target import TARGETS

PAGE = (Path(__file__).parents[2] / "docs" / "cost_model.md").read_text()


def test_page_shows_the_table(monkeypatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "docs" / "extensions"))
    import constant_table

    assert constant_table.constant_table() in PAGE


@pytest.mark.parametrize("source", SOURCES)
def test_page_names_each_source(source: str) -> None:
    assert f"| {source} | {SOURCES[source]} |" in PAGE


@pytest.mark.parametrize("certainty", CERTAINTIES)
def test_page_explains_each_certainty(certainty: str) -> None:
    assert f"| {certainty} | {CERTAINTIES[certainty]} |" in PAGE


def test_each_attribute_of_a_device_but_its_name_has_a_unit_and_a_meaning() -> None:
    assert [quantity.name for quantity in QUANTITIES] == [field.name for field in fields(Device)][1:]
    assert all(quantity.unit and quantity.meaning for quantity in QUANTITIES)


@pytest.mark.parametrize("device", DEVICES)
def test_each_device_has_each_quantity_in_order(device: str) -> None:
    assert list(CONSTANTS[device]) == [quantity.name for quantity in QUANTITIES]


def test_each_target_has_a_device() -> None:
    assert {device_of(name).name for name in TARGETS} <= DEVICES.keys()


@pytest.mark.parametrize("quantity", QUANTITIES, ids=lambda quantity: quantity.name)
def test_each_value_has_a_certainty_and_a_source(quantity) -> None:
    for constant in (constants[quantity.name] for constants in CONSTANTS.values()):
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
