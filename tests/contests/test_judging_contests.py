"""Whole debates under a panel, as commands."""

from __future__ import annotations

from typing import Any

from tests.demo import CONTESTS, DEBATES
from tests.records import read_records, read_status
from tests.terminal import touche_rad
from touche_rad.contest import TIE, Contest, Outcome
from touche_rad.events import EventCount, EventKind
from touche_rad.plugins import Options, Services, panel


@panel("careless")
class Careless:
    """Names no winner of the first debate, checks no facts of the second, then names a side."""

    def __init__(self, options: Options, services: Services) -> None:
        pass

    def judge(self, contest: Contest) -> Outcome:
        """Judge a debate."""
        if contest.id == "debate-1":
            return Outcome(winner=None, reason="the panel slept")
        if contest.id == "debate-3":
            return Outcome(winner=None, reason="speakers are not ranked", details={"side": "pro"})
        return Outcome(
            winner=TIE, reason="facts are not checked" if contest.id == "debate-2" else ""
        )


ODD: dict[str, Any] = {
    "debate-1": 5,
    "debate-2": Outcome(winner="nobody"),
    "debate-3": ValueError("no luck"),
    "debate-4": Outcome(winner=TIE).model_copy(update={"scores": "high"}),
    "debate-5": Outcome(winner=None),
}
"""What a panel returns or raises, by the name of the debate."""


@panel("odd")
class Odd(Careless):
    """Judges some debates with what is no outcome."""

    def judge(self, contest: Contest) -> Outcome:
        """Judge a debate."""
        result: Any = ODD.get(contest.id, Outcome(winner=TIE))
        if isinstance(result, Exception):
            raise result
        return result


def test_what_is_no_outcome_has_no_winner_and_the_reason() -> None:
    out = "judged.jsonl"
    touche_rad("judge -j odd", DEBATES, "-o", out)
    outcomes = {row["id"]: row["outcome"] for row in read_records(out)}
    reasons = {name: outcomes[name]["reason"] for name in ODD if outcomes[name]["winner"] is None}
    assert list(reasons) == list(ODD)
    for words, reason in zip(
        ("int", "winner", "ValueError: no luck", "scores", "no winner"),
        reasons.values(),
        strict=True,
    ):
        assert words in reason
    assert outcomes["debate-6"]["winner"] == TIE
    assert read_status(out)["counts"]["without a winner"] == len(ODD)


def test_the_status_names_debates_that_were_judged_in_part() -> None:
    out = "judged.jsonl"
    touche_rad("judge -j careless", DEBATES, "-o", out, err="judged in part: 2")
    status = read_status("judged.jsonl")
    counts = map(EventCount.model_validate, status["events"])
    events = {count.examples[0].kind: count for count in counts}
    in_part = events[EventKind.JUDGED_IN_PART]
    assert in_part.count == 2
    assert in_part.examples[0].place.debate == "debate-2"
    assert events[EventKind.UNJUDGED].count == status["counts"]["without a winner"] == 1
    assert status["counts"]["naming only a side"] == 1
    words = ("judge", CONTESTS, "-j", "grounded", "-o", "b")
    touche_rad(*words, code=2, err="contests")


def test_judging_ends_with_the_winners_as_score_prints_them() -> None:
    source = DEBATES
    words = ("judge", source, "-j", "careless", "-o", "judged.jsonl")
    judged = touche_rad(*words)
    assert "won" in judged.out
    assert touche_rad("score judged.jsonl", source).out.startswith(judged.out)
    assert touche_rad(*words, "--quiet").out == ""
    assert touche_rad(*words, "--json").json["shares"][0]["judge"] == "careless"
    written = touche_rad("judge", source, CONTESTS, *words[2:-1], "both")
    assert written.out.startswith("debates: ")
    assert "\ncontests: accuracy" in written.out
