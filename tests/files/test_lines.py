"""Lines of files: numbered, unzipped, and clear about what cannot be read."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from touche_rad.files.records import numbered_lines

TEXT = "\ufeffone\r\n\r\nzwei ä\n \nlast".encode()


@pytest.mark.parametrize("zipped", [True, False])
def test_lines_are_numbered_as_an_editor_numbers_them(zipped: bool) -> None:
    path = Path("file")
    path.write_bytes(gzip.compress(TEXT) if zipped else TEXT)
    assert list(numbered_lines(path)) == [(1, "one"), (3, "zwei ä"), (4, " "), (5, "last")]


@pytest.mark.parametrize("character", "\u2028\u2029\x85\x0b\x0c\x1c\x1d\x1e\r")
def test_only_a_line_feed_ends_a_line(character: str) -> None:
    path = Path("file")
    path.write_bytes(f"a{character}b\nc\n".encode())
    assert list(numbered_lines(path)) == [(1, f"a{character}b"), (2, "c")]
