"""What is learnt from: traces with their reasoning, and runs of any debater."""

from __future__ import annotations

import json
import re
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.debaters.world import ARGUMENTS
from tests.models import scripted
from tests.models.by_schema import answering, filling, last_message, prompt_of, roles_of
from tests.models.scripted import Scripted
from tests.records import read_records, write_lines, write_records
from tests.refusals import expect_error
from tests.terminal import touche_rad
from tests.training.makers import ASKED, answer_and_record, in_blocks
from touche_rad import files
from touche_rad.contest import Contest, Speech
from touche_rad.debate import Argument, Response
from touche_rad.debaters.inspiredebate.training._samples import hold_out
from touche_rad.errors import InputError
from touche_rad.plugins import trainer

CHARITY = ARGUMENTS[2]
SPOKEN = {"reasoning": "Tins need coins.", "argument": f"You forget: {CHARITY.text}"}


@pytest.fixture
def server(server: Scripted) -> Scripted:
    answering(server, {"Terms": {"terms": ["penny charity"]}, "Speech": SPOKEN})
    return server


def learn(*sources: str | Path) -> list[dict[str, Any]]:
    """Make training data of files, and return its records."""
    out = Path("data.jsonl")
    trainer("sft")([*map(Path, sources)], out)
    return read_records(out)


def test_a_traced_run_gives_the_prompt_that_was_sent_and_the_reasoning_that_never_went_out(
    server: Scripted,
) -> None:
    response = answer_and_record(server)
    assert "Tins need coins" not in Path("run.jsonl").read_text()
    (record,) = learn("run.jsonl")
    assert record["messages"][:-1] == server.asked[-1]["messages"]
    answer = json.loads(last_message(record))
    assert list(answer) == ["reasoning", "argument"]
    assert answer == {"reasoning": "Tins need coins.", "argument": response.content}
    assert record["debate"] == ASKED.key
    assert record["turn"] == 1
    assert record["format"] == 1
    trace = "run.jsonl.trace.jsonl"
    for sources in ([trace], ["run.jsonl", trace], ["data.jsonl"]):
        (again,) = learn(*sources)
        assert again["messages"] == record["messages"]


def test_after_a_repair_and_a_longer_answer_the_last_valid_one_is_learnt(server: Scripted) -> None:
    long = {**SPOKEN, "argument": "Coins fill tins. " * 30}
    speeches = iter(["nonsense", json.dumps(long)])
    corrected = {"argument": SPOKEN["argument"]}
    terms = {"terms": ["penny"]}
    answering(server, {"Terms": terms, "Speech": lambda _: next(speeches), "Corrected": corrected})
    answer_and_record(server)
    with Path("run.jsonl.trace.jsonl").open("a") as trace:
        trace.write('{"step": "inspiredebate.speech", "asked": {"mess')
    (record,) = learn("run.jsonl")
    roles = ["system", *["user", "assistant"] * 2]
    assert roles_of(record["messages"]) == roles
    assert json.loads(last_message(record)) == SPOKEN


def test_answers_that_begin_alike_are_told_apart(server: Scripted) -> None:
    """Runs of one model with other seeds begin alike, and reason otherwise."""
    opening = "I hold against this that coins have their uses, and among them is"
    sources = []
    for name in ("tins", "tolls"):
        speech = {"reasoning": f"WHY {name}", "argument": f"{opening} {name}."}
        answering(server, {"Terms": {"terms": ["penny"]}, "Speech": speech})
        answer_and_record(server, f"{name}.jsonl")
        sources.append(f"{name}.jsonl")
    learnt = [json.loads(last_message(record)) for record in learn(*sources)]
    assert [record["reasoning"] for record in learnt] == ["WHY tins", "WHY tolls"]
    assert [record["argument"] for record in learnt] == [f"{opening} tins.", f"{opening} tolls."]


def test_a_response_without_the_unsupported_sentences_keeps_its_reasoning(server: Scripted) -> None:
    speech = {
        "reasoning": "Tins need coins.",
        "evidence": [3],
        "argument": f"Sweden lost nine million kronor. {CHARITY.text}",
    }
    answering(server, {"Terms": {"terms": ["charities tins"]}, "Speech": speech})
    response = answer_and_record(server)
    (record,) = learn("run.jsonl")
    answer = json.loads(last_message(record))
    assert "Sweden" not in response.content
    assert answer == {**speech, "argument": response.content}


def test_a_refusal_is_never_learnt(server: Scripted) -> None:
    refusal = {"reasoning": "no", "argument": "I can't provide an argument for this."}
    answering(server, {"Terms": {"terms": ["penny"]}, "Speech": refusal})
    answer_and_record(server)
    with expect_error("answers"):
        learn("run.jsonl")


def test_answers_without_reasoning_are_left_out_and_the_way_out_is_told() -> None:
    response = Response(content=f"I disagree: {CHARITY.text}", arguments=(CHARITY,))
    Path("quoted.jsonl").write_text(files.response_line(ASKED, 1, response) + "\n")
    with expect_error(r"1.*respond -d inspiredebate"):
        learn("quoted.jsonl")


def contest(**fields: Any) -> Contest:
    """Two debaters on the penny, each citing what it says."""

    def speech_of(speaker: str, argument: Argument) -> Speech:
        text = in_blocks(f"Because of {argument.id}.", f"I say: {argument.text}")
        return Speech(speaker=speaker, text=text, arguments=[argument])  # type: ignore[call-arg]

    return Contest(
        id="penny",
        motion="The penny should go.",
        sides={"first": "pro", "second": "con"},
        speeches=(
            speech_of("first", ARGUMENTS[0]),
            speech_of("second", CHARITY),
            speech_of("first", ARGUMENTS[1]),
        ),
        **fields,
    )


