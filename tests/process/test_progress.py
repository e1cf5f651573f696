"""A bar of rich or tqdm shows the progress if installed, else one line that is rewritten."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tilec.process import progress as module
from tilec.process.progress import progress


@pytest.fixture(autouse=True)
def libraries(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The names of the libraries that are installed."""
    installed: set[str] = set()
    monkeypatch.setattr(module, "find_spec", lambda name: name in installed)
    return installed


def test_line_is_rewritten_after_each_step_and_removed(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("compile", 2, enabled=True) as advance:
        advance("add")
        advance("mul")
    erase = "\r\x1b[K"
    lines = ["compile 0/2", "compile 1/2 add", "compile 2/2 mul", ""]
    assert capsys.readouterr().err == "".join(erase + line for line in lines)


def test_line_is_removed_after_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyError), progress("compile", 2, enabled=True):
        raise KeyError("x")
    assert capsys.readouterr().err.endswith("\r\x1b[K")


@pytest.mark.parametrize(("total", "enabled"), [(2, False), (2, None), (0, True)])
def test_nothing_is_shown(capsys: pytest.CaptureFixture[str], total: int, enabled: bool | None) -> None:
    # Standard error of a test is not a terminal.
    with progress("compile", total, enabled) as advance:
        advance("add")
    assert capsys.readouterr().err == ""


class Bar:
    """A bar of tqdm or rich that records what it is told."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        self.calls: list[Any] = [keywords]
        BARS.append(self)

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_error: object) -> None:
        self.calls.append("closed")

    def set_postfix_str(self, text: str) -> None:
        self.calls.append(text)

    def add_task(self, description: str, total: int) -> int:
        self.calls.append((description, total))
        return 7

    def update(self, *arguments: Any, **keywords: Any) -> None:
        self.calls.append((arguments, keywords))


BARS: list[Bar] = []


def installed_module(name: str, **names: Any) -> ModuleType:
    made = ModuleType(name)
    made.__spec__ = ModuleSpec(name, None)
    vars(made).update(names)
    return made


def test_tqdm(libraries: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    libraries.add("tqdm")
    monkeypatch.setitem(sys.modules, "tqdm", installed_module("tqdm", tqdm=Bar))
    with progress("compile", 2, enabled=True) as advance:
        advance("add")
    assert BARS[-1].calls[0] == {"total": 2, "desc": "compile", "file": sys.stderr, "leave": False}
    assert BARS[-1].calls[1:] == ["add", ((), {}), "closed"]


def test_rich_is_preferred(libraries: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    libraries.update(("tqdm", "rich"))
    monkeypatch.setitem(sys.modules, "rich", installed_module("rich"))
    monkeypatch.setitem(sys.modules, "rich.console", installed_module("rich.console", Console=SimpleNamespace))
    monkeypatch.setitem(sys.modules, "rich.progress", installed_module("rich.progress", Progress=Bar))
    with progress("compile", 2, enabled=True) as advance:
        advance("add")
    assert BARS[-1].calls[1:] == [("compile", 2), ((7,), {"advance": 1, "description": "compile add"}), "closed"]
