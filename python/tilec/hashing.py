"""SHA-256 without OpenSSL, which `hashlib` loads in 5 ms; Python's `random` imports its hash in the same way."""

from __future__ import annotations

try:
    from _sha2 import sha256
except ImportError:
    try:
        # Python 3.11.
        from _sha256 import sha256
    except ImportError:
        from hashlib import sha256

__all__ = ["sha256"]
