"""Passes that fold, hoist and remove operations. Import analysis."""
