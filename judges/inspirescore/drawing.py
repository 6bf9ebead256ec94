"""An outcome in the report: each fact with its verdict, each conclusion with both verdicts.

Outcomes come from a file, so parts with an unexpected form are skipped and every text is escaped.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, Template

from touche_rad.contest import Outcome


def drawing(outcome: Outcome) -> str:
    """Return what was checked, by response, as HTML; nothing if nothing was checked."""
    responses = []
    for one in _objects(outcome.details, "responses"):
        checked = {key: _objects(one, key) for key in ("facts", "premises", "conclusions")}
        if any(checked.values()):
            responses.append({"speaker": one.get("speaker"), "round": one.get("round"), **checked})
    if not responses:
        return ""
    logic = outcome.details.get("logic")
    return _template().render(responses=responses, logic=_agreement(logic))


def _agreement(logic: Any) -> dict[str, Any]:
    """Return the scores of logic by the model and by the solver, and how often they agree."""
    if not isinstance(logic, Mapping):
        return {}
    scores = {
        by: [
            (speaker, f"{score:.2f}" if isinstance(score, int | float) else None)
            for speaker, score in of.items()
        ]
        for by in ("model", "solver")
        if isinstance(of := logic.get(by), Mapping)
    }
    return {"scores": scores, "agree": logic.get("agree"), "conclusions": logic.get("conclusions")}


@cache
def _template() -> Template:
    text = files(__package__).joinpath("drawing.html.jinja").read_text("utf-8")
    jinja = Environment(
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: "–" if value is None else value,
    )
    return jinja.from_string(text)


def _objects(of: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    value = of.get(key)
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []
