"""Tournaments that keep their debates, choose the informative ones, and stop at narrow intervals."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.terminal import Ended, touche_rad
from touche_rad import plugins
from touche_rad.contest import Contest, Outcome
from touche_rad.contests.tournament.schedule import Schedule, covariance, next_pairs
from touche_rad.debate import Debate, Response
from touche_rad.plugins import Options, Services, debater, panel

PLAYED: Counter[str] = Counter()
"""Answers by strength."""
JUDGED: Counter[str] = Counter()


@debater("strong")
class Strong:
    """Says how strong it is."""

    class Options(plugins.Options):
        power: int = 0

    def __init__(self, options: Any, services: Services) -> None:
        self.strength = options.power

    def answer(self, debate: Debate) -> Response:
        PLAYED[str(self.strength)] += 1
        return Response(content=f"{self.strength}")


@panel("stronger")
class Stronger:
    """The stronger one wins."""

    def __init__(self, options: Options, services: Services) -> None: ...

    def judge(self, contest: Contest) -> Outcome:
        JUDGED["all"] += 1
        said = {one.speaker: int(one.text) for one in contest.speeches}
        return Outcome(winner=max(said, key=lambda who: said[who]))


@pytest.fixture(autouse=True)
def _count_anew() -> None:
    PLAYED.clear()
    JUDGED.clear()


def cup(folder: Path, index: Path, strengths: str, *words: str, claims: int = 3) -> Ended:
    source = folder / "claims.tsv"
    rows = "".join(f"Claim {one} is true.\tbase-user\n" for one in range(claims))
    source.write_text(f"TOPIC_DESCRIPTION\tUSER\n{rows}")
    debaters = [word for one in strengths for word in ("-d", f"strong(power={one})")]
    return touche_rad(
        "tournament",
        source,
        "-i",
        index,
        *debaters,
        "-j",
        "stronger",
        "--rounds",
        "1",
        "-o",
        folder / "cup",
        "-q",
        *words,
    )


def lines(folder: Path, name: str = "contests.jsonl") -> list[Any]:
    return [json.loads(line) for line in (folder / "cup" / name).read_text().splitlines()]


def test_a_new_debater_plays_only_its_own_debates(tmp_path: Path, demo_index_path: Path) -> None:
    assert cup(tmp_path, demo_index_path, "12").code == 0
    assert PLAYED == {"1": 6, "2": 6}
    PLAYED.clear()
    JUDGED.clear()
    assert cup(tmp_path, demo_index_path, "123").code == 0
    assert PLAYED == {"1": 6, "2": 6, "3": 12}, "each debates the new one on both sides"
    assert JUDGED["all"] == 12
    (tmp_path / "fresh").mkdir()
    cup(tmp_path / "fresh", demo_index_path, "123")
    for name in ("contests.jsonl", "outcomes.jsonl", "ratings.json"):
        mixed, fresh = (one / "cup" / name for one in (tmp_path, tmp_path / "fresh"))
        assert mixed.read_bytes() == fresh.read_bytes(), "as if all had played at once"


def test_new_claims_are_played_and_the_old_ones_kept(tmp_path: Path, demo_index_path: Path) -> None:
    cup(tmp_path, demo_index_path, "12")
    PLAYED.clear()
    assert cup(tmp_path, demo_index_path, "12", claims=4).code == 0
    assert PLAYED == {"1": 2, "2": 2}
    assert len(lines(tmp_path)) == 8


def test_what_a_debate_depends_on_is_not_reused(tmp_path: Path, demo_index_path: Path) -> None:
    cup(tmp_path, demo_index_path, "12")
    changed = cup(tmp_path, demo_index_path, "123", "--seed", "7")
    assert changed.code == 2
    assert "seed was 0 and is now 7" in changed.err
    PLAYED.clear()
    assert cup(tmp_path, demo_index_path, "12", "--seed", "7", "--replace").code == 0
    assert PLAYED == {"1": 6, "2": 6}


def test_a_budget_plays_whole_units_and_is_not_exceeded_by_a_repetition(
    tmp_path: Path, demo_index_path: Path
) -> None:
    assert cup(tmp_path, demo_index_path, "1234", "--max-games", "13").code == 0
    played = lines(tmp_path)
    assert len(played) == len(lines(tmp_path, "outcomes.jsonl")) == 12
    pairs = Counter((one["motion"], frozenset(one["debaters"].values())) for one in played)
    assert set(pairs.values()) == {2}, "both sides of a claim"
    before = (tmp_path / "cup" / "ratings.json").read_bytes()
    PLAYED.clear()
    assert cup(tmp_path, demo_index_path, "1234", "--max-games", "13").code == 0
    assert not PLAYED
    assert (tmp_path / "cup" / "ratings.json").read_bytes() == before


def test_it_stops_at_narrow_intervals_and_says_when_it_cannot_reach_them(
    tmp_path: Path, demo_index_path: Path
) -> None:
    assert cup(tmp_path, demo_index_path, "123", "--until-interval", "1300", claims=9).code == 0
    assert 0 < len(lines(tmp_path)) < 6 * 9
    ended = cup(tmp_path, demo_index_path, "123", "--until-interval", "5", claims=9)
    assert len(lines(tmp_path)) == 6 * 9
    assert "the widest interval is" in ended.err


def test_an_interrupted_tournament_makes_the_same_choices(
    tmp_path: Path, demo_index_path: Path
) -> None:
    """A record that ends in the middle of a line stands for any moment of a kill."""
    words = ("--max-games", "16")
    cup(tmp_path, demo_index_path, "1234", *words)
    record = (tmp_path / "cup" / "games.jsonl").read_bytes()
    for share in (0.1, 0.5, 0.9):
        again = tmp_path / f"again{share}"
        (again / "cup").mkdir(parents=True)
        (again / "cup" / "games.jsonl").write_bytes(record[: int(share * len(record))])
        assert cup(again, demo_index_path, "1234", *words, "--workers", "1").code == 0
        for name in ("contests.jsonl", "outcomes.jsonl", "ratings.json"):
            assert (again / "cup" / name).read_bytes() == (tmp_path / "cup" / name).read_bytes()


def test_the_pair_that_reduces_the_variances_most_plays_next() -> None:
    wins = np.zeros((4, 4))
    wins[0, 1] = wins[1, 0] = 5.0  # these two are known, the others are not
    wins[2, 3] = 1.0
    pairs = [(a, b) for a in range(4) for b in range(a + 1, 4)]
    first = next_pairs(wins, pairs, 1)[0]
    assert first != (0, 1)

    def variances(pair: tuple[int, int]) -> float:
        more = wins.copy()
        more[pair] += 1
        more[pair[::-1]] += 1
        return float(np.trace(covariance(more, 1.0)))

    assert variances(first) < variances((0, 1))
    assert next_pairs(wins, [(0, 1)], 3) == [(0, 1)], "there is one claim left for it"


def test_debaters_with_narrow_intervals_play_only_to_help_the_others() -> None:
    wins = np.full((3, 3), 3.0) * (1 - np.eye(3))
    pairs = [(0, 1)] * 9 + [(0, 2)] * 9 + [(1, 2)] * 9
    chosen = next_pairs(wins, pairs, 4, wanted=[False, False, True])
    assert all(2 in pair for pair in chosen)
    schedule = Schedule(3, 2, prior=1.0, samples=50, seed=0)
    assert schedule.next_units(3, until=None)
    for claim in range(2):
        for a, b in ((0, 1), (0, 2), (1, 2)):
            schedule.add(claim, a, b, 1.0)
    assert schedule.next_units(3, until=None) == [], "all are played"
