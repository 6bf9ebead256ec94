"""Preference pairs: the better-scored of two answers, by a margin, and nothing but the scores."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.demo import CLAIMS
from tests.models import scripted
from tests.models.by_schema import answering, form_of, prompt_of, roles_of, schema_of
from tests.models.scripted import Handler
from tests.records import copy_lines, read_records, write_lines, write_records
from tests.refusals import expect_error
from tests.terminal import touche_rad
from tests.training.makers import ASKED, answer_and_record, in_blocks
from touche_rad import files
from touche_rad.contest import Contest, Outcome, Speech
from touche_rad.debate import Debate, Maxim, Response, Verdict
from touche_rad.debaters.inspiredebate.training._samples import TrainingSample, answer_of
from touche_rad.debaters.inspiredebate.training.preferences import Rule, ScoredAnswer, pairs
from touche_rad.errors import InputError
from touche_rad.models import Message
from touche_rad.models.examples import example
from touche_rad.plugins import trainer

DIMENSIONS = ("clarity", "facts", "logic")


def evaluated(
    name: str, *answers: tuple[str, float, float | None], motion: str = "Coins go"
) -> Path:
    """Judged answers to the same words, each with the scores of Relation and Quality."""
    lines = []
    for content, relation, quality in answers:
        debate = Debate(id=name, claim=motion).with_utterance(f"{motion}!")
        debate = debate.with_response(
            Response(content=content, extra={"reasoning": f"why {content}"})
        )
        verdicts = {
            Maxim.RELATION: Verdict(score=relation),
            Maxim.QUALITY: Verdict(score=1.0, rationale="x", fallback="no reply")
            if quality is None
            else Verdict(score=quality),
        }
        lines.append(files.evaluation_line(files.Evaluation(debate, (verdicts,))))
    return write_lines(f"{name}.jsonl", lines)


def make_pairs(sources: list[Path], **rule: Any) -> list[dict[str, Any]]:
    out = sources[0].with_name("p.jsonl")
    trainer("preferences")(sources, out, rule=rule)
    return read_records(out)


def test_the_debater_itself_played_twice_and_judged_gives_pairs_with_its_own_reasoning() -> None:
    """Judged runs hold no reasoning, and each its own past: the traces tell what was asked."""
    evaluations, traces = [], []
    with scripted.serving() as server:
        for name, argument, score in (("a", "Coins fill tins.", 0.9), ("b", "Coins are old.", 0.2)):
            speech = {"reasoning": f"WHY {name}", "argument": argument}
            answering(server, {"Terms": {"terms": ["penny", name]}, "Speech": speech})
            response = answer_and_record(server, f"{name}.jsonl")
            traces.append(Path(f"{name}.jsonl.trace.jsonl"))
            turns = (ASKED.turns[0].model_copy(update={"response": response}), ASKED.turns[1])
            debate = ASKED.model_copy(update={"turns": turns}).with_response(response)
            scores = ({Maxim.RELATION: Verdict(score=0.5)}, {Maxim.RELATION: Verdict(score=score)})
            evaluations.append(Path(f"{name}.judged.jsonl"))
            evaluations[-1].write_text(
                files.evaluation_line(files.Evaluation(debate, scores)) + "\n"
            )
        sent = [body["messages"] for body in server.asked if schema_of(body) == "Speech"]
    out = "pairs.jsonl"
    touche_rad("train preferences", *evaluations, *traces, "-o", out)
    (pair,) = read_records(out)
    assert json.loads(pair["chosen"][0]["content"])["reasoning"] == "WHY a"
    assert json.loads(pair["rejected"][0]["content"])["reasoning"] == "WHY b"
    assert pair["prompt"] == sent[0]


def test_a_score_that_could_not_be_had_counts_for_nothing() -> None:
    both = evaluated("a", ("Apt.", 0.5, 0.5), ("True.", 0.2, None))
    (pair,) = make_pairs([both])
    assert pair["gaps"] == pytest.approx({"relation": 0.3})


def test_what_answers_other_words_is_no_pair() -> None:
    first = evaluated("a", ("Apt.", 0.9, 0.9))
    second = evaluated("b", ("Dull.", 0.1, 0.1), motion="Zoos go")
    with expect_error("context: 2"):
        make_pairs([first, second])


def test_runs_without_scores_or_reasoning_are_refused_with_the_way_out() -> None:
    run = evaluated("a", ("Apt.", 0.9, 0.9))
    run.write_text(run.read_text().replace('"reasoning"', '"thoughts"'))
    with expect_error(r"1.*RUN.trace.jsonl"):
        make_pairs([run])
    response = files.response_line(ASKED, 1, Response(content="Apt."))
    run.write_text(f"{response}\n")
    with expect_error("touche-rad judge"):
        make_pairs([run])


def test_an_unknown_dimension_is_told() -> None:
    both = evaluated("a", ("Apt.", 0.9, 0.1), ("True.", 0.2, 0.6))
    with expect_error(r"'wit' .*quality, relation"):
        make_pairs([both], reward=("wit",))


def outcomes(*plays: tuple[float, float]) -> list[Path]:
    """Whole debates of two sides on one motion, and a panel's verdict on each."""
    contests, verdicts = [], []
    for number, (pro, con) in enumerate(plays):
        speeches = tuple(
            Speech(speaker=name, text=in_blocks(f"r {name}", f"{name} {number}.{at}"))
            for at in range(2)
            for name in ("A", "B")
        )
        contest = Contest(
            id=f"c{number}", motion="Coins go", sides={"A": "pro", "B": "con"}, speeches=speeches
        )
        contests.append(files.contest_line(contest))
        scores: dict[str, dict[str, float | None]] = {
            "A": {"emotional_appeal": pro, "logical_validity": None, "total": 0.0},
            "B": {"emotional_appeal": con, "logical_validity": 0.5, "total": 1.0},
        }
        verdict = files.Judgement(
            id=contest.id, judge="inspirescore", outcome=Outcome(winner="A", scores=scores)
        )
        verdicts.append(files.judgement_line(verdict))
    for name, lines in (("contests", contests), ("outcomes", verdicts)):
        write_lines(f"{name}.jsonl", lines)
    return [Path("contests.jsonl"), Path("outcomes.jsonl")]


