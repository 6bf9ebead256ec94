"""Read a judge's run line by line, with its problems.

All that is valid is read, with the fault for which the official scorer refuses the run; `matching`
reports the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from pydantic import BaseModel, TypeAdapter, ValidationError

from touche_rad import files
from touche_rad.criteria import Answers, Criteria
from touche_rad.debate import Debate, Verdict, Verdicts
from touche_rad.errors import InputError, UserError
from touche_rad.files.criteria import criteria_of
from touche_rad.files.labels import digests
from touche_rad.files.models import lenient_text
from touche_rad.files.records import FieldError, JsonObject, numbered_lines, parse
from touche_rad.files.simulations import fallback_of, parse_simulation
from touche_rad.frozen import frozen
from touche_rad.score.result import ProblemKind
from touche_rad.text import count_words, shell_words

NO_SCORE = "the official scorer refuses such a run; without --strict it gets a score"
FILLED_IN: Final = "no verdict: it is missing in the run"
"""The fallback of a verdict that `check --fix` wrote where there was none."""
_number = TypeAdapter(float)

_WITHOUT_VERDICT: Final = {ProblemKind.MISSING_VERDICT, ProblemKind.NULL_SCORE}


class _Score(BaseModel):
    score: float


class _Turn(BaseModel):
    Quantity: _Score
    Quality: _Score
    Relation: _Score
    Manner: _Score


class _Line(BaseModel):
    """A line in the official scorer's format; other fields are ignored."""

    userTurnsEvaluations: list[_Turn]


DebateKey = tuple[str, str]
"""The claim and the id of a debate, by which the debates of several runs on it are known."""


def key_of(debate: Debate, line: int) -> DebateKey:
    """Return what a debate is on; an id that only says its line is none."""
    name = "" if debate.id == f"debate-{line}" else debate.id
    return debate.subject, name


@frozen
class ReadScore:
    """The score of one verdict, and its problem."""

    score: float | None
    """From 0 to 1; of a category, its place among the answers."""
    problem: ProblemKind | None = None
    detail: str = ""
    """The value in the file, if it is no number, and what is odd about it, if it is one."""


@frozen
class JudgedLine:
    """One line of a run. A debate without any verdict is lost."""

    line: int
    problem: ProblemKind | None = None
    fault: InputError | None = None
    """Why the official scorer refuses the line."""
    id: str = ""
    key: DebateKey = ("", "")
    """What the debate is on."""
    conversation: tuple[str, ...] = ()
    """A digest of each user turn with its response, answered or not."""
    words: tuple[int, ...] = ()
    """The number of words of the response, or of what is judged, in each turn."""
    answered: tuple[int, ...] = ()
    """The turns with a response; the official client judges only these."""
    turns: tuple[Mapping[str, ReadScore], ...] = ()
    """The verdicts on each turn, by the key of the criterion."""
    unknown: tuple[str, ...] = ()
    """The names of verdicts that are none of the criteria."""


@frozen
class Run:
    """A run that is matched with labels, without its blank lines."""

    name: str
    path: Path
    criteria: Criteria
    rows: Sequence[JudgedLine]
    blank: Sequence[int] = ()
    """The numbers of the blank lines."""
    fault: InputError | None = None
    """Why the official scorer refuses the run."""

    @property
    def conversations(self) -> tuple[tuple[str, ...], ...]:
        """The digests of the turns of each line."""
        return tuple(row.conversation for row in self.rows)

    @property
    def has_words(self) -> bool:
        """Whether any line has a debate to match by."""
        return any(self.conversations)


def how_to_repair(run: Path, *options: object) -> str:
    """Return the end of an error: the command that says how to repair a run."""
    return f"; {shell_words('touche-rad', 'check', run, *options)} says how to repair it"


