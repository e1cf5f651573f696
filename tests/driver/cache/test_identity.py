"""The identity of a kernel changes with everything that it reads, and with nothing else."""

from __future__ import annotations

import functools
import linecache
import math
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tilec as ct
from tilec.driver.identity import MAXIMUM_OBJECTS, Unidentified, digest
from tilec.runtime.ptxsim import _native

HELPER = """
import enum
from dataclasses import dataclass

LIMIT = 4

class Mode(enum.Enum):
    FAST = 1
    SLOW = 2

@dataclass(frozen=True)
class Config:
    m: int = 16
    def doubled(self):
        return self.m * 2

def scaled(x):
    return x * LIMIT
"""
KERNEL = """
import helper
import tilec as ct
from helper import Config, Mode, scaled

OFFSET = 1
NAMES = {"one", "two"}
TABLE = {"a": [1, 2]}
CONFIG = Config(8)

def outer(n):
    def inner(x):
        return x + n
    return inner

add_n = outer(3)

def halved(x, by=2, *, rest=0):
    return x // by + rest

@ct.function
def third(x):
    return x // 3

@ct.kernel
def kernel(x, t: ct.Constant[int]):
    y = scaled(ct.load(x, 0, t)) + OFFSET + TABLE["a"][0] + CONFIG.doubled() + helper.LIMIT + len(NAMES)
    if Mode.FAST.value == 1:
        y = sum([third(z) for z in (y, y)])
    ct.store(x, 0, add_n(halved(y)))

UNUSED = 1

def unused():
    return 1
"""
# What changes -> the file, and the text before and after.
CHANGES = {
    "function of another module": ("helper", "x * LIMIT", "x + LIMIT"),
    "global of another module": ("helper", "LIMIT = 4", "LIMIT = 5"),
    "value of an enumerator": ("helper", "FAST = 1", "FAST = 7"),
    "other enumerators": ("helper", "SLOW = 2", "SLOW = 3"),
    "default of a dataclass": ("helper", "m: int = 16", "m: int = 17"),
    "method of a dataclass": ("helper", "self.m * 2", "self.m * 3"),
    "value of a global": ("kernel", "OFFSET = 1", "OFFSET = 2"),
    "type of a global": ("kernel", "OFFSET = 1", "OFFSET = True"),
    "global that is removed": ("kernel", "OFFSET = 1", "OTHER = 1"),
    "item of a set": ("kernel", '"two"}', '"six"}'),
    "item of a list in a dictionary": ("kernel", "[1, 2]", "[3, 2]"),
    "field of a dataclass": ("kernel", "Config(8)", "Config(9)"),
    "value of a closure": ("kernel", "outer(3)", "outer(4)"),
    "function of a closure": ("kernel", "x + n", "x - n"),
    "default argument": ("kernel", "by=2", "by=3"),
    "keyword-only default argument": ("kernel", "rest=0", "rest=1"),
    "decorated function": ("kernel", "x // 3", "x // 4"),
    "hint": ("kernel", "@ct.kernel", "@ct.kernel(occupancy=2)"),
    "constant annotation": ("kernel", "t: ct.Constant[int]", "t"),
    "text of the kernel": ("kernel", "ct.load(x, 0, t)", "ct.load(x, 1, t)"),
    "line of the kernel": ("kernel", "OFFSET = 1", "\nOFFSET = 1"),
}
UNRELATED = {
    "global that is not read": ("kernel", "UNUSED = 1", "UNUSED = 2"),
    "function that is not called": ("kernel", "return 1", "return 2"),
    "text after the kernel": ("kernel", "UNUSED = 1", "UNUSED = 1\nFURTHER = 2"),
    "text after the called functions": ("helper", "x * LIMIT", "x * LIMIT\n\nFURTHER = 2"),
}


@pytest.fixture
def modules() -> Iterator[None]:
    yield
    for name in ("helper", "kernel"):
        sys.modules.pop(name, None)


def loaded(folder: Path, **texts: str) -> ModuleType:
    """Writes and runs modules of these texts, and returns the last."""
    linecache.clearcache()
    for name, text in texts.items():
        file = folder / f"{name}.py"
        file.write_text(text)
        module = sys.modules[name] = ModuleType(name)
        exec(compile(text, str(file), "exec"), module.__dict__)
    return module


def identity(folder: Path, file: str = "", before: str = "", after: str = "") -> str:
    texts = {"helper": HELPER, "kernel": KERNEL}
    if file:
        assert before in texts[file]
        texts[file] = texts[file].replace(before, after, 1)
    return digest(loaded(folder, **texts).kernel)


@pytest.mark.parametrize("name", CHANGES)
def test_identity_changes_with(name: str, tmp_path: Path, modules: None) -> None:
    assert identity(tmp_path, *CHANGES[name]) != identity(tmp_path)


@pytest.mark.parametrize("name", UNRELATED)
def test_identity_does_not_change_with(name: str, tmp_path: Path, modules: None) -> None:
    assert identity(tmp_path, *UNRELATED[name]) == identity(tmp_path)


