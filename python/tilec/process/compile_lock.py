"""The lock that compiles hold."""

from __future__ import annotations

import threading

# Threads compile one after another: the bindings of MLIR crash if two threads create operations at the same time.
COMPILING = threading.RLock()
