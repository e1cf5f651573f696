"""A Sphinx extension: links to files of the repository that are not pages become the path of the file, as code."""

from __future__ import annotations

from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

ROOT = Path(__file__).parents[2]


class SourceLinks(SphinxPostTransform):
    """Runs before references are resolved; links to pages are left alone."""

    default_priority = 5

    def run(self, **_options: object) -> None:
        document = Path(self.env.doc2path(self.env.docname))
        for link in list(self.document.findall(addnodes.pending_xref)):
            path = (document.parent / link.get("reftarget", "").partition("#")[0]).resolve()
            if link.get("refdomain") != "std" and path.exists() and path.is_relative_to(ROOT) and not _is_page(path):
                link.replace_self([nodes.inline("", link.astext()), nodes.literal("", f" ({path.relative_to(ROOT)})")])


def _is_page(path: Path) -> bool:
    return path.suffix == ".md" and path.is_relative_to(ROOT / "docs")


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_post_transform(SourceLinks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
