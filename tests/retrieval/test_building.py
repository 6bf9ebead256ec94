"""Making an index: hostile ids and texts, killed makers, and what is never replaced."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.retrieval.small import BEES, opened
from touche_rad.debate import Argument
from touche_rad.errors import UserError, WorkError
from touche_rad.plugins import build_index, open_index

SLOW = """
import sys, time
from touche_rad.debate import Argument
from touche_rad.plugins import build_index

def slowly():
    yield Argument(id="new", text="new words")
    print("begun", flush=True)
    time.sleep(120)

build_index(slowly(), sys.argv[1], replace=True)
"""


@pytest.mark.long
@pytest.mark.parametrize("before", [False, True])
def test_a_killed_maker_leaves_the_index_that_was_there_or_none(
    tmp_path: Path, before: bool
) -> None:
    place = tmp_path / "index"
    fingerprint = opened(BEES, place).fingerprint if before else ""
    maker = subprocess.Popen([sys.executable, "-c", SLOW, place], stdout=subprocess.PIPE)
    assert maker.stdout is not None
    assert maker.stdout.readline() == b"begun\n"
    maker.send_signal(signal.SIGKILL)
    maker.wait(60)
    maker.stdout.close()
    assert place.exists() == before
    if before:
        index = open_index(str(place))
        assert index.fingerprint == fingerprint
        assert index.search("text", "beehives", 1)
    opened(BEES, place)
    assert os.listdir(tmp_path) == ["index"]


HOSTILE = st.text(st.characters(), min_size=1, max_size=12).filter(lambda text: "\0" not in text)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(ids=st.lists(HOSTILE, min_size=1, max_size=6, unique=True), text=st.text(st.characters()))
def test_any_id_and_text_is_kept_and_found(
    tmp_path_factory: pytest.TempPathFactory, ids: list[str], text: str
) -> None:
    arguments = [Argument(id=id_, text=f"{text} zebra", attacks=text) for id_ in ids]
    index = opened(arguments, tmp_path_factory.mktemp("hostile") / "index")
    hits = index.search("text", "zebras", 10)
    assert [hit.argument.id for hit in hits] == sorted(ids)
    assert [index.get(id_) for id_ in ids] == arguments
    assert list(index.arguments()) == arguments


@pytest.mark.parametrize("wrong", ["", "a\0", "x" * 513])
def test_an_id_that_cannot_be_kept_is_told(tmp_path: Path, wrong: str) -> None:
    with pytest.raises(UserError, match="an id must have 1 to 512 bytes and no NUL"):
        build_index([Argument(id=wrong, text="x")], str(tmp_path / "index"))
    assert os.listdir(tmp_path) == []


def test_a_field_that_nobody_fills_finds_nothing(tmp_path: Path) -> None:
    index = opened([Argument(id="1", text="Bees buzz."), Argument(id="2", text="")], tmp_path)
    assert index.search("attacks", "bees", 5) == []
    assert index.search_all("supports", ["bees", "x"], 5) == [[], []]
    assert [hit.argument.id for hit in index.search("text", "bees", 5)] == ["1"]
    bare = opened([Argument(id="1", text="the of")], tmp_path / "bare")
    assert bare.search("text", "bees", 5) == []


def test_an_empty_folder_is_filled_and_a_file_never_replaced(tmp_path: Path) -> None:
    assert len(opened(BEES, tmp_path)) == len(BEES)
    (tmp_path / "notes.txt").write_text("mine")
    for replace, told in ((False, "exists already"), (True, "is not an index")):
        with pytest.raises(UserError, match=told):
            build_index(BEES, str(tmp_path / "notes.txt"), replace=replace)
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_link_to_an_index_is_followed(tmp_path: Path) -> None:
    opened(BEES[:2], tmp_path / "index")
    (tmp_path / "link").symlink_to("index")
    assert len(opened(BEES, tmp_path / "link")) == len(BEES)
    assert (tmp_path / "link").is_symlink()
    assert len(open_index(str(tmp_path / "index"))) == len(BEES)


def test_an_index_that_is_replaced_meanwhile_is_read_to_its_end(tmp_path: Path) -> None:
    old = opened(BEES, tmp_path / "index")
    opened(BEES[:1], tmp_path / "index")
    assert [hit.argument.id for hit in old.search("text", "night trains", 3)] == ["6"]


def test_what_is_no_index_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "folder").mkdir()
    for name in ("nothing", "file", "folder"):
        with pytest.raises(UserError, match=r"there is no index|is not an index"):
            open_index(str(tmp_path / name))


def test_a_changed_line_is_told_when_it_is_read(tmp_path: Path) -> None:
    opened(BEES, tmp_path / "index")
    lines = tmp_path / "index" / "arguments.jsonl"
    index = open_index(str(tmp_path / "index"))
    changed = lines.read_bytes().replace(b'{"id": "6"', b'["id", "6"')
    with lines.open("r+b") as file:  # the opened index has this file mapped
        file.write(changed)
    with pytest.raises(WorkError, match="the index is damaged") as error:
        index.search("text", "trains", 1)
    assert "\n" not in str(error.value)


def test_nothing_is_printed_past_pythons_streams(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    opened(BEES, tmp_path / "index").search("text", "bees", 3)
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == ("", "")
