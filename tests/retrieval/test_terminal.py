"""`touche-rad index` and `touche-rad retrieve`, as a person calls them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ir_measures
import pytest

from tests.demo import CLAIMS
from tests.records import write_lines
from tests.retrieval.small import BEES
from tests.terminal import touche_rad
from touche_rad import files
from touche_rad.debate import Argument, Hit
from touche_rad.plugins import Options, Services, retriever


def _collection(folder: Path) -> Path:
    path = folder / "bees.jsonl"
    return write_lines(path, map(files.argument_line, BEES))


def test_a_collection_is_indexed_and_a_run_retrieved(tmp_path: Path) -> None:
    indexed = touche_rad("index", _collection(tmp_path), "-o", "ix", err="6 arguments")
    assert indexed.out == ""
    Path("queries.tsv").write_text("q1\tNight trains are slow\nq2\tof the\n")
    run = Path("run.txt")
    queries = "queries.tsv"
    words = ("retrieve", queries, "-i", "ix", "-r", "hybrid", "-O", "k=7")
    touche_rad(*words, "-o", run)
    rows = list(ir_measures.read_trec_run(str(run)))
    assert rows[0].doc_id == "6"
    assert {row.query_id for row in rows} == {"q1"}
    assert touche_rad(*words).out == run.read_text()


def test_hits_of_one_text_are_printed_as_a_table() -> None:
    printed = touche_rad("retrieve --say", "Captivity harms animals.", "-k", "2", "-r", "text")
    head, first, *_ = printed.out.splitlines()
    assert head.split() == ["rank", "score", "id", "text"]
    assert first.split()[0] == "1"
    assert max(map(len, printed.out.splitlines())) <= 80


def test_hits_of_one_text_are_printed_as_json_and_written_as_a_run() -> None:
    printed = touche_rad("retrieve --say", "Captivity harms animals.", "-k", "2", "--json")
    assert [hit["rank"] for hit in printed.json[0]["hits"]] == [1, 2]
    run = Path("one.run")
    touche_rad("retrieve --say Animals. -k 2 -i demo -o", run)
    assert len(run.read_text().splitlines()) == 2


def test_a_text_instead_of_a_file_names_the_option() -> None:
    touche_rad("retrieve", "zoos are bad", code=2, err='--say "zoos are bad"')
    touche_rad("retrieve queries.tsv --say zoos", code=2, err="--say TEXT")


RESULTS: list[Callable[[], Any]] = []


@retriever("odd")
class Odd:
    """Gives what the test says."""

    def __init__(self, options: Options, services: Services) -> None:
        pass

    def search(self, query: str, k: int) -> Any:
        """Search."""
        return RESULTS[-1]()


def fail(error: BaseException) -> Callable[[], Any]:
    def search() -> Any:
        raise error

    return search


@pytest.mark.parametrize(
    ("result", "fact"),
    [
        (lambda: "abc", "a hit is str"),
        (lambda: [Hit(argument=Argument(id="1", text="x"), score=float("nan"))], "of 1 is nan"),
        (fail(TimeoutError()), "failed: TimeoutError"),
        (fail(ExceptionGroup("both", [ValueError("a")])), "failed: ExceptionGroup: both"),
    ],
)
def test_a_retriever_that_fails_is_named(result: Callable[[], Any], fact: str) -> None:
    RESULTS.append(result)
    out = Path("odd.run")
    words = ("retrieve", CLAIMS, "-i", "demo", "-r", "odd", "-q")
    ended = touche_rad(*words, "-o", out, code=1, err="retriever odd")
    assert fact in ended.error
    assert not out.exists()
