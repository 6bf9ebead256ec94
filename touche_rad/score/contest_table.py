"""A report on whole debates as lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from touche_rad.score.contest_report import BiasRow, ContestReport, ContestRow
from touche_rad.score.table import aligned

_NONE = "–"
_CORRELATIONS = ("Pearson", "Spearman", "Kendall")
_BASES = {"winner": "winner named", "score": "winner by scores", "constant": "looks at nothing"}


def lines(report: ContestReport) -> list[str]:
    """Lay a report out."""
    parts = [
        [f"{report.truth}: {report.debates} debates",
         *(["errors are against each vote"] if report.against == "votes" else []),
         f"95 % intervals from {report.samples} draws of debates, seed {report.seed}"],
        *(_dimension(report, name) for name in dict.fromkeys(row.dimension for row in report.rows)),
        list(_biases(report)), list(_same(report)), list(_published(report)),
        [f"{run}: {len(lost)} of {report.debates} debates were not judged, first {lost[0]}"
         for run, lost in report.missing.items()],
    ]  # fmt: skip
    return [line for part in parts if part for line in (*part, "")][:-1]


def _dimension(report: ContestReport, name: str) -> list[str]:
    rows = [row for row in report.rows if row.dimension == name]
    head = (name, "", "debates", "done", "accuracy", "95 %", "of done", "RMSE", "95 %", "MAE",
            "Pearson", "Spearman", "Kendall")  # fmt: skip
    return aligned([head, *map(_row, rows)])


def _row(row: ContestRow) -> tuple[str, ...]:
    return (
        row.run, _BASES[row.basis], str(row.debates), _percent(row.completed),
        _percent(row.accuracy), _range(row.accuracy_low, row.accuracy_high, 100),
        _percent(row.accuracy_completed), _number(row.rmse), _range(row.rmse_low, row.rmse_high),
        _number(row.mae), _number(row.pearson, 3), _number(row.spearman, 3),
        _number(row.kendall, 3),
    )  # fmt: skip


def _biases(report: ContestReport) -> Iterator[str]:
    head = ("what else winners go by", "con wins", "(truth)", "last speaker", "(truth)",
            "who said most", "(truth)", "swapped", "other winner", "side wins")  # fmt: skip
    if report.biases:
        yield from aligned([head, *map(_bias, report.biases)])


def _bias(row: BiasRow) -> tuple[str, ...]:
    return (
        row.run, _percent(row.con), _percent(row.con_gold), _percent(row.last),
        _percent(row.last_gold), _percent(row.longest), _percent(row.longest_gold),
        str(row.swapped), _percent(row.flipped), _percent(row.stays_with_side),
    )  # fmt: skip


def _same(report: ContestReport) -> Iterator[str]:
    if report.same:
        rows = [(f"{one.first} and {one.second}", str(one.debates), _percent(one.same),
                 _number(one.kappa, 3)) for one in report.same]  # fmt: skip
        yield from aligned([("agreement", "debates", "same winner", "kappa"), *rows])


def _published(report: ContestReport) -> Iterator[str]:
    if report.published:
        yield "Published by the papers, on their data with their models; theirs, not measured here:"
        measures = dict.fromkeys(one.measure for one in report.published)
        rows: dict[tuple[str, ...], dict[str, str]] = {}
        for one in report.published:
            key = (one.system, one.data, one.dimension, one.paper)
            digits = 3 if one.measure in _CORRELATIONS else 2
            rows.setdefault(key, {})[one.measure] = f"{one.value:.{digits}f}"
        yield from aligned([
            ("system", "data", "dimension", *measures, "where"),
            *((*key[:3], *(told.get(name, "") for name in measures), key[3])
              for key, told in rows.items()),
        ])  # fmt: skip


def _number(value: float | None, digits: int = 2) -> str:
    return _NONE if value is None else f"{value:.{digits}f}"


def _percent(value: float | None) -> str:
    return _NONE if value is None else f"{100 * value:.1f} %"


def _range(low: float | None, high: float | None, times: float = 1) -> str:
    return _NONE if low is None or high is None else f"{times * low:.1f} to {times * high:.1f}"
