"""The board of runs without labels: their judges' share of yes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from touche_rad.criteria import Criteria
from touche_rad.plots.svg import Dot, dot_plot, line_plot
from touche_rad.report.boards import Board, BoardTable, Votes, agreement
from touche_rad.score.conversations import ClaimTopic, Conversation
from touche_rad.score.rates import count_verdicts, measure_yes
from touche_rad.score.result import MEAN
from touche_rad.score.significance import Measured, rank
from touche_rad.score.tables import NONE
from touche_rad.score.words import by_pair, headline, interval, number


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

    Runs of different judges are not compared. A judge is empty if it is unknown.
    """
    names = list(judges)
    counts, debates, problems = count_verdicts(topics, names, lost, criteria)
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
    ranks: dict[str, str] = {}
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
            ranking = rank({name: figures[name] for name in group}, MEAN, len(counts))
            if len(group) > 1:
                ranks |= {ranked.run: str(ranked.rank or NONE) for ranked in ranking.runs}
            sentences += headline(
                {name: figures[name][MEAN].value for name in group},
                {name: interval(*figures[name][MEAN].interval) for name in group},
                "share of yes",
                (),
                by_pair(ranking.comparisons, MEAN),
                "claims",
                len(counts),
            )
        if len(by_judge) > 1:
            sentences.append("Runs of different or unknown judges are not compared.")

    rows = []
    for name, of_run in figures.items():
        shares = [number(of_run[key].value) for key in criteria.keys]
        verdicts = int(counts[:, names.index(name), :, 1].sum())
        between = interval(*of_run[MEAN].interval)
        row = [name, ranks.get(name, NONE), scores[name], between, *shares]
        rows.append([*row, debates[name], str(verdicts)])
    heads = ["run", "rank", "mean", "95 % interval", *criteria.keys, "debates", "verdicts"]
    if not ranks:
        heads.remove("rank")
        rows = [[row[0], *row[2:]] for row in rows]
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
    topics: Sequence[ClaimTopic], names: Sequence[str], lost: Sequence[int], criteria: Criteria
) -> Markup | None:
    """Plot the share of yes by turn, counted as in the table, if debates have several turns."""
    turns = max(len(debate.turns) for topic in topics for debate in topic.conversations)
    series: dict[str, list[float | None]] = {name: [] for name in names}
    for turn in range(turns):
        counts, _, _ = count_verdicts(topics, names, lost, criteria, turn)
        for name, (yes, total) in zip(names, counts.sum(axis=(0, 2)).tolist(), strict=True):
            series[name].append(yes / total if total else None)
    series = {name: values for name, values in series.items() if {*values} - {None}}
    if turns < 2 or not series:
        return None
    return line_plot("Share of yes by turn", series, axis=(0.0, 1.0))
