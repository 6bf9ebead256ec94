"""Check a run before it is submitted: TIRA's own checks, and what people and scorers will notice.

A fault loses a debate or a score; a warning makes an answer or a verdict worse.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from itertools import chain
from operator import attrgetter
from pathlib import Path
from textwrap import shorten
from typing import Any, Final, Literal

from touche_rad import files
from touche_rad.criteria import Criteria
from touche_rad.debate import Debate, Turn
from touche_rad.errors import InputError, InputProblem, UserError
from touche_rad.events import EventKind
from touche_rad.evidence.instructions import flags
from touche_rad.files import Evaluation, Kind
from touche_rad.files.criteria import criteria_of
from touche_rad.files.labels import digests
from touche_rad.files.outputs import (
    OTHER_STATUS,
    Result,
    changes_of_answers,
    count_replaced,
    read_status,
    why_no_status,
)
from touche_rad.files.records import JOURNAL, original_record, records
from touche_rad.files.simulations import SIMULATIONS, fallback_of
from touche_rad.frozen import frozen
from touche_rad.plugins import ArgumentIndex
from touche_rad.runs.fallbacks import ANSWERS, UTTERANCES
from touche_rad.runs.judging import VERDICTS
from touche_rad.score.conversations import DebateOfRun, content_of
from touche_rad.score.evaluations import FILLED_IN, debate_of
from touche_rad.score.words import names_of
from touche_rad.text import clean, count_of, count_words, excerpt, is_blank, printable, shell_words

WORDS: Final = 60
OFFICIAL: Final = (Kind.SIMULATIONS, Kind.EVALUATIONS)
"""The kinds of files that can be uploaded."""
_ENDINGS = (".jsonl", ".jsonl.gz")
"""The files that TIRA accepts as the run in an output folder."""

_Line = tuple[int, Debate, Evaluation | None]
"""A line of a run: its number, its debate, and the verdicts if it has any."""
Level = Literal["fault", "warning"]


UNFIT: Final = "not fit to upload: "
"""The kinds of issues on how a run was made begin with it."""
DEMO: Final = f"{UNFIT}demo index"
TWICE: Final = "a debate is given twice"
MISSING: Final = "a debate is missing"
OTHER_ORDER: Final = "the order is not the input's"
OTHER_RESPONSES: Final = "the responses are not the input's"
_EMPTY_LINE: Final = "a line is empty"
_OTHER_NUMBER: Final = "the number of debates is not the input's"
MENDED: Final = {
    TWICE,
    OTHER_ORDER,
    _EMPTY_LINE,
    InputProblem.OTHER_TITLE,
    _OTHER_NUMBER,
}
"""The faults that `check --fix` mends, if there is no other one."""


@frozen
class Issue:
    """A fault or warning with its place. Issues of one `kind` are shown as a group."""

    path: str
    line: int | None
    kind: str
    message: str
    level: Level
    times: int = 1
    """How often it was found, if its lines do not say it."""

    @property
    def place(self) -> str:
        """The file and line."""
        path = clean(printable(self.path))
        return f"{path}:{self.line}" if self.line else path


_FALLBACKS: Final = {
    ANSWERS: "an answer is a fallback",
    UTTERANCES: "a message of the user is a fallback",
    VERDICTS: "a verdict is a fallback score",
}
"""The kinds of issues on fallbacks, by the kind of result."""
_LONGEST_CAUSE: Final = 200
_LONGEST_CLAIM: Final = 80

_JSON_FIELDS = "path kind lines debates lost turns unfit findings good official verdict".split()
"""The fields of the JSON output, in their order."""


@dataclass
class Validation:
    """The counts and issues of a run."""

    path: str
    kind: str = ""
    lines: int = 0
    debates: int = 0
    """Debates that are there."""
    lost: int = 0
    """Lines whose debate is lost: it has no turn, cannot be read, or got no verdict."""
    turns: int = 0
    official: bool = False
    """Whether this is a kind of file that can be uploaded."""
    findings: list[Issue] = field(default_factory=list)
    totals: Counter[Result] = field(default_factory=Counter)
    """The results by kind, such as answers."""
    fallbacks: Counter[Result] = field(default_factory=Counter)
    """Those that are fallbacks, as their lines say, or else the status."""
    empty: int = 0
    """Answers without a text."""
    has_claims_as_input: bool = False
    """Whether the input has only the claims of the debates."""

    @property
    def replaced(self) -> dict[Result, tuple[int, int]]:
        """How many results of each kind are fallbacks, and how many there are."""
        return {what: (count, self.totals[what]) for what, count in self.fallbacks.items()}

    @property
    def faults(self) -> Counter[str]:
        """How many faults of each kind there are."""
        return Counter(issue.kind for issue in self.findings if issue.level == "fault")

    @property
    def unfit(self) -> list[str]:
        """Why a valid run is no run to upload: how it was made."""
        return [kind.removeprefix(UNFIT) for kind in self.faults if kind.startswith(UNFIT)]

    @property
    def good(self) -> bool:
        """Whether there is no fault."""
        return not self.faults

    @property
    def groups(self) -> list[list[Issue]]:
        """The issues by kind: faults first, then the most frequent kind first."""
        kinds: dict[tuple[Level, str], list[Issue]] = {}
        for issue in self.findings:
            kinds.setdefault((issue.level, issue.kind), []).append(issue)
        return sorted(kinds.values(), key=lambda group: (group[0].level, -len(group)))

    @property
    def valid(self) -> bool:
        """Whether there is no fault but in how it was made."""
        return len(self.faults) == len(self.unfit)

    @property
    def verdict(self) -> str:
        """Whether the run can be uploaded, and why not."""
        reasons = [] if self.valid else ["not valid"]
        if self.unfit:
            reasons.append(UNFIT + "; ".join(self.unfit))
        is_valid = "valid" if self.official else "valid, but not a file to upload"
        return "; ".join(reasons) or is_valid

    @property
    def counts(self) -> str:
        """The number of lines; if debates are lost, with that of both."""
        lines = count_of(self.lines, "line")
        if not self.lost:
            return lines
        return f"{lines} ({count_of(self.debates, 'debate')}, {self.lost} lost)"

    def record(self) -> dict[str, Any]:
        """Return the result as JSON values."""
        record = {name: getattr(self, name) for name in _JSON_FIELDS}
        record["findings"] = [asdict(issue) for issue in self.findings]
        record["groups"] = [
            {"kind": group[0].kind, "level": group[0].level, "count": times_of(group)}
            for group in self.groups
        ]
        return record

    def add(
        self,
        line: int | None,
        kind: str,
        message: str = "",
        level: Level = "fault",
        times: int = 1,
    ) -> None:
        """Add an issue; without a message, the kind says all."""
        self.findings.append(Issue(self.path, line, kind, message or kind, level, times))

    def count(self, what: Result, cause: str, line: int, message: str) -> None:
        """Count a result of a kind; with a cause, it is a fallback."""
        self.totals[what] += 1
        if cause:
            self.fallbacks[what] += 1
            self.add(
                line, _FALLBACKS[what], f"{message}{excerpt(cause, _LONGEST_CAUSE)}", "warning"
            )

    def add_error(self, error: InputError, times: int = 1) -> None:
        """Add a line that cannot be read, or so many equal ones."""
        kind = error.problem or "the line cannot be read"
        if error.line:
            self.lost += times
        else:
            kind = "the file is no run, or cannot be read"
        self.add(
            error.line,
            kind,
            ": ".join(filter(None, (error.field, error.expected))),
            times=times,
        )


def times_of(group: Iterable[Issue]) -> int:
    """Return how often the issues of a group were found."""
    return sum(issue.times for issue in group)


@dataclass
class CollectedErrors(files.BadLines):
    """Skips invalid lines, and keeps their errors."""

    skip: bool = True
    most: int = sys.maxsize


def runs_in(place: Path) -> list[Path]:
    """Return the runs of an output folder, or the one that a file is."""
    if not place.is_dir():
        return [place]
    return [path for path in sorted(place.iterdir()) if path.name.endswith(_ENDINGS)]


def check(
    run: Path,
    *,
    source: Path | None = None,
    index: ArgumentIndex | None = None,
    words: int = WORDS,
    criteria: Criteria | None = None,
) -> Validation:
    """Check every line of a run.

    Args:
        run: Simulations, responses or evaluations, or the output folder that contains one run.
        source: The input of the run, to report missing and additional debates.
        index: The index that must contain each cited argument.
        words: Maximum words of a response; 0 = no limit.
        criteria: Those of the evaluations; by default those that the run names.
    """
    runs = runs_in(run)
    if len(runs) != 1:
        result = Validation(str(run), "folder")
        names = names_of([path.name for path in runs]) or "none"
        message = f"expected exactly one *.jsonl, found {names}"
        if runs:
            message += f": to check each, touche-rad check {shell_words(run)}/*.jsonl"
        result.add(None, "the folder is no run", message)
        return result
    (run,) = runs
    result = Validation(str(run), "unfinished run" if run.suffix == JOURNAL else "")
    bad = CollectedErrors()
    lines: list[_Line] = []
    try:
        kind = files.detect_kind(run)
        result.kind = kind.value
        if kind is Kind.EVALUATIONS:
            criteria = criteria_of(criteria, run)
            result.official = criteria.official
        else:
            result.official = kind in OFFICIAL
        lines.extend(files.read_numbered(run, bad, criteria))
        if result.official:
            for number in bad.empty:
                result.add(number, _EMPTY_LINE, "the official programs refuse such a file")
    except InputError as error:
        times = 1
        if error.problem is InputProblem.EMPTY_RECORD:  # all lines are lost debates
            times = sum(line.value == {} for line in records(run, bad))
        result.add_error(error, times)
        if not lines:
            result.lines = result.lost
            _add_fallbacks(result, run, lines)
            return result
        # The rest of the file is lost: how many lines, and which debates, is unknown.
        source = None
    for bad_line in bad.errors:
        result.add_error(bad_line)

    debates = {bad_line.line or 0: Debate() for bad_line in bad.errors}
    # Of a line with a wrong verdict, the debate can be read.
    with suppress(InputError):
        for line in records(run, files.BadLines(skip=True)):
            if line.number in debates:
                debates[line.number] = debate_of(line.value)
    without_verdict = 0
    for number, debate, evaluation in lines:
        debates[number] = debate
        result.turns += 1 if kind is Kind.RESPONSES else len(debate.turns)
        if not debate.turns and evaluation and debate.wire:
            result.add(
                number,
                InputProblem.EMPTY_RECORD,
                "lost in the debates that were judged; its verdicts count as no",
                "warning",
            )
        elif not debate.turns:
            result.add(
                number, "the debate has no turn" if debate.wire else "there is no simulation"
            )
        level: Level = "warning" if evaluation else "fault"
        unit = evaluation.criteria.unit if evaluation else "response"
        # Verdicts are on the answered turns; a run of debates gets a fault for each other one.
        judged = DebateOfRun(0, debate, unit=unit)
        present = len(judged.places) if evaluation else len(debate.turns)
        expected = len(judged.expected)
        if debate.turns and present < expected:
            result.add(
                number,
                "turns are missing",
                f"{present} of {expected} turns; the others count as no",
                level,
            )
        if result.official and debate.wire and not isinstance(files.configured(debate), dict):
            result.add(
                number,
                "the configuration is missing",
                "TIRA refuses a line without simulation.configuration",
                level,
            )
        if evaluation:
            without_verdict += _check_verdicts(result, number, debate, evaluation)
        else:
            _check_debate(result, number, debate, index, words)

    result.lines = len(debates)
    result.lost = sum(not debate.turns for debate in debates.values()) + without_verdict
    result.debates = result.lines - result.lost
    if kind is Kind.RESPONSES:  # a debate has a line for each of them
        result.debates = len({debate.id for _, debate, _ in lines})
    of_input: Counter[str] = Counter()
    if source:
        of_input = _compare_with_input(result, lines, debates, source)
    if kind is not Kind.RESPONSES:
        claims = {number: debate.claim for number, debate, _ in lines}
        of_run = Counter(claims.values())
        first_line: dict[object, int] = {}  # by id, or by the texts if the id is the default
        for number, debate, _ in lines:
            keys: list[object] = [debate.id]
            if debate.turns and debate.id == f"debate-{number}":
                keys.append((debate.claim, debate.user, *digests(debate)))
            earlier = min(first_line.setdefault(key, number) for key in keys)
            if earlier == number:
                continue
            # The input may have a claim twice.
            claim = debate.claim
            if claims[earlier] != claim or of_input[claim] < of_run[claim]:
                message = f"line {number} repeats line {earlier}"
                if not source:
                    message += ", which is right only if the input has it twice: --input"
                result.add(number, TWICE, message)
    _add_fallbacks(result, run, lines)
    result.findings.sort(key=lambda issue: issue.line or 0)
    return result


def _count_answer(result: Validation, line: int, number: int, turn: Turn, level: Level) -> None:
    """Count a turn's message and its answer, also where verdicts are added; report an empty one."""
    place = f"turn {number}: "
    result.count(UTTERANCES, fallback_of(turn.model_extra), line, place)
    if turn.response:
        result.count(ANSWERS, fallback_of(turn.response.extra), line, place)
        if is_blank(turn.response.content):
            result.empty += 1
            result.add(line, "the answer is empty", f"{place}the answer is empty", level)


