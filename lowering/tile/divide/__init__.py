"""Passes that divide tiles, multiplies, loops and stores into parts. Import analysis and simplify."""
