"""What a panel's winners go by besides what is said, and how often two runs name the same one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations

from touche_rad.contest import TIE, Contest
from touche_rad.files.contests import Judgement
from touche_rad.score import verdicts as v
from touche_rad.score.contest_report import BiasRow, SameRow

Known = Mapping[str, Contest]


def bias(run: str, known: Known, judged: Mapping[str, Judgement]) -> BiasRow:
    """Count how often con, the last speaker, who said most, or the side wins."""
    pairs = [(known[key], one) for key, one in judged.items()]
    decided = [
        (contest, one.outcome.winner) for contest, one in pairs
        if one.outcome.winner not in (None, TIE)
    ]  # fmt: skip
    golden = [
        (contest, winner)
        for contest, _ in pairs
        if len(gold := v.gold_of(contest, "general")) == 1 and (winner := next(iter(gold))) != TIE
    ]
    both = [
        (contest, one.outcome.winner, one.swapped.winner)
        for contest, one in pairs
        if one.swapped is not None and one.outcome.winner and one.swapped.winner
    ]
    return BiasRow(
        run=run, debates=len(pairs), swapped=len(both),
        con=v.share([c.sides[w] == "con" for c, w in decided if w is not None]),
        con_gold=v.share([c.sides[w] == "con" for c, w in golden]),
        last=v.share([c.speeches[-1].speaker == w for c, w in decided if c.speeches]),
        last_gold=v.share([c.speeches[-1].speaker == w for c, w in golden if c.speeches]),
        longest=v.share([v.longest(c) == w for c, w in decided if v.longest(c)]),
        longest_gold=v.share([v.longest(c) == w for c, w in golden if v.longest(c)]),
        flipped=v.share([before != after for _, before, after in both]),
        stays_with_side=v.share([
            TIE not in (before, after) and contest.sides[before] != contest.sides[after]
            for contest, before, after in both
        ]),
    )  # fmt: skip


def same_winners(known: Known, judged: Mapping[str, Mapping[str, Judgement]]) -> Iterator[SameRow]:
    """Compare each two runs on the debates that both judged."""
    for first, second in combinations(judged, 2):
        shared = [key for key in known if key in judged[first] and key in judged[second]]
        pairs = [
            (judged[first][key].outcome.winner, judged[second][key].outcome.winner)
            for key in shared
        ]
        found = v.same_winner(pairs)
        if found is not None:
            yield SameRow(
                first=first, second=second, debates=len(shared), same=found[0], kappa=found[1]
            )
