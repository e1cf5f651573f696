"""The lock that compiles hold."""

from __future__ import annotations

import threading

# Threads compile one after another: the bindings of MLIR crash where two threads create operations at a time.
COMPILING = threading.RLock()
