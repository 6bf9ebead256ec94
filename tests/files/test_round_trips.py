"""What is read and written again loses nothing, whatever further fields it has."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.records import write_lines, write_records
from touche_rad import files
from touche_rad.debate import Debate, Maxim, Response
from touche_rad.files import Kind

MANY = settings(
    max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), database=None
)
WORDS = st.one_of(
    st.text(max_size=30),
    st.sampled_from(["", "a\u2028b\u0085c", "\x00", "tab\tand\nline", "“quotes” 😀", "[]{}"]),
)
JSON = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-9, 9),
        st.floats(allow_nan=False, allow_infinity=False),
        WORDS,
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(WORDS, inner, max_size=2)),
    max_leaves=4,
)
EXTRA = st.dictionaries(
    st.sampled_from(["x", "milliseconds", "note", "year", "retrieved"]), JSON, max_size=2
)


def record(
    required: dict[str, Any], optional: dict[str, Any] | None = None
) -> st.SearchStrategy[Any]:
    known = st.fixed_dictionaries(required, optional=optional or {})
    return st.builds(lambda extra, fields: {**extra, **fields}, EXTRA, known)


TEXTS = st.none() | WORDS
IDS = st.text(
    st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=20
).filter(str.strip)
ARGUMENT_FIELDS: Any = {
    "topic": TEXTS,
    "tags": st.none() | st.lists(WORDS, max_size=2),
    "attacks": TEXTS,
    "supports": TEXTS,
    "references": st.none() | st.lists(WORDS, max_size=1),
    "original": st.sampled_from(["attacks", "supports", None]),
    "key": st.integers(1, 9),
    "score": st.floats(0, 99),
}


def _without_nulls(argument: dict[str, Any]) -> dict[str, Any]:
    """A null text or list of an argument is a missing field."""
    fields = ("topic", "tags", "attacks", "supports", "references")
    return {key: value for key, value in argument.items() if value is not None or key not in fields}


ARGUMENTS = record({"id": WORDS, "text": WORDS}, ARGUMENT_FIELDS)
COLLECTED = record({"id": IDS, "text": WORDS}, ARGUMENT_FIELDS).map(_without_nulls)
CITED = st.one_of(st.none(), st.lists(ARGUMENTS, max_size=2))
BODIES = record({}, {"content": WORDS, "arguments": CITED})
SYSTEMS = record({"utterance": WORDS}, {"response": st.one_of(st.none(), BODIES)})
USER_TURNS = record({"utterance": WORDS}, {"systemResponse": st.one_of(st.none(), SYSTEMS)})
CONFIGURATIONS = record(
    {},
    {
        "topic": record({"description": WORDS}),
        "user": record({}, {"model": WORDS}),
        "maxTurns": st.integers(1, 5),
    },
)
SIMULATED = record(
    {"userTurns": st.lists(USER_TURNS, max_size=3)},
    {"configuration": st.one_of(st.none(), CONFIGURATIONS)},
)
SIMULATIONS = record({"simulation": SIMULATED}, {"id": WORDS})
LABELS = st.lists(
    record({maxim.value: st.sampled_from([0, 1, None]) for maxim in Maxim}), max_size=3
)


@st.composite
def messages(draw: st.DrawFn, ends: str = "any") -> list[dict[str, Any]]:
    count = draw(st.integers(1, 4))
    count += count % 2 == 0 and ends == "user"
    messages = []
    for number in range(count):
        is_system = number % 2 == 1
        fields = {"content": WORDS}
        if is_system and ends == "any":
            fields["arguments"] = CITED
        messages.append({"role": "assistant" if is_system else "user", **draw(record(fields))})
    return messages


ANNOTATED = record(
    {"simulated_debate": messages()}, {"id": WORDS, "claim": WORDS, "description": WORDS}
)

KINDS: dict[
    Kind, tuple[st.SearchStrategy[Any], Callable[[Path], Iterator[Any]], Callable[[Any], str]]
] = {
    Kind.SIMULATIONS: (SIMULATIONS, files.read_debates, files.simulation_line),
    Kind.LABELS: (LABELS, files.read_labels, files.labels_line),
    Kind.ARGUMENTS: (COLLECTED, files.read_arguments, files.argument_line),
}


@pytest.mark.parametrize("kind", KINDS)
@MANY
@given(data=st.data())
def test_a_record_is_written_as_it_was_read(kind: Kind, data: st.DataObject) -> None:
    records, read, line = KINDS[kind]
    same_id = (lambda row: str(row["id"])) if kind is Kind.ARGUMENTS else json.dumps
    rows = data.draw(st.lists(records.filter(bool), min_size=1, max_size=3, unique_by=same_id))
    path = Path("file")
    write_records(path, *rows)
    if kind is not Kind.LABELS:
        assert files.detect_kind(path) is kind
    written = list(map(line, read(path)))
    assert list(map(json.loads, written)) == rows
    write_lines(path, written)
    assert list(map(line, read(path))) == written


def _one(path: Path, value: Any) -> Debate:
    write_records(path, value)
    return next(files.read_debates(path))


def test_responses_of_one_debate_are_views_of_it() -> None:
    recorded = (
        Debate(id="d")
        .with_utterance("U1")
        .with_response(Response(content="S1"))
        .with_utterance("U2")
    )
    lines = [
        files.response_line(recorded.before_response(turn), turn, Response(content=f"ours {turn}"))
        for turn in range(2)
    ]
    lines.append(
        files.response_line(Debate(id="e").with_utterance("X"), 0, Response(content="ours"))
    )
    write_lines("r", lines)
    assert files.detect_kind(Path("r")) is Kind.RESPONSES
    (first, views), (second, _) = files.read_views(Path("r"))
    assert first.system_texts == ("ours 0", "ours 1")
    assert views[1].system_texts == ("S1", "ours 1")
    assert second.id == "e"


def test_runs_round_trip_and_qrels_are_read() -> None:
    run = "q1 Q0 d1 1 2.500000 tag\nq1 Q0 d2 2 1.000000 tag\n"
    Path("run").write_text(run)
    Path("qrels").write_text("q1 0 d1 1\nq1 0 d2 0\n")
    assert files.detect_kind(Path("run")) is Kind.RUN
    assert files.detect_kind(Path("qrels")) is Kind.QRELS
    assert "\n".join(files.run_lines(files.read_run(Path("run")))) + "\n" == run
    assert [*files.read_qrels(Path("qrels"))] == [("q1", "d1", 1), ("q1", "d2", 0)]


@MANY
@given(value=ANNOTATED)
def test_annotated_debates_keep_unknown_fields_as_simulations(value: Any) -> None:
    debate = _one(Path("a"), value)
    written = json.loads(files.simulation_line(debate))
    turns = written.pop("simulation")["userTurns"]
    messages = value.pop("simulated_debate")
    utterances = [message["content"] for message in messages[::2]]
    assert [turn["utterance"] for turn in turns] == utterances
    for turn, message in zip(turns, messages[1::2], strict=False):
        body = turn["systemResponse"]["response"]
        cited = [*map(_without_nulls, message.get("arguments") or ())]
        assert {**body, "role": "assistant"} == {**message, "arguments": cited}
    assert {**written, "claim": "", "id": ""} == {**_without_blanks(value), "claim": "", "id": ""}


def _without_blanks(record: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in record.items() if key != "description" or value}
