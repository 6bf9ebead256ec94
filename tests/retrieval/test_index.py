"""The embedded index: what it finds, what it refuses, and that it stands whole or not at all."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from retrieval.elastic._arguments import ElasticArguments
from retrieval.index.pisa import PisaArguments
from tests.cases import with_cases
from tests.records import read_arguments, read_json
from tests.refusals import expect_error
from tests.retrieval.small import BEES, opened
from tests.terminal import touche_rad
from touche_rad import files
from touche_rad.debate import Argument
from touche_rad.errors import OptionError, UserError, WorkError
from touche_rad.plugins import build_index, open_index

ARGUMENTS = read_arguments("retrieval/cats_and_dogs.json")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("small") / "index"
    assert build_index(ARGUMENTS, str(place)) == len(ARGUMENTS)
    return place


@pytest.fixture(scope="module")
def index(place: Path) -> PisaArguments:
    index = open_index(str(place))
    assert isinstance(index, PisaArguments)
    return index


def _ids(index: PisaArguments, field: str, query: str, k: int = 10) -> list[str]:
    return [hit.argument.id for hit in index.search(field, query, k)]


def test_each_field_is_searched_by_itself(index: PisaArguments) -> None:
    assert _ids(index, "attacks", "cats that sleep") == ["c", "a", "b"]
    assert _ids(index, "supports", "loud dogs") == ["é-1"]
    assert set(_ids(index, "text", "cat")) == {"a", "b", "c"}
    assert _ids(index, "attacks", "barking") == []


def test_the_shorter_text_with_the_word_comes_first_and_ties_stand_by_id(
    index: PisaArguments,
) -> None:
    hits = index.search("text", "cats", 10)
    assert [hit.argument.id for hit in hits] == ["a", "b", "c"]
    assert hits[0].score == hits[1].score
    assert hits[1].score > hits[2].score
    assert [hit.rank for hit in hits] == [0, 1, 2]
    assert _ids(index, "text", "cats", 1) == ["a"]


@with_cases(("query", "times", "ids"), "retrieval/any_writing.json")
def test_any_writing_is_searched(
    index: PisaArguments, query: str, times: int, ids: list[str]
) -> None:
    assert sorted(_ids(index, "text", query * times)) == ids


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(query=st.text(st.characters()), field=st.sampled_from(["text", "attacks", "supports"]))
def test_no_query_fails_and_a_batch_finds_the_same(
    index: PisaArguments, query: str, field: str
) -> None:
    hits = index.search(field, query, 3)
    assert index.search_all(field, [query, "cats", query], 3)[2] == hits
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)


def test_arguments_are_read_by_id_and_in_order(index: PisaArguments) -> None:
    assert list(index.arguments()) == list(ARGUMENTS)
    assert [index.get(argument.id) for argument in ARGUMENTS] == list(ARGUMENTS)
    assert [index.get(id_) for id_ in ("", "z", "a\0", "aa" * 99, "\ud800")] == [None] * 5
    assert len(index) == len(ARGUMENTS)


def test_the_nearest_name_of_a_field_is_suggested(index: PisaArguments) -> None:
    with expect_error("'attacks'", OptionError):
        index.search("attack", "x", 1)


def _flip(path: Path) -> None:
    """Change the last byte of a file."""
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))


@pytest.mark.parametrize(
    ("damage", "fact"),
    [
        (lambda place: (place / "arguments.jsonl").write_text("{}"), "arguments.jsonl"),
        (lambda place: (place / "manifest.json").write_text("[" * 100_000), "manifest.json"),
        # A stranger's folder, whose links show the arguments of the user, has a plan's fingerprint.
        (lambda place: _rewrite_manifest(place, collection="0" * 64), "manifest.json is damaged"),
        (lambda place: _rewrite_manifest(place, fields={"../x": 1}), "manifest.json is damaged"),
        (lambda place: (place / "manifest.json").unlink(), "not an index"),
        (lambda place: min((place / "text").iterdir()).unlink(), "text/"),
        (lambda place: _flip(max((place / "text").iterdir())), "text/.*has changed"),
        (lambda place: _rewrite_manifest(place, format=9), "newer"),
        (lambda place: _rewrite_manifest(place, analyser="other"), "another version"),
    ],
)
def test_a_damaged_index_is_refused_in_one_line(damage: object, fact: str) -> None:
    place = Path("index")
    build_index(ARGUMENTS, str(place))
    damage(place)  # type: ignore[operator]
    with expect_error(fact) as error:
        open_index(str(place))
    assert str(place) in str(error.value)
    assert "\n" not in str(error.value)


def test_arguments_given_twice_are_a_warning() -> None:
    lines = [files.argument_line(ARGUMENTS[at]) for at in (0, 1, 0)]
    Path("twice.jsonl").write_text("\n".join(lines))
    ended = touche_rad("index twice.jsonl -o index -q")
    assert ended.err.startswith("warning: ")
    assert "twice.jsonl:3" in ended.error


@pytest.mark.parametrize("body", ["hello", {"x": "y"}])
def test_a_server_of_another_kind_is_refused(body: object, monkeypatch: pytest.MonkeyPatch) -> None:
    where = SimpleNamespace(index="x")
    connection = SimpleNamespace(where=where, ask=lambda _: SimpleNamespace(body=body))
    monkeypatch.setattr("retrieval.elastic._arguments.Connection", lambda _: connection)
    with expect_error("not Elasticsearch"):
        ElasticArguments("elasticsearch:http://localhost/x")


def _rewrite_manifest(place: Path, **changed: object) -> None:
    manifest = read_json(place / "manifest.json")
    (place / "manifest.json").write_text(json.dumps(manifest | changed))


def _breaking_source() -> Iterator[Argument]:
    yield ARGUMENTS[0]
    raise RuntimeError("the source broke")


OTHER_TEXT = ARGUMENTS[0].model_copy(update={"text": "Something else."})


@pytest.mark.parametrize(
    ("arguments", "kind", "fact"),
    [
        ([], UserError, "no argument"),
        ([ARGUMENTS[0], OTHER_TEXT], UserError, "'b'"),
        (_breaking_source(), RuntimeError, "the source broke"),
    ],
)
def test_what_cannot_be_built_leaves_nothing(
    tmp_path: Path, arguments: Iterable[Argument], kind: type[Exception], fact: str
) -> None:
    with pytest.raises(kind, match=fact):
        build_index(arguments, "index")
    assert list(tmp_path.iterdir()) == []


def test_equal_arguments_are_indexed_once() -> None:
    assert build_index([ARGUMENTS[0], ARGUMENTS[0]], "index") == 1


def test_an_index_is_replaced_only_on_demand(tmp_path: Path) -> None:
    place = "index"
    build_index(ARGUMENTS[:2], place)
    with expect_error("--replace"):
        build_index(ARGUMENTS, place)
    assert len(open_index(place)) == 2
    assert build_index(ARGUMENTS, place, replace=True) == len(ARGUMENTS)
    assert os.listdir(tmp_path) == ["index"]


def test_a_folder_that_is_no_index_is_never_replaced() -> None:
    photo = Path("photos/one.jpg")
    photo.parent.mkdir()
    photo.touch()
    with expect_error("not an index"):
        build_index(ARGUMENTS, str(photo.parent), replace=True)
    assert photo.exists()
    Path("empty").mkdir()
    assert build_index(ARGUMENTS, "empty", replace=True) == len(ARGUMENTS)


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
    place = Path("index")
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


HOSTILE = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=12)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(ids=st.lists(HOSTILE, min_size=1, max_size=6, unique=True), text=st.text(st.characters()))
@example(ids=["x" * 512], text="")
def test_any_id_and_text_is_kept_and_found(
    tmp_path_factory: pytest.TempPathFactory, ids: list[str], text: str
) -> None:
    arguments = [Argument(id=id_, text=f"{text} zebra", attacks=text) for id_ in ids]
    index = opened(arguments, tmp_path_factory.mktemp("hostile") / "index")
    hits = index.search("text", "zebras", 10)
    assert [hit.argument.id for hit in hits] == sorted(ids)
    assert [index.get(id_) for id_ in ids] == arguments
    assert list(index.arguments()) == arguments


@pytest.mark.parametrize("wrong", ["", "a\0", "x" * 513, "ü" * 257, "\ud800"])
def test_an_id_that_cannot_be_kept_is_refused(tmp_path: Path, wrong: str) -> None:
    with expect_error("512 bytes"):
        build_index([Argument(id=wrong, text="x")], "index")
    assert os.listdir(tmp_path) == []


def test_a_field_that_nobody_fills_finds_nothing() -> None:
    index = opened([Argument(id="1", text="Bees buzz."), Argument(id="2", text="")], "index")
    assert index.search("attacks", "bees", 5) == []
    assert index.search_all("supports", ["bees", "x"], 5) == [[], []]
    assert [hit.argument.id for hit in index.search("text", "bees", 5)] == ["1"]
    bare = opened([Argument(id="1", text="the of")], "bare")
    assert bare.search("text", "bees", 5) == []


def test_an_index_that_is_replaced_meanwhile_is_read_to_its_end() -> None:
    old = opened(BEES, "index")
    opened(BEES[:1], "index")
    assert [hit.argument.id for hit in old.search("text", "night trains", 3)] == ["6"]


def test_an_index_is_compared_again_when_a_file_has_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "cache")
    place = Path("index")
    build_index(ARGUMENTS, str(place))
    for _ in range(2):
        open_index(str(place))
    _flip(place / "places.npy")
    with expect_error("has changed"):
        open_index(str(place))


def test_a_changed_line_is_refused_when_it_is_read() -> None:
    opened(BEES, "index")
    lines = Path("index/arguments.jsonl")
    index = open_index("index")
    changed = lines.read_bytes().replace(b'{"id": "6"', b'["id", "6"')
    with lines.open("r+b") as file:  # the opened index has this file mapped
        file.write(changed)
    with expect_error("damaged", WorkError) as error:
        index.search("text", "trains", 1)
    assert "\n" not in str(error.value)
