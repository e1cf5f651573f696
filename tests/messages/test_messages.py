"""The list of messages in the sources, and the comparison with recorded texts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from message_coverage import ACCEPTED, accepted_sites, demands, missing, read_records, shortened
from message_recorder import FOLDER_VARIABLE, Recorder, recording_result
from message_sites import Site, cpp_sites, python_sites, sites, source_folder

ROOT = Path(__file__).parents[2]
SOURCE = '''\
"""A module of three words."""


def check(value, parser):
    """Refuses a value."""
    parser.add_argument("value", help="the value to check")
    if value == "one of them":
        raise UsageError(
            f"expected a number, got '{value}'"
        )
    if value:
        raise refusal(value)
    assert value, "an invariant of the compiler"
    return f"{value} is not a number" if value else "the number is zero"


_REASONS = {"a key of a table": "its reason is here", "one": "short"}
'''
CPP = """\
// "a comment in quotes"
m.def("run", &run, "documentation of a function");
throw PtxError("expected " + std::to_string(n) + " operands"
               " of this type, found " + text);
warp.trap(kind, n == 2 ? "two operands are given" : "no operand is given");
"""


def test_python_texts_and_raises_without_text_are_sites():
    raising = Site("a.py", 12, ("raise refusal(value)",), (12, 12))
    assert sorted(python_sites(SOURCE, "a.py"), key=lambda site: site.line) == [
        Site("a.py", 9, ("expected a number, got '", "'"), (8, 10)),
        raising,
        Site("a.py", 14, ("", " is not a number")),
        Site("a.py", 14, ("the number is zero",)),
        Site("a.py", 17, ("its reason is here",)),
    ]


def test_a_report_is_no_message_but_the_error_of_its_file_is_one():
    source = 'HEAD = "bytes of memory"\nraise InputError("expected a line of the file")\n'
    assert {site.line for site in python_sites(source, "explain/memory.py")} == {2}
    assert {site.line for site in python_sites(source, "signature.py")} == {1, 2}


def test_cpp_texts_are_sites_in_literal_parts():
    assert [(site.line, site.text) for site in cpp_sites(CPP, "a.cpp")] == [
        (3, "expected {} operands of this type, found "),
        (5, "two operands are given"),
        (5, "no operand is given"),
    ]


def test_equal_texts_are_told_apart_by_the_lines_that_were_active():
    first, second = (Site("a.py", line, ("expected a ", "number"), (line, line + 1)) for line in (4, 8))
    record = ("error: expected a small number", [("b.py", 8), ("a.py", 5)])
    assert missing([first, second], [record]) == [second]
    assert missing([first, second], [(record[0], [])]) == []


def test_a_reason_counts_in_any_message_and_a_raise_by_its_lines():
    reason, raising = Site("a.py", 4, ("the tile has ", " rows")), Site("a.py", 8, ("raise f()",), (8, 8))
    assert missing([reason, raising], [("no TMA: the tile has 3 rows", [("a.py", 9)])]) == [raising]
    assert missing([reason, raising], [("no TMA: the tile has\nrows", [("a.py", 8)])]) == [reason]


def test_demands_name_unlisted_messages_and_obsolete_lines():
    known = [Site("a.py", 1, ("one text",)), Site("a.py", 2, ("two ", " texts")), Site("a.py", 3, ("three texts",))]
    accepted = "# a reason\na.py: one text\n\na.py: two {} texts\n"
    assert demands(known, [("two more texts", [])], accepted) == [
        "a.py:3: no test produces: three texts",
        "remove the line of unproduced.txt, as a test produces: a.py: two {} texts",
    ]


def test_each_line_of_the_list_is_a_message():
    accepted = accepted_sites(ACCEPTED.read_text())
    known = {str(site) for site in sites(source_folder(ROOT))}
    assert len(set(accepted)) == len(accepted)
    if source_folder(ROOT) is None:
        accepted = [text for text in accepted if not text.split(":")[0].endswith(".cpp")]
    assert [text for text in accepted if text not in known] == []


def test_the_list_becomes_shorter():
    accepted = "# a reason\na.py: one text\na.py: two {} texts\nb.py: removed\n"
    assert shortened(accepted, [Site("a.py", 2, ("two ", " texts")), Site("a.py", 3, ("new text",))]) == (
        "# a reason\na.py: two {} texts\n"
    )


def test_returned_messages_are_recorded(tmp_path):
    recorder = Recorder(tmp_path)
    for result in ("one text", "", ["two texts"], [(7, "text after its line")], []):
        assert recording_result(lambda result=result: result, recorder)() == result
    assert [text for text, _ in read_records(tmp_path) if text] == ["one text", "two texts", "text after its line"]


def test_a_run_without_most_messages_fails(tmp_path):
    """The error is recorded by a worker, and compared by its controller."""
    (tmp_path / "test_one.py").write_text(
        "import pytest, tilec as ct\ndef test_one():\n    with pytest.raises(ct.TilecError): ct.zeros(4, ct.int32)\n"
    )
    command = [sys.executable, "-m", "pytest", "-p", "tests.messages.collector", "--every-message", "-n", "1"]
    command += ["-q", "-p", "no:cacheprovider", f"--rootdir={tmp_path}", str(tmp_path)]
    environment = {name: value for name, value in os.environ.items() if name != FOLDER_VARIABLE}
    finished = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert finished.returncode == 1 and "1 passed" in finished.stdout, finished.stdout + finished.stderr
    assert "no test produces: the signature lacks parameter" in finished.stdout
    assert "'ct.{}' can be called inside a kernel only" not in finished.stdout
