"""The board of runs without labels: their judges' share of yes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from markupsafe import Markup

from touche_rad.criteria import Criteria
from touche_rad.plots.svg import Dot, dot_plot, line_plot
from touche_rad.report._conversations import ClaimTopic, Conversation
from touche_rad.report.boards import (
    Board,
    BoardTable,
    Votes,
    agreement,
    interval,
    number,
    ranking_in_words,
    too_few,
)
from touche_rad.score.rates import count_yes, measure_yes
from touche_rad.score.result import MEAN
from touche_rad.score.significance import Floats, Measured, compare_runs


def rate_board(
    topics: Sequence[ClaimTopic],
    judges: Mapping[str, str],
    lost: Sequence[int],
    criteria: Criteria,
    *,
    samples: int,
    seed: int,
) -> Board | None:
    """Rank runs by their judges' share of yes, if there are verdicts.

    Runs of different judges are not compared. A judge is empty if it is unknown. A lost debate is
    a no on as many verdicts as the run's other debates have on average.
    """
    names = list(judges)
    counts, problems = _count_verdicts(topics, names, lost, criteria)
    measured: dict[str, dict[str, Measured]] = {}
    for at, name in enumerate(names):
        if counts[:, at, :, 1].any():
            measured[name] = measure_yes(counts[:, [at]], criteria, samples, seed)
    if not measured:
        return None
    figures = dict(sorted(measured.items(), key=lambda pair: -pair[1][MEAN].value))
    scores = {name: number(of_run[MEAN].value) for name, of_run in figures.items()}
    order = list(figures)

    conversations = [conversation for topic in topics for conversation in topic.conversations]
    same_debates = len(conversations) == len(topics)
    if same_debates:
        sentence = f"{order[0]} says yes on {scores[order[0]]} of the verdicts"
        if len(order) > 1:
            sentence += f"; {order[-1]} least often ({scores[order[-1]]})"
        sentences = [f"{sentence}. Without labels, nobody knows which verdicts are right."]
    else:
        # Runs of unknown judges may have the same judge, if nothing says otherwise.
        differ = any(judges.values()) or any(len(debate.verdicts) > 1 for debate in conversations)
        by_judge: dict[str, list[str]] = {}
        for name in order:
            judge = judges[name] or (name if differ else "")
            by_judge.setdefault(judge, []).append(name)
        sentences = []
        for group in by_judge.values():
            shown = {name: scores[name] for name in group}
            sentences += too_few(shown, "share of yes", len(counts), "claims") or ranking_in_words(
                {name: figures[name][MEAN].value for name in group},
                {},
                "share of yes",
                lambda run, against: compare_runs(figures, run, against, MEAN),
            )
        if len(by_judge) > 1:
            sentences.append("Runs of different or unknown judges are not compared.")

    rows = []
    for name, of_run in figures.items():
        shares = [number(of_run[key].value) for key in criteria.keys]
        verdicts = int(counts[:, names.index(name), :, 1].sum())
        between = interval(*of_run[MEAN].interval)
        rows.append([name, scores[name], between, *shares, str(verdicts)])
    heads = ["run", "mean", "95 % interval", *criteria.keys, "verdicts"]
    tables = [BoardTable("Share of yes", heads, rows)]
    if same_debates and len(order) > 1:
        tables.append(agreement(_votes(conversations, names, criteria)))
    plots = []
    for key in (MEAN, *criteria.keys):
        dots = [
            Dot(name, of_run[key].value, *of_run[key].interval) for name, of_run in figures.items()
        ]
        plots.append(dot_plot(f"Share of yes, {key}", dots))
    return Board(
        "Verdicts" if same_debates else "Leaderboard",
        sentences,
        "Share of yes among the verdicts, mean of the maxims. Intervals: "
        f"{samples} bootstrap samples of claims, seed {seed}. The judge may be wrong: only labels "
        "show how often.",
        tables,
        plots,
        warnings=[f"{problem}: {times}" for problem, times in problems.items() if times],
        scores=scores,
    )


def _count_verdicts(
    topics: Sequence[ClaimTopic], names: Sequence[str], lost: Sequence[int], criteria: Criteria
) -> tuple[Floats, Counter[str]]:
    """Count each run's verdicts that are yes, and all verdicts, by claim, run and criterion.

    Returns also how often there is a problem of a run.
    """
    problems: Counter[str] = Counter()
    # Lost debates have no claim: they get places after those of the claims.
    counts = np.zeros((len(topics) + max(lost), len(names), len(criteria), 2))
    for claim, topic in enumerate(topics):
        for conversation in topic.conversations:
            for run in conversation.repeated:
                problems[f"{names[run]}: debates given twice, the first counts"] += 1
            for run, _, verdicts in conversation.counted:
                of_turn = count_yes([verdicts], criteria)
                missing = len(criteria) - int(of_turn[:, 1].sum())
                problems[f"{names[run]}: missing verdicts, counted as no"] += missing
                # All criteria count: a missing verdict is a no.
                counts[claim, run, :, 0] += of_turn[:, 0]
                counts[claim, run, :, 1] += 1

    # Runs can only be compared on the debates that they share.
    has_debate = counts[..., 1].sum(axis=2) > 0  # by claim and run
    has_shared = has_debate[has_debate.sum(axis=1) > 1].sum(axis=0) > 0
    expected = np.count_nonzero(has_debate[:, has_shared].any(axis=1))
    if has_shared.any():
        for run, name in enumerate(names):
            debates = int(has_debate[:, run].sum())
            if has_shared[run]:
                missing = int(expected - debates - lost[run])
                problems[f"{name}: debates missing that other runs have"] = max(0, missing)
            elif debates:
                problems[f"{name}: not comparable; debates of no other run"] = debates
    for run, debates in enumerate(lost):
        judged = counts[:, run, :, 1].any(axis=1)
        if debates and judged.any():
            places = np.flatnonzero(~judged)[:debates]
            counts[places, run, :, 1] = counts[judged, run, :, 1].mean()
            problems[f"{names[run]}: lost debates, counted as no"] = debates
    return counts[counts.any(axis=(1, 2, 3))], problems


def _votes(
    conversations: Sequence[Conversation], names: Sequence[str], criteria: Criteria
) -> Votes:
    """Return the verdicts of each run on the turns of all debates."""
    votes: dict[str, list[bool | None]] = {name: [] for name in names}
    for conversation in conversations:
        verdicts_of = dict(conversation.verdicts)
        for run, name in enumerate(names):
            for verdicts in verdicts_of.get(run, [{}] * len(conversation.turns)):
                for key in criteria.keys:
                    verdict = verdicts.get(key)
                    votes[name].append(None if verdict is None else verdict.yes)
    return {name: of_run for name, of_run in votes.items() if {*of_run} - {None}}


def turn_plot(
    conversations: Sequence[Conversation], names: Sequence[str], criteria: Criteria
) -> Markup | None:
    """Plot the share of yes by turn, if debates with verdicts have several turns."""
    yes: dict[str, Counter[int]] = {}
    verdicts_by_turn: dict[str, Counter[int]] = {}
    for conversation in conversations:
        for run, turn, verdicts in conversation.counted:
            count = int(count_yes([verdicts], criteria)[:, 0].sum())
            yes.setdefault(names[run], Counter())[turn] += count
            verdicts_by_turn.setdefault(names[run], Counter())[turn] += len(criteria)
    series: dict[str, list[float | None]] = {}
    for name, totals in verdicts_by_turn.items():
        series[name] = [
            yes[name][turn] / totals[turn] if turn in totals else None
            for turn in range(max(totals) + 1)
        ]
    if max(map(len, series.values()), default=0) < 2:
        return None
    return line_plot("Share of yes by turn", series, axis=(0.0, 1.0))