def preferred_and_rejected(records: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    """Who is preferred to whom."""
    return [
        tuple(json.loads(record[end][0]["content"])["argument"] for end in ("chosen", "rejected"))
        for record in records
    ]


def test_a_debate_of_a_model_with_itself_is_paired_by_its_sides_as_in_the_paper() -> None:
    records = make_pairs(outcomes((0.9, 0.2)), pairing="sides")
    assert preferred_and_rejected(records) == [("A 0.0", "B 0.0"), ("A 0.1", "B 0.1")]
    assert json.loads(records[0]["chosen"][0]["content"])["reasoning"] == "r A"
    opening, later = (pair["prompt"] for pair in records)
    assert "as a supporter of the topic" in opening[-1]["content"]
    assert "topic is right" in opening[0]["content"]
    assert roles_of(later) == ["system", "user", "assistant", "user"]
    assert later[-1]["content"].startswith(in_blocks("r B", "B 0.0")), "as in the debate"


def test_what_a_panel_makes_of_its_dimensions_does_not_count_again() -> None:
    files_ = outcomes((0.9, 0.2))
    (pair, _) = make_pairs(files_, pairing="sides")
    assert pair["gaps"] == pytest.approx({"emotional_appeal": 0.7})
    (pair, _) = make_pairs(files_, pairing="sides", reward=("EA",))
    assert list(pair["gaps"]) == ["emotional_appeal"], "as in the tables of the paper"
    with expect_error("stands in the prompt: 2"):  # the speech just answered
        make_pairs(files_, pairing="sides", reward=("total",))


@pytest.mark.parametrize(
    ("score", "preferred"), [("round", "A 0.1 B 0.1"), ("debate", "A 0.0 B 0.0 A 0.1 B 0.1")]
)
def test_an_answer_has_the_scores_of_its_own_round_or_those_of_the_debate(
    score: str, preferred: str
) -> None:
    contests, verdicts = outcomes((0.9, 0.2))
    record = read_records(verdicts)[0]
    record["outcome"]["details"]["responses"] = [
        {"speaker": speaker, "round": number, "scores": {"emotional_appeal": value}}
        for speaker, number, value in (("A", 1, 0.5), ("B", 1, 0.5), ("A", 2, 0.8), ("B", 2, 0.1))
    ]
    write_records(verdicts, record)
    records = make_pairs([contests, verdicts], pairing="sides", score=score)
    assert " ".join(map(" ".join, preferred_and_rejected(records))) == preferred
    record["outcome"]["details"]["responses"] = ["?"]
    write_records(verdicts, record)
    with expect_error(r"outcomes\.jsonl:1: .*responses", InputError):
        make_pairs([contests, verdicts], pairing="sides")


def answer_by_seed(handler: Handler) -> None:
    """Speak with the seed of the request, and score the second seed better."""
    schema = form_of(handler.body)
    answer: Any = example(schema)
    if "terms" in answer:
        answer = {"terms": ["penny"]}
    elif "argument" in answer:
        side = "pro" if "topic is right" in prompt_of(handler.body) else "con"
        answer |= {"reasoning": "Why.", "argument": f"I am {side} {handler.body['seed']}"}
    elif "round_1" in answer:
        score = 0.9 if re.search("I am (pro|con) 1", prompt_of(handler.body)) else 0.2
        marks = dict.fromkeys(("emotional_appeal", "argument_clarity"), score)
        answer["round_1"] = {
            side: {**value, **marks} if isinstance(value, dict) else value
            for side, value in answer["round_1"].items()
        }
    scripted.content(json.dumps(answer))(handler)


def test_samples_of_an_answer_are_pairs_of_the_same_side_under_one_prompt() -> None:
    copy_lines(CLAIMS, "claims.tsv", 2)
    play = "simulate claims.tsv --both-sides --rounds 1 --samples 2 -i demo -o c.jsonl".split()
    debater = ("-d", "inspiredebate(profile=paper,shows=both)", "-O", "model.temperature=1")
    with scripted.serving() as server:
        server.always = answer_by_seed
        model = ("-m", f"{server.url}#tiny")
        touche_rad(*play, *debater[:2], *model, code=2, err="model.temperature")
        touche_rad(*play, *debater, *model)
        temperatures = {(schema_of(body), body["temperature"]) for body in server.asked}
        touche_rad("judge c.jsonl -j inspirescore -o o.jsonl", *model)
    assert temperatures == {("Terms", 0), ("Speech", 1)}
    contests = read_records("c.jsonl")
    texts = [[speech["text"][-5:] for speech in contest["speeches"]] for contest in contests]
    assert texts == [["pro 0"], ["pro 1"], ["pro 0", "con 0"], ["pro 0", "con 1"]]
    touche_rad("train preferences c.jsonl o.jsonl --wording free -o p")
    pairs_of_side = read_records("p")
    assert preferred_and_rejected(pairs_of_side) == [
        ("I am pro 1", "I am pro 0"),
        ("I am con 1", "I am con 0"),
    ]
    systems = [pair["prompt"][0]["content"] for pair in pairs_of_side]
    assert ["topic is right" in system for system in systems] == [True, False]


def test_plays_of_the_shared_task_are_told_apart_by_the_order_of_their_files() -> None:
    """Both plays have the same ids; the system alone is learnt from."""
    sources = []
    for name, score in (("a", 0.2), ("b", 0.8)):
        debate = Debate(id="d", claim="Coins go").with_utterance("Coins go!")
        response = Response(content=f"No, says {name}.", extra={"reasoning": "r"})
        run, verdicts = Path(f"{name}.jsonl"), Path(f"{name}.outcomes.jsonl")
        run.write_text(files.response_line(debate, 0, response) + "\n")
        scores = {"system": {"clarity": score}, "user": {"clarity": 1.0}}
        verdict = files.Judgement(
            id="d", judge="panel", outcome=Outcome(winner="user", scores=scores)
        )
        verdicts.write_text(files.judgement_line(verdict) + "\n")
        sources += [run, verdicts]
    records = make_pairs(sources)
    assert preferred_and_rejected(records) == [("No, says b.", "No, says a.")]


def test_outcomes_without_their_debates_are_told() -> None:
    contests, verdicts = outcomes((0.9, 0.2))
    for sources in ([verdicts], [verdicts, contests]):
        with expect_error(r"outcomes\.jsonl:1: id: ", InputError):
            make_pairs(sources)


SCORES = st.dictionaries(
    st.sampled_from(DIMENSIONS), st.none() | st.integers(0, 10).map(lambda n: n / 10)
)


def answers(scores: list[dict[str, float | None]]) -> list[ScoredAnswer]:
    prompt = (Message("system", "s"), Message("user", "u"))
    return [
        ScoredAnswer(
            TrainingSample(prompt, answer_of("r", f"answer {number}"), "d", history="h"),
            answer_scores,
            "m",
            f"c{number}",
        )
        for number, answer_scores in enumerate(scores)
    ]


@given(st.lists(SCORES, max_size=7), st.integers(0, 8).map(lambda n: n / 10))
def test_the_chosen_is_better_by_the_margin_in_the_mean_of_what_both_have(
    scores: list[dict[str, float | None]], margin: float
) -> None:
    preferences, left_out = pairs(answers(scores), Rule(margin=margin))
    assert len(preferences) <= 1
    for pair in preferences:
        shared = [
            (a, b)
            for name in DIMENSIONS
            if (a := pair.better.scores.get(name)) is not None
            and (b := pair.worse.scores.get(name)) is not None
        ]
        gap = sum(a - b for a, b in shared) / len(shared)
        assert gap > 0
        assert gap >= margin - 1e-6
        assert pair.gap == pytest.approx(gap)
    count = len(scores) * (len(scores) - 1) // 2
    if len(scores) > 1:
        assert len(preferences) + left_out.total() == count


@given(st.lists(SCORES, min_size=2, max_size=2))
def test_the_preference_does_not_go_by_the_order_of_the_runs(
    scores: list[dict[str, float | None]],
) -> None:
    first, second = answers(scores)
    better_and_worse = [
        [(pair.better, pair.worse) for pair in pairs(order, Rule())[0]]
        for order in ([first, second], [second, first])
    ]
    assert better_and_worse[0] == better_and_worse[1]


def test_the_terminal_makes_pairs_and_tells_wrong_margins() -> None:
    both = evaluated("a", ("Apt.", 0.9, 0.6), ("Dull.", 0.2, 0.5))
    words = ("train", "preferences", both, "-o", "pairs.jsonl", "--replace")
    done = touche_rad(*words, "--margin", "0.3")
    assert done.json["pairs"] == 1
    for margin in ("wide", "-1"):
        touche_rad(*words, "--margin", margin, code=2)