def _check_debate(
    result: Validation, line: int, debate: Debate, index: ArgumentIndex | None, words: int
) -> None:
    """Check the responses of a debate; of a file of responses, only the last one is new."""
    is_simulation = result.kind == Kind.SIMULATIONS
    # The messages before the last response are those of the input.
    first = len(debate.turns) if result.kind == Kind.RESPONSES else 1
    for number, turn in enumerate(debate.turns[first - 1 :], first):
        place = f"turn {number}: "
        response = turn.response
        _count_answer(result, line, number, turn, "fault")
        if not response:
            result.add(line, "the turn has no answer", f"{place}there is no answer")
            continue
        count = count_words(response.content)
        if words and count > words:
            result.add(
                line,
                f"the answer has more than {words} words",
                f"{place}the answer has {count} words, at most {words} are allowed",
            )
        if not response.arguments:
            result.add(line, "nothing is cited", f"{place}nothing is cited", "warning")
        if len({argument.id for argument in response.arguments}) < len(response.arguments):
            kind = "an argument is cited twice"
            result.add(line, kind, f"{place}{kind}", "warning")
        if index is not None:
            for argument in response.arguments:
                in_index = index.get(argument.id)
                if not in_index:
                    problem = "is not in the index"
                elif in_index.text != argument.text:
                    problem = "has another text in the index"
                else:
                    continue
                result.add(
                    line,
                    f"a cited argument {problem}",
                    f"{place}the cited argument {argument.id!r} {problem}",
                )
        if is_simulation:
            # A content that is no text was read as one.
            record = original_record(debate, SIMULATIONS) or {}
            system = record["simulation"]["userTurns"][number - 1]["systemResponse"]
            body = system.get("response") or {}
            content = body.get("content")
            if not isinstance(content, str) or not (content or response.content == ""):
                result.add(
                    line,
                    "the content is no text",
                    f"{place}response.content: expected text, got {content!r:.40}",
                )
            if body.get("arguments") is None:
                result.add(
                    line,
                    "the citations are missing",
                    f"{place}response.arguments: expected a list, which may be empty",
                )
    for flagged, sentence in flags(debate.turns):
        result.add(line, EventKind.INSTRUCTION, f"turn {flagged + 1}: {sentence}", "warning")


