"""The commands of `tilec`, one a file."""
