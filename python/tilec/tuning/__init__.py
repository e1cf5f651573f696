"""Compiles and times the candidates of a search, for tilec.tune."""
