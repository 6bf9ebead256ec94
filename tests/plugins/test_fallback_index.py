"""The fallback index: used while the first one is down, and only then."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from tests.refusals import expect_error
from tests.runs.fakes import ARGUMENTS, SmallIndex
from tests.terminal import touche_rad
from touche_rad.errors import UserError, WorkError
from touche_rad.plugins import arguments_by, indexes, meaning_of, storage_of
from touche_rad.plugins.indexes import FallbackIndex


class Counting(SmallIndex):
    """An index that may be down, and counts what it is asked."""

    fingerprint = "one"

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0
        self.fault: Exception | None = None

    def search_all(self, field: str, queries: Any, k: int) -> Any:
        self.asked += 1
        if self.fault:
            raise self.fault
        return super().search_all(field, queries, k)


def _search(index: FallbackIndex) -> list[str]:
    return [hit.argument.id for hit in index.search_all("text", ["zoos uniforms cost"], 9)[0]]


def test_a_failed_index_is_skipped_for_a_while(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    first = Counting()
    fallback = Counting()
    index = FallbackIndex(lambda: first, fallback)
    first.fault = WorkError("the cluster is red")
    with caplog.at_level(logging.WARNING, "touche_rad"):
        results = [_search(index) for _ in range(3)]
    assert results[0]
    assert results == [results[0]] * 3
    assert first.asked == 1
    assert fallback.asked == 3
    assert len(index) == len(ARGUMENTS)
    assert caplog.text.count("the cluster is red") == 1
    monkeypatch.setattr(indexes.time, "monotonic", lambda: 1e12)
    first.fault = None
    _search(index)
    assert first.asked == 2
    assert fallback.asked == 3


def test_meaning_and_links_come_from_the_fallback_if_its_arguments_are_the_same() -> None:
    class Knowing(Counting):
        meaning = "of my own"

        def links(self, argument_id: str) -> list[str]:
            return [argument_id]

    class Other(Counting):
        fingerprint = "two"

    same = FallbackIndex(Counting, Knowing())
    different = FallbackIndex(Other, Knowing())
    assert meaning_of(same) == "of my own"
    storage = storage_of(same)
    assert isinstance(storage, Knowing)
    assert storage.links("1") == ["1"]
    assert meaning_of(different) is None
    assert same.fingerprint == "one"
    assert different.fingerprint == "two one", "a run with another first index is another one"
    assert storage_of(different) is None


def test_an_error_of_the_user_is_raised() -> None:
    first = Counting()
    index = FallbackIndex(lambda: first, Counting())
    first.fault = UserError("wrong password")
    with expect_error("wrong password"):
        _search(index)


@pytest.mark.services
def test_a_missing_server_costs_no_turn(demo_index_path: Path) -> None:
    index = ("-i", "elasticsearch:http://127.0.0.1:9/x", "--fallback-index", demo_index_path)
    say = ("respond", "--say", "Zoos are cruel.", "--json", *index)
    touche_rad(
        *say,
        env={"TOUCHE_RAD_ES_TIMEOUT": "1"},
        err="fallback index",
        out='"arguments": [{',
    )


def test_many_arguments_come_from_the_first_index_and_then_from_the_fallback() -> None:
    class Gives(Counting):
        def get_all(self, ids: list[str]) -> Any:
            self.asked += 1
            if self.fault:
                raise self.fault
            return [self.get(argument_id) for argument_id in ids]

    first = Gives()
    fallback = Counting()
    index = FallbackIndex(lambda: first, fallback)
    ids = [ARGUMENTS[1].id, "nobody", ARGUMENTS[0].id]
    expected = [ARGUMENTS[1], None, ARGUMENTS[0]]
    assert arguments_by(index, ids) == expected
    assert first.asked == 1
    first.fault = WorkError("the cluster is red")
    assert arguments_by(index, ids) == expected
    assert first.asked == 2
