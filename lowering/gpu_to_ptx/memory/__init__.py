"""Accesses of global, shared and tensor memory, TMA, and channels as mbarriers. Imports registers."""
