"""Tables of `train judge` and `train jury`: scores on debates that the weights had not seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from touche_rad.cli.tables import Column, render_table
from touche_rad.debate import Maxim

_OF_JUDGE: Final = (
    ("F1", "f1"),
    ("precision", "precision"),
    ("recall", "recall"),
    ("error", "error"),
    ("always yes", "always_yes_f1"),
    ("grounded", "model_free_f1"),
)
_OF_JURY: Final = ("jury", "equal weights", "best juror", "always yes", "majority")


def judge_lines(result: Mapping[str, Any]) -> list[str]:
    """Return the scores of fitted weights, with and without the model.

    Args:
        result: For "with_model" and "without_model", the report of each maxim.
    """
    lines: list[str] = []
    for name, report in result.items():
        rows = [
            [maxim.value, str(of["turns"]), *(_number(of[key]) for _, key in _OF_JUDGE)]
            for maxim, of in _by_maxim(report)
        ]
        lines += [*_table(name.replace("_", " "), ["turns", *(one for one, _ in _OF_JUDGE)], rows)]
    return [
        *lines,
        "On held-out debates. error: of the calibration. always yes, grounded: their F1.",
    ]


def jury_lines(result: Mapping[str, Any]) -> list[str]:
    """Return the jury's F1 and kappa beside equal weights, its best judge, and the baselines."""
    lines = [str(result["how"])]
    for measure, key in (("F1", "f1"), ("kappa", "kappa")):
        rows = [
            [maxim.value, str(of["turns"]), *(_number(of[name][key]) for name in _OF_JURY)]
            for maxim, of in _by_maxim(result)
        ]
        lines += _table(measure, ["turns", *_OF_JURY], rows)
    return [*lines, "On held-out debates. The weights file has each judge's scores and abstention."]


def _by_maxim(report: Mapping[str, Any]) -> list[tuple[Maxim, Mapping[str, Any]]]:
    return [(maxim, report[maxim.value]) for maxim in Maxim if maxim.value in report]


def _table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    heads = [Column(title), *(Column(name, right=True) for name in columns)]
    return [*render_table(heads, rows), ""]


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
