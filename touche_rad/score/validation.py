"""Whether a run can be handed in: what the platform's checks look at, and what they do not.

A fault is what loses a debate or a score there; a warning is what people will mark down.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from touche_rad import files
from touche_rad.debate import Debate, Maxim, Response
from touche_rad.errors import InputError
from touche_rad.files import Evaluation, Kind
from touche_rad.plugins import ArgumentIndex
from touche_rad.text import count_words

WORDS = 60
_ENDINGS = (".jsonl", ".jsonl.gz")
"""What TIRA takes for the run in an output folder."""


@dataclass(frozen=True)
class Issue:
    """Something that is wrong at a place."""

    path: str
    line: int | None
    told: str
    level: Literal["fault", "warning"] = "fault"

    def __str__(self) -> str:
        place = self.path if self.line is None else f"{self.path}:{self.line}"
        return f"{place}: {'' if self.level == 'fault' else 'warning: '}{self.told}"


@dataclass
class Validation:
    """What was looked at, and what was found."""

    path: str
    kind: str = ""
    debates: int = 0
    turns: int = 0
    findings: list[Issue] = field(default_factory=list)

    @property
    def good(self) -> bool:
        """Whether nothing is in the way of handing it in."""
        return not any(one.level == "fault" for one in self.findings)

    def record(self) -> dict[str, Any]:
        """Return it for a program."""
        return {**asdict(self), "good": self.good}


class _All(files.BadLines):
    """Takes note of every bad line, and goes on."""

    def __init__(self) -> None:
        super().__init__(skip=True)
        self.errors: list[InputError] = []

    def report(self, error: InputError) -> None:
        super().report(error)
        self.errors.append(error)


def check(
    run: Path,
    *,
    source: Path | None = None,
    index: ArgumentIndex | None = None,
    words: int = WORDS,
) -> Validation:
    """Look at every line of a run.

    Args:
        run: The run: simulations, responses or evaluations; or the folder that is handed in, which
            has one.
        source: What it was made of, so that missing and additional debates are told.
        index: Where every cited argument must stand.
        words: The most words of a response; 0 counts none.
    """
    if run.is_dir():
        handed_in = [one for one in sorted(run.iterdir()) if one.name.endswith(_ENDINGS)]
        if len(handed_in) != 1:
            names = ", ".join(one.name for one in handed_in) or "none"
            told = f"expected exactly one *.jsonl, found {names}"
            return Validation(str(run), findings=[Issue(str(run), None, told)])
        run = handed_in[0]
    found = Validation(str(run))
    bad = _All()
    try:
        kind = files.detect_kind(run)
        found.kind = kind.value
        lines = list(files.read_numbered(run, bad))
    except InputError as error:
        return Validation(str(run), findings=[Issue(str(run), error.line, _told(error))])
    found.findings += [Issue(str(run), error.line, _told(error)) for error in bad.errors]
    seen: set[str] = set()
    for number, debate, evaluation in lines:
        found.debates += 1
        found.turns += len(debate.turns)
        for told, level in _of(kind, debate, evaluation, index, words):
            found.findings.append(Issue(str(run), number, told, level))
        if debate.id and debate.id in seen and kind is not Kind.RESPONSES:
            found.findings.append(Issue(str(run), number, f"debate {debate.id} is there twice"))
        seen.add(debate.id)
    if source is not None and kind is not Kind.RESPONSES:
        found.findings += _beside(run, lines, source)
    found.findings.sort(key=lambda one: one.line or 0)
    return found


_Told = tuple[str, Literal["fault", "warning"]]


def _of(
    kind: Kind,
    debate: Debate,
    evaluation: Evaluation | None,
    index: ArgumentIndex | None,
    words: int,
) -> Iterator[_Told]:
    if not debate.turns:
        yield "the debate has no turn", "fault"
    if evaluation is not None:
        yield from _verdicts(debate, evaluation)
        return
    only_last = kind is Kind.RESPONSES
    for turn, said in enumerate(debate.turns, 1):
        if only_last and turn < len(debate.turns):
            continue
        if said.response is None:
            yield f"turn {turn}: there is no answer", "fault"
            continue
        for told, level in _answer(said.response, index, words):
            yield f"turn {turn}: {told}", level


def _answer(response: Response, index: ArgumentIndex | None, words: int) -> Iterator[_Told]:
    if not response.content.strip():
        yield "the answer is empty", "fault"
    count = count_words(response.content)
    if words and count > words:
        yield f"the answer has {count} words, at most {words} are allowed", "fault"
    if not response.arguments:
        yield "nothing is cited", "warning"
    ids = [one.id for one in response.arguments]
    if len(set(ids)) < len(ids):
        yield "an argument is cited twice", "warning"
    for one in response.arguments:
        own = index.get(one.id) if index is not None else one
        if own is None:
            yield f"the cited argument {one.id!r} is not in the index", "fault"
        elif own.text != one.text:
            yield f"the cited argument {one.id!r} has another text in the index", "fault"


def _verdicts(debate: Debate, evaluation: Evaluation) -> Iterator[_Told]:
    answered = sum(turn.response is not None for turn in debate.turns)
    if len(evaluation.turns) != answered:
        yield f"{len(evaluation.turns)} turns are judged, and {answered} are answered", "fault"
    for turn, verdicts in enumerate(evaluation.turns, 1):
        for maxim in Maxim:
            verdict = verdicts.get(maxim)
            score = verdict.score if verdict is not None else None
            if score is None:
                yield f"turn {turn}: {maxim.key} has no score", "fault"
            elif not 0 <= score <= 1:
                yield f"turn {turn}: {maxim.key} has the score {score:g}, not 0 to 1", "fault"
            elif verdict is not None and verdict.rationale.startswith("no verdict"):
                yield f"turn {turn}: {maxim.key} stands in for a verdict", "warning"


def _beside(
    run: Path, lines: list[tuple[int, Debate, Evaluation | None]], source: Path
) -> Iterator[Issue]:
    """Compare the debates with those of the input, place by place."""
    kind = files.detect_kind(source)
    wanted = list(files.read_claims(source) if kind is Kind.CLAIMS else files.read_debates(source))
    if len(wanted) != len(lines):
        yield Issue(str(run), None, f"{len(lines)} debates, and {source} has {len(wanted)}")
    for (number, debate, _), given in zip(lines, wanted, strict=False):
        if debate.claim and given.claim and debate.claim != given.claim:
            told = f"another debate than {source} has here: {given.claim[:60]!r}"
            yield Issue(str(run), number, told)


def _told(error: InputError) -> str:
    return ": ".join(part for part in (error.field, error.expected) if part)
