"""The documents for Elasticsearch are the same with and without other processes."""

from __future__ import annotations

import json

import pytest

from retrieval.elastic import documents as making
from retrieval.elastic import shape
from retrieval.index.analyser import tokens
from touche_rad import files
from touche_rad.debate import Argument
from touche_rad.demo import demo_file

ODD = [
    Argument(id="a", text="Bees hum.", attacks=""),
    Argument(id="\ud800", text="Lone surrogates \udfff", tags=("\ud800",)),
    Argument.model_validate({"id": "b", "text": "More fields.", "groups": {"text": 7}, "order": 3}),
    files.argument_of({"id": "c", "text": "No topic.", "topic": None, "tags": None}),
]


def _made(lines: list[str]) -> list[tuple[bytes, list[str]]]:
    found = []
    for made in making.documents(lines):
        gathered = made.statements
        places = memoryview(gathered.words).cast("i").tolist()
        found.append((made.lines, [gathered.stems[at] for at in places]))
    return found


def test_several_processes_make_the_same_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [files.argument_line(one) for one in files.read_arguments(demo_file("arguments.jsonl"))]
    monkeypatch.setattr(making, "_BATCH", 20)
    alone = _made(lines)
    monkeypatch.setattr(making, "ALONE", 40)
    monkeypatch.setattr(making.os, "sched_getaffinity", lambda _: {0, 1, 2})
    assert _made(lines) == alone
    assert len(alone) == -(-len(lines) // 20)


def test_a_document_has_the_whole_argument_and_its_stems() -> None:
    (made,) = making.documents(map(files.argument_line, ODD))
    lines = made.lines.splitlines()
    for argument, name, begin in zip(ODD, lines[::2], lines[1::2], strict=True):
        source = json.loads(begin + shape.end(5, [1, -1, 2]))
        assert json.loads(name) == shape.sendable(argument.id)
        assert (source["order"], source["groups"]) == (5, {"text": 1, "supports": 2})
        assert source["words"]["text"].split() == tokens(argument.text)
        kept = {key: source[key] for key in shape.SOURCE if key in source}
        assert shape.argument(kept, "") == argument