def _check_verdicts(result: Validation, line: int, debate: Debate, evaluation: Evaluation) -> bool:
    """Check the verdicts of a line; return whether `--fix` wrote all: `score` calls it lost."""
    answered = len(debate.views(evaluation.criteria.unit))
    if debate.turns and len(evaluation.turns) != answered:
        result.add(
            line,
            "the verdicts do not match the turns",
            f"{len(evaluation.turns)} turns are judged, and {answered} are answered",
        )
    for number, debated in enumerate(debate.turns, 1):
        _count_answer(result, line, number, debated, "warning")
    causes = {verdict.fallback for turn in evaluation.turns for verdict in turn.values()}
    is_lost = causes == {FILLED_IN}
    if is_lost:
        result.add(
            line,
            InputProblem.EMPTY_RECORD,
            "there was no verdict; each is a no by --fix",
            "warning",
        )
    for turn, verdicts in enumerate(evaluation.turns, 1):
        for criterion in evaluation.criteria:
            verdict = verdicts.get(criterion.key)
            place = f"turn {turn}: {criterion.title}"
            cause = verdict.fallback if verdict else ""
            if cause == FILLED_IN:  # `score` counts it as missing, too
                if not is_lost:
                    result.add(line, "a verdict is missing", f"{place} is a no by --fix", "warning")
                cause = ""
            result.count(VERDICTS, cause, line, f"{place} has a fallback score: ")
            if verdict and criterion.answers.kind == "categories":
                continue  # the answer alone is its verdict
            if not verdict or verdict.score is None:
                result.add(line, "a maxim has no score", f"{place} has no score")
            elif not 0 <= verdict.score <= 1:
                result.add(
                    line,
                    "a score is not 0 to 1",
                    f"{place} has the score {verdict.score:g}, not 0 to 1",
                )
    return is_lost


