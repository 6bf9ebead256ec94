"""An outcome on the report's page: each fact with its verdict, each conclusion with both verdicts.

Outcomes come from a file: whatever is not as the panel writes it is passed over, and every text is
escaped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from touche_rad.contest import Outcome


def shown(outcome: Outcome) -> str:
    """Return what was checked, by response; nothing where nothing was."""
    blocks = [_response(one) for one in _objects(outcome.details, "responses")]
    rows = "".join(block for block in blocks if block)
    if not rows:
        return ""
    return (
        '<details class="asked"><summary>What was checked: facts by what was found, logic by the '
        f"model and by a solver</summary>{_both(outcome.details)}{rows}</details>"
    )


def _both(details: Mapping[str, Any]) -> str:
    """Logical validity by either, and how often they agree."""
    logic = details.get("logic")
    if not isinstance(logic, Mapping):
        return ""
    lines = [
        f"{by}: {', '.join(f'{_text(who)} {_share(score)}' for who, score in of.items())}"
        for by in ("model", "solver")
        if isinstance(of := logic.get(by), Mapping)
    ]
    agree, whole = logic.get("agree"), logic.get("conclusions")
    lines.append(f"they agree on {_text(agree)} of {_text(whole)} conclusions")
    return f"<p>Logical validity by the {'; by the '.join(lines[:-1])}; {lines[-1]}.</p>"


def _response(one: Mapping[str, Any]) -> str:
    facts = "".join(
        f"<tr><td>{_text(fact.get('fact'))}</td><td>{_text(fact.get('verdict'))}</td></tr>"
        for fact in _objects(one, "facts")
    )
    conclusions = "".join(
        f"<tr><td><code>{_text(its.get('formula'))}</code> {_text(its.get('meaning'))}</td>"
        f"<td>{_text(its.get('model'))}</td><td>{_text(its.get('solver'))}</td></tr>"
        for its in _objects(one, "conclusions")
    )
    told = "".join([
        _table(("fact", "verdict"), facts), _premises(one),
        _table(("conclusion", "by the model", "by the solver"), conclusions),
    ])  # fmt: skip
    head = f"{_text(one.get('speaker'))}, round {_text(one.get('round'))}"
    return f'<p class="who">{head}</p>{told}' if told else ""


def _premises(one: Mapping[str, Any]) -> str:
    told = "; ".join(
        f"<code>{_text(its.get('formula'))}</code>" for its in _objects(one, "premises")
    )
    return f"<p>Premises: {told}</p>" if told else ""


def _table(heads: tuple[str, ...], rows: str) -> str:
    if not rows:
        return ""
    head = "".join(f"<th>{name}</th>" for name in heads)
    return (
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'
        "</div>"
    )


def _objects(of: Mapping[str, Any], key: str) -> Iterator[Mapping[str, Any]]:
    told = of.get(key)
    yield from (one for one in (told if isinstance(told, list) else []) if isinstance(one, Mapping))


def _share(score: Any) -> str:
    return f"{score:.2f}" if isinstance(score, int | float) else "–"


def _text(value: Any) -> str:
    return "–" if value is None else escape(str(value))
