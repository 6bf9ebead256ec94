"""`index` reads the collections of other tools, and says which field of which line is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cases import with_cases
from tests.terminal import touche_rad
from touche_rad.debate import Debate
from touche_rad.errors import WorkError
from touche_rad.plugins import Services, find, open_index

JSON = '{"docno": 7, "contents": "Zoos save species.", "claim": "Zoos harm animals."}\n'


def write(text: str) -> Path:
    """Write a collection; LONG is 16 MB, and TAGS are tags that nothing closes."""
    path = Path("own")
    path.write_text(text.replace("LONG", "x\n" * 2**23).replace("TAGS", "<a> <b" * 50_000))
    return path


def indexed(text: str, words: str) -> dict[str, tuple[str, str]]:
    """Index a collection, and return the text and the topic of each argument."""
    touche_rad(f"index -o index {words}", write(text))
    arguments = open_index("index").arguments()
    return {argument.id: (argument.text, argument.topic) for argument in arguments}


@with_cases(("text", "words", "first", "topic", "second"), "files/collections.json")
def test_documents_and_tables_are_collections(
    text: str, words: str, first: str, topic: str, second: str
) -> None:
    assert indexed(text, words) == {"a": (first, topic), "b": (second, "")}


def test_fields_with_other_names() -> None:
    unnamed = touche_rad("index -o index", write(JSON), code=2)
    assert "own:1: " in unnamed.error
    assert "--map KEY=id,KEY=text" in unnamed.error
    names = "--map docno=id,contents=text,claim=attacks"
    assert indexed(JSON, names) == {"7": ("Zoos save species.", "")}
    index = open_index("index")
    assert [hit.argument.id for hit in index.search("attacks", "zoos harm animals", 1)] == ["7"]


@with_cases(("text", "words", "expected"), "files/wrong_collections.json")
def test_a_wrong_line_is_named_with_its_field(text: str, words: str, expected: str) -> None:
    ended = touche_rad(f"index -o index {words}", write(text), code=2)
    assert expected in ended.error


@pytest.mark.parametrize("has_supports", [False, True])
def test_the_plugins_that_find_nothing_without_attacked_claims_are_named(
    has_supports: bool,
) -> None:
    text = "id\ttext\na\tZoos save species.\n"
    if has_supports:
        text = "id\ttext\tsupports\na\tZoos save species.\tZoos are good.\n"
    ended = touche_rad("index -o index", write(text))
    (warning,) = (line for line in ended.err.splitlines() if line.startswith("warning: "))
    doctor = touche_rad("doctor -i index").out
    assert warning.partition("retrievers ")[2] in " ".join(doctor.split())
    services = Services(open_index("index"))
    query = "Zoos save no species and are not good."
    useless = warning.partition("retrievers ")[2].partition(" find nothing")[0]
    names = useless.replace(" and ", ", ").split(", ")
    assert {"attack", "hybrid"} <= {*names}
    assert ("support" in names) != has_supports
    for name in ("text", *names):
        hits = find("retriever", name).make(services).search(query, 3)
        assert bool(hits) == (name == "text"), name
    assert "debater verbatim" in warning
    with pytest.raises(WorkError):
        find("debater", "verbatim").make(services).answer(Debate().with_utterance(query))
