"""Lines of files: numbered, unzipped, and clear about what cannot be read."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from touche_rad.errors import InputError
from touche_rad.files.records import BadLines, numbered_lines

TEXT = "\ufeffone\r\n\r\nzwei ä\n \nlast".encode()


@pytest.mark.parametrize("zipped", [True, False])
def test_lines_are_numbered_as_an_editor_numbers_them(zipped: bool, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(gzip.compress(TEXT) if zipped else TEXT)
    assert list(numbered_lines(path)) == [(1, "one"), (3, "zwei ä"), (5, "last")]
    verbatim = [(1, "\ufeffone"), (2, ""), (3, "zwei ä"), (4, " "), (5, "last")]
    assert list(numbered_lines(path, verbatim=True)) == verbatim


@pytest.mark.parametrize("character", "\u2028\u2029\x85\x0b\x0c\x1c\x1d\x1e\r")
def test_only_a_line_feed_ends_a_line(character: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(f"a{character}b\nc\n".encode())
    assert list(numbered_lines(path)) == [(1, f"a{character}b"), (2, "c")]


def test_wrong_bytes_are_told_by_line_and_gone_past(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"fine\n\xff\nfine\n")
    with pytest.raises(InputError, match=r"file:2: expected UTF-8 text, got the byte 0xff$"):
        list(numbered_lines(path))
    bad = BadLines(skip=True)
    assert [number for number, _ in numbered_lines(path, bad, verbatim=True)] == [1, 3]
    assert bad.count == 1


def test_half_a_gzip_file_gives_every_whole_line_and_the_place_of_the_cut(tmp_path: Path) -> None:
    path = tmp_path / "file.gz"
    path.write_bytes(gzip.compress(b"line\n" * 9999)[:-30])
    bad = BadLines(skip=True)
    lines = list(numbered_lines(path, bad))
    assert len(lines) > 1000
    assert {line for _, line in lines} == {"line"}
    assert str(bad.first) == f"{path}:{len(lines) + 1}: the gzip file is cut off here"


def test_what_follows_a_gzip_stream_and_is_none_is_told(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(gzip.compress(b"one\n") + gzip.compress(b"two\n") + b"three\n")
    bad = BadLines(skip=True)
    assert [line for _, line in numbered_lines(path, bad)] == ["one", "two"]
    assert str(bad.first).startswith(f"{path}:3: the gzip file is broken (")


@pytest.mark.parametrize(
    ("place", "told"),
    [("none", "cannot be read: No such file"), (".", "got a folder"), ("x\0", "name of a file")],
)
def test_what_is_no_file_is_told(place: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=told):
        list(numbered_lines(tmp_path / place))
