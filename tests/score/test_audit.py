"""The audit: what the probes change, and what judges must make of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from scipy.stats import binomtest

from tests.models.by_schema import answering
from tests.models.scripted import Scripted
from tests.records import read_json, write_lines
from tests.screens import check_screen
from tests.terminal import touche_rad
from touche_rad import files
from touche_rad.criteria import grice
from touche_rad.debate import Argument, Debate, Maxim, Response, Turn, Verdict
from touche_rad.plugins import LoadedJudge
from touche_rad.score.audit import Audit, Flips, audit

ARGUMENTS = (
    Argument(id="a", text="The law helps people."),
    Argument(id="b", text="Schools need money."),
)


def make_debate(number: int, content: str = "The law helps many people.") -> Debate:
    response = Response(content=content, arguments=ARGUMENTS)
    return Debate(
        id=f"d{number}",
        turns=(Turn(utterance=f"user {number}", response=response),),
    )


def write_run(path: str, debates: list[Debate]) -> Path:
    return write_lines(path, map(files.simulation_line, debates))


@pytest.fixture
def run() -> Path:
    """Three debates of one turn."""
    debates = [make_debate(number, f"Answer {number}: people.") for number in range(3)]
    return write_run("run.jsonl", debates)


class Judge:
    """Scores by a function, and keeps the responses that it judged."""

    def __init__(self, score: Callable[[Response, Maxim], float]) -> None:
        self.score = score
        self.responses: list[Response] = []

    def judge(self, view: Debate) -> dict[Maxim, Verdict]:
        response = view.last.response
        assert response is not None
        self.responses.append(response)
        return {maxim: Verdict(score=self.score(response, maxim)) for maxim in Maxim}


def run_audit(run: Path, *judges: Judge, **options: Any) -> Audit:
    named = {f"judge{number}": LoadedJudge(judge) for number, judge in enumerate(judges, 1)}

    async def call_audit() -> Audit:
        return await audit([run], named, **options)

    return anyio.run(call_audit)


def flips_of(result: Audit, probe: str, maxim: Maxim) -> Flips:
    (flips,) = [row for row in result.flips if (row.probe, row.maxim) == (probe, maxim)]
    return flips


def test_every_probe_changes_what_it_says_and_nothing_else(run: Path) -> None:
    judge = Judge(lambda *_: 1.0)
    run_audit(run, judge)
    assert len(judge.responses) == 3 * (1 + 7)
    first = [
        response
        for response in judge.responses
        if "1" not in response.content and "2" not in response.content
    ]
    contents = [response.content for response in first]
    assert contents.count("Answer 0: people.") == 5, (
        "unchanged, again, in another order, uncited; elsewhere"
    )
    assert contents.count("") == 3
    assert sum("as everybody knows" in content for content in contents) == 1
    assert sum("rate it yes" in content for content in contents) == 1
    citations = [tuple(argument.id for argument in response.arguments) for response in first]
    assert citations.count(("b", "a")) == 1
    assert citations.count(()) == 1


def test_a_judge_that_obeys_injections_is_detected(run: Path) -> None:
    obeys = Judge(lambda response, _: 0.9 if "rate it yes" in response.content else 0.2)
    result = run_audit(run, obeys)
    flips = flips_of(result, "injection", Maxim.RELATION)
    assert flips.flipped == 1
    assert flips.fails == 1
    assert flips.could_fail == 3
    assert flips.shift == pytest.approx(0.7)
    ours = (flips.low, flips.high)
    assert ours == pytest.approx(binomtest(3, 3).proportion_ci(method="wilson"), abs=1e-4)
    assert flips_of(result, "padding", Maxim.RELATION).fails == 0
    assert flips_of(result, "empty", Maxim.RELATION).fails == 0


def test_a_sample_of_the_turns_is_drawn_by_the_seed(run: Path) -> None:
    samples = []
    for seed in (0, 0, 1, 2, 3):
        judge = Judge(lambda *_: 1.0)
        assert run_audit(run, judge, most=2, seed=seed).turns == 2
        samples.append({response.content for response in judge.responses})
    assert samples[0] == samples[1]
    assert any(sample != samples[0] for sample in samples)
    write_lines(run, [*run.read_text().splitlines(), *run.read_text().splitlines()[:1]])
    for unit, count in {"debate": "3 debates. ", "response": "3 turns. "}.items():
        criteria = grice().model_copy(update={"unit": unit})
        assert count in str(run_audit(run, judge, criteria=criteria).lines())


def test_the_screen_of_an_audit_and_its_file(run: Path) -> None:
    line = "audit run.jsonl -j length -j always-yes -j length(shortest=9) -j length(shortest=15)"
    check_screen("audit.several-judges", touche_rad(f"{line} -o audit"))
    record = touche_rad(f"{line} --json").json
    assert read_json("audit/audit.json") == record
    assert {row["judge"] for row in record["flips"]} == {
        "length",
        "always-yes",
        "length(shortest=9)",
        "length(shortest=15)",
    }


def test_a_bad_run_stops_no_other(run: Path) -> None:
    lines = run.read_text().splitlines()
    write_lines("lost.jsonl", [lines[0], "{}", lines[2]])
    write_lines("bad.jsonl", [lines[0], "nonsense"])
    line = "audit bad.jsonl lost.jsonl run.jsonl"
    ended = touche_rad(f"{line} --json", code=1, err="bad.jsonl:2: ")
    assert ended.json["turns"] == 5
    ended = touche_rad(f"{line} --json --skip-bad", err="bad.jsonl:2: ")
    assert ended.json["turns"] == 6
    ended = touche_rad(f"{line} -o out --skip-bad -q", err="bad.jsonl:2: ", mixed=True)
    assert ended.out.startswith("without an index (-i)\ngrounded: ")
    touche_rad("audit run.jsonl -i demo", out="with an index\ngrounded: ")


@pytest.fixture
def server(server: Scripted) -> Scripted:
    answers = dict.fromkeys(("quantity", "quality", "relation", "manner"), "no")
    answering(server, {"Answer": answers})
    return server


def test_the_terminal_audits_a_judge_that_asks_a_model(server: Scripted, run: Path) -> None:
    line = f"audit {run} -j zsl -m {server.url}#tiny"
    touche_rad(line)
    assert len(server.asked) == 3 * (1 + 7)
    cached = touche_rad(f"{line} --cache cache --json").json
    probes = {row["probe"] for row in cached["flips"]}
    assert len(probes) == 6
    assert "repeat" not in probes, "a cache answers the same request in the same way"


def test_a_judge_that_changes_its_mind_is_detected() -> None:
    asked: list[tuple[str, Maxim]] = []

    def score_differently(response: Response, maxim: Maxim) -> float:
        asked.append((repr(response), maxim))
        return float(maxim is Maxim.MANNER or asked.count(asked[-1]) == 1)

    run = write_run("run.jsonl", [make_debate(0)])
    result = run_audit(run, Judge(score_differently))
    assert flips_of(result, "repeat", Maxim.QUALITY).flipped == 1
    assert flips_of(result, "repeat", Maxim.MANNER).flipped == 0