def learn_from_contest(recorded: Contest) -> list[dict[str, Any]]:
    return learn(write_lines("contests.jsonl", [files.contest_line(recorded)]))


def system_and_last_message(record: dict[str, Any]) -> tuple[str, str]:
    return record["messages"][0]["content"], record["messages"][-2]["content"]


def test_both_sides_of_a_debate_are_learnt_from_with_what_they_cite() -> None:
    opening, third, reply = learn_from_contest(contest())
    assert [record["side"] for record in (opening, third, reply)] == ["pro", "pro", "con"]
    assert {record["topic"] for record in (opening, third, reply)} == {"The penny should go."}
    for record, argument in ((opening, ARGUMENTS[0]), (reply, CHARITY)):
        answer = json.loads(last_message(record))
        assert answer["argument"] == f"I say: {argument.text}"
        assert answer["reasoning"] == f"Because of {argument.id}."
        assert f"1. {argument.text}" in system_and_last_message(record)[1]


def test_each_side_learns_its_own_prompts() -> None:
    objection = "Coins are cheap. The penny should not go."
    opening, third, reply = learn_from_contest(contest(opening=objection))
    assert "topic is right" in system_and_last_message(opening)[0]
    assert "You speak first" in system_and_last_message(opening)[1]
    assert "topic is wrong" in system_and_last_message(reply)[0]
    assert ARGUMENTS[0].text in system_and_last_message(reply)[1]
    assert CHARITY.text in system_and_last_message(third)[1]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"messages": [{"role": "system", "content": "s"}]}', "the last message must be"),
        ('{"messages": [{"role": "system", "content": 1}]}', "role and content"),
    ],
)
def test_wrong_data_is_told_with_its_line(line: str, message: str) -> None:
    Path("bad.jsonl").write_text(line + "\n")
    with expect_error(f"bad.jsonl:1.*{message}", InputError):
        learn("bad.jsonl")


@pytest.mark.services  # the trainers need torch
@pytest.mark.parametrize("name", ["sft", "dpo"])
def test_data_of_a_newer_version_is_refused(name: str) -> None:
    chat = {"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]}
    path = Path("new.jsonl")
    write_records(path, {**chat, "format": 2})
    with expect_error(r"new.jsonl: .*format 2"):
        trainer(name)([path], Path("out"), recipe={"base": "none"})


@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers()), max_size=60),
    st.floats(0, 0.99),
    st.integers(0, 9),
)
def test_no_debate_is_on_both_sides_of_a_split(
    rows: list[tuple[int, int]], share: float, seed: int
) -> None:
    learnt, out = hold_out(rows, lambda row: str(row[0]), share, seed)
    assert sorted(learnt + out) == sorted(rows)
    assert not {row[0] for row in learnt} & {row[0] for row in out}
    if len({row[0] for row in rows}) > 1 and share > 0:
        assert learnt
        assert out
    again = hold_out(rows[::-1], lambda row: str(row[0]), share, seed)
    assert {row[0] for row in again[1]} == {row[0] for row in out}


CLAIMS = ("Zoos should be closed.", "Homework should be abolished in primary schools.")
ROUNDS = 2


@pytest.fixture
def self_debate(first_topics: Path) -> Path:
    """A self-debate on each claim; every speech has its own words."""
    claims, out = Path("claims.tsv"), Path("contests.jsonl")
    rows = "".join(f"{claim}\tbase-user\n" for claim in CLAIMS)
    claims.write_text(f"TOPIC_DESCRIPTION\tUSER\n{rows}")
    numbers = count(1)

    def speech(prompt: str) -> dict[str, object]:
        number = next(numbers)
        pattern = r"^(\d)\. (.+?)(?: \((?:attacks|supports): .+\))?$"
        pieces = re.findall(pattern, prompt, re.MULTILINE)
        place, text = next(
            piece for piece in pieces if prompt.count(piece[1]) == 1
        )  # nobody said it
        return {"evidence": [int(place)], "reasoning": f"Thought {number}.", "argument": text}

    with scripted.serving() as server:
        filling(server, Speech=speech)
        touche_rad(
            *("simulate", claims, "--both-sides", "-d", "inspiredebate", "-i", first_topics),
            *("--rounds", str(ROUNDS), "-m", f"{server.url}#tiny", "-o", out, "-q"),
        )
    prompts = [text for text in map(prompt_of, server.asked) if "without the reasoning" not in text]
    openings = [text for text in prompts if "You speak first" in text]
    # Before the first speech there is no opponent and no earlier turn that a prompt could mean.
    assert len(openings) == len(CLAIMS)
    assert not any("opponent" in text.lower() or "You claim" in text for text in openings)
    return out


@pytest.mark.parametrize("source", ["run", "trace"])
def test_each_speech_of_both_sides_is_one_sample(self_debate: Path, source: str) -> None:
    source_file = f"{self_debate}.trace.jsonl" if source == "trace" else self_debate
    ended = touche_rad("train sft --data-only -o sft", source_file)
    assert ended.json["answers"] == 2 * ROUNDS * len(CLAIMS)


def test_the_prompt_of_a_long_answer_names_a_limit_that_it_keeps() -> None:
    speech = in_blocks("So.", f"I say: {' '.join(['Word'] * 147)} end.")
    long = Speech(speaker="second", text=speech, arguments=[CHARITY])  # type: ignore[call-arg]
    speeches = (contest().speeches[0], long)
    _, record = learn_from_contest(contest().model_copy(update={"speeches": speeches}))
    assert "150 words" in str(record["messages"])
    assert "60 words" not in str(record["messages"])
