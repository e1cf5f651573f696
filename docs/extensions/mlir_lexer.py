"""A Sphinx extension: a lexer of Pygments for the text of MLIR."""

from __future__ import annotations

from pygments import token
from pygments.lexer import RegexLexer
from sphinx.application import Sphinx


class MlirLexer(RegexLexer):
    """MLIR language reference, "Notation": sigils tell values, symbols, types, attributes and blocks apart."""

    name = "MLIR"
    aliases = ("mlir",)
    filenames = ("*.mlir",)
    tokens = {
        "root": [
            (r"//.*?$", token.Comment.Single),
            (r'"(\\.|[^"\\])*"', token.String),
            (r"%[\w$.#-]+", token.Name.Variable),
            (r"@[\w$.-]+", token.Name.Function),
            (r"\^[\w$.-]+", token.Name.Label),
            (r"[!#][\w$.]+", token.Name.Class),
            (r"\b(tile|ptr|token|tensor_view|partition_view|[su]?i\d+|b?f\d+\w*|tf32|index)\b", token.Keyword.Type),
            (r"-?\b\d+(\.\d+)?([eE][+-]?\d+)?\b|\b0x[0-9A-Fa-f]+\b", token.Number),
            (r"\b(return|yield|continue|break|for|if|else|loop|in|to|step|iter_values|entry|module)\b", token.Keyword),
            (r"[a-z_][\w.]*", token.Name),
            (r"[-(){}\[\]<>:;,=*+?/|&]+", token.Punctuation),
            (r"\s+", token.Whitespace),
            (r".", token.Text),
        ]
    }


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_lexer("mlir", MlirLexer)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
