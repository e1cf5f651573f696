"""The version of the package, which artifacts carry, and the time when this process imported it."""

import time

VERSION = "0.1.0"

# In nanoseconds since the epoch, as times of modification of files.
IMPORTED_NS = time.time_ns()
