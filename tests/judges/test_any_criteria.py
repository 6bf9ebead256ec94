"""Judging by any criteria: from a file of questions to verdicts that are checked and audited."""

from __future__ import annotations

import json
import math
import re
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from starlette.testclient import TestClient

from tests.cases import with_cases
from tests.demo import DEBATES
from tests.files.test_criteria import THREE
from tests.models.by_schema import filling, form_of, prompt_of
from tests.models.scripted import Handler, Scripted, content, reply, says
from tests.records import copy_lines, read_records, write_records
from tests.terminal import touche_rad
from touche_rad.criteria import shipped_names
from touche_rad.debate import Debate, Response, Turn, Verdict
from touche_rad.files.criteria import read_criteria
from touche_rad.plugins import LoadedDebater, LoadedJudge
from touche_rad.runs.answering import Answerer
from touche_rad.runs.judging import judge_view
from touche_rad.serve import create_app
from touche_rad.serve.debate_page import Offer

UNITS = {"response": 3, "user": 3, "debate": 1}
"""The verdicts on a demo debate of three turns."""
NAMES = [name for name in shipped_names() if name not in ("grice", "citations")]


@pytest.fixture
def mine() -> Path:
    path = Path("mine.toml")
    path.write_text(THREE, "utf-8")
    return path


@pytest.fixture
def debates() -> Path:
    path = Path("debates.jsonl")
    copy_lines(DEBATES, path, 2)
    return path


def judged(server: Scripted, debates: Path, criteria: str | Path, judge: str = "zsl") -> Path:
    out = debates.with_name("evaluations.jsonl")
    model = ("-m", f"{server.url}#tiny")
    touche_rad("judge", debates, "-j", judge, *model, "--criteria", criteria, "-o", out)
    return out


@pytest.mark.parametrize("per", ["turn", "maxim"])
@pytest.mark.parametrize("name", [*NAMES, "mine"])
def test_a_file_of_questions_is_judged_checked_and_audited(
    server: Scripted, debates: Path, mine: Path, name: str, per: str
) -> None:
    filling(server)
    chosen = str(mine) if name == "mine" else name
    criteria = read_criteria(chosen)
    out = judged(server, debates, chosen, f"zsl(per={per})")
    for record in read_records(out):
        assert record["criteria"] == criteria.tag
        turns = record["userTurnsEvaluations"]
        assert len(turns) == UNITS[criteria.unit]
        for turn in turns:
            assert list(turn) == list(criteria.keys)
            for criterion in criteria:
                verdict = turn[criterion.key]
                first = criterion.answers.names[0]
                expected = "yes" if criterion.answers.kind == "yes-no" else first
                assert str(verdict["answer"]) == expected
                assert verdict["score"] == criterion.answers.score(verdict["answer"])
                assert "fallback" not in verdict
    # The evaluations and their status say by what they were made.
    touche_rad("check", out)
    if per == "turn":
        words = ("--criteria", chosen, "-j", "zsl", "-m", f"{server.url}#tiny", "--json")
        audit = touche_rad("audit", debates, *words).json
        assert audit["turns"] == 2 * UNITS[criteria.unit]
        rows = {(row["probe"], row["maxim"]): row for row in audit["flips"]}
        assert {key for _, key in rows} == set(criteria.keys)
        for criterion in criteria:
            assert rows["repeat", criterion.key]["fails"] == 0
            for probe in criterion.expect:
                assert rows[probe, criterion.key]["must"].startswith("be ")
        if name == "mine":
            shown = touche_rad("audit", debates, *words[:-1]).out.replace("\n  ", " ")
            assert "added: quality must not rise; kind_of must stay; polite must not be" in shown
            assert "empty, empty response: quality must be at most 1; polite must be no" in shown


