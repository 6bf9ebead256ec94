"""Configuration of the documentation site; `make docs` builds it without a network."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import notebook_pages  # noqa: E402
import reference_pages  # noqa: E402

import touche_rad  # noqa: E402

project = "touche-rad"
author = "the authors of touche-rad"
copyright = author
version = release = touche_rad.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton"]
copybutton_prompt_text = "$ "  # of a session, only the commands are copied
exclude_patterns: list[str] = []
myst_heading_anchors = 4
myst_links_external_new_tab = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"

html_theme = "furo"
html_title = f"touche-rad {release}"
html_show_sphinx = False
html_copy_source = False
html_static_path = ["docs.css"]
html_css_files = ["docs.css"]

CONTENTS = {
    "Start": "tutorial page models errors",
    "Participant": "submit runs methods maxims",
    "Organiser": "organise criteria score",
    "Researcher": "papers fidelity/sinai fidelity/rdebater fidelity/inspiredebate "
    "fidelity/debatrix fidelity/debgraph panels retrieval notebook training plugins architecture",
    "Operator": "cluster security performance",
    "Notebooks": "reference/notebooks/debate reference/notebooks/judges "
    "reference/notebooks/pipelines",
    "Reference": "reference/commands reference/plugins reference/files reference/http "
    "reference/python reference/messages",
}
"""The pages of the sidebar. They stand here, because a code host shows directives as text."""


def add_contents(app: Any, page: str, source: list[str]) -> None:
    """Add the contents to the front page."""
    if page == "index":
        for caption, pages in CONTENTS.items():
            names = "\n".join(pages.split())
            source[0] += f"\n```{{toctree}}\n:caption: {caption}\n:hidden:\n\n{names}\n```\n"


def add_levels(app: Any, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Give the captions of the sidebar a level, which the theme leaves out."""
    sidebar = context.get("furo_navigation_tree", "")
    level = 'role="heading" aria-level="2"'
    context["furo_navigation_tree"] = sidebar.replace('role="heading"', level)


def setup(app: Any) -> None:
    """Write the pages of the reference and of the notebooks before Sphinx looks for pages."""
    reference_pages.write(HERE / "reference")
    notebook_pages.write(HERE / "notebooks", HERE / "reference" / "notebooks")
    app.connect("source-read", add_contents)
    app.connect("html-page-context", add_levels, priority=900)  # after the theme
