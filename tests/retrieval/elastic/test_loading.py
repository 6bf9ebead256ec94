"""What is loaded: whole, in requests that the server takes, under names that it has."""

from __future__ import annotations

from typing import Any

import pytest

from retrieval.elastic import _shape as shape
from tests.conftest import unavailable
from tests.demo import ARGUMENTS
from tests.refusals import expect_error
from tests.retrieval.elastic.servers import Server, address, asked
from tests.retrieval.small import BEES
from tests.terminal import touche_rad
from touche_rad.debate import Argument
from touche_rad.plugins import build_index, index_backend_of, open_index

pytestmark = pytest.mark.services


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("ANALYSER", "syllables/1", "built by another version of touche-rad; build it again"),
        ("FORMAT", 0, "built by another version of touche-rad; build it again"),
    ],
)
def test_an_index_by_another_version_is_refused_and_can_be_replaced(
    location: str, monkeypatch: pytest.MonkeyPatch, name: str, value: Any, told: str
) -> None:
    with monkeypatch.context() as other:
        other.setattr(shape, name, value)
        build_index(BEES, location)
    with expect_error(told) as error:
        open_index(location)
    assert str(error.value).endswith(f"touche-rad index SOURCE --to {location} --replace")
    build_index(BEES, location, replace=True)
    assert open_index(location).search("text", "night trains", 1)[0].argument == BEES[5]


def test_vectors_are_refused_before_anything_is_loaded(location: str) -> None:
    words = ("index", ARGUMENTS, "--to", location, "--dense", "minilm")
    touche_rad(*words, code=2, err="folder")
    assert not index_backend_of(location).exists(location)


def test_half_an_index_is_not_opened_by_either_of_its_names_and_goes_on(
    server: Server, location: str
) -> None:
    name = location.rpartition("/")[2]
    build_index(BEES, location)
    ((concrete, about),) = asked(server, name).items()
    meta = about["mappings"]["_meta"]["touche-rad"]
    told = {"touche-rad": {**meta, "complete": False}}
    asked(server, f"{concrete}/_mapping", {"_meta": told}, "PUT")
    asked(server, f"{concrete}/_doc/3", method="DELETE")
    for one in (location, server.location(concrete)):
        with expect_error("not finished") as half:
            open_index(one)
        assert str(half.value).endswith(f"--to {location} --replace")
    build_index(BEES, location, replace=True)
    assert set(open_index(location).arguments()) == set(BEES)
    assert list(asked(server, name)) == [concrete]


def _of_size(number: str, size: int) -> Argument:
    word = f"number{number} "
    return Argument(id=number, text=word * (size // len(word)))


def test_an_argument_that_is_too_large_is_named(
    server: Server, location: str, tmp_path: Any
) -> None:
    if address():
        unavailable("a server of our own, which takes no large requests")
    giant = [_of_size("small", 10), _of_size("giant", 6_000_000), _of_size("other", 10)]
    lines = "".join(one.model_dump_json() + "\n" for one in giant)
    (tmp_path / "giant.jsonl").write_text(lines)
    ran = touche_rad("index", tmp_path / "giant.jsonl", "--to", location, code=2)
    *_, line = ran.err.splitlines()
    assert "http.max_content_length" in line


def test_odd_ids_and_tags_are_kept_as_they_are(location: str) -> None:
    odd = [
        Argument(id="a/b?c=d#e", text="slashes", tags=("", " ", "\ud800", "\0", "ü" * 40_000)),
        Argument(id="i" * 512, text="long", original="o" * 40_000),
        Argument(id=" ", text="blank"),
        Argument(id="s", text="surrogates \ud800 \udfff"),
        Argument.model_validate({"id": "_id", "text": "underscore", "more": {"deep": [1, None]}}),
        Argument(id="*", text="star", topic="t" * 40_000),
        Argument(id="ü\n", text="lines"),
    ]
    build_index(odd, location)
    index = open_index(location)
    assert list(index.arguments()) == odd
    assert index.get("? ?") is index.get("\ud801 \udfff") is index.get("i" * 513) is None
    for argument in odd:
        assert index.get(argument.id) == argument
        assert index.search("text", argument.text, 2)[0].argument == argument


@pytest.mark.parametrize(
    "name",
    ["UPPER", "a b", "-x", "_all", "*", "a*", "a,b", "..", 'a"b', "a\0b", "a\udc80", "n\u00ad"],
)
def test_an_invalid_index_name_is_refused(server: Server, name: str) -> None:
    location = server.location(name)
    for call in (lambda: build_index(BEES, location), lambda: open_index(location)):
        with expect_error("index name"):
            call()


def test_loads_of_the_same_at_once_make_one_index(server: Server, location: str) -> None:
    from concurrent.futures import ThreadPoolExecutor

    many = [Argument(id=str(n), text=f"number {n}") for n in range(3_000)]
    with ThreadPoolExecutor(4) as four:
        loads = [four.submit(build_index, many, location, replace=True) for _ in range(4)]
    assert [one.result() for one in loads] == [3_000] * 4
    assert list(open_index(location).arguments()) == many
    assert len(asked(server, f"{location.rpartition('/')[2]}*")) == 1
