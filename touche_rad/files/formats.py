"""Detect the kind of a file, and read it into the vocabulary."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import suppress
from enum import StrEnum
from functools import partial
from itertools import repeat, tee
from pathlib import Path
from types import MappingProxyType
from typing import Final

from touche_rad.contest import Contest, to_contest
from touche_rad.criteria import Criteria, Unit, grice
from touche_rad.debate import LONGEST_ID, Argument, Debate, may_be_id
from touche_rad.errors import InputError, InputProblem
from touche_rad.files._messages import annotated_of, chat_of, response_of
from touche_rad.files._rows import CLAIM, USER, read_rows
from touche_rad.files.contests import Judgement, record_from
from touche_rad.files.documents import is_trec, read_documents
from touche_rad.files.records import (
    EMPTY_RECORD,
    JOURNAL,
    BadLines,
    FieldError,
    Line,
    Lines,
    Place,
    at_line,
    drop_keys,
    dump,
    numbered_lines,
    parse,
    records,
    refuse_unfinished,
    short_repr,
)
from touche_rad.files.simulations import (
    Evaluation,
    argument_of,
    evaluation_of,
    judged_debate_of,
    plain,
    simulation_of,
)
from touche_rad.lists import T
from touche_rad.text import shell_words

NO_NAMES: Final[Mapping[str, str]] = MappingProxyType({})


class Kind(StrEnum):
    """The kinds of official files."""

    SIMULATIONS = "simulations"
    ANNOTATED = "annotated debates"
    CHAT = "chat messages"
    CLAIMS = "claims"
    RESPONSES = "responses"
    EVALUATIONS = "evaluations"
    LABELS = "labels"
    ARGUMENTS = "arguments"
    RUN = "a TREC run"
    QRELS = "qrels"
    CONTESTS = "contests"
    OUTCOMES = "outcomes"
    ANNOTATIONS = "annotations"


DEBATES = frozenset((Kind.SIMULATIONS, Kind.ANNOTATED, Kind.CHAT, Kind.RESPONSES, Kind.EVALUATIONS))
"""The kinds that hold debates with turns."""


_USES: Final = {
    "evaluations": "score {}",
    "chat messages": "respond {} -i INDEX -o RESPONSES",
    "claims": "simulate {} -i INDEX -o SIMULATIONS",
    "labels": "score EVALUATIONS {0} (the labels last), or report EVALUATIONS --labels {0}",
    "arguments": "index {} -o INDEX",
    "a TREC run": "score {} QRELS",
    "qrels": "score RUN {0}, or report RUN --labels {0}",
    "contests": "judge {} -j grice -o OUTCOMES",
    "outcomes": "score {} CONTESTS",
    "annotations": "score INDEX {}",
}
"""What reads a kind of file, other than debates."""


def with_reader(path: Place, kind: Kind) -> str:
    """Return the name of a kind, and a command that reads a file of it."""
    use = _USES.get(kind, "judge {} -i INDEX -o EVALUATIONS").format(shell_words(Path(path)))
    return f"{kind.value}: touche-rad {use}"


def detect_kind(path: Place) -> Kind:
    """Return the kind of a file: that of its first line that shows one."""
    bad = BadLines(skip=True)
    return _detect(path, numbered_lines(path, bad), bad)


def _detect(path: Place, lines: Lines, bad: BadLines) -> Kind:
    problem: InputError | None = None
    for number, line in lines:
        is_json = line.lstrip()[:1] in ("{", "[")
        cause: InputProblem | None = None
        try:
            kind = kind_of(parse(line)) if is_json else _kind_of_row(line)
            if kind:
                return kind
            kinds = ", ".join(kind.value for kind in Kind)
            expected = f"is of no known kind ({kinds}), got {short_repr(line)}"
            if is_json:
                expected += "; a collection with other names: index --map KEY=id,KEY=text"
            else:
                expected += f"; claims need a first line with the columns {CLAIM} and {USER}"
        except FieldError as miss:
            expected = miss.expected
            cause = miss.problem
            if cause is None:
                expected += "; expected one complete record per line"
        problem = problem or InputError(path, expected, line=number, problem=cause)
    if str(path).endswith(JOURNAL):
        refuse_unfinished(Path(path).with_suffix(""))
    raise bad.first or problem or InputError(path, "is empty: expected at least one line")


def _kind_of_row(line: str) -> Kind | None:
    """Return the kind of a line that is no JSON."""
    cells = [cell.strip() for cell in line.split("\t")]
    if CLAIM in cells or (USER in cells and len(cells) > 1):
        return Kind.CLAIMS
    match line.split():
        case [_, _, _, *numbers, _] if len(numbers) == 2:
            kind = Kind.RUN
        case [_, _, _, *numbers] if len(numbers) == 1:
            kind = Kind.QRELS
        case _:
            return None
    try:
        for number in numbers:
            float(number)
    except ValueError:
        return None
    return kind


def kind_of(value: object) -> Kind | None:
    """Return the kind whose record a JSON value is."""
    if isinstance(value, list):
        if any(isinstance(record, dict) and "simulation" in record for record in value):
            raise FieldError("", "got a JSON array")
        return Kind.LABELS
    if not isinstance(value, dict):
        return None
    if not value:
        raise FieldError("", EMPTY_RECORD, InputProblem.EMPTY_RECORD)
    simulation = value.get("simulation")
    if isinstance(simulation, dict) and "topic" in simulation and "userTurns" not in simulation:
        return None  # a configuration of the official client
    for key, kind in _KEYS:
        if key in value:
            return kind
    if isinstance(value.get("debate"), list):
        return Kind.ANNOTATED
    if "messages" in value:
        return Kind.RESPONSES if "content" in value else Kind.CHAT
    return Kind.ARGUMENTS if "text" in value or "attacks" in value else None


_KEYS = (
    ("userTurnsEvaluations", Kind.EVALUATIONS),
    ("simulation", Kind.SIMULATIONS),
    ("simulated_debate", Kind.ANNOTATED),
    ("speeches", Kind.CONTESTS),
    ("outcome", Kind.OUTCOMES),
    ("labels", Kind.ANNOTATIONS),
)


Judgeable = tuple[Debate, list[Debate]]
"""A debate with its views, one for each response."""

_READERS: dict[Kind, Callable[[Line], Debate]] = {
    Kind.SIMULATIONS: simulation_of,
    Kind.ANNOTATED: annotated_of,
    Kind.CHAT: chat_of,
    Kind.EVALUATIONS: judged_debate_of,
}


class OpenFile:
    """A file, opened once to detect its kind and to read it."""

    def __init__(
        self,
        path: Place,
        bad: BadLines | None,
        wanted: Set[Kind],
        lines: Lines | None = None,
    ) -> None:
        """Open a file, or take its lines, and detect its kind from the first ones.

        Raises:
            InputError: It is of another kind than those that are wanted.
        """
        self.path = path
        self.bad = bad or BadLines()
        self.skipped_before = self.bad.count  # lines of files that were read before
        first_lines, self.lines = tee(lines or numbered_lines(path, self.bad))
        self.kind = _detect(path, first_lines, self.bad)
        if self.kind not in wanted:
            names = " or ".join(sorted(kind.value for kind in wanted))
            raise InputError(path, f"expected {names}, got {with_reader(path, self.kind)}")

    def numbered(self, read: Callable[[Line], T], lost: T | None = None) -> Iterator[tuple[int, T]]:
        """Read each line. With `lost`, it stands for an empty record and for each skipped line."""
        number = 0
        skipped = self.skipped_before
        for number, value in records(self.path, self.bad, self.lines):
            result = lost
            try:
                if value != {}:
                    result = read(Line(number, value))
                elif lost is None:
                    raise FieldError("", EMPTY_RECORD, InputProblem.EMPTY_RECORD)
            except FieldError as miss:
                self.bad.report(at_line(self.path, number, miss))
                continue
            if lost:
                yield from repeat((number, lost), self.bad.count - skipped)
                skipped = self.bad.count
            assert result is not None
            yield number, result
        if lost:
            yield from repeat((number, lost), self.bad.count - skipped)

    def each(self, read: Callable[[Line], T]) -> Iterator[T]:
        """Read each line."""
        return (result for _, result in self.numbered(read))


def read_debates(
    path: Place, bad: BadLines | None = None, lost: Debate | None = None
) -> Iterator[Debate]:
    """Read the debates of a file; consecutive responses of one debate are joined.

    With `lost`, it stands for an empty record, and for a line that is skipped.
    """
    return _debates(OpenFile(path, bad, DEBATES), lost)


def _debates(file: OpenFile, lost: Debate | None = None) -> Iterator[Debate]:
    if file.kind is Kind.RESPONSES:
        return (debate for debate, _ in _answered(file))
    return (debate for _, debate in file.numbered(_READERS[file.kind], lost))


def read_numbered(
    path: Place, bad: BadLines | None, criteria: Criteria | None = None
) -> Iterator[tuple[int, Debate, Evaluation | None]]:
    """Read each line of a run: its number, the debate, and its verdicts if it has any.

    The verdicts are on the criteria, by default on those of the task.
    """
    read_evaluation = partial(evaluation_of, criteria=criteria or grice())
    file = OpenFile(path, bad, DEBATES)
    if file.kind is Kind.EVALUATIONS:
        for number, evaluation in file.numbered(read_evaluation):
            yield number, evaluation.debate, evaluation
    elif file.kind is Kind.RESPONSES:
        for number, (_, _, view) in file.numbered(response_of):
            yield number, view, None
    else:
        for number, debate in file.numbered(_READERS[file.kind]):
            yield number, debate, None


def read_views(
    path: Place,
    bad: BadLines | None = None,
    *,
    keep_lost: bool = False,
    unit: Unit = "response",
) -> Iterator[Judgeable]:
    """Read each debate with its views, one for each response or other unit (see Debate.views).

    With `keep_lost`, an empty record, which the official client writes where a debate failed, is a
    debate without turns instead of an invalid line; so is a line that is skipped.
    """
    file = OpenFile(path, bad, DEBATES)
    if file.kind is Kind.RESPONSES and unit == "response":
        return _answered(file)
    lost = Debate() if keep_lost else None
    return ((debate, debate.views(unit)) for debate in _debates(file, lost))


def _answered(file: OpenFile) -> Iterator[Judgeable]:
    """Join consecutive responses of one debate; each view keeps its own messages."""
    views: list[Debate] = []
    last = ("", -1)
    first_turns: dict[str, int] = {}
    for number, (name, turn, view) in file.numbered(response_of):
        if views and (name != last[0] or turn <= last[1]):
            yield _joined(views), views
            views = []
        # A copy of a debate begins like it.
        if name and not views and first_turns.setdefault(name, turn) != turn:
            file.bad.report(
                InputError(
                    file.path,
                    f"expected the lines of debate {name} together, in the order of its turns: "
                    "sort the lines, or make the run again with touche-rad respond",
                    line=number,
                )
            )
            continue
        views.append(view)
        last = name, turn
    if views:
        yield _joined(views), views


def _joined(views: list[Debate]) -> Debate:
    return Debate(id=views[0].id, turns=tuple(view.last for view in views))


def read_claims(path: Place, bad: BadLines | None = None) -> Iterator[Debate]:
    """Read claims from a TSV or from debates, as debates without turns.

    A debate without a claim has its first utterance.
    """
    file = OpenFile(path, bad, DEBATES | {Kind.CLAIMS})
    if file.kind is Kind.CLAIMS:
        return read_rows(path, file.bad, file.lines)
    return (debate.replace(claim=debate.subject, turns=(), wire={}) for debate in _debates(file))


def read_contests(path: Place, bad: BadLines | None = None) -> Iterator[Contest]:
    """Read contests; a debate of the shared task is a contest of its user and its system."""
    file = OpenFile(path, bad, DEBATES | {Kind.CONTESTS})
    if file.kind is Kind.CONTESTS:
        return file.each(partial(record_from, model=Contest))
    return map(to_contest, _debates(file))


def read_outcomes(path: Place, bad: BadLines | None = None) -> Iterator[Judgement]:
    """Read panels' verdicts on contests."""
    return OpenFile(path, bad, {Kind.OUTCOMES}).each(partial(record_from, model=Judgement))


