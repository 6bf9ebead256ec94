"""The scores of runs as data for the page's ranking: one shape for judges, debaters and panels.

A board has a title (the finding), sentences, a note on the method, and rows with a value, its
interval, and cells under `columns`. Tables that few readers need are `tables`, folded by the page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote, urlencode

from touche_rad.contests.score_report import (
    BIAS_COLUMNS,
    BIASES,
    SHARE_COLUMNS,
    SIDE_COLUMNS,
    ContestReport,
)
from touche_rad.contests.tournament.result import COLUMNS, Tournament, rounded_share
from touche_rad.criteria import Criterion
from touche_rad.score import words
from touche_rad.score.cautions import say_without_model
from touche_rad.score.confusion import MAIN, TITLES, missing_answer
from touche_rad.score.rates import answer_shares, ranking_places
from touche_rad.score.reports import INTERVAL_AND_P, JudgementReport, Report, RetrievalReport
from touche_rad.score.result import BASELINE, MEAN, JudgementRow, RankedRun, RunFault
from touche_rad.score.shares import ShareReport
from touche_rad.score.significance import compare_runs
from touche_rad.score.tables import NONE, Columns, Table, cells, csv_rows, csv_text, fixed, table
from touche_rad.score.words import (
    between,
    by_pair,
    names_of,
    number,
    signed,
    tied_first,
)
from touche_rad.text import count_of

Board = dict[str, Any]
Scored = Report | ContestReport
_MOST_PAIRED: Final = 60
"""The most runs of which each pair is compared."""
_NUMBER: Final = re.compile(r"≈?([-+−]?\d*\.?\d+)( %)?|–")
"""A number as pages show it, or none."""
_ABOUT_P: Final = (
    "Bold differences are significant (p < .05, corrected by Holm over the comparisons with the "
    "same run)."
)
_OF_PANELS: Final[Columns] = {
    "{rmse:.1f}": "RMSE",
    "{mae:.1f}": "MAE",
    "{pearson:.2f}": "Pearson",
    "{kendall:.2f}": "Kendall",
    "{completed:percent}": "done",
}
_MEASURES: Final[Columns] = {
    "{precision:.2f}": "precision",
    "{recall:.2f}": "recall",
    "{kappa:.2f}": "exact kappa",
    "{weighted_kappa:.2f}": "weighted kappa",
    "{rmse:.2f}": "RMSE",
    "{spearman:.2f}": "Spearman",
}
"""The measures of a criterion that an opened row shows, beside its errors."""


def reader_link(**filters: str) -> str:
    """Return the address of the debates that filters of the reader select."""
    return f"#debates&{urlencode(filters, quote_via=quote, safe='')}"


def page_table(
    caption: str, heads: Sequence[str], rows: Sequence[Sequence[object]], note: str = ""
) -> Board:
    """Return a table that can be sorted and downloaded.

    A cell may be a list: its text or number, its class, and a link.
    """
    csv = csv_link(csv_rows([heads, *(map(_csv_cell, row) for row in rows)]))
    return {"caption": caption, "heads": list(heads), "rows": rows, "csv": csv, "note": note}


def _csv_cell(cell: object) -> object:
    """Return a cell as programs read it: numbers have a plain minus and no percent sign."""
    content = cell[0] if isinstance(cell, list) else cell
    number = isinstance(content, str) and _NUMBER.fullmatch(content)
    return (number[1] or "").replace("−", "-") if number else content


def _page_table(caption: str, content: Table) -> Board:
    """Return a table of the terminal, with the names in the first column."""
    at = content.name
    rows = [[row[at], *row[:at], *row[at + 1 :]] for row in (content.heads, *content.rows)]
    return page_table(caption, rows[0], rows[1:])


def board(title: str, rows: Sequence[Board], measure: str, **fields: Any) -> Board:
    """Return a board; a row has run, rank, baseline, value, low, high and cells."""
    lists: Board = {name: [] for name in ("text", "warnings", "tables", "pairs")}
    return {**lists, "base": "", "title": title, "rows": rows, "measure": measure, **fields}


def boards_of(report: Scored) -> list[Board]:
    """Return the boards of scores: one, or for panels one for each dimension."""
    if isinstance(report, ContestReport):
        return list(_boards_of_panels(report))
    measure = MEAN
    if isinstance(report, JudgementReport):
        content = _judgements(report)
    elif isinstance(report, ShareReport):
        content = _shares(report)
    else:
        assert isinstance(report, RetrievalReport)
        content = _retrieval(report)
        measure = report.measures[0]
    return [_with_all_measures(content, report, measure)]


def faults_of(report: Scored) -> Iterator[RunFault]:
    """Yield the problems of each run, and why runs have no score."""
    if isinstance(report, Report):
        yield from report.faults()
    else:
        for run, ids in report.missing.items():
            debates = count_of(len(ids), "debate")
            yield RunFault(run, len(ids), f"{debates} without a verdict; the first: {ids[0]}")
    for run, error in report.refused.items():
        yield RunFault(run, 0, f"not scored: {error}")


def _with_all_measures(content: Board, report: Report, measure: str) -> Board:
    """Add the differences from the baseline or else the first, and a table of all measures.

    The CSV of the table has all digits.
    """
    table = _page_table("All measures", report.board())
    if any(row.p_holm is not None for row in report.comparisons):
        against = content["base"] or report.first
        reference = "baseline" if content["base"] else "first"
        content["columns"][:0] = [
            ["diff.", f"from {reference}"],
            ["p (Holm)", f"against {reference}"],
        ]
        content["note"] += f" {_ABOUT_P} {INTERVAL_AND_P}"
        table["heads"].append(f"p (Holm) against {reference}")
        for row, measures in zip(content["rows"], table["rows"], strict=True):
            p_value = words.probability(report.p_against(against, row["run"], measure))
            row["cells"][:0] = [_difference(report, row["run"], against, measure), p_value]
            measures.append(p_value)
    table["csv"] = csv_link(csv_text(report.records()))
    return {**content, "tables": [*content["tables"], table]}


def _difference(report: Report, run: str, base: str, measure: str) -> tuple[object, ...] | None:
    """Return the difference of a run from the baseline, its interval, and if it is significant."""
    row = by_pair(report.comparisons, measure)(run, base)
    return (row.difference, row.low, row.high, row.significant) if row else None


def csv_link(text: str) -> str:
    """Return a link that downloads a CSV file."""
    return "data:text/csv;charset=utf-8," + quote(text.encode("utf-8", "replace"))


def _pairs(report: Report, first: str, others: Mapping[str, str], units: int) -> Board:
    """Return the differences of each two runs with their intervals.

    Two that the report compares have its results, so that no other p-value stands in the table.
    Others have those that the report has with the first of them as its baseline.

    Args:
        report: The scores.
        first: The measure of the ranking.
        others: The other measures with their names, corrected as a family of their own.
        units: Number of debates, claims or queries.
    """
    places = {ranked.run: ranked.place for ranked in report.ranking}
    against = {row.against for row in report.comparisons}
    names = [run for run in places if places[run] or run in against or not any(places.values())]
    if len(names) > _MOST_PAIRED:
        names = []
    runs = [run for run in names if places[run]]
    tested = {(row.measure, frozenset((row.run, row.against))): row for row in report.comparisons}
    pairs: dict[tuple[str, str], list[tuple[object, ...]]] = {}
    references: list[str] = []
    # Baselines first: all runs are compared with them.
    for name in sorted(names, key=runs.__contains__):
        references.append(name)
        others_of_name = runs if name in runs else names
        for measures in ([first], [*others]):
            for pair in compare_runs(report.figures, others_of_name, name, measures, units):
                if pair.run in references:
                    continue
                row = tested.get((pair.measure, frozenset((pair.run, name))), pair)
                figures = [
                    value and round(value, 6) for value in (row.difference, row.low, row.high)
                ]
                of_family = f"(Holm) over {count_of(row.family, 'comparison')}"
                pairs.setdefault((row.run, row.against), []).append(
                    (*figures, row.significant, f"{words.probability(row.p_holm)} {of_family}")
                )
    return {
        "compared": [*others.values()],
        "pairs": [[*pair, figures] for pair, figures in pairs.items()],
    }


def _drawn(report: Report | ContestReport | Tournament, units: str) -> str:
    return f"Intervals: 95 %, bootstrap over {units}, {report.samples} samples, seed {report.seed}."


def lead(rows: Sequence[Board], measure: str) -> str:
    """Say who leads, as a title."""
    runs = [row for row in rows if not row["baseline"]]
    if not runs:
        return "Nothing is ranked"
    if len(runs) == 1:
        return f"{runs[0]['run']}: {measure} {number(runs[0]['value'])}"
    ranked = [row for row in runs if row["rank"]]
    with_rank_1 = sum(row["rank"] == 1 for row in ranked)
    # Runs with too few labels stand last, also those with a high value.
    best = tied_first(
        {row["run"]: row["value"] for row in ranked or sorted(runs, key=lambda row: -row["value"])}
    )
    title = names_of(best) + (" has" if len(best) == 1 else " have") + f" the highest {measure}"
    if ranked and max(row["value"] for row in runs) > ranked[0]["value"]:
        title += " of the runs with a rank"
    if not ranked:
        title = f"No ranks: differences are not tested; {title}"
    elif len(ranked) > with_rank_1 == 1:
        title += "; all others are significantly worse"
    elif with_rank_1 > 1:
        title += f"; {with_rank_1} runs have rank 1, not significantly different"
    above = [row["run"] for row in rows if row["baseline"] and row["value"] > runs[0]["value"]]
    return f"{title}; the baseline {names_of(above)} is higher" if above else title


def _judgements(report: JudgementReport) -> Board:
    """Show judges that are scored against labels."""
    by_name = report.rows_by_place
    base = report.base
    shown = report.used(_MEASURES)
    heads_of_details = [
        "criterion",
        "score",
        "yes where label no",
        "no where label yes",
        *shown.values(),
    ]
    measured = [criterion for criterion in report.criteria if by_name[base, criterion.key].labelled]
    rows: list[Board] = []
    for ranked in report.ranking:
        run = ranked.run
        mean = by_name[run, MEAN]
        details = []
        for criterion in measured:
            row = by_name[run, criterion.key]
            details.append([*_errors(row, criterion), *cells(shown, row)])
        rows.append(
            {
                **_ranked_row(report, ranked, mean),
                "cells": [
                    *(_difference(report, run, base, part.key) for part in measured),
                    number(mean.kappa),
                    _percent(mean.yes_rate),
                ],
                "details": page_table(f"{run} by criterion", heads_of_details, details),
            }
        )
    tables = [
        _page_table(f"{row.run}, {row.maxim}: labels by answers", counts)
        for row, counts in report.confusions()
    ]
    heads = [
        [criterion.title, f"{TITLES[MAIN[criterion.answers.kind]]} − baseline"]
        for criterion in measured
    ]
    return board(
        _against_baseline(report, base) or lead(rows, report.measure),
        rows,
        report.measure,
        text=report.sentences(),
        note=f"{count_of(report.debates, 'labelled debate')}, "
        f"{count_of(report.turns, 'labelled turn')}. {_drawn(report, 'debates')} "
        "Exact kappa: Cohen’s, mean of the criteria, "
        "over all labelled turns; an answer is right or wrong, and a missing verdict counts as "
        f"{missing_answer(report.criteria)}.",
        columns=[*heads, ["exact kappa", "with labels"], ["yes", "of labelled turns"]],
        tables=tables,
        base=base,
        **_pairs(report, MEAN, {part.key: part.title for part in measured}, report.debates),
    )


def _percent(share: float | None) -> str:
    return NONE if share is None else f"{fixed(100 * share, '.0f')} %"


def _errors(row: JudgementRow, criterion: Criterion) -> list[object]:
    """Return the errors of a run on a criterion; a count opens its turns."""
    values: list[object] = [criterion.title, number(row.value)]
    if criterion.answers.kind != "yes-no":
        return [*values, NONE, NONE]
    for verdict, label, count in (("yes", "no", row.fp), ("no", "yes", row.fn)):
        href = reader_link(run=row.run, maxim=row.maxim, verdict=verdict, label=label)
        values.append([count, "", href if row.run != BASELINE else ""])
    return values


def _against_baseline(report: JudgementReport | ShareReport, baseline: str) -> str:
    """Say who beats a baseline, and on which criteria the best run is better and worse.

    Empty if nothing is tested.
    """
    rows = [
        row
        for row in report.comparisons
        if row.against == baseline and row.measure == MEAN and row.p_holm is not None
    ]
    if not rows:
        return ""
    best = rows[0].run
    better = [row for row in rows if row.significant and row.difference > 0]
    groups: dict[str, list[str]] = {"better": [], "worse": []}
    for criterion in report.criteria:
        row = by_pair(report.comparisons, criterion.key)(best, baseline)
        if row:
            relation = "better" if row.difference > 0 else "worse"
            if not row.significant:
                relation = "not significantly different"
            groups.setdefault(relation, []).append(f"{criterion.title} ({signed(row.difference)})")
    subject = f"{len(better)} of {len(rows)} runs beat {baseline}; {best}"
    if not better:
        subject = f"No run beats {baseline}; {best}"
    elif len(rows) == 1:
        subject = f"{best} beats {baseline}"
    relations = [f"{relation} on {names_of(on)}" for relation, on in groups.items() if on]
    return "; ".join([f"{subject}: {words.tested(rows[0])}", *relations])


def _ranked_rows(report: Report, field: str) -> Iterator[tuple[Board, Sequence[Any]]]:
    """Yield a row for each run with its first measure, and its other measures."""
    for ranked in report.ranking:
        first, *others = (row for row in report.rows if row.run == ranked.run)
        yield _ranked_row(report, ranked, first, field), others


def _ranked_row(report: Report, ranked: RankedRun, row: Any, field: str = "value") -> Board:
    return {
        "run": ranked.run,
        "rank": ranked.rank,
        "place": report.rank_text(ranked),
        "baseline": report.is_baseline(ranked.run),
        "value": getattr(row, field),
        "low": row.low,
        "high": row.high,
    }


def _shares(report: ShareReport) -> Board:
    """Show the shares of yes of runs, by their judge or by people."""
    measured = answer_shares(report.criteria)
    measure = report.measure
    text = report.sentences()
    if not ranking_places(report.criteria):  # the first category stands in the place of the mean
        measure = measured.pop(0).key
    base = report.base if report.comparisons else ""
    sizes = report.labelled or report.debates
    rows = []
    for row, others in _ranked_rows(report, "yes"):
        shares: list[object] = [
            _difference(report, row["run"], base, part.maxim) if base else number(part.yes)
            for part in others
        ]
        if sizes:
            shares.append(str(sizes[row["run"]]))
        rows.append({**row, "cells": shares})
    heads = [
        [share.criterion.title, "− baseline" if base else share.category] for share in measured
    ]
    notes = page_table("Notes", ["note"], [[note] for note in report.notes])
    if sizes:
        heads.append(["labelled" if report.truth else "debates", ""])
    title = _against_baseline(report, base)
    of_labels = " with labels" if report.truth else ""
    of_turns = "the turns include missing ones; " if report.turns else ""
    pairs: Board = {}
    if not title and (report.not_ranked or len(report.runs) == len(report.baselines) + 1):
        title, *text = text
    if not report.not_ranked:
        names_of_shares = {part.key: f"{part.criterion.title} {part.category}" for part in measured}
        pairs = _pairs(report, MEAN, names_of_shares, report.claims)
    return board(
        title.rstrip(".") or lead(rows, measure),
        rows,
        measure,
        text=text,
        note=f"{count_of(report.claims, 'claim')}{of_labels}. Mean of the criteria; "
        f"{of_turns}{report.source}. {_drawn(report, 'claims')}",
        columns=heads,
        tables=[notes] if report.truth else [],
        base=base,
        **pairs,
    )


def _retrieval(report: RetrievalReport) -> Board:
    """Show TREC runs that are scored against qrels."""
    rows = []
    for row, others in _ranked_rows(report, "value"):
        texts = [f"{number(part.value)} {between(part.low, part.high)}" for part in others]
        rows.append({**row, "cells": texts})
    first, *others = report.measures
    return board(
        lead(rows, first),
        rows,
        first,
        text=report.sentences(),
        note=f"{count_of(report.queries, 'query', 'queries')}; a query without results counts as "
        f"0. {_drawn(report, 'queries')}",
        columns=[[measure, ""] for measure in others],
        base=report.base,
        **_pairs(report, first, {measure: measure for measure in others}, report.queries),
    )


def _boards_of_panels(report: ContestReport) -> Iterator[Board]:
    """Show panels that are scored against the winners of debates, by dimension."""
    note = f"{count_of(report.debates, 'debate')}. {_drawn(report, 'debates')}"
    if report.rows:
        note = f"Share with the right winner, of {note} A constant predictor names the same always."
    tables = []
    if report.biases:
        tables.append(_page_table("Biases of the winners", table(BIAS_COLUMNS, report.biases)))
        note += f" {BIASES.capitalize()}"
    if report.sides:
        tables.append(
            _page_table(
                "Scores of the sides against people's scores", table(SIDE_COLUMNS, report.sides)
            )
        )
    if not report.rows:
        tables.insert(0, _page_table("Who won", table(SHARE_COLUMNS, report.shares)))
        sentences = [*report.winners(), "The labels name no winner, so no panel has a score."]
        yield board(
            sentences[0].rstrip("."),
            [],
            "accuracy",
            text=sentences[1:],
            tables=tables,
            note=note,
        )
    for dimension, of_dimension in report.scored.items():
        rows = [
            {
                "run": row.label,
                "rank": row.rank,
                "place": row.rank_text,
                "baseline": row.basis == "constant",
                "value": row.accuracy,
                "low": row.accuracy_low,
                "high": row.accuracy_high,
                "cells": cells(_OF_PANELS, row),
            }
            for row in sorted(of_dimension, key=lambda row: -(row.accuracy or 0.0))
        ]
        yield board(
            f"{dimension}: {lead(rows, 'accuracy')}",
            rows,
            "accuracy",
            text=report.sentences(dimension)[1:],
            note=note,
            columns=[[head, ""] for head in _OF_PANELS.values()],
            tables=tables,
        )
        note = ""
        tables = []


def tournament_board(result: Tournament) -> Board:
    """Show the result of a tournament."""
    rows = [
        {
            "run": standing.name,
            "rank": standing.rank,
            "place": standing.rank_text,
            "baseline": False,
            "value": standing.rating,
            "low": standing.low,
            "high": standing.high,
            "cells": cells(COLUMNS, standing),
        }
        for standing in result.standings
    ]
    return board(
        lead(rows, "rating"),
        rows,
        "rating",
        digits=0,
        text=words.too_few("claims", result.claims),
        warnings=[
            *([] if result.judge_model else [say_without_model([result.judge])]),
            *result.fallbacks(),
        ],
        note=f"{'; '.join(result.notes())}. 1000 is average. {_drawn(result, 'claims')}",
        columns=[[head, ""] for head in COLUMNS.values()],
        matrix={
            "caption": "Share of wins of the row against the column, ties as halves; debates",
            "names": [standing.name for standing in result.standings],
            "rows": [
                list(zip(map(rounded_share, shares), met, strict=True))
                for shares, met in zip(result.shares, result.met, strict=True)
            ],
        },
    )
