"""The version of the package, which artifacts contain, and the time when this process imported it."""

import time

VERSION = "0.1.0"

# Nanoseconds since the epoch, like the modification times of files.
IMPORTED_NS = time.time_ns()
