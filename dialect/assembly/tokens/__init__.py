"""From the text of a module to tokens, within limits of nesting and length."""
