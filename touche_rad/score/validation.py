"""Check a run before it is submitted: TIRA's own checks, and what people and scorers will notice.

A fault loses a debate or a score; a warning makes an answer or a verdict worse.
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
"""The files that TIRA accepts as the run in an output folder."""

Level = Literal["fault", "warning"]


@dataclass(frozen=True)
class Issue:
    """A fault or warning with its place."""

    path: str
    line: int | None
    message: str
    level: Level = "fault"

    def __str__(self) -> str:
        place = self.path if self.line is None else f"{self.path}:{self.line}"
        return f"{place}: {'' if self.level == 'fault' else 'warning: '}{self.message}"


@dataclass
class Validation:
    """The counts and issues of a run."""

    path: str
    kind: str = ""
    debates: int = 0
    turns: int = 0
    findings: list[Issue] = field(default_factory=list)

    @property
    def good(self) -> bool:
        """Whether there is no fault."""
        return not any(one.level == "fault" for one in self.findings)

    def record(self) -> dict[str, Any]:
        """Return the result as JSON values."""
        return {**asdict(self), "good": self.good}

    def add(self, line: int | None, message: str, level: Level = "fault") -> None:
        """Add an issue."""
        self.findings.append(Issue(self.path, line, message, level))

    def add_error(self, error: InputError) -> None:
        """Add a line that cannot be read."""
        self.add(error.line, ": ".join(filter(None, (error.field, error.expected))))


class _Collected(files.BadLines):
    """Adds each invalid line to the result."""

    def __init__(self, result: Validation) -> None:
        super().__init__(skip=True)
        self.result = result

    def report(self, error: InputError) -> None:
        super().report(error)
        self.result.add_error(error)


def check(
    run: Path,
    *,
    source: Path | None = None,
    index: ArgumentIndex | None = None,
    words: int = WORDS,
) -> Validation:
    """Check every line of a run.

    Args:
        run: Simulations, responses or evaluations, or the output folder that contains one run.
        source: The input of the run, to report missing and additional debates.
        index: The index that must contain each cited argument.
        words: Maximum words of a response; 0 = no limit.
    """
    if run.is_dir():
        runs = [one for one in sorted(run.iterdir()) if one.name.endswith(_ENDINGS)]
        if len(runs) != 1:
            result = Validation(str(run))
            names = ", ".join(one.name for one in runs) or "none"
            result.add(None, f"expected exactly one *.jsonl, found {names}")
            return result
        run = runs[0]
    result = Validation(str(run))
    try:
        kind = files.detect_kind(run)
        result.kind = kind.value
        lines = list(files.read_numbered(run, _Collected(result)))
    except InputError as error:
        result.findings.clear()
        result.add_error(error)
        return result
    seen: set[str] = set()
    for number, debate, evaluation in lines:
        result.debates += 1
        result.turns += len(debate.turns)
        for message, level in _issues(kind, debate, evaluation, index, words):
            result.add(number, message, level)
        if debate.id and debate.id in seen and kind is not Kind.RESPONSES:
            result.add(number, f"debate {debate.id} is there twice")
        seen.add(debate.id)
    if source is not None and kind is not Kind.RESPONSES:
        _compare_with_input(result, lines, source)
    result.findings.sort(key=lambda one: one.line or 0)
    return result


def _issues(
    kind: Kind,
    debate: Debate,
    evaluation: Evaluation | None,
    index: ArgumentIndex | None,
    words: int,
) -> Iterator[tuple[str, Level]]:
    if not debate.turns:
        yield "the debate has no turn", "fault"
    if evaluation is not None:
        yield from _verdict_issues(debate, evaluation)
        return
    first = len(debate.turns) if kind is Kind.RESPONSES else 1
    for number, turn in enumerate(debate.turns, 1):
        if number >= first:
            for message, level in _answer_issues(turn.response, index, words):
                yield f"turn {number}: {message}", level


def _answer_issues(
    response: Response | None, index: ArgumentIndex | None, words: int
) -> Iterator[tuple[str, Level]]:
    if response is None:
        yield "there is no answer", "fault"
        return
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


def _verdict_issues(debate: Debate, evaluation: Evaluation) -> Iterator[tuple[str, Level]]:
    answered = sum(turn.response is not None for turn in debate.turns)
    if len(evaluation.turns) != answered:
        yield f"{len(evaluation.turns)} turns are judged, and {answered} are answered", "fault"
    for turn, verdicts in enumerate(evaluation.turns, 1):
        for maxim in Maxim:
            verdict = verdicts.get(maxim)
            if verdict is None or verdict.score is None:
                yield f"turn {turn}: {maxim.key} has no score", "fault"
            elif not 0 <= verdict.score <= 1:
                score = f"{verdict.score:g}"
                yield f"turn {turn}: {maxim.key} has the score {score}, not 0 to 1", "fault"
            elif verdict.rationale.startswith("no verdict"):
                yield f"turn {turn}: {maxim.key} stands in for a verdict", "warning"


def _compare_with_input(
    result: Validation, lines: list[tuple[int, Debate, Evaluation | None]], source: Path
) -> None:
    """Compare the debates with those of the input, line by line."""
    claims = files.detect_kind(source) is Kind.CLAIMS
    wanted = list(files.read_claims(source) if claims else files.read_debates(source))
    if len(wanted) != len(lines):
        result.add(None, f"{len(lines)} debates, and {source} has {len(wanted)}")
    for (number, debate, _), given in zip(lines, wanted, strict=False):
        if debate.claim and given.claim and debate.claim != given.claim:
            result.add(number, f"another debate than {source} has here: {given.claim[:60]!r}")
