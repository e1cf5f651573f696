"""The dialect `ptx`, complete with its operations."""

from __future__ import annotations

# Importing an op group attaches its operations to the namespace.
import tilec.dialect.ptx.entry
import tilec.dialect.ptx.instruction  # noqa: F401
from tilec.dialect.ptx.namespace import Ptx

__all__ = ["Ptx"]
