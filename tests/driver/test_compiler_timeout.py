"""The time limit of compiles."""

from __future__ import annotations

import threading
import time

import pytest

import tilec as ct
from tilec.process import time_limit


@ct.kernel
def unrolled(n: ct.Constant[int]):
    for i in ct.static_iter(range(n)):
        for j in ct.static_iter(range(n)):
            ct.assert_(ct.bid(0) >= -i - j)


@ct.kernel
def small():
    pass


def test_trace_ends_soon_after_the_limit() -> None:
    start = time.monotonic()
    with pytest.raises(ct.TileCompilerTimeoutError) as caught, ct.compiler_timeout(0.3):
        ct.compile(unrolled, signature="n=1000")
    assert "did not finish in 0.3 s, it was at stage 'tile'" in caught.value.message
    assert time.monotonic() - start < 10


def test_call_into_a_tool_ends_at_the_limit() -> None:
    release = threading.Event()
    with pytest.raises(ct.TileCompilerTimeoutError) as caught:
        with ct.compiler_timeout(0.05), time_limit.limited_compile():
            time_limit.run_in_time(release.wait, "-O3", "tool 1.0")
    release.set()
    assert (caught.value.compiler_flags, caught.value.compiler_version) == ("-O3", "tool 1.0")


def test_result_and_error_of_a_tool_in_time_are_returned() -> None:
    with ct.compiler_timeout(60), time_limit.limited_compile():
        assert time_limit.run_in_time(lambda: 5, "", "") == 5
        with pytest.raises(ZeroDivisionError):
            time_limit.run_in_time(lambda: 1 // 0, "", "")


def test_limit_ends_with_its_body_and_holds_in_its_thread_only() -> None:
    problems: list[Exception] = []

    def compile_elsewhere() -> None:
        try:
            ct.compile(small, signature="", stop="tile")
        except Exception as problem:
            problems.append(problem)

    with ct.compiler_timeout(1e-9):
        thread = threading.Thread(target=compile_elsewhere)
        thread.start()
        thread.join()
    ct.compile(small, signature="", stop="tile")
    assert not problems


def test_environment_variable_limits_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEC_COMPILER_TIMEOUT", "1e-9")
    with pytest.raises(ct.TileCompilerTimeoutError):
        ct.compile(small, signature="", stop="tile")
    with ct.compiler_timeout(60):
        ct.compile(small, signature="", stop="tile")


@pytest.mark.parametrize("seconds", [0, -1, float("nan")])
def test_limit_must_be_positive(seconds: float) -> None:
    with pytest.raises(ValueError, match="needs a positive number of seconds"), ct.compiler_timeout(seconds):
        pass


def test_invalid_variable_is_a_usage_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEC_COMPILER_TIMEOUT", "soon")
    with pytest.raises(ct.TilecError, match="TILEC_COMPILER_TIMEOUT: expected a positive number .*, got 'soon'"):
        ct.compile(small, signature="", stop="tile")
