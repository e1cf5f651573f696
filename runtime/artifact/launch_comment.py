"""Launch metadata in a comment at the end of PTX, for pipes, which have no `.launch.json`."""

from __future__ import annotations

from tilec.frozen import replace
from tilec.runtime.artifact.metadata import Metadata, read, to_line
from tilec.runtime.json_record import Record

_MARK = "// tilec.launch: "


def with_launch_comment(ptx: str, metadata: Metadata) -> str:
    """The PTX with its metadata in a comment, without the digest, because a pipe may edit the PTX."""
    return f"{ptx}{'' if ptx.endswith(chr(10)) else chr(10)}{_MARK}{to_line(replace(metadata, ptx_sha256=''))}\n"


def split_launch_comment(ptx: str, file: str) -> tuple[str, Metadata | None]:
    """The PTX without the comment, and the metadata in it, None without such a comment.

    Raises InputError if the comment is damaged; `file` is the name of the PTX in messages.
    """
    text, mark, line = ptx.rpartition(_MARK)
    if not mark or (text and not text.endswith("\n")) or "\n" in line.rstrip("\n"):
        return ptx, None
    return text, read(Record.parse(line, f"launch metadata of {file}"))