def read_inputs(
    source: Path, bad: files.BadLines, run: Iterable[Debate] | None = None
) -> list[Debate]:
    """Read the debates of a run's input, or its claims; a lost debate keeps its place.

    Of recorded debates, a simulated user takes the claims only: no debate of the run begins as one
    of them.
    """
    kind = files.detect_kind(source)
    if kind is Kind.CLAIMS:
        return list(files.read_claims(source, bad))
    debates = [debate for debate, _ in files.read_views(source, bad, keep_lost=True)]
    if run is not None and kind is Kind.ANNOTATED:
        beginnings = {debate.thesis for debate in run}
        if beginnings.isdisjoint(debate.thesis for debate in debates):
            debates = [debate.replace(turns=()) for debate in debates]
    return debates


def _compare_with_input(
    result: Validation, lines: list[_Line], debates: dict[int, Debate], source: Path
) -> Counter[str]:
    """Compare a run with its input, and return how often the input has each claim.

    Debates are matched by their claims, responses by the messages before them. A line without a
    claim, or whose debate cannot be read, has the debate of its place, if no other line has it.
    """
    bad = files.BadLines(skip=True)
    inputs = read_inputs(source, bad, debates.values())
    result.has_claims_as_input = not any(debate.turns for debate in inputs)
    if bad.count:
        result.add(
            None,
            "the input has lines that cannot be read",
            f"lines of {source} that cannot be read: {bad}",
            "warning",
        )
    of_input = Counter(debate.claim for debate in inputs)
    what = "debate"
    key_of: Callable[[Debate], object] = attrgetter("claim")
    if result.kind == Kind.RESPONSES:
        what = "response"
        key_of = digests
        debates = {
            number: debate.before_response() if debate.turns else debate
            for number, debate in debates.items()
        }
        is_last_only = read_status(Path(result.path)).get("identity", {}).get("last_only")
        inputs = [
            debate.before_response(turn)
            for debate in inputs
            for turn in range(len(debate.turns))[-1 if is_last_only else 0 :]
        ]
    has_keys = any(map(key_of, inputs))
    keys = {number: key_of(debate) if has_keys else None for number, debate in debates.items()}
    rest: dict[object, list[int]] = {}
    for place, debate in enumerate(inputs):
        rest.setdefault(key_of(debate), []).append(place)
    if any(keys.values()) and rest.keys().isdisjoint(keys.values()):
        result.add(
            None,
            f"the run is on other {what}s",
            f"{source} has none of its {len(keys)}: check --input",
        )
        return of_input

    places: dict[int, int] = {}
    numbers = sorted(debates)
    of_run = Counter(keys.values())
    if len(inputs) != len(numbers):
        result.add(
            None,
            _OTHER_NUMBER.replace("debate", what),
            f"{result.counts}, and {source} has {count_of(len(inputs), what)}",
        )
    else:
        for place, number in enumerate(numbers):
            key = key_of(inputs[place])
            if not keys[number] and len(rest[key]) > of_run[key]:
                places[number] = place
                rest[key].remove(place)
    # Of several debates on a claim, a line has the one with its words.
    texts = list(map(digests, inputs))
    for number in numbers:
        words = digests(debates[number])
        of_key = rest.get(keys[number] or None, [])
        same = next((place for place in of_key if texts[place] == words), None)
        if same is not None:
            places[number] = same
            of_key.remove(same)
    for number in numbers:
        key = keys[number]
        if number in places:
            continue
        if key and rest.get(key):
            places[number] = rest[key].pop(0)
        elif key and (key not in rest or what == "response"):
            result.add(
                number, f"a {what} is additional", f"not in {source}: {_name(debates[number])}"
            )
    missing = [inputs[place] for place in chain(*rest.values()) if key_of(inputs[place])]
    # Nobody knows which of them the other lines lost.
    without_claim = [number for number in numbers if number not in places and not keys[number]]
    lost = len(without_claim)
    if what == "debate" and not missing and "" not in rest:
        for number in without_claim:
            # An empty line is a debate for the official client, but not for `read_claims`.
            if debates[number].turns:
                result.add(number, "a debate without a claim: the parameter file has an empty line")
    kind = MISSING.replace("debate", what)
    if not lost:
        for debate in missing:
            result.add(None, kind, f"no {what} on {_name(debate)}")
    elif len(missing) > lost:
        count = len(missing) - lost
        result.add(
            None,
            kind,
            f"{count} missing and {lost} lost, among them {_name(missing[0])}",
            times=count,
        )

    in_order = zip(sorted(places), sorted(places.values()), strict=True)
    moved = [number for number, place in in_order if places[number] != place]
    if moved:
        place = places[moved[0]]
        result.add(
            moved[0],
            OTHER_ORDER,
            f"{len(moved)} of {len(places)} {what}s are not in the order of {source}; the "
            f"first: {_name(inputs[place])} is {what} {place + 1} there",
        )

    others = []
    for number, debate, evaluation in lines:
        expected = inputs[places[number]] if number in places else Debate()
        if not expected.turns:
            continue
        if not evaluation:
            if debate.turns and expected.user_texts != debate.user_texts:
                others.append(number)
        elif not debate.turns:
            result.add(number, "a debate of the input is lost", "the input has it")
        elif digests(expected) != digests(debate):
            result.add(number, OTHER_RESPONSES)
        elif content_of(expected.turns) != content_of(debate.turns):
            result.add(number, "the citations are not the input's", level="warning")
    if 2 * len(others) < len(lines):  # else a simulated user wrote the messages
        for number in others:
            result.add(number, "the user's messages are not the input's", level="warning")
    return of_input


