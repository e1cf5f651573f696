"""Input as text or bytes: decoding, detection of the stage, parsing and verification."""
