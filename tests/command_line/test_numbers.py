"""Every number of every command: zero, negative, beyond 32 and 64 bits, and texts are results or errors of the user."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilec as ct
from tilec import options
from tilec.commands.command_line import complete_parser
from tilec.driver.dump import Dump

KERNELS = Path(__file__).parent / "kernels.py"
FOREIGN = Path(__file__).parent / "foreign.ptx"
SOURCE = f"{KERNELS}:add"
SIGNATURE = ("--sig", "a: f32[?], b: f32[?], c: f32[?], tile=256")
NUMBERS = (
    *("0", "-1", "2147483648", "4294967296", "9223372036854775808", "18446744073709551616", "9" * 5000),
    *("1.5", "1e400", "nan", "inf", "x", "", " ", "\u00b2", "\u0663", "0x10", "1_0"),
)  # fmt: skip
SIMULATE = ("simulate", FOREIGN, "--arg", "c.npy:f32[4]", "--arg", "c.npy:f32[4]", "--arg", "c.npy:f32[4]")
INTERPRET = ("interpret", "add.mlir", *("--arg", "c.npy:f32[4]") * 3)
TUNE = ("tune", SOURCE, "--sig", "a: f32[256], b: f32[256], c: f32[256]", "--jobs", "1", "--backend", "simulate")
# (command, option) -> the command before the option's value; the value replaces {}.
OPTIONS: dict[tuple[str, str], tuple[object, ...]] = {
    ("simulate", "--grid"): (*SIMULATE, "--arg", "u32:4", "--block", "32", "--grid", "{}"),
    ("simulate", "--grid y"): (*SIMULATE, "--arg", "u32:4", "--block", "32", "--grid", "1,{}"),
    ("simulate", "--block"): (*SIMULATE, "--arg", "u32:4", "--grid", "1", "--block", "{}"),
    ("simulate", "--cluster"): (*SIMULATE, "--arg", "u32:4", "--grid", "1", "--block", "32", "--cluster", "{}"),
    ("simulate", "--shared"): (*SIMULATE, "--arg", "u32:4", "--grid", "1", "--block", "32", "--shared", "{}"),
    ("simulate", "--seed"): (*SIMULATE, "--arg", "u32:4", "--grid", "1", "--block", "32", "--seed", "{}"),
    ("simulate", "--limit"): (*SIMULATE, "--arg", "u32:4", "--grid", "1", "--block", "32", "--limit", "{}"),
    ("simulate", "--arg"): (*SIMULATE, "--arg", "u32:{}", "--grid", "1", "--block", "32"),
    ("simulate", "--arg f32"): ("simulate", FOREIGN, "--arg", "f32:{}", "--grid", "1", "--block", "32"),
    ("simulate", "--arg extent"): ("simulate", FOREIGN, "--arg", "c.npy:f32[{}]", "--grid", "1", "--block", "32"),
    ("interpret", "--grid"): (*INTERPRET, "--grid", "{}"),
    ("interpret", "--arg"): ("interpret", "add.mlir", "--arg", "{}"),
    ("compile", "--jobs"): ("compile", SOURCE, *SIGNATURE, "--folder", "out", "--jobs", "{}"),
    ("compile", "--hint stages"): ("compile", SOURCE, *SIGNATURE, "--hint", "stages={}"),
    ("compile", "--hint num_ctas"): ("compile", SOURCE, *SIGNATURE, "--hint", "num_ctas={}"),
    ("compile", "--sig constant"): ("compile", SOURCE, "--sig", "a: f32[?], b: f32[?], c: f32[?], tile={}"),
    ("compile", "--sig extent"): ("compile", SOURCE, "--sig", "a: f32[{}], b: f32[?], c: f32[?], tile=256"),
    ("explain", "--ptx-line"): ("explain", SOURCE, *SIGNATURE, "--ptx-line", "{}"),
    ("explain", "--line"): ("explain", SOURCE, *SIGNATURE, "--line", "{}"),
    ("explain", "--hint warps"): ("explain", SOURCE, *SIGNATURE, "--line", "9", "--hint", "warps={}"),
    ("opt", "--bytecode-version"): ("opt", "add.mlir", "-o", "add.tileirbc", "--bytecode-version", "{}"),
    ("tune", "--jobs"): (*TUNE, "--candidates", "tile=64", "--grid", "1", "--jobs", "{}"),
    ("tune", "--prune"): (*TUNE, "--candidates", "tile=64", "--grid", "1", "--prune", "{}"),
    ("tune", "--timeout"): (*TUNE, "--candidates", "tile=64", "--grid", "1", "--timeout", "{}"),
    ("tune", "--grid"): (*TUNE, "--candidates", "tile=64", "--grid", "{}"),
    ("tune", "--candidates"): (*TUNE, "--candidates", "tile={}", "--grid", "1"),
    ("tune", "--set"): (*TUNE, "--candidates", "tile=64", "--grid", "1", "--set", "n={}"),
}  # fmt: skip
# Options with a placeholder of a text or a file.
TEXTS = {
    *("--entry", "--target", "--backend", "--dask", "--plot", "--manifest", "--header", "--folder", "--svg", "-o"),
    "--print-after",
    *("--passes", "--emit", "--explain", "--hints", "--signature", "--sig", "--hint", "--candidates", "--set"),
}


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tilec: Any) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TILEC_CACHE", "0")
    assert tilec("compile", SOURCE, *SIGNATURE, "--emit", "tile", "-o", "add.mlir").status == 0


def test_every_option_with_a_number_is_in_the_table() -> None:
    commands = next(action for action in complete_parser()._actions if isinstance(action, argparse._SubParsersAction))
    taken = {
        (command, name)
        for command, parser in commands.choices.items()
        for action in parser._actions
        for name in action.option_strings
        if action.nargs != 0 and name not in TEXTS
    }
    assert taken <= set(OPTIONS)


@pytest.mark.parametrize(("command", "option"), OPTIONS)
def test_number_is_no_internal_error(tilec: Any, command: str, option: str) -> None:
    for number in NUMBERS:
        # An array of 8 GB fits into the memory of some machines.
        if option == "--arg extent" and number == "2147483648":
            continue
        outcome = tilec(*(str(part).replace("{}", number) for part in OPTIONS[command, option]))
        context = (number[:40], outcome.status, outcome.err[-600:])
        assert "bug in tilec" not in outcome.err and "Traceback" not in outcome.err, context
        assert outcome.status in (0, 1, 2), context
        assert outcome.status == 0 or "error: " in outcome.err, context


@pytest.mark.parametrize(
    ("option", "number", "message"),
    [
        ("--shared", "99999999999", "argument --shared: expected an integer from 0 to 4294967295, got '99999999999'"),
        ("--seed", "-1", "argument --seed: expected an integer from 0 to 18446744073709551615, got '-1'"),
        ("--seed", "x", "argument --seed: expected an integer from 0 to 18446744073709551615, got 'x'"),
        ("--limit", "0", "argument --limit: expected a number of seconds greater than 0, got '0'"),
        ("--limit", "nan", "argument --limit: expected a number of seconds greater than 0, got 'nan'"),
        ("--grid", "4294967296", "the grid needs extents of at most (2147483647, 65535, 65535), got (4294967296,"),
        ("--grid", "1,65536", "the grid needs extents of at most (2147483647, 65535, 65535), got (1, 65536, 1)"),
        ("--block", "4294967296", "the block needs an integer from 1 to 4294967295, got 4294967296"),
        ("--cluster", "0", "--cluster needs one to three integers of at least 1"),
    ],
)  # fmt: skip
def test_message_names_the_range(tilec: Any, option: str, number: str, message: str) -> None:
    outcome = tilec(*(str(part).replace("{}", number) for part in OPTIONS["simulate", option]))
    assert outcome.status in (1, 2)
    assert message in outcome.err


def test_largest_seed_and_shared_memory_are_accepted(tilec: Any) -> None:
    arguments = (*SIMULATE, "--arg", "u32:4", "--grid", "1", "--block", "32")
    assert tilec(*arguments, "--seed", 2**64 - 1, "--shared", 227 * 1024, "--limit", "1e9").status == 0


@pytest.mark.parametrize("seed", ["18446744073709551616", "9" * 5000, "\u00b2", "-1"])
def test_seed_of_the_environment(tilec: Any, monkeypatch: pytest.MonkeyPatch, seed: str) -> None:
    monkeypatch.setenv("TILEC_SEED", seed)
    outcome = tilec(*SIMULATE, "--arg", "u32:4", "--grid", "1", "--block", "32")
    assert outcome.status in (1, 2)
    assert re.search(r"seed|TILEC_SEED", outcome.err) and "bug in tilec" not in outcome.err


def test_seed_with_too_many_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEC_SEED", "9" * 21)
    with pytest.raises(ct.TileError, match="TILEC_SEED: expected an integer less than 2\\^64, got '9{21}'"):
        options.from_environment()


def test_user_without_a_home_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TILEC_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    with pytest.raises(ct.TileError, match="the user has no home folder: set TILEC_CACHE to the folder for compiled"):
        options.cache_folder()


def test_dump_into_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ct.TileError, match=f"cannot write the stages to {tmp_path / 'file'}: Not a directory"):
        Dump(tmp_path / "file").write([])


@ct.kernel
def doubled(x) -> None:
    ct.store(x, (ct.bid(0),), ct.load(x, (ct.bid(0),), (4,)) * 2)


INTEGERS = (-1, 2**31, 2**32, 2**63, 2**64, 1.5, float("nan"), "1", None, True)


@pytest.mark.parametrize("setting", ["seed", "step_limit", "limit_s"])
@pytest.mark.parametrize("value", INTEGERS)
def test_settings_of_a_launch(setting: str, value: Any) -> None:
    """A number is accepted or refused by the name of the setting."""
    x = np.ones(4, np.float32)
    try:
        ct.launch(None, 1, doubled, (x,), backend="simulate", **{setting: value})
        assert x.tolist() == [2, 2, 2, 2]
    except ct.TileError as error:
        assert setting in error.message and repr(value) in error.message
        assert x.tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize("backend", ["simulate", "interpret", "python"])
@pytest.mark.parametrize("value", [-1, 2**31, 2**32, 2**64, 1.5, "1", None, (1, 1, 1, 1), (1, 65536), [], (2.0,)])
def test_grid_of_a_launch(backend: str, value: Any) -> None:
    x = np.ones(4, np.float32)
    with pytest.raises(ct.TileError, match="the grid needs"):
        ct.launch(None, value, doubled, (x,), backend=backend)


@pytest.mark.parametrize("backend", ["simulate", "interpret", "python"])
@pytest.mark.parametrize("value", [0, (0,), (1, 0), (1, 1, 0)])
def test_grid_without_blocks_runs_nothing_on_any_backend(backend: str, value: Any) -> None:
    x = np.ones(4, np.float32)
    ct.launch(None, value, doubled, (x,), backend=backend)
    assert x.tolist() == [1, 1, 1, 1]
