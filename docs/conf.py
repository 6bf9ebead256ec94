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

extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns: list[str] = []
myst_heading_anchors = 4
myst_links_external_new_tab = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"

html_theme = "furo"
html_title = f"touche-rad {release}"
html_show_sphinx = False
html_copy_source = False
html_static_path: list[str] = []


def setup(app: Any) -> None:
    """Write the pages of the reference and of the notebooks before Sphinx looks for pages."""
    reference_pages.write(HERE / "reference")
    notebook_pages.write(HERE / "notebooks", HERE / "reference" / "notebooks")
