"""The papers' panels as judges of the four maxims: which dimension speaks, and who speaks else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from judges.debgraph.graph import Edge, Origin, Relation, SceneGraph
from judges.grice.adapters import new_arguments, quantity, relation, supported
from tests.judges.debgraph_debate import draft
from tests.judges.makers import judged_by
from tests.models.by_schema import filling, prompt_of, schema_of
from tests.models.scripted import Scripted
from tests.terminal import Ended, touche_rad
from touche_rad import files
from touche_rad.debate import Argument, Debate, Maxim, Response, Turn, Verdict
from touche_rad.demo import demo_file
from touche_rad.models import Model
from touche_rad.models.endpoint import Address
from touche_rad.plugins import Services, find
from touche_rad.runs import judging
from touche_rad.runs.runner import run
from touche_rad.runs.work import RunOptions

DEBATE = Debate(
    id="d",
    claim="CLAIM",
    turns=tuple(
        Turn(
            utterance=f"USER-{n} speaks of libraries.",
            response=Response(
                content=f"SYSTEM-{n} answers.",
                arguments=(Argument(id=f"a{n}", text=f"SOURCE-{n} says so."),),
            ),
        )
        for n in (1, 2)
    ),
)


@pytest.fixture
def server(server: Scripted) -> Scripted:
    filling(server)
    return server


def judged(server: Scripted, name: str, debate: Debate = DEBATE) -> dict[Maxim, Verdict]:
    (verdicts,) = judged_by(find("judge", name).make, server, debate)
    return verdicts


def test_debatrix_hears_the_talk_once_for_each_maxim(server: Scripted) -> None:
    judged(server, "debatrix-grice")
    told = [prompt_of(body) for body in server.asked]
    for question in (
        "deduced from the retrieved arguments",
        "contrary to the user's",
        "clear and precise",
        "at most one of each kind",
    ):
        assert sum(question in one for one in told) == 4
    last = [one for one in told if "new speech, number 4" in one]
    assert all("SYSTEM-2" in one and "SOURCE-2" in one for one in last)


def test_a_score_of_six_is_a_yes_and_of_five_a_no(server: Scripted) -> None:
    filling(server, score=5)
    assert not any(one.yes for one in judged(server, "debatrix-grice").values())
    filling(server, score=6)
    assert all(one.yes for one in judged(server, "debatrix-grice").values())


def test_debatrix_judges_all_turns_of_a_debate_in_one_pass(
    server: Scripted, tmp_path: Path
) -> None:
    source = tmp_path / "debates.jsonl"
    source.write_text(files.simulation_line(DEBATE) + "\n", "utf-8")
    model = Model(Address(server.url, "tiny"), deadline=5)
    made = find("judge", "debatrix-grice").make(Services(model=model))
    out = tmp_path / "out.jsonl"
    run(judging.work(source, made, identity={}), out, RunOptions(model=model))
    (evaluation,) = files.read_evaluations(out)
    assert [len(turn) for turn in evaluation.turns] == [4, 4]
    assert len(server.asked) == 4 * 4


def test_a_turn_without_a_response_gets_no_verdict(server: Scripted) -> None:
    verdicts = judged(server, "debatrix-grice", DEBATE.before_response(1))
    assert {one.score for one in verdicts.values()} == {None}


def graph(*relations: tuple[int, Relation, int]) -> SceneGraph:
    """The user's 1 and 3, the system's 2 in the first round and 4, 5, 6 in the second."""
    made = SceneGraph("motion")
    for id_, side, number in ((1, "pro", 1), (2, "con", 1), (3, "pro", 2)):
        made.add(id_, f"argument {id_}", Origin(side, number))  # type: ignore[arg-type]
    for id_ in {source for source, _, _ in relations} - {1, 2, 3}:
        made.add(id_, f"argument {id_}", Origin("con", 2))
    for source, how, target in relations:
        made.relate(Edge(source, target, how))
    return made


REBUTS, SUPPORTS, CLAIMS = Relation.REBUTTAL, Relation.PREMISE, Relation.CLAIM


@pytest.mark.parametrize(
    ("relations", "good"),
    [
        ([(4, REBUTS, 3)], True),
        ([(4, REBUTS, 3), (5, SUPPORTS, 2)], True),
        ([], False),
        ([(4, REBUTS, 3), (5, REBUTS, 1)], False),
        ([(4, SUPPORTS, 2), (5, SUPPORTS, 2)], False),
        ([(4, REBUTS, 3), (5, SUPPORTS, 4), (6, SUPPORTS, 4)], True),
    ],
)
def test_quantity_is_one_attack_and_one_defence_at_most(relations: Any, good: bool) -> None:
    made = graph(*relations)
    assert quantity(made, new_arguments(made, 2)).yes is good


@pytest.mark.parametrize(
    ("relations", "score"),
    [
        ([(4, REBUTS, 3)], 1.0),
        ([(4, REBUTS, 1)], 1.0),
        ([(4, CLAIMS, 0)], 0.5),
        ([(4, SUPPORTS, 2)], 0.0),
        ([], 0.0),
    ],
)
def test_relation_is_a_rebuttal_of_the_user(relations: Any, score: float) -> None:
    made = graph(*relations)
    assert relation(made, new_arguments(made, 2)).score == score


def test_debgraph_draws_the_talk_and_leaves_the_rest_to_the_model_free_judge(
    server: Scripted,
) -> None:
    def drawn(told: str) -> Any:
        if "USER-1" in told:
            return draft({1: "user's"}, (1, "claim", 0))
        return draft({2: "answer"}, (2, "rebuttal", 1))

    filling(server, SceneGraph=drawn)
    verdicts = judged(server, "debgraph-grice", DEBATE.view(0))
    assert {schema_of(body) for body in server.asked} == {"SceneGraph"}
    assert verdicts[Maxim.RELATION].score == 1.0
    assert "attack the user's" in verdicts[Maxim.QUANTITY].rationale
    for maxim in (Maxim.QUALITY, Maxim.MANNER):
        assert verdicts[maxim].rationale.startswith("judge grounded: ")


def test_inspirescore_checks_facts_by_the_cited_arguments_alone(server: Scripted) -> None:
    verdicts = judged(server, "inspirescore-grice")
    told = {schema_of(body): prompt_of(body) for body in server.asked}
    assert "SOURCE-2 says so" in told["Verdicts"]
    assert "SOURCE-1" not in told["Verdicts"]
    assert "SYSTEM-2 answers" in told["Facts"]
    assert "USER-2" not in told["Facts"], "no score needs the facts of the user"
    assert "Formalised" not in told, "logic says nothing about a maxim"
    assert verdicts[Maxim.QUALITY].score == 1.0
    assert verdicts[Maxim.MANNER].score == 1.0
    assert verdicts[Maxim.QUANTITY].rationale.startswith("judge grounded: ")
    assert "topic relevance" in verdicts[Maxim.RELATION].rationale


def test_a_cited_argument_that_is_quoted_is_evidence_for_quality(server: Scripted) -> None:
    response = DEBATE.last.response
    assert response is not None
    quoting = response.model_copy(update={"content": response.arguments[0].text})
    judged(server, "inspirescore-grice", DEBATE.view(len(DEBATE.turns) - 1).with_response(quoting))
    (told,) = [prompt_of(body) for body in server.asked if schema_of(body) == "Verdicts"]
    assert f"] {response.arguments[0].text}" in told


@pytest.mark.parametrize(("share", "yes"), [(1.0, True), (0.9, False), (0.5, False), (0.0, False)])
def test_one_added_claim_is_a_no_on_quality(share: float, yes: bool) -> None:
    assert supported(share).yes is yes
    assert supported(None).score is None


def test_a_response_without_facts_is_judged_by_the_model_free_judge(server: Scripted) -> None:
    filling(server, Facts={"response_1": []})
    quality = judged(server, "inspirescore-grice")[Maxim.QUALITY]
    assert quality.score is not None
    assert quality.rationale.startswith("judge grounded: ")
    server.always = lambda handler: handler.say(500, b"{}")
    assert judged(server, "inspirescore-grice")[Maxim.QUALITY].score is None, "a failure is shown"


def test_inspirescore_sees_the_two_arguments_that_annotators_saw(server: Scripted) -> None:
    more = tuple(Argument(id=f"x.{number}", text=f"MORE-{number} is more.") for number in (1, 2, 3))
    judged(
        server, "inspirescore-grice", DEBATE.with_response(Response(content="No.", arguments=more))
    )
    (told,) = [prompt_of(body) for body in server.asked if schema_of(body) == "Verdicts"]
    assert [f"MORE-{number}" in told for number in (1, 2, 3)] == [True, True, False]


def test_inspirescores_relation_is_bounded_by_the_stance_it_does_not_know(server: Scripted) -> None:
    free = find("judge", "grounded").make(Services()).judge(DEBATE)
    found = judged(server, "inspirescore-grice")[Maxim.RELATION].score
    assert found == min(1.0, free[Maxim.RELATION].score)


@pytest.mark.long
@pytest.mark.parametrize("name", ["debatrix-grice", "debgraph-grice", "inspirescore-grice"])
def test_the_terminal_judges_with_each_and_a_dead_model_loses_nothing(
    server: Scripted, tmp_path: Path, name: str
) -> None:
    lines = demo_file("debates.jsonl").read_text("utf-8").splitlines()[:2]
    source = tmp_path / "two.jsonl"
    source.write_text("\n".join(lines) + "\n", "utf-8")

    def run(out: Path) -> Ended:
        call = ("judge", source, "-j", name, "-m", f"{server.url}#tiny", "-O", "model.deadline=20")
        return touche_rad(*call, "-o", out)

    whole, resumed = tmp_path / "out.jsonl", tmp_path / "dead.jsonl"
    ended = run(whole)
    assert ended.code == 0, ended.err
    scores = [
        verdict.score
        for one in files.read_evaluations(whole)
        for turn in one.turns
        for verdict in turn.values()
    ]
    assert scores
    assert all(score is not None and 0 <= score <= 1 for score in scores)
    alive, server.always = server.always, lambda handler: handler.say(500, b"{}")
    assert run(resumed).code == 1
    server.always = alive
    assert run(resumed).code == 0
    assert resumed.read_bytes() == whole.read_bytes()