def test_citations_are_judged_by_sentence_and_by_argument(server: Scripted, debates: Path) -> None:
    """The score is the share of the sentences, or of the arguments, that the model names."""

    def act(handler: Handler) -> None:
        answer: dict[str, Any] = {"consistent": "no"}
        schema = form_of(handler.body)
        for key, part in schema["properties"].items():
            if key in answer:
                continue
            count = part["minItems"]
            answer[key] = (part["items"]["enum"] * count)[:count]
        content(json.dumps(answer))(handler)

    server.always = act
    cited = [{"id": f"a{number}", "text": f"Argument {number}."} for number in range(3)]
    turns = []
    for text, arguments in (("One. Two. Three. Four.", cited), ("One only.", []), ("", cited[:1])):
        response = {"utterance": text, "response": {"content": text, "arguments": arguments}}
        turns.append({"utterance": "Why?", "systemResponse": response})
    write_records(debates, {"simulation": {"userTurns": turns}})
    out = judged(server, debates, "citations")
    touche_rad("check", out)
    verdicts = read_records(out)[0]["userTurnsEvaluations"]
    scores = [verdict["score"] for turn in verdicts for verdict in list(turn.values())[:2]]
    assert scores == [0.5, pytest.approx(2 / 3), 1, 0, 0, 1]
    assert verdicts[0]["precise"]["answer"] == 75
    assert verdicts[0]["precise"]["arguments"] == ["yes", "no", "yes"]
    words = ("judge", debates, "-m", f"{server.url}#tiny", "--criteria", "citations", "-o", "x")
    for judge in ("zsl(per=maxim)", "jury(of=zsl(per=maxim))"):
        assert "per=turn" in touche_rad(*words, "-j", judge, code=2).error


def test_another_file_than_the_runs_is_refused(server: Scripted, debates: Path, mine: Path) -> None:
    filling(server)
    out = judged(server, debates, mine)
    mine.write_text(THREE.replace("fair", "so-so"), "utf-8")
    model = ("-m", f"{server.url}#tiny")
    again = ("judge", debates, "-j", "zsl", *model, "--criteria", mine, "-o", out)
    assert "evaluations.jsonl" in touche_rad(*again, code=2).error
    out.with_name(f"{out.name}.status.json").unlink()
    touche_rad("check", out, code=1, out="--criteria")
    mine.write_text(THREE, "utf-8")
    touche_rad("check", out, "--criteria", mine)
    record = read_records(out)[0]
    record["userTurnsEvaluations"][1]["quality"]["answer"] = 2
    write_records(out, record)
    touche_rad("check", out, "--criteria", mine, code=1, out="[1].quality.answer")
    fixing = ("check", out, "--fix", "-o", out.with_name("fixed.jsonl"))
    assert "criteria" in touche_rad(*fixing, code=2).error


@with_cases(("judge", "detail"), "judges/judges_of_other_criteria.tsv")
def test_a_judge_of_other_criteria_is_refused_before_the_run(
    debates: Path, judge: str, detail: str
) -> None:
    out = debates.with_name("out.jsonl")
    ended = touche_rad("judge --criteria debate", debates, "-j", judge, "-o", out, code=2)
    assert detail in ended.error
    assert not out.exists()


def test_a_jury_takes_the_mean_of_a_scale_and_the_most_frequent_category(
    server: Scripted, debates: Path, mine: Path
) -> None:
    filling(server)
    out = judged(server, debates, mine, "jury(of=zsl,zsl(per=maxim))")
    verdict = read_records(out)[0]["userTurnsEvaluations"][0]
    assert verdict["quality"]["score"] == 0
    assert verdict["quality"]["answer"] == 1
    assert verdict["kind_of"]["answer"] == "causal"
    assert verdict["kind_of"]["votes"] == {"zsl": "causal", "zsl(per=maxim)": "causal"}


def test_log_probabilities_give_the_mean_of_a_scale(
    server: Scripted, debates: Path, mine: Path
) -> None:
    """The most likely answer is the verdict's, and the score is the mean of all."""
    answer = '{"quality": "3", "kind_of": "none", "polite": "no"}'
    chances = {"3": {"3": 0.5, "5": 0.49}, "none": {"none": 0.8}, "no": {"no": 0.9, "yes": 0.1}}

    def act(handler: Handler) -> None:
        tokens = []
        for piece in re.split('(")', answer):
            likely = chances.get(piece, {}).items()
            tops = [{"token": word, "logprob": math.log(chance)} for word, chance in likely]
            tokens.append({"token": piece, "top_logprobs": tops})
        says(reply(answer, logprobs={"content": tokens}))(handler)

    server.always = act
    verdict = read_records(judged(server, debates, mine))[0]["userTurnsEvaluations"][0]
    values = [(given["answer"], given["score"]) for given in verdict.values()]
    assert [answer for answer, _ in values] == [3, "none", "no"]
    assert values[0][1] == pytest.approx((0.5 * 0.5 + 0.49) / 0.99)
    assert values[1][1] is None
    assert values[2][1] == pytest.approx(0.1)