def read_evaluations(
    path: Place, bad: BadLines | None = None, criteria: Criteria | None = None
) -> Iterator[Evaluation]:
    """Read evaluations on criteria, by default on those of the task."""
    file = OpenFile(path, bad, {Kind.EVALUATIONS})
    return file.each(partial(evaluation_of, criteria=criteria or grice()))


def read_arguments(
    path: Place, bad: BadLines | None = None, names: Mapping[str, str] = NO_NAMES
) -> Iterator[Argument]:
    """Read a collection, or the arguments that a file of debates cites, each once.

    A collection is JSON lines, TREC documents, or a table of ids and texts. `names` has our names
    of the fields by those of the collection.
    """
    bad = bad or BadLines()
    first_lines, lines = tee(numbered_lines(path, bad))
    first = next((line for _, line in first_lines), "")
    if ".jsonl" in Path(path).suffixes:
        first = "{"  # also if the first line is damaged
    is_json = first.lstrip().startswith(("{", "["))
    if names or is_trec(first) or ("\t" in first and not (is_json or _kind_of_row(first))):
        return _collection(path, read_documents(path, lines, first, bad, names), bad)
    file = OpenFile(path, bad, DEBATES | {Kind.ARGUMENTS}, lines)
    if file.kind is not Kind.ARGUMENTS:
        return _cited(_debates(file))
    return _collection(path, records(path, bad, file.lines), bad)


