"""The version of the package; artifacts carry it."""

VERSION = "0.1.0"