def _name(debate: Debate) -> str:
    """Return the first words of a claim in quotes, or the turn of a response."""
    if debate.turns and not debate.last.response:
        return f"turn {len(debate.turns)} of {debate.id}"
    return f"“{shorten(debate.claim, _LONGEST_CLAIM, placeholder=' …')}”"


def counts_of(run: Path) -> Validation:
    """Return the counts of a run; all are 0 if its status is that of a newer version."""
    with suppress(UserError):
        return check(run, words=0)
    return Validation(str(run))


def _add_fallbacks(result: Validation, run: Path, lines: list[_Line]) -> None:
    """Add how the run was made: by its own lines, and by the status of a run that has one."""
    status = read_status(run)
    if not status and why_no_status(run) is OTHER_STATUS:
        result.add(None, OTHER_STATUS, level="warning")
    if status.get("demo") is True:
        result.add(None, DEMO)
    counts = status.get("counts", {})
    of_lines = result.fallbacks
    result.fallbacks = of_lines | count_replaced(status.get("fallbacks", ()))
    for what, count in result.fallbacks.items():
        total = result.totals[what] = result.totals[what] or counts.get(what, 0)
        # The debater's answers can be its own although all messages of the user are fallbacks.
        if what != UTTERANCES and count >= total > 0:
            result.add(None, f"{UNFIT}all {what} are fallbacks")
        elif not of_lines[what]:  # else the lines say it
            result.add(None, f"some {what} are fallbacks", level="warning", times=count)
    for events in changes_of_answers(status):
        without_example = events.count - len(events.examples)
        for event in events.examples:
            place = event.place
            of_turn = (
                number
                for number, debate, _ in lines
                if debate.id == place.debate and len(debate.turns) >= place.turn
            )
            line = next(of_turn, None)
            message = f"turn {place.turn}: {event.detail}" if line else ""
            result.add(line, event.title, message, "warning", 1 + without_example)
            without_example = 0