def _collection(path: Place, lines: Iterable[Line], bad: BadLines) -> Iterator[Argument]:
    """Read a collection; report ids that no index can hold, and ids of two different arguments."""
    seen: dict[int, int] = {}  # hashes: a collection may have millions of long ids
    for line in lines:
        number = line.number
        try:
            argument = argument_of(line.value)
            if not may_be_id(argument.id):
                raise FieldError(
                    "id",
                    f"expected 1 to {LONGEST_ID} bytes without NUL, "
                    f"got {short_repr(argument.id)} of "
                    f"{len(argument.id.encode('utf-8', 'replace'))} bytes",
                )
        except FieldError as miss:
            bad.report(at_line(path, number, miss))
            continue
        content = hash((argument.text, argument.topic, argument.attacks, argument.supports))
        if hash(argument.id) in seen:
            bad.copies.append(number)
        if seen.setdefault(hash(argument.id), content) != content:
            bad.copies.pop()
            bad.report(
                InputError(
                    path,
                    f"another argument has the id {short_repr(argument.id)} already",
                    line=number,
                    field="id",
                )
            )
            continue
        yield argument


def _cited(debates: Iterator[Debate]) -> Iterator[Argument]:
    seen: set[str] = set()
    for debate in debates:
        for turn in debate.turns:
            arguments: list[Argument] = []
            # What the user's side cites, where it is a citation: anything may stand there.
            of_user = turn.rest.get("arguments")
            if isinstance(of_user, list):
                for value in of_user:
                    with suppress(FieldError):
                        arguments.append(argument_of(value))
            if turn.response:
                arguments += turn.response.arguments
            for argument in arguments:
                if argument.id not in seen:
                    seen.add(argument.id)
                    # Without the rank and the score that a search had added.
                    yield argument_of(drop_keys(plain(argument), ("key", "score")))


def argument_line(argument: Argument) -> str:
    """Write an argument as in a collection."""
    return dump(plain(argument))
