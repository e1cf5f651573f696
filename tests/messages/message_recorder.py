"""Records the messages that the tests produce: errors, notes, remarks, warnings and the output of commands.

Each process appends its records to a file of its own in one folder, so that workers and forked children need no
merge at run time.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

import pytest

import tilec
from tilec.errors import CompilerWarning, Note, TilecError
from tilec.lowering.gpu.schedule.role_liveness import Liveness
from tilec.lowering.plan.choice import Choice
from tilec.lowering.plan.matrix.matrix_plan import Multiply
from tilec.lowering.schedule import verify
from tilec.lowering.schedule.bound import Bound
from tilec.lowering.schedule.store import Answer
from tilec.remarks import Remark
from tilec.runtime.ptxsim import _native

PACKAGE = str(Path(tilec.__file__).parent) + os.sep
# The folder of the records of a run, for its workers.
FOLDER_VARIABLE = "TILEC_TEST_MESSAGES"
# Messages that differ in numbers only are one record.
_NUMBER = re.compile(r"\d+")
_LONGEST_TEXT = 20_000
_REPORTS = re.compile(r"error|warning|remark|usage|note", re.IGNORECASE)

# Functions that return a message, or a list of messages, each perhaps after its line.
_RETURNING: tuple[tuple[Any, str], ...] = (
    (verify, "verify"),
    *((_native, name) for name in ("tensor_map_error", "tensor_map_undocumented", "instruction_descriptor_error")),
    (_native, "check_forms"),
)

Lines = tuple[tuple[str, int], ...]


class Recorder:
    """The records of this process: each is a text and the lines of the package whose calls were active."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: set[tuple[object, str]] = set()

    def add(self, text: str, lines: Lines) -> None:
        """Writes a record unless an equal one is written already."""
        text = text[:_LONGEST_TEXT]
        key = lines[:2], _NUMBER.sub("0", text)
        if key in self._known:
            return
        self._known.add(key)
        with (self._folder / f"{os.getpid()}.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps([text, lines]) + "\n")


def install(folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Records every message from now on until `patch` is undone."""
    folder.mkdir(parents=True, exist_ok=True)
    recorder = Recorder(folder)
    _record_constructions(recorder, patch)
    _record_caught(recorder, patch)
    _record_unsupported(recorder, patch)
    _record_output(recorder, patch)
    _record_warnings(recorder, patch)
    _record_returned(recorder, patch)
    _record_decisions(recorder, patch)


def _record_constructions(recorder: Recorder, patch: pytest.MonkeyPatch) -> None:
    construct = TilecError.__init__

    def constructed(self: TilecError, message: str, *rest: Any, **named: Any) -> None:
        construct(self, message, *rest, **named)
        recorder.add(str(message), _callers(sys._getframe(1)))

    patch.setattr(TilecError, "__init__", constructed)
    for kind in (Note, Remark, CompilerWarning):
        patch.setattr(kind, "__post_init__", _recording(kind.__post_init__, recorder))


def _recording(check: Any, recorder: Recorder) -> Any:
    def checked(self: Any) -> None:
        check(self)
        recorder.add(str(self.message), _callers(sys._getframe(2)))

    return checked


def _record_caught(recorder: Recorder, patch: pytest.MonkeyPatch) -> None:
    """Exceptions of other classes, such as ValueError and those of the simulator, in `pytest.raises`."""
    fill = pytest.ExceptionInfo.fill_unfilled

    def filled(self: pytest.ExceptionInfo[BaseException], found: tuple[type, BaseException, TracebackType]) -> None:
        fill(self, found)
        error: BaseException | None = found[1]
        while error is not None:
            notes = "\n".join(map(str, getattr(error, "notes", [])))
            recorder.add(f"{error}\n{notes}", _raised(error.__traceback__))
            error = error.__cause__ or error.__context__

    patch.setattr(pytest.ExceptionInfo, "fill_unfilled", filled)


def _record_unsupported(recorder: Recorder, patch: pytest.MonkeyPatch) -> None:
    """The instructions that the simulator does not support, which tests read without an exception."""
    listed = _native.Program.unsupported

    def unsupported(self: _native.Program) -> list[tuple[int, str]]:
        found: list[tuple[int, str]] = listed.__get__(self)  # type: ignore[attr-defined]
        for _, text in found:
            recorder.add(text, ())
        return found

    patch.setattr(_native.Program, "unsupported", property(unsupported))


def _record_output(recorder: Recorder, patch: pytest.MonkeyPatch) -> None:
    """The reports of other processes, and of commands that tests run in their own."""

    def recording(read: Callable[..., Any]) -> Callable[..., Any]:
        def recorded(self: Any, *rest: Any, **named: Any) -> Any:
            streams = read(self, *rest, **named)
            for stream in streams:
                text = stream.decode(errors="replace") if isinstance(stream, bytes) else stream
                if text and len(text) <= 10 * _LONGEST_TEXT and _REPORTS.search(text):
                    recorder.add(text[-_LONGEST_TEXT:], ())
            return streams

        return recorded

    for kind, name in ((subprocess.Popen, "communicate"), (pytest.CaptureFixture, "readouterr")):
        patch.setattr(kind, name, recording(getattr(kind, name)))


def _record_warnings(recorder: Recorder, patch: pytest.MonkeyPatch) -> None:
    """The warnings of Python."""
    warn = warnings.warn

    def warned(message: Warning | str, *rest: Any, **named: Any) -> None:
        recorder.add(str(message), _callers(sys._getframe(1)))
        # One more frame is between the line that warns and the caller that it names.
        level = named.pop("stacklevel", 1)
        warn(message, *rest, stacklevel=level + 1, **named)

    patch.setattr(warnings, "warn", warned)


def _record_returned(recorder: Recorder, patch: pytest.MonkeyPatch) -> None:
    """The messages that functions return: broken rules of schedules, and those of the simulator's rules for tests."""
    for module, name in _RETURNING:
        patch.setattr(module, name, recording_result(getattr(module, name), recorder))


def recording_result(function: Callable[..., Any], recorder: Recorder) -> Callable[..., Any]:
    """The function, which also records the messages that it returns."""

    def returned(*given: Any, **named: Any) -> Any:
        result = function(*given, **named)
        for text in [result] if isinstance(result, str) else result or ():
            recorder.add(text[-1] if isinstance(text, tuple) else text, ())
        return result

    return returned


def _record_decisions(recorder: Recorder, patch: pytest.MonkeyPatch) -> None:
    """The reasons and remarks of decisions, which tests and reports print."""
    patch.setattr(Multiply, "__str__", recording_result(Multiply.__str__, recorder))
    _record_texts(recorder, patch, Choice, lambda choice: [choice.reason, choice.runner_up])
    _record_texts(recorder, patch, Liveness, lambda found: [found.problem] if found.problem else [])
    _record_texts(recorder, patch, Bound, lambda bound: [bound.reason])
    _record_texts(recorder, patch, Answer, lambda answer: answer.remarks)


def _record_texts(
    recorder: Recorder, patch: pytest.MonkeyPatch, kind: type, texts: Callable[[Any], Iterable[str]]
) -> None:
    construct = kind.__init__  # type: ignore[misc]

    def constructed(self: Any, *rest: Any, **named: Any) -> None:
        construct(self, *rest, **named)
        for text in texts(self):
            recorder.add(text, ())

    patch.setattr(kind, "__init__", constructed)


def _callers(frame: FrameType | None) -> Lines:
    lines = []
    while frame is not None:
        name = frame.f_code.co_filename
        if name.startswith(PACKAGE):
            lines.append((name[len(PACKAGE) :], frame.f_lineno))
        frame = frame.f_back
    return tuple(lines)


def _raised(trace: TracebackType | None) -> Lines:
    lines = []
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if name.startswith(PACKAGE):
            lines.append((name[len(PACKAGE) :], trace.tb_lineno))
        trace = trace.tb_next
    return tuple(reversed(lines))
