"""`index` reads the collections of other tools, and says which field of which line is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.terminal import touche_rad
from touche_rad.debate import Debate
from touche_rad.errors import WorkError
from touche_rad.plugins import Services, find, open_index

TREC = """<DOC>
<DOCNO> a </DOCNO>
<TITLE>Bees</TITLE>
<TEXT>
Beehives on roofs
starve <b>wild</b> bees.
</TEXT>
</DOC>

<DOC>
<DOCNO>b</DOCNO>
<TEXT>Zoos save species.</TEXT>
</DOC>
"""
OPEN = TREC.replace("<DOCNO>b", f"{'<a> <b' * 50_000}\n<DOCNO>b")
"""Tags that nothing closes."""
TABLE = "a\tBeehives on roofs.\nb\tZoos save\tspecies.\n"
HEADS = "docno\ttitle\ttext\na\tBees\tBeehives on roofs.\nb\t\tZoos save species.\n"
TITLES = ("--map", "title=topic")
JSON = '{"docno": 7, "contents": "Zoos save species.", "claim": "Zoos harm animals."}\n'


def indexed(place: Path, name: str, text: str, *words: str) -> dict[str, tuple[str, str]]:
    """Index a collection, and return the text and the topic of each argument."""
    (place / name).write_text(text, "utf-8")
    touche_rad("index -o index", name, *words, cwd=place)
    arguments = open_index(str(place / "index")).arguments()
    return {argument.id: (argument.text, argument.topic) for argument in arguments}


ROOFS = "Beehives on roofs"


@pytest.mark.parametrize(
    ("text", "words", "first", "topic", "second"),
    [
        (TREC, (), f"{ROOFS}\nstarve  wild  bees.", "", "Zoos save species."),
        (TREC, TITLES, f"{ROOFS}\nstarve  wild  bees.", "Bees", "Zoos save species."),
        (OPEN, (), f"{ROOFS}\nstarve  wild  bees.", "", "Zoos save species."),
        (TABLE, (), f"{ROOFS}.", "", "Zoos save\tspecies."),
        (HEADS, TITLES, f"{ROOFS}.", "Bees", "Zoos save species."),
    ],
)
def test_documents_and_tables_are_collections(
    tmp_path: Path, text: str, words: tuple[str, ...], first: str, topic: str, second: str
) -> None:
    arguments = indexed(tmp_path, "own", text, *words)
    assert arguments == {"a": (first, topic), "b": (second, "")}


def test_fields_with_other_names(tmp_path: Path) -> None:
    unnamed = touche_rad("index -o index", _write(tmp_path, JSON), code=2)
    assert "own:1: " in unnamed.error
    assert "--map KEY=id,KEY=text" in unnamed.error
    names = ("--map", "docno=id,contents=text,claim=attacks")
    assert indexed(tmp_path, "own", JSON, *names) == {"7": ("Zoos save species.", "")}
    index = open_index("index")
    assert [hit.argument.id for hit in index.search("attacks", "zoos harm animals", 1)] == ["7"]


def _write(place: Path, text: str) -> Path:
    (place / "own").write_text(text.replace("LONG", "x\n" * 2**23), "utf-8")
    return place / "own"


@pytest.mark.parametrize(
    ("text", "words", "expected"),
    [
        ("a\tx\nno tab here\n", (), "own:2: text: "),
        (TREC + "<DOC>\n<TEXT>x</TEXT>\n</DOC>\n", (), "own:14: docno: "),
        ("<DOC>\n<DOCNO>a</DOCNO>\n" + TREC, (), "own:1: "),
        (TREC[: -len("</DOC>\n")], (), "own:10: "),
        ("<DOC>\nLONG</DOC>\n" + TREC, (), "own:1: "),
        (JSON + '{"docno": 8}\n', ("--map", "docno=id,contents=text"), "own:2: contents: "),
        (JSON + JSON.replace("save", "eat"), ("--map", "docno=id,contents=text"), "own:2: id: "),
        (JSON, ("--map", "docno=name"), "--map docno=name"),
        (
            "TOPIC_DESCRIPTION\tUSER\nZoos are bad\tbase-user\n",
            (),
            "got claims: touche-rad simulate ",
        ),
    ],
)
def test_a_wrong_line_is_named_with_its_field(
    tmp_path: Path, text: str, words: tuple[str, ...], expected: str
) -> None:
    ended = touche_rad("index -o index", _write(tmp_path, text), *words, code=2)
    assert expected in ended.error


@pytest.mark.parametrize("has_supports", [False, True])
def test_the_plugins_that_find_nothing_without_attacked_claims_are_named(
    tmp_path: Path, has_supports: bool
) -> None:
    text = "id\ttext\na\tZoos save species.\n"
    if has_supports:
        text = "id\ttext\tsupports\na\tZoos save species.\tZoos are good.\n"
    ended = touche_rad("index -o index", _write(tmp_path, text))
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