def test_identity_is_the_same_in_other_processes(tmp_path: Path) -> None:
    for name, text in (("helper", HELPER), ("kernel", KERNEL)):
        (tmp_path / f"{name}.py").write_text(text)
    program = "import kernel; from tilec.driver.identity import digest; print(digest(kernel.kernel))"
    found = set()
    for seed in "12":
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(tmp_path)}
        process = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
        assert process.returncode == 0, process.stderr
        found.add(process.stdout)
    assert len(found) == 1


class Slotted:
    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value


class Named(str):
    note = 0


def noted(text: str, note: int) -> Named:
    made = Named(text)
    made.note = note
    return made


# Values that a kernel distinguishes.
DISTINCT = {
    "integer and bool": (1, True),
    "integer and float": (1, 1.0),
    "integer and text": (1, "1"),
    "signed zeros": (0.0, -0.0),
    "not a number and infinity": (math.nan, math.inf),
    "text and bytes": ("a", b"a"),
    "tuple and list": ((1, 2), [1, 2]),
    "nesting": ((1, (2, 3)), ((1, 2), 3)),
    "order of a dictionary": ({1: 2, 3: 4}, {3: 4, 1: 2}),
    "element types": (ct.float16, ct.bfloat16),
    "types of numpy": (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)),
    "numbers of numpy": (np.int32(1), np.int64(1)),
    "arrays of numpy": (np.array([1, 2]), np.array([1, 3])),
    "shapes of numpy": (np.zeros((2, 3)), np.zeros((3, 2))),
    "slots": (Slotted(1), Slotted(2)),
    "attributes of a derived class": (noted("a", 1), noted("a", 2)),
    "content of a derived class": (noted("a", 1), noted("b", 1)),
    "namespaces": (SimpleNamespace(a=1), SimpleNamespace(a=2)),
    "partial functions": (functools.partial(max, 1), functools.partial(max, 2)),
    "builtins": (max, min),
    "classes": (int, float),
    "functions on one line": (lambda x: x + 1, lambda x: x + 2),
}


@pytest.mark.parametrize("name", DISTINCT)
def test_values_are_distinct(name: str) -> None:
    first, second = DISTINCT[name]
    assert digest(first) == digest(first) != digest(second)


def test_cycles_end() -> None:
    cycle: list[Any] = [1]
    cycle.append(cycle)
    assert digest(cycle) == digest(cycle) != digest([1, [1]])


def reads_environment(x: Any) -> Any:
    return x if os.environ.get("HOME") else -x


def reads_time(x: Any) -> Any:
    return x + time.time()


def draws(x: Any) -> Any:
    return x + random.random()


def draws_by_numpy(x: Any) -> Any:
    return x + np.random.rand()


def evaluates(x: Any) -> Any:
    return eval("x")


def opens(x: Any) -> Any:
    with open("/dev/null") as file:
        return file.read()


UNIDENTIFIED = {
    "lock": threading.Lock(),
    "generator": (x for x in ()),
    "module of the user": sys.modules[__name__],
    "array of objects": np.array([object()]),
    "large array": np.zeros(1 << 20),
    "bound builtin": [].append,
    "thread-local state": threading.local(),
    **{f.__name__: f for f in (reads_environment, reads_time, draws, draws_by_numpy, evaluates, opens)},
}


def nested(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (nested(100_000), "the values that the kernel reads are nested too deeply"),
        ([[n] for n in range(MAXIMUM_OBJECTS)], f"refers to more than {MAXIMUM_OBJECTS} objects"),
    ],
    ids=["nested", "many"],
)
def test_values_beyond_the_limits_have_no_identity(value: Any, message: str) -> None:
    with pytest.raises(Unidentified, match=message):
        digest(value)


def test_attribute_that_a_module_computes_has_no_identity(tmp_path: Path, modules: None) -> None:
    helper = "def __getattr__(name):\n    return 4\n"
    kernel = "import helper, tilec as ct\n@ct.kernel\ndef kernel(x):\n    helper.LIMIT\n"
    with pytest.raises(Unidentified, match="'helper.LIMIT', which 'kernel' reads, is computed by the module helper"):
        digest(loaded(tmp_path, helper=helper, kernel=kernel).kernel)


@pytest.mark.parametrize("name", UNIDENTIFIED)
def test_value_has_no_identity(name: str) -> None:
    with pytest.raises(Unidentified):
        digest(UNIDENTIFIED[name])


def test_message_names_the_value_and_the_reader(tmp_path: Path, modules: None) -> None:
    text = "import threading, tilec as ct\nLOCK = threading.Lock()\n@ct.kernel\ndef kernel(x):\n    LOCK\n"
    with pytest.raises(Unidentified, match="^'LOCK', which 'kernel' reads, is an object of type _thread.lock$"):
        digest(loaded(tmp_path, kernel=text).kernel)


def test_class_of_an_extension_without_a_version_has_no_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_native.Program, "__module__", "extension")
    with pytest.raises(Unidentified, match="is the class Program, which is not written in Python"):
        digest(_native.Program)


def test_changed_file_has_no_identity(tmp_path: Path, modules: None) -> None:
    module = loaded(tmp_path, helper=HELPER, kernel=KERNEL)
    (tmp_path / "kernel.py").write_text(KERNEL.replace("helper.LIMIT", "helper.OTHER"))
    linecache.clearcache()
    with pytest.raises(Unidentified, match="has changed since it was imported"):
        digest(module.kernel)
