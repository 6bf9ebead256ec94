"""`touche-rad index` and `touche-rad retrieve`, as a person calls them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ir_measures
import pytest
from ir_measures import RR

from tests.retrieval.small import BEES
from tests.terminal import touche_rad
from touche_rad import files
from touche_rad.debate import Argument, Hit
from touche_rad.demo import demo_file
from touche_rad.plugins import Options, Services, retriever


def _collection(folder: Path) -> Path:
    path = folder / "bees.jsonl"
    path.write_text("".join(files.argument_line(one) + "\n" for one in BEES))
    return path


def test_a_collection_is_indexed_and_a_run_retrieved(tmp_path: Path) -> None:
    made = touche_rad("index", _collection(tmp_path), "-o", tmp_path / "ix")
    assert (made.code, made.out) == (0, "")
    assert "indexed 6 arguments" in made.err
    (tmp_path / "queries.tsv").write_text("q1\tNight trains are slow\nq2\tof the\n")
    run = tmp_path / "run.txt"
    asked = ("retrieve", tmp_path / "queries.tsv", "-i", tmp_path / "ix")
    found = touche_rad(*asked, "-r", "hybrid", "-O", "k=7", "-o", run)
    assert found.code == 0, found.err
    rows = list(ir_measures.read_trec_run(str(run)))
    assert rows[0].doc_id == "6"
    assert {row.query_id for row in rows} == {"q1"}
    qrels = [ir_measures.Qrel("q1", "6", 1)]
    assert ir_measures.calc_aggregate([RR], qrels, rows)[RR] == 1.0
    assert touche_rad(*asked, "-r", "hybrid", "-O", "k=7").out == run.read_text()


def test_an_index_is_made_of_what_debates_cite_and_replaced_when_told(tmp_path: Path) -> None:
    debates, place = demo_file("debates.jsonl"), tmp_path / "ix"
    cited = {
        one.id
        for debate in files.read_debates(debates)
        for turn in debate.turns
        if turn.response
        for one in turn.response.arguments
    }
    made = touche_rad("index", debates, "-o", place)
    assert f"indexed {len(cited)} arguments" in made.err
    again = touche_rad("index", _collection(tmp_path), "-o", place)
    assert (again.code, again.err.count("\n")) == (2, 1)
    assert "--replace" in again.err
    assert touche_rad("index", _collection(tmp_path), "-o", place, "--replace").code == 0


def test_one_text_is_searched_and_its_hits_are_printed(tmp_path: Path) -> None:
    shown = touche_rad("retrieve", "--say", "Captivity harms animals.", "-k", "2", "-r", "text")
    assert shown.code == 0, shown.err
    head, first, *_ = shown.out.splitlines()
    assert head.split() == ["rank", "score", "id", "text"]
    assert first.split()[0] == "1"
    assert all(len(line) <= 80 for line in shown.out.splitlines())
    as_json = touche_rad("retrieve", "--say", "Captivity harms animals.", "-k", "2", "--json")
    assert [hit["rank"] for hit in json.loads(as_json.out)[0]["hits"]] == [1, 2]
    run = tmp_path / "one.run"
    assert touche_rad("retrieve", "--say", "Animals.", "-k", "2", "-i", "demo", "-o", run).code == 0
    assert len(run.read_text().splitlines()) == 2


def test_a_text_instead_of_a_file_names_the_option(tmp_path: Path) -> None:
    ended = touche_rad("retrieve", "zoos are bad", cwd=tmp_path)
    assert (ended.code, '--say "zoos are bad"' in ended.err) == (2, True)
    both = touche_rad("retrieve", "queries.tsv", "--say", "zoos", cwd=tmp_path)
    assert (both.code, "give a file of queries, or --say TEXT" in both.err) == (2, True)


GIVES: list[Callable[[], Any]] = []


@retriever("odd")
class Odd:
    """Gives what the test says."""

    def __init__(self, options: Options, services: Services) -> None:
        pass

    def search(self, query: str, k: int) -> Any:
        """Search."""
        return GIVES[-1]()


def fail(error: BaseException) -> Callable[[], Any]:
    def search() -> Any:
        raise error

    return search


@pytest.mark.parametrize(
    ("gives", "told"),
    [
        (lambda: "abc", "a hit is str"),
        (lambda: [Hit(argument=Argument(id="1", text="x"), score=float("nan"))], "of 1 is nan"),
        (fail(TimeoutError()), "failed: TimeoutError"),
        (fail(ExceptionGroup("both", [ValueError("a")])), "failed: ExceptionGroup: both"),
    ],
)
def test_a_retriever_that_fails_is_named(
    gives: Callable[[], Any], told: str, tmp_path: Path
) -> None:
    GIVES.append(gives)
    out = tmp_path / "odd.run"
    words = ("retrieve", demo_file("claims.tsv"), "-i", "demo", "-r", "odd", "-q")
    ended = touche_rad(*words, "-o", out)
    assert (ended.code, ended.err.count("\n")) == (1, 1), ended.err
    assert "retriever odd" in ended.err
    assert told in ended.err
    assert not out.exists()
