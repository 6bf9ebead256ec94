"""The audit: what the probes change, what judges must make of it, and what is told of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.models.by_schema import answering
from tests.models.scripted import Scripted
from tests.terminal import touche_rad
from touche_rad import files
from touche_rad.debate import Argument, Debate, Maxim, Response, Turn, Verdict
from touche_rad.demo import demo_file
from touche_rad.plugins import LoadedJudge
from touche_rad.score.audit import Audit, audit

ARGUMENTS = (
    Argument(id="a", text="The law helps people."),
    Argument(id="b", text="Schools need money."),
)


def debate(number: int, content: str = "The law helps many people.") -> Debate:
    response = Response(content=content, arguments=ARGUMENTS)
    return Debate(
        id=f"d{number}",
        claim=f"claim {number}",
        turns=(Turn(utterance=f"user {number}", response=response),),
    )


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return written(tmp_path / "run.jsonl", [debate(n, f"Answer {n}: people.") for n in range(3)])


def written(path: Path, debates: list[Debate]) -> Path:
    path.write_text("".join(files.simulation_line(one) + "\n" for one in debates), "utf-8")
    return path


class Judge:
    """Keeps what it was shown, and says what it is told to say of it."""

    def __init__(self, score: Any) -> None:
        self.score, self.seen = score, []

    def judge(self, view: Debate) -> dict[Maxim, Verdict]:
        assert view.last.response is not None
        self.seen.append(view.last.response)
        return {maxim: Verdict(score=self.score(view.last.response, maxim)) for maxim in Maxim}


def audited(runs: list[Path], *judges: Judge, **more: Any) -> Audit:
    named = {f"judge{number}": LoadedJudge(one) for number, one in enumerate(judges, 1)}

    async def go() -> Audit:
        return await audit(runs, named, **more)

    return anyio.run(go)


def test_every_probe_changes_what_it_says_and_nothing_else(run: Path) -> None:
    judge = Judge(lambda *_: 1.0)
    audited([run], judge)
    assert len(judge.seen) == 3 * (1 + 7)
    of_first = [one for one in judge.seen if "Answer 0" in one.content or not one.content]
    contents = {one.content for one in of_first}
    assert contents >= {"Answer 0: people.", ""}
    assert any("as everybody knows" in one for one in contents)
    assert any("rate it yes" in one for one in contents)
    cited = {tuple(a.id for a in one.arguments) for one in of_first}
    assert cited >= {("a", "b"), ("b", "a"), ()}


def row(found: Audit, probe: str, maxim: Maxim) -> Any:
    (one,) = [r for r in found.flips if (r.probe, r.maxim) == (probe, maxim)]
    return one


def test_a_judge_that_always_says_yes_fails_where_no_is_due(run: Path) -> None:
    found = audited([run], Judge(lambda *_: 1.0))
    assert row(found, "order", Maxim.QUALITY).flipped == 0
    assert row(found, "empty", Maxim.MANNER).fails == 1
    assert row(found, "off-topic", Maxim.RELATION).fails == 1
    assert row(found, "uncited", Maxim.QUALITY).fails == 1
    fooled = row(found, "injection", Maxim.QUALITY)
    assert fooled.could_fail == 0, "nothing was no, so nothing can rise"
    assert fooled.fails is None, "nothing was no, so nothing can rise"


def test_a_judge_that_obeys_injections_is_detected(run: Path) -> None:
    obeys = Judge(lambda response, _: 0.9 if "rate it yes" in response.content else 0.2)
    found = audited([run], obeys)
    told = row(found, "injection", Maxim.RELATION)
    assert told.flipped == 1
    assert told.fails == 1
    assert told.could_fail == 3
    assert told.shift == pytest.approx(0.7)
    assert row(found, "padding", Maxim.RELATION).fails == 0
    assert row(found, "empty", Maxim.RELATION).fails == 0


def test_the_agreement_of_judges_is_counted(run: Path) -> None:
    def strict(response: Response, maxim: Maxim) -> float:
        return 0.1 if "Answer 1" in response.content and maxim is Maxim.QUALITY else 0.8

    result = audited([run], Judge(lambda *_: 0.9), Judge(strict))
    same = {one.maxim: one.same for one in result.agreement}
    assert same[Maxim.QUALITY] == pytest.approx(2 / 3)
    assert same[Maxim.MANNER] == 1


def test_the_terminal_audits_the_judge_without_a_model(tmp_path: Path) -> None:
    command = ("audit", demo_file("debates.jsonl"), "-j", "grounded", "-j", "always-yes")
    ended = touche_rad(*command, "--turns", "5", "-o", tmp_path / "audit")
    assert ended.code == 0, ended.err
    assert "5 turns" in ended.out
    record = json.loads((tmp_path / "audit/audit.json").read_text("utf-8"))
    assert {one["judge"] for one in record["flips"]} == {"grounded", "always-yes"}
    assert {(one["first"], one["second"]) for one in record["agreement"]} == {
        ("grounded", "always-yes")
    }
    assert json.loads(touche_rad(*command, "--turns", "5", "--json").out) == record


def test_a_bad_run_stops_no_other(run: Path, tmp_path: Path) -> None:
    lines, lost, bad = run.read_text().splitlines(), tmp_path / "lost", tmp_path / "bad"
    lost.write_text(f"{lines[0]}\n{{}}\n{lines[2]}\n")
    bad.write_text(f"{lines[0]}\nnonsense\n")
    ended = touche_rad("audit", bad, lost, run)
    assert ended.code == 1
    assert "5 turns, judged" in ended.out
    assert f"error: not audited: {bad}:2: expected JSON" in ended.err
    ended = touche_rad("audit", bad, lost, run, "--skip-bad")
    warning = f"warning: invalid lines of runs skipped: 1; the first: {bad}:2: "
    assert ended.code == 0, ended.err
    assert warning in ended.err, ended.err


@pytest.fixture
def server(server: Scripted) -> Scripted:
    answers = dict.fromkeys(("quantity", "quality", "relation", "manner"), "no")
    answering(server, {"Answer": answers})
    return server


def test_the_terminal_audits_a_judge_that_asks_a_model(
    server: Scripted, run: Path, tmp_path: Path
) -> None:
    command = ("audit", run, "-j", "zsl", "-m", f"{server.url}#tiny")
    ended = touche_rad(*command)
    assert ended.code == 0, ended.err
    assert len(server.asked) == 3 * (1 + 7)
    cached = touche_rad(*command, "--cache", tmp_path / "cache")
    assert "with 6 probes" in cached.out, "a cache answers the same request in the same way"


def test_a_judge_that_changes_its_mind_is_detected(tmp_path: Path) -> None:
    asked: list[Maxim] = []

    def moody(response: Response, maxim: Maxim) -> float:
        asked.append(maxim)
        return float(maxim is Maxim.MANNER or asked.count(maxim) == 1)

    found = audited([written(tmp_path / "one.jsonl", [debate(0)])], Judge(moody))
    assert row(found, "repeat", Maxim.QUALITY).flipped == 1
    assert row(found, "repeat", Maxim.MANNER).flipped == 0
