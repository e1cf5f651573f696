"""A compiled entry on disk: `NAME.ptx`, `NAME.cubin`, `NAME.launch.json`; the input of simulate and launch."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tilec.errors import InputError
from tilec.frozen import Frozen, replace
from tilec.hashing import sha256
from tilec.runtime.artifact import metadata as launch_metadata
from tilec.runtime.artifact.metadata import Metadata
from tilec.runtime.json_record import Record

if TYPE_CHECKING:
    from pathlib import Path

METADATA_SUFFIX = ".launch.json"
SUFFIXES = (METADATA_SUFFIX, ".ptx", ".cubin")


class Artifact(Frozen):
    """A compiled entry; `ptx` or `cubin` is empty if the artifact does not contain it."""

    metadata: Metadata
    ptx: str = ""
    cubin: bytes = b""
    path: Path | None = None


def stem(path: str | Path) -> Path:
    """The common stem of the three files of an artifact, from the stem or any of them."""
    # Imported here because a kernel in the disk cache has no path.
    from pathlib import Path

    path = Path(path)
    suffix = next((suffix for suffix in SUFFIXES if path.name.endswith(suffix)), "")
    return path.with_name(path.name.removesuffix(suffix))


def metadata_path(path: str | Path) -> Path:
    """The path of the `.launch.json` of the artifact at `path`."""
    base = stem(path)
    return base.with_name(base.name + METADATA_SUFFIX)


def load(path: str | Path) -> Artifact:
    """Reads a compiled kernel from its files, without the compiler.

    Args:
        path: one of the files, or their common stem.

    Returns:
        The artifact, which `tilec.run` runs.

    Raises:
        InputError: the metadata is missing or wrong, or was not written for this PTX.

    Example:
        >>> import tempfile, pathlib
        >>> @ct.kernel
        ... def example(x): ct.store(x, 0, ct.ones(4, ct.int32))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     stem = ct.compile(example, signature="x: i32[?]", stop="ptx").save(pathlib.Path(folder) / "example")
        ...     artifact = ct.load_artifact(stem)
        >>> artifact.metadata.entry
        'example'
    """
    base = stem(path)
    metadata = load_metadata(base)
    ptx_file, cubin_file = base.with_name(base.name + ".ptx"), base.with_name(base.name + ".cubin")
    ptx = read(ptx_file).decode(errors="replace") if ptx_file.exists() else ""
    cubin = read(cubin_file) if cubin_file.exists() else b""
    if not ptx and not cubin:
        raise InputError(f"{base} has neither .ptx nor .cubin beside its {METADATA_SUFFIX}")
    if ptx and metadata.ptx_sha256 and digest(ptx) != metadata.ptx_sha256:
        raise InputError(
            f"{ptx_file} does not match the SHA-256 in its {METADATA_SUFFIX}; "
            f"'tilec compile {ptx_file} --emit cubin -o {cubin_file}' makes the three files agree"
        )
    return Artifact(metadata, ptx, cubin, base)


def load_metadata(path: str | Path) -> Metadata:
    """The metadata of the artifact at `path`; its digest is not compared with the PTX."""
    described = metadata_path(path)
    return launch_metadata.read(Record.parse(read(described).decode(errors="replace"), str(described)))


def save(artifact: Artifact, path: str | Path) -> Artifact:
    """Writes the files of the artifact at the common stem `path` and returns it as `load` would."""
    base = stem(path)
    write(base.with_name(base.name + ".ptx"), artifact.ptx.encode())
    write(base.with_name(base.name + ".cubin"), artifact.cubin)
    return replace(artifact, metadata=save_metadata(artifact, base), path=base)


def save_metadata(artifact: Artifact, path: str | Path) -> Metadata:
    """Writes the `.launch.json` of `path`, with the digest of the PTX, and returns the metadata."""
    metadata = replace(artifact.metadata, ptx_sha256=digest(artifact.ptx)) if artifact.ptx else artifact.metadata
    write(metadata_path(path), launch_metadata.to_text(metadata).encode())
    return metadata


def digest(ptx: str) -> str:
    """The SHA-256 of PTX text, in hexadecimal."""
    return sha256(ptx.encode()).hexdigest()


def check_folder(path: Path) -> None:
    """Raises InputError if the folder of `path` does not exist."""
    if not path.parent.exists():
        raise InputError(f"cannot write {path}: the folder {path.parent} does not exist: create it first")


def write(path: Path, content: bytes) -> None:
    """Writes the whole file or nothing; empty content writes no file.

    Raises InputError if the folder does not exist or cannot be written.
    """
    from pathlib import Path

    if not content:
        return
    path = Path(os.path.realpath(path))
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            # Pipes and devices must not be replaced.
            path.write_bytes(content)
            return
        check_folder(path)
        temporary.write_bytes(content)
        temporary.replace(path)
    except BrokenPipeError:
        raise
    except OSError as error:
        if temporary.exists():
            temporary.unlink()
        raise InputError(f"cannot write {path}: {error.strerror}") from None


def read(path: Path) -> bytes:
    """The content of the file; raises InputError if it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
