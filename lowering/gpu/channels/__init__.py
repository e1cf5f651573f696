"""Passes that make, join, share and size channels. Import ir to cost."""