def _official_fault(path: Path, number: int, line: str) -> InputError | None:
    """Return why the official scorer refuses a line."""
    try:
        _Line.model_validate_json(line)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        broken = first["type"] == "json_invalid" and line.strip()[:1] not in ("", "\ufeff")
        fix = how_to_repair(path) if broken else f": {NO_SCORE}"
        field = ".".join(map(str, first["loc"])) or None
        return InputError(path, first["msg"] + fix, line=number, field=field)
    return None


def read_evaluated(tag: str, path: Path, criteria: Criteria, bad: files.BadLines | None) -> Run:
    """Read evaluations; other files are refused before bad lines."""
    skipped = files.BadLines(skip=True)
    # A file of another kind gets one error, and not one for its first line.
    rows = [row for row, _ in _rows(path, criteria, skipped)]
    if not any(row.turns for row in rows):
        kind = files.detect_kind(path)
        if kind is not files.Kind.EVALUATIONS:  # else all its debates are lost
            raise InputError(path, f"expected verdicts, got {files.with_reader(path, kind)}")
    criteria_of(criteria, path)  # refuses others
    # Read again, so that the caller learns of bad lines.
    if skipped.count:
        rows = [row for row, _ in _rows(path, criteria, bad or files.BadLines())]
    blank = [row.line for row in rows if row.problem is ProblemKind.BLANK]
    present = [row for row in rows if row.problem is not ProblemKind.BLANK]
    fault = next((row.fault for row in rows if row.fault), None)
    return Run(tag, path, criteria, present, blank, fault)


def read_judged(
    path: Path, criteria: Criteria, bad: files.BadLines
) -> Iterator[tuple[Debate, tuple[Verdicts, ...]]]:
    """Yield each debate with its verdicts, read like a run that is scored; a lost one is empty."""
    for row, record in _rows(path, criteria, bad):
        if row.problem is ProblemKind.BLANK:
            continue
        if row.problem:
            yield Debate(), ()
            continue
        debate = debate_of(record)
        verdicts_of_turns: list[Verdicts] = []
        for scores, turn in zip(row.turns, verdicts_of(record), strict=True):
            verdicts = {}
            for criterion, name in zip(criteria, criteria.names, strict=True):
                read = scores[criterion.key]
                if read.problem is ProblemKind.MISSING_VERDICT:
                    continue
                record_of_verdict = turn[name]
                is_category = criterion.answers.kind == "categories"
                verdicts[criterion.key] = Verdict(
                    score=None if is_category else read.score,
                    answer=criterion.answers.parse(record_of_verdict.get("answer")),
                    rationale=lenient_text(record_of_verdict.get("explanation")),
                    fallback=fallback_of(record_of_verdict),
                )
            verdicts_of_turns.append(verdicts)
        fields = {"id": debate.id or f"debate-{row.line}", "wire": {"record": record}}
        yield debate.model_copy(update=fields), tuple(verdicts_of_turns)


