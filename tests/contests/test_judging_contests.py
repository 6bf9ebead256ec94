"""Whole debates under a panel, as commands."""

from __future__ import annotations

from pathlib import Path

from tests.records import read_status
from tests.terminal import touche_rad
from touche_rad.contest import TIE, Contest, Outcome
from touche_rad.demo import demo_file
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


def test_the_status_names_debates_that_were_judged_in_part(tmp_path: Path) -> None:
    out = tmp_path / "judged.jsonl"
    ended = touche_rad("judge", demo_file("debates.jsonl"), "-j", "careless", "-o", out)
    assert "judged in part: 2" in ended.err
    status = read_status(tmp_path / "judged.jsonl")
    counts = map(EventCount.model_validate, status["events"])
    events = {count.examples[0].kind: count for count in counts}
    in_part = events[EventKind.JUDGED_IN_PART]
    assert in_part.count == 2
    assert in_part.examples[0].place.debate == "debate-2"
    assert events[EventKind.UNJUDGED].count == status["counts"]["without a winner"] == 1
    assert status["counts"]["naming only a side"] == 1
    words = ("judge", demo_file("contests.jsonl"), "-j", "grounded", "-o", tmp_path / "b")
    refused = touche_rad(*words, code=2)
    assert "contests" in refused.err
