"""Tournaments that keep their debates."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.records import read_records
from tests.terminal import Ended, touche_rad
from touche_rad import plugins
from touche_rad.contest import Contest, Outcome
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
        powers = {speech.speaker: int(speech.text) for speech in contest.speeches}
        return Outcome(winner=max(powers, key=lambda who: powers[who]))


@pytest.fixture(autouse=True)
def _count_anew() -> None:
    PLAYED.clear()
    JUDGED.clear()


def cup(folder: Path, index: Path, strengths: str, *words: str, claims: int = 3) -> Ended:
    source = folder / "claims.tsv"
    rows = "".join(f"Claim {number} is true.\tbase-user\n" for number in range(claims))
    source.write_text(f"TOPIC_DESCRIPTION\tUSER\n{rows}")
    debaters = " ".join(f"-d strong(power={power})" for power in strengths)
    out = folder / "cup"
    return touche_rad(
        f"tournament {source} -i {index} {debaters} -j stronger --rounds 1 -o {out} -q",
        *words,
    )


def lines(folder: Path, name: str = "contests.jsonl") -> list[Any]:
    return read_records(folder / "cup" / name)


def test_a_new_debater_plays_only_its_own_debates(tmp_path: Path, demo_index_path: Path) -> None:
    cup(tmp_path, demo_index_path, "12")
    assert PLAYED == {"1": 6, "2": 6}
    PLAYED.clear()
    JUDGED.clear()
    cup(tmp_path, demo_index_path, "123")
    assert PLAYED == {"1": 6, "2": 6, "3": 12}, "each debates the new one on both sides"
    assert JUDGED["all"] == 12
    Path("fresh").mkdir()
    cup(Path("fresh"), demo_index_path, "123")
    for name in ("contests.jsonl", "outcomes.jsonl", "ratings.json"):
        mixed, fresh = (folder / "cup" / name for folder in (tmp_path, Path("fresh")))
        assert mixed.read_bytes() == fresh.read_bytes(), "as if all had played at once"


def test_new_claims_are_played_and_the_old_ones_kept(tmp_path: Path, demo_index_path: Path) -> None:
    cup(tmp_path, demo_index_path, "12")
    PLAYED.clear()
    cup(tmp_path, demo_index_path, "12", claims=4)
    assert PLAYED == {"1": 2, "2": 2}
    assert len(lines(tmp_path)) == 8
