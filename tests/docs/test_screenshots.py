"""The pictures of the documents show the pages as they are now."""

from __future__ import annotations

import re

import pytest

from tests.docs.blocks import PAGES, ROOT
from tests.records import read_json

PICTURES = ROOT / "docs" / "pictures"


def test_each_picture_is_as_new_as_the_page_that_it_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import screenshots

    stamps = read_json(screenshots.STAMPS)
    old = [name for name in screenshots.PAGES if stamps.get(name) != screenshots.stamp(name)]
    assert not old, "these pages look different now: run make screenshots"


def test_each_picture_is_shown_and_small() -> None:
    pages = "".join(page.read_text("utf-8") for page in PAGES)
    pictures = set(re.findall(r"!\[[^\]]+\]\([\w/]*pictures/([\w-]+\.png)\)", pages))
    assert pictures == {path.name for path in PICTURES.glob("*.png")}
    assert sum(path.stat().st_size for path in PICTURES.iterdir()) < 500_000