def _rows(
    path: Path, criteria: Criteria, bad: files.BadLines
) -> Iterator[tuple[JudgedLine, JsonObject]]:
    """Yield each line with its record; a skipped line keeps its place."""
    last = 0
    for number, line in numbered_lines(path, bad, verbatim=True):
        # Lines that are no UTF-8 were skipped: labels are positions, so each keeps its place.
        for skipped in range(last + 1, number):
            yield JudgedLine(skipped, ProblemKind.BAD_LINE), {}
        last = number
        fault = _official_fault(path, number, line)
        if not line.strip():
            yield JudgedLine(number, ProblemKind.BLANK, fault), {}
            continue
        try:
            # A byte order mark does no harm here; the official scorer refuses it.
            record = parse(line.removeprefix("\ufeff"))
            if not isinstance(record, dict):
                raise FieldError("", f"expected an object, got {type(record).__name__}")
        except FieldError as error:
            message = f"not a line of an evaluations file: {error}"
            if not bad.skip:
                message += f"{how_to_repair(path)} (score and report have --skip-bad)"
            bad.report(InputError(path, message, line=number))
            yield JudgedLine(number, ProblemKind.BAD_LINE, fault), {}
            continue
        if not record:
            yield JudgedLine(number, ProblemKind.LOST, fault), {}
            continue

        debate = debate_of(record)
        scores = []
        unknown: list[str] = []
        for turn in verdicts_of(record):
            scores_of_turn = {}
            for criterion, name in zip(criteria, criteria.names, strict=True):
                verdict = object_of(turn.get(name))
                scores_of_turn[criterion.key] = _read_score(verdict, criterion.answers)
            scores.append(scores_of_turn)
            # A verdict under another name may be a misspelt criterion.
            others = turn.keys() - set(criteria.names)
            unknown += [name for name in others if "score" in object_of(turn[name])]
        problems = {read.problem for turn in scores for read in turn.values()}
        is_lost = object_of(record.get("simulation")).get("userTurns") == [] or not (
            unknown or problems - _WITHOUT_VERDICT
        )
        texts = [turn.utterance for turn in debate.turns]
        if criteria.unit == "response":
            texts = [turn.answer for turn in debate.turns]
        row = JudgedLine(
            line=number,
            problem=ProblemKind.LOST if is_lost else None,
            fault=fault,
            id=debate.id,
            key=key_of(debate, number),
            conversation=digests(debate, criteria.unit),
            words=tuple(map(count_words, texts)),
            answered=tuple(at for at, turn in enumerate(debate.turns) if turn.response),
            turns=tuple(scores),
            unknown=tuple(unknown),
        )
        yield row, record


def criteria_of_all(chosen: Criteria | None, runs: Iterable[Path], truth: Path) -> Criteria:
    """Return the criteria of labels: those that are chosen, or that a run or the labels name."""
    for run in runs:
        with suppress(UserError):  # a run that cannot be read, or has others, is reported later
            return criteria_of(chosen, run, truth)
    return criteria_of(chosen, truth)


def debate_of(record: JsonObject) -> Debate:
    """Read the debate of a record; it has no turns where it cannot be read."""
    try:
        return parse_simulation(record)
    except FieldError:
        return Debate()


def verdicts_of(record: JsonObject) -> list[JsonObject]:
    """Return the records of the turns' verdicts, empty where there are none."""
    return objects_of(record.get("userTurnsEvaluations"))


def objects_of(value: object) -> list[JsonObject]:
    """Return the objects of a list, empty ones for others; of anything else, none."""
    return [object_of(element) for element in value] if isinstance(value, list) else []


def object_of(value: object) -> JsonObject:
    """Return an object; of anything else, an empty one."""
    return value if isinstance(value, dict) else {}


def _read_score(verdict: JsonObject, answers: Answers) -> ReadScore:
    answer = verdict.get("answer")
    if answer is not None and (answers.kind != "yes-no" or "score" not in verdict):
        value = answers.parse(answer)
        if value is None:
            return ReadScore(None, ProblemKind.BAD_SCORE, repr(answer)[:40])
        score = answers.score(value)
        return ReadScore(answers.names.index(str(value)) if score is None else score)
    if "score" not in verdict or fallback_of(verdict) == FILLED_IN:
        return ReadScore(None, ProblemKind.MISSING_VERDICT)
    score = verdict["score"]
    if score is None or answers.kind == "categories":
        return ReadScore(None, ProblemKind.NULL_SCORE)
    try:
        number = _number.validate_python(score)
    except ValidationError:
        return ReadScore(None, ProblemKind.BAD_SCORE, repr(score)[:40])
    if isinstance(score, str):
        detail = f"a score in quotes, read as the number {number},"
        return ReadScore(number, ProblemKind.ODD_SCORE, detail)
    if isinstance(score, bool) or not 0 <= number <= 1:
        detail = f"{score!r:.40} is no number from 0 to 1, and"
        return ReadScore(number, ProblemKind.ODD_SCORE, detail)
    return ReadScore(number)
