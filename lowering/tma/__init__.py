"""The requirements of TMA on tensor maps."""