@pytest.mark.parametrize("judge", ["fsl1", "fsl2", "analysis1"])
@pytest.mark.parametrize("per", ["turn", "maxim"])
def test_examples_of_each_answer_are_drawn_from_labels(
    server: Scripted, debates: Path, mine: Path, judge: str, per: str
) -> None:
    filling(server)
    criteria = read_criteria(str(mine))
    answers = [{"quality": 1, "kind_of": "none"}, {"quality": 3, "kind_of": "causal", "polite": 0}]
    answers.append({"quality": 5, "kind_of": "example", "polite": 1})
    labels = debates.with_name("labels.jsonl")
    rows = [{"criteria": criteria.label_tags[0], **turn} for turn in answers]
    write_records(labels, rows, rows)
    examples = debates.with_name("examples.jsonl")
    words = ("--criteria", mine, "--count", "1", "-o", examples)
    touche_rad("train examples", debates, labels, *words)
    drawn_labels = {pair for row in read_records(examples) for pair in row["labels"].items()}
    assert {("kind_of", "none"), ("quality", "5"), ("polite", "yes")} <= drawn_labels
    out = judged(server, debates, mine, f"{judge}(examples={examples},per={per})")
    touche_rad("check", out, "--criteria", mine)
    said = "\n".join(map(prompt_of, server.asked))
    if judge == "analysis1":
        assert "Say causal if:" in said
        assert "with 3, in at most" in said
    elif per == "maxim":
        assert "Evaluation: causal" in said
    else:
        assert "example 1 " in said


VIEW = Debate(turns=(Turn(utterance="U", response=Response(content="S")),))


class Giving:
    """Gives the same verdicts on everything."""

    def __init__(self, **verdicts: Any) -> None:
        self.verdicts = verdicts

    def judge(self, _: Debate) -> Any:
        return self.verdicts


@with_cases(("verdict", "score", "answer"), "judges/scores_or_answers.json")
def test_a_judge_may_give_the_score_or_the_answer(
    mine: Path, verdict: dict[str, Any], score: float | None, answer: int | None
) -> None:
    criteria = read_criteria(str(mine))
    judge = Giving(
        quality=Verdict(**verdict), kind_of=Verdict(answer="none"), polite=Verdict(score=0.2)
    )
    result = anyio.run(partial(judge_view, LoadedJudge(judge), VIEW, criteria))
    quality = result.verdicts["quality"]
    assert result.verdicts["kind_of"].answer == "none"
    assert result.verdicts["kind_of"].score is None
    assert result.verdicts["polite"].answer == "no"
    # The middle of the scale stands for an invalid verdict.
    assert bool(quality.fallback) == ("quality" in result.unscored) == (score is None)
    assert (quality.score, quality.answer) == ((0.5, 3) if score is None else (score, answer))


def test_a_new_file_of_criteria_works_and_the_shipped_ones_are_listed() -> None:
    path = "my-questions.toml"
    touche_rad("new criteria my-questions -o", path)
    kinds = {criterion.answers.kind for criterion in read_criteria(path)}
    assert kinds == {"yes-no", "scale", "categories"}
    listed = touche_rad("list criteria --json").json
    assert [row["name"] for row in listed] == list(shipped_names())


class Watching(Giving):
    """Answers, and judges the message of the user, which it keeps."""

    def __init__(self) -> None:
        super().__init__(**{key: Verdict(score=0.2) for key in read_criteria("feedback").keys})
        self.seen: list[Debate] = []

    def answer(self, _: Debate) -> Response:
        return Response(content="S")

    def judge(self, debate: Debate) -> Any:
        self.seen.append(debate)
        return super().judge(debate)


def test_the_server_judges_the_message_of_the_user_by_feedback() -> None:
    watching = Watching()
    answerer = Answerer([LoadedDebater(watching)])
    judge = LoadedJudge(watching)
    offer = Offer({"d": lambda: answerer}, {"j": lambda: judge}, criteria=read_criteria("feedback"))
    with TestClient(create_app(answerer, judge, offer=offer)) as client:
        turns = [{"utterance": "U", "systemResponse": {"utterance": "S"}}]
        body: dict[str, Any] = {"simulation": {"userTurns": turns}}
        scored = client.post("/claim", json={**body, "userTurnIndex": 0}).json()
        body = {"debate": body, "debater": "d", "judges": ["j"]}
        body["debate"]["simulation"]["userTurns"] = [{"utterance": "M"}]
        lines = client.post("/debate/answer", json=body).text.splitlines()
    assert scored == {"score": 0.2, "answer": "no", "explanation": ""}
    (verdicts,) = [row for row in map(json.loads, lines) if row["event"] == "verdicts"]
    assert [verdict["name"] for verdict in verdicts["list"]] == [
        criterion.title for criterion in offer.criteria
    ]
    assert [view.last.utterance for view in watching.seen[1:]] == ["U", "M"]
    assert all(view.last.response is None for view in watching.seen)
