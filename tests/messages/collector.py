"""A pytest plugin, `-p tests.messages.collector`: records the messages that the tests of a run produce.

With `--every-message` a run fails unless it produces all messages of the package but those of `unproduced.txt`, and
none of these. That holds for runs of all tests only.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from message_coverage import ACCEPTED, demands, read_records
from message_recorder import FOLDER_VARIABLE, install
from message_sites import sites, source_folder

_problems = pytest.StashKey[list[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--every-message", action="store_true", help="fail unless each message of tilec is produced")


def pytest_configure(config: pytest.Config) -> None:
    """Starts the record, in an empty folder; workers of pytest-xdist use that of their controller."""
    folder = Path(os.environ.setdefault(FOLDER_VARIABLE, str(config.rootpath / "build" / "messages")))
    if not hasattr(config, "workerinput"):
        shutil.rmtree(folder, ignore_errors=True)
    patch = pytest.MonkeyPatch()
    config.add_cleanup(patch.undo)
    install(folder, patch)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    config = session.config
    if not config.option.every_message or hasattr(config, "workerinput"):
        return
    records = read_records(Path(os.environ[FOLDER_VARIABLE]))
    config.stash[_problems] = demands(sites(source_folder(config.rootpath)), records, ACCEPTED.read_text())
    if config.stash[_problems] and not session.exitstatus:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    problems = config.stash.get(_problems, [])
    if problems:
        terminalreporter.section("messages")
        for problem in problems:
            terminalreporter.write_line(problem)
