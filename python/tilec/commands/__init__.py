"""The commands of `tilec`, one per file."""
