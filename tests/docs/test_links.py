"""Links within the repository lead to a file, and to a heading of it."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

from tests.docs.blocks import PAGES, ROOT

PACKAGES = [ROOT / name for name in ("touche_rad", "judges", "retrieval", "runs")]
DOCUMENTS = [
    *PAGES,
    ROOT / "CHANGELOG.md",
    *sorted(path for package in PACKAGES for path in package.rglob("README.md")),
]
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"^ *```.*?^ *```$|`[^`\n]+`", re.DOTALL | re.MULTILINE)
GENERATED = ROOT / "docs" / "reference"
"""`make docs` writes these pages; a link to them would be dead on a code host."""


def test_internal_links_lead_to_a_heading() -> None:
    links = [(page, link) for page in DOCUMENTS for link in LINK.findall(_prose(page))]
    internal = [(page, link) for page, link in links if not re.match(r"[a-z]+:", link)]
    assert len(internal) > 100
    wrong = []
    for page, link in internal:
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        place = f"{page.relative_to(ROOT)}: {link}"
        if not target.exists() or target.is_relative_to(GENERATED):
            wrong.append(f"{place}: no such file")
        elif anchor and anchor not in _anchors(target):
            wrong.append(f"{place}: no such heading")
    assert not wrong, "\n".join(wrong)


def test_each_page_is_one_click_from_the_readme_or_the_front_page() -> None:
    front = {
        (page.parent / link.partition("#")[0]).resolve()
        for page in (ROOT / "README.md", ROOT / "docs" / "index.md")
        for link in LINK.findall(_prose(page))
    }
    second = {
        (page.parent / link.partition("#")[0]).resolve()
        for page in front
        if page.suffix == ".md" and page.exists()
        for link in LINK.findall(_prose(page))
    }
    pages = set(PAGES) - {ROOT / "README.md", ROOT / "docs" / "index.md"}
    guides = {page for page in pages if page.parent == ROOT / "docs"}
    missing = sorted(page.name for page in guides - front)
    assert not missing, "link these from README.md or docs/index.md"
    lost = sorted(page.name for page in pages - front - second)
    assert not lost, "no page one click away links these"


def test_each_page_in_a_text_of_the_code_exists() -> None:
    wrong = []
    for package in PACKAGES:
        for path in package.rglob("*.py"):
            for name in re.findall(r"docs/[\w/-]+\.md", path.read_text("utf-8")):
                if not (ROOT / name).exists():
                    wrong.append(f"{path.relative_to(ROOT)}: {name}")
    assert not wrong, "\n".join(wrong)


def test_the_architecture_names_each_package_and_only_files_that_exist() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    named = re.findall(r"`((?:touche_rad|retrieval|judges)/[\w/.]+)`", text)
    assert len(named) > 15
    assert not [name for name in named if not (ROOT / name).exists()]
    packages = {path.parent.name for path in (ROOT / "touche_rad").glob("*/__init__.py")}
    assert not [name for name in sorted(packages) if f"{name}/" not in text]


def _prose(page: Path) -> str:
    """Return the text of a page without its code."""
    return CODE.sub("", page.read_text("utf-8"))


def _anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub and MyST make of the headings."""
    text = re.sub(r"^ *```.*?^ *```$", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {_slug(heading) for heading in headings}


def _slug(heading: str) -> str:
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
    characters = (
        character
        for character in text.strip().lower()
        if character in " -_" or unicodedata.category(character)[0] in "LN"
    )
    return "".join(characters).replace(" ", "-")
