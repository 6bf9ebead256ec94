"""The embedded index: what it finds, what it refuses, and that it stands whole or not at all."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from retrieval.elastic._arguments import ElasticArguments
from retrieval.index.pisa import PisaArguments
from tests.retrieval.small import BEES, opened
from tests.terminal import touche_rad
from touche_rad import files
from touche_rad.debate import Argument
from touche_rad.errors import OptionError, UserError, WorkError
from touche_rad.plugins import build_index, open_index

SLEEP = "Cats sleep all day."
CLAIMS = {"attacks": "Cats are active pets.", "supports": "Cats are lazy pets."}
NIGHT = "A cat hunts mice at night, when nobody sees it."
BARK = "Überall naïve Köter, e.g. the dog's “own” barking."
ARGUMENTS = (
    Argument(id="b", text=SLEEP, **CLAIMS),
    Argument(id="a", text=SLEEP, **CLAIMS),
    Argument(id="c", text=NIGHT, attacks=SLEEP, supports="Cats are awake at night.", topic="Pets"),
    Argument(id="d", text="Dogs bark and bark.", attacks="Dogs are quiet."),
    Argument(id="é-1", text=BARK, supports="Dogs are loud."),
    Argument(id="j", text="日本語 の 議論", attacks="日本語"),
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("small") / "index"
    assert build_index(ARGUMENTS, str(place)) == len(ARGUMENTS)
    return place


@pytest.fixture(scope="module")
def index(place: Path) -> PisaArguments:
    opened = open_index(str(place))
    assert isinstance(opened, PisaArguments)
    return opened


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
    assert hits[0].score == hits[1].score > hits[2].score
    assert [hit.rank for hit in hits] == [0, 1, 2]
    assert _ids(index, "text", "cats", 1) == ["a"]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("CAT’S", {"a", "b", "c"}),
        ("uberall", {"é-1"}),
        ("naive", {"é-1"}),
        ("“barking”", {"d", "é-1"}),
        ("日本語", {"j"}),
        ("x'cats'", set()),
        ("", set()),
        ("the and of", set()),
        ("\ud800", set()),
        ("cats " * 20_000, {"a", "b", "c"}),
        ('AND (OR) NOT ~^*: "', set()),
    ],
)
def test_any_writing_is_searched(index: PisaArguments, query: str, found: set[str]) -> None:
    assert set(_ids(index, "text", query)) == found


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(query=st.text(st.characters()), field=st.sampled_from(["text", "attacks", "supports"]))
def test_no_query_fails_and_a_batch_finds_the_same(
    index: PisaArguments, query: str, field: str
) -> None:
    one = index.search(field, query, 3)
    assert index.search_all(field, [query, "cats", query], 3)[2] == one
    assert [hit.score for hit in one] == sorted((hit.score for hit in one), reverse=True)


def test_arguments_are_read_by_id_and_in_order(index: PisaArguments) -> None:
    assert [one.id for one in index.arguments()] == [one.id for one in ARGUMENTS]
    assert all(index.get(one.id) == one for one in ARGUMENTS)
    assert [index.get(id_) for id_ in ("", "z", "a\0", "aa" * 99, "\ud800")] == [None] * 5
    assert len(index) == len(ARGUMENTS)
    with pytest.raises(OptionError, match="did you mean 'attacks'"):
        index.search("attack", "x", 1)


@pytest.mark.parametrize(
    ("harm", "told"),
    [
        (lambda place: (place / "ids.npy").unlink(), "ids.npy is not complete"),
        (lambda place: (place / "arguments.jsonl").write_text("{}"), "arguments.jsonl is not"),
        (lambda place: (place / "manifest.json").write_text("{"), "manifest.json cannot be read"),
        (lambda place: (place / "manifest.json").unlink(), "is not an index"),
        (lambda place: min((place / "text").iterdir()).unlink(), "text/.* is not complete"),
        (lambda place: _rewrite(place, format=9), "made by a newer touche-rad"),
        (lambda place: _rewrite(place, analyser="other"), "another version of touche-rad"),
    ],
)
def test_a_damaged_index_is_told_in_one_line(tmp_path: Path, harm: object, told: str) -> None:
    place = tmp_path / "index"
    build_index(ARGUMENTS, str(place))
    harm(place)  # type: ignore[operator]
    with pytest.raises(UserError, match=told) as error:
        open_index(str(place))
    assert "\n" not in str(error.value)


def test_arguments_given_twice_are_a_warning(tmp_path: Path) -> None:
    lines = [files.argument_line(ARGUMENTS[at]) for at in (0, 1, 0)]
    (tmp_path / "twice.jsonl").write_text("\n".join(lines))
    ended = touche_rad("index", "twice.jsonl", "-o", "index", "-q", cwd=tmp_path)
    assert ended.err == "warning: arguments given twice: 1; the first: twice.jsonl:3\n"


@pytest.mark.parametrize("body", ["hello", {"x": "y"}])
def test_a_server_of_another_kind_is_refused(body: object, monkeypatch: pytest.MonkeyPatch) -> None:
    where = SimpleNamespace(index="x")
    connection = SimpleNamespace(where=where, ask=lambda _: SimpleNamespace(body=body))
    monkeypatch.setattr("retrieval.elastic._arguments.Connection", lambda _: connection)
    with pytest.raises(UserError, match="the server is not Elasticsearch"):
        ElasticArguments("elasticsearch:http://localhost/x")


def _rewrite(place: Path, **changed: object) -> None:
    manifest = json.loads((place / "manifest.json").read_text())
    (place / "manifest.json").write_text(json.dumps(manifest | changed))


def test_what_cannot_be_built_leaves_nothing(tmp_path: Path) -> None:
    other = ARGUMENTS[0].model_copy(update={"text": "Something else."})

    def breaking() -> object:
        yield ARGUMENTS[0]
        raise RuntimeError("the source broke")

    for arguments, told in [
        ([], "contains no argument"),
        ([ARGUMENTS[0], other], "two different arguments have the id 'b'"),
        (breaking(), "the source broke"),
    ]:
        with pytest.raises((UserError, RuntimeError), match=told):
            build_index(arguments, str(tmp_path / "index"))  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []
    assert build_index([ARGUMENTS[0], ARGUMENTS[0]], str(tmp_path / "index")) == 1


def test_an_index_is_replaced_only_when_told_and_nothing_else_ever(tmp_path: Path) -> None:
    place = tmp_path / "index"
    build_index(ARGUMENTS[:2], str(place))
    with pytest.raises(UserError, match="--replace"):
        build_index(ARGUMENTS, str(place))
    assert build_index(ARGUMENTS, str(place), replace=True) == len(ARGUMENTS)
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "one.jpg").touch()
    with pytest.raises(UserError, match="is not an index"):
        build_index(ARGUMENTS, str(tmp_path / "photos"), replace=True)
    assert (tmp_path / "photos" / "one.jpg").exists()


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


HOSTILE = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=12)


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


@pytest.mark.parametrize("wrong", ["", "a\0", "x" * 513, "\ud800"])
def test_an_id_that_cannot_be_kept_is_told(tmp_path: Path, wrong: str) -> None:
    with pytest.raises(UserError, match="an id must have 1 to 512 bytes of UTF-8 and no NUL"):
        build_index([Argument(id=wrong, text="x")], str(tmp_path / "index"))
    assert os.listdir(tmp_path) == []


def test_a_field_that_nobody_fills_finds_nothing(tmp_path: Path) -> None:
    index = opened([Argument(id="1", text="Bees buzz."), Argument(id="2", text="")], tmp_path)
    assert index.search("attacks", "bees", 5) == []
    assert index.search_all("supports", ["bees", "x"], 5) == [[], []]
    assert [hit.argument.id for hit in index.search("text", "bees", 5)] == ["1"]
    bare = opened([Argument(id="1", text="the of")], tmp_path / "bare")
    assert bare.search("text", "bees", 5) == []


def test_an_index_that_is_replaced_meanwhile_is_read_to_its_end(tmp_path: Path) -> None:
    old = opened(BEES, tmp_path / "index")
    opened(BEES[:1], tmp_path / "index")
    assert [hit.argument.id for hit in old.search("text", "night trains", 3)] == ["6"]


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
