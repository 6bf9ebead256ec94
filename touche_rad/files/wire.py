"""What a file said of a debate besides, kept with it, so that writing it back loses nothing.

It lies in `Debate.wire`: the record as it stood, and the debate as it was read from it. What is
the same still stands as it stood; what has changed since is written anew.
"""

from __future__ import annotations

from typing import Any

from touche_rad.debate import Debate
from touche_rad.files.record import Record

ANNOTATED, SIMULATIONS = "annotated", "simulations"


def keeping(debate: Debate, kind: str, record: Record, turn: int = 0) -> Debate:
    """Return the debate with the record it was read from."""
    wire = {"kind": kind, "record": record, "read": debate, "turn": turn}
    return debate.model_copy(update={"wire": wire})


def kept_record(debate: Debate, kind: str) -> Record | None:
    """Return the record it was read from, if that was of this kind."""
    return debate.wire["record"] if debate.wire.get("kind") == kind else None


def as_read(debate: Debate) -> Debate:
    """Return the debate as it was read, or itself."""
    read: Debate = debate.wire.get("read", debate)
    return read


_SAID = ("debate", "simulated_debate", "simulation", "userTurnsEvaluations")
_NAMED = frozenset(("id", "claim", "description", *_SAID))


def unnamed(debate: Debate, kind: str) -> Record:
    """Return what a record of this kind had at its top that no kind of record has a name for."""
    record = kept_record(debate, kind) or {}
    return {key: value for key, value in record.items() if key not in _NAMED}


def same(then: Any, now: Any) -> bool:
    """Whether nothing has changed, seen without looking inside where it is the very object."""
    return then is now or bool(then == now)
