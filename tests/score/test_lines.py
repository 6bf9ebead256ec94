"""Lines of files as they stand: numbered, unzipped, and clear about what cannot be read."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from touche_rad.errors import InputError, UserError
from touche_rad.score.lines import read_lines


@pytest.mark.parametrize("zipped", [True, False])
def test_lines_are_numbered_and_keep_blank_ones(zipped: bool, tmp_path: Path) -> None:
    path = tmp_path / "file"
    text = "one\r\n\r\nzwei ä\nlast".encode()
    path.write_bytes(gzip.compress(text) if zipped else text)
    assert list(read_lines(path)) == [(1, "one"), (2, ""), (3, "zwei ä"), (4, "last")]


def test_wrong_bytes_are_told_by_line(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"fine\n\xff\n")
    with pytest.raises(InputError, match=r"file:2: expected UTF-8, got byte 0xff"):
        list(read_lines(path))


def test_half_a_gzip_file_is_told(tmp_path: Path) -> None:
    path = tmp_path / "file.gz"
    path.write_bytes(gzip.compress(b"line\n" * 9999)[:-30])
    with pytest.raises(InputError, match="gzip file is broken"):
        list(read_lines(path))


@pytest.mark.parametrize("place", ["none", "."])
def test_what_is_no_file_is_told(place: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        list(read_lines(tmp_path / place))
