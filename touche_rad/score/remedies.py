"""What makes a run valid: its repair, or a new run, and what has to be done to its input first.

The repair is tried on copies, so that it is known what it leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from touche_rad.errors import InputProblem, UserError
from touche_rad.files import Kind, detect_kind
from touche_rad.files.records import refuse_links_out
from touche_rad.frozen import frozen
from touche_rad.score.findings import (
    MISSING,
    OTHER_NUMBER,
    OTHER_ORDER,
    TWICE,
    Validation,
)
from touche_rad.score.repair import MISSING_SCORE, repair
from touche_rad.score.validation import check

OF_ORDER = {TWICE, OTHER_ORDER, OTHER_NUMBER}
"""What a repair mends only with the input, which tells which copy of a debate is too many."""
_LOST = {MISSING, InputProblem.EMPTY_RECORD, MISSING_SCORE}
"""What a repair mends only by verdicts that nobody gave; of debates also only with the input."""


@frozen
class Remedy:
    """What makes a run valid."""

    source: Validation
    """The input of the run; it is checked only if it has debates that were judged."""
    claims: Path | None
    """The claims that these debates have to be on, if the user names them."""
    repairs_source: bool
    """Whether the judged debates have to be repaired before the run."""
    renews_source: bool
    """Whether the judged debates lost something, which only a new run of them has."""
    mended: Collection[str]
    """What a repair of the run mends."""
    remaining: Sequence[str]
    """The kinds of faults of the repaired run."""
    suffices: bool
    """Whether a repair does all that a new run would do: it writes a no for no missing verdict."""


def find_remedy(
    result: Validation,
    verb: str,
    source: Path,
    given_input: Path | None,
    check_run: Callable[[Path], Validation],
) -> Remedy:
    """Find out what makes a run valid.

    Args:
        result: The result of its check.
        verb: The command that made it.
        source: The input of this command.
        given_input: The input that the user names: that of the run, or the claims of its debates.
        check_run: Checks a copy of the run.
    """
    run = Path(result.path)
    has_claims = result.has_claims_as_input or (
        given_input and detect_kind(given_input) is Kind.CLAIMS
    )
    claims = given_input if verb == "judge" and has_claims else None
    if not claims:
        source = given_input or source

    judged = Validation(str(source))
    readable: Path | None = None
    with suppress(UserError):
        # The status may be a stranger's: an input that only it names is read in its folder only.
        if source != given_input:
            refuse_links_out(run.parent, [source])
        if verb == "judge":
            judged = check(source, source=claims, words=0)
        readable = source if source.is_file() else None
    repairs_source = TWICE in judged.faults or bool(claims and not (readable and judged.valid))
    if repairs_source:  # the run is not compared with it before
        readable = None

    mended: set[str] = set()
    remaining = {*result.faults}
    with suppress(UserError), TemporaryDirectory() as folder:
        repaired = repair(run, readable)
        copy = Path(folder, "run.jsonl")
        repaired.write(copy)
        mended = {*repaired.done}
        remaining = {*check_run(copy).faults, *result.unfit}
        if not readable:
            mended |= remaining & (OF_ORDER | _LOST)
            remaining -= OF_ORDER
            if result.kind == Kind.EVALUATIONS:  # they may lack debates, which are written as lost
                remaining -= _LOST
    return Remedy(
        judged,
        claims,
        repairs_source,
        judged.lost > 0 or MISSING in judged.faults,
        mended,
        sorted(remaining),
        not remaining and not mended & _LOST,
    )
