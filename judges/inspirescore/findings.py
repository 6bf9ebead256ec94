"""What the three ways of judging have found, before anything is added up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from judges.inspirescore.facts import Checked
from judges.inspirescore.logic import Formalised
from judges.inspirescore.responses import Response, Speaker
from judges.inspirescore.subjective import Scored


@dataclass
class Findings:
    """The speakers, what they said, and what became of it."""

    speakers: tuple[Speaker, ...]
    responses: tuple[Response, ...]
    scored: Sequence[Scored] = ()
    checked: Sequence[Checked] = ()
    source_faults: tuple[str, ...] = ()
    formalised: Sequence[Formalised] = ()
