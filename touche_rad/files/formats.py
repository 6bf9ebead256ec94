"""Read any fitting file into the vocabulary, and write its lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from touche_rad.contest import Contest, to_contest
from touche_rad.debate import Argument, Debate, Response, Turn
from touche_rad.errors import InputError
from touche_rad.files.claims import read_rows
from touche_rad.files.contests import Judgement, contest_from, judgement_from
from touche_rad.files.evaluations import (
    Evaluation,
    Labels,
    evaluated_debate,
    evaluation_of,
    evaluation_record,
    labels_of,
    labels_record,
)
from touche_rad.files.kinds import DEBATES, Kind, detect_kind, kind_of
from touche_rad.files.messages import (
    annotated_of,
    annotated_record,
    chat_of,
    chat_record,
    response_of,
    response_record,
)
from touche_rad.files.parts import argument_of, drop_keys, plain
from touche_rad.files.records import (
    EMPTY_RECORD,
    BadLines,
    FieldError,
    Line,
    Place,
    at_line,
    dump,
    numbered_lines,
    records,
)
from touche_rad.files.simulations import simulation_of, simulation_record

T = TypeVar("T")
Judgeable = tuple[Debate, list[Debate]]

_OF: dict[Kind, Callable[[Line], Debate]] = {
    Kind.SIMULATIONS: simulation_of,
    Kind.ANNOTATED: annotated_of,
    Kind.CHAT: chat_of,
    Kind.EVALUATIONS: evaluated_debate,
}


def _each(path: Place, bad: BadLines | None, kind: Kind, read: Callable[[Line], T]) -> Iterator[T]:
    return (one for _, one in _numbered(path, bad, kind, read))


def _numbered(
    path: Place, bad: BadLines | None, kind: Kind, read: Callable[[Line], T]
) -> Iterator[tuple[int, T]]:
    bad = bad or BadLines()
    for line in records(path, bad):
        try:
            if line.value == {}:
                raise FieldError("", EMPTY_RECORD)
            one = read(line)
        except FieldError as miss:
            bad.report(at_line(path, line.number, _unmixed(miss, kind, line.value)))
            continue
        yield line.number, one


def _unmixed(miss: FieldError, kind: Kind, value: Any) -> FieldError:
    """Say so where a line lacks what its kind needs because it is of another kind."""
    other = kind_of(value)
    if other in (None, kind):
        return miss
    return FieldError(miss.field, f"{miss.expected} (a line of {other} among {kind})")


def _kind(path: Place, wanted: frozenset[Kind]) -> Kind:
    kind = detect_kind(path)
    if kind not in wanted:
        names = " or ".join(sorted(kind.value for kind in wanted))
        raise InputError(path, f"expected {names}, got {kind.value}")
    return kind


def read_debates(path: Place, bad: BadLines | None = None) -> Iterator[Debate]:
    """Read the debates of a file; responses of one debate are put together again."""
    kind = _kind(path, DEBATES)
    if kind is Kind.RESPONSES:
        return (debate for debate, _ in _answered(path, bad))
    return _each(path, bad, kind, _OF[kind])


def read_numbered(
    path: Place, bad: BadLines | None = None
) -> Iterator[tuple[int, Debate, Evaluation | None]]:
    """Read each line of a run with its number: the debate, and its verdicts where it has any."""
    kind = _kind(path, DEBATES)
    if kind is Kind.EVALUATIONS:
        for number, one in _numbered(path, bad, kind, evaluation_of):
            yield number, one.debate, one
    elif kind is Kind.RESPONSES:
        for number, (_, _, view) in _numbered(path, bad, kind, response_of):
            yield number, view, None
    else:
        for number, debate in _numbered(path, bad, kind, _OF[kind]):
            yield number, debate, None


def read_views(path: Place, bad: BadLines | None = None) -> Iterator[Judgeable]:
    """Read each debate with its views: what a judge of each response may see."""
    if _kind(path, DEBATES) is Kind.RESPONSES:
        return _answered(path, bad)
    return ((debate, _views(debate)) for debate in read_debates(path, bad))


def _views(debate: Debate) -> list[Debate]:
    answered = (number for number, turn in enumerate(debate.turns) if turn.response)
    return [debate.view(number) for number in answered]


def _answered(path: Place, bad: BadLines | None) -> Iterator[Judgeable]:
    """Put neighbouring responses of one debate together; each keeps the words it answered."""
    views: list[Debate] = []
    last: tuple[str, int] | None = None
    for name, turn, view in _each(path, bad, Kind.RESPONSES, response_of):
        if last is not None and (name != last[0] or turn <= last[1]):
            yield _whole(views), views
            views = []
        views.append(view)
        last = name, turn
    if views:
        yield _whole(views), views


def _whole(views: list[Debate]) -> Debate:
    return Debate(id=views[0].id, turns=tuple(view.last for view in views))


def read_claims(path: Place, bad: BadLines | None = None) -> Iterator[Debate]:
    """Read claims, of a TSV or of debates, as debates in which nothing was said yet."""
    kind = _kind(path, DEBATES | {Kind.CLAIMS})
    if kind is Kind.CLAIMS:
        return read_rows(path, bad or BadLines())
    return (_claim(debate) for debate in read_debates(path, bad))


def _claim(debate: Debate) -> Debate:
    spoken = debate.turns[0].utterance if debate.turns else ""
    return debate.model_copy(update={"claim": debate.claim or spoken, "turns": (), "wire": {}})


def read_contests(path: Place, bad: BadLines | None = None) -> Iterator[Contest]:
    """Read contests; a debate of the shared task is one between its user and its system."""
    kind = _kind(path, DEBATES | {Kind.CONTESTS})
    if kind is Kind.CONTESTS:
        return _each(path, bad, kind, contest_from)
    return (to_contest(debate) for debate in read_debates(path, bad))


def read_outcomes(path: Place, bad: BadLines | None = None) -> Iterator[Judgement]:
    """Read panels' verdicts on contests."""
    _kind(path, frozenset({Kind.OUTCOMES}))
    return _each(path, bad, Kind.OUTCOMES, judgement_from)


def read_evaluations(path: Place, bad: BadLines | None = None) -> Iterator[Evaluation]:
    """Read evaluations."""
    _kind(path, frozenset({Kind.EVALUATIONS}))
    return _each(path, bad, Kind.EVALUATIONS, evaluation_of)


def read_labels(path: Place, bad: BadLines | None = None) -> Iterator[tuple[Labels, ...]]:
    """Read labels, one debate at a time."""
    _kind(path, frozenset({Kind.LABELS}))
    return _each(path, bad, Kind.LABELS, lambda line: labels_of(line.raw))


def read_arguments(path: Place, bad: BadLines | None = None) -> Iterator[Argument]:
    """Read a collection, or the arguments that a file of debates cites, each once."""
    kind = _kind(path, DEBATES | {Kind.ARGUMENTS})
    if kind is Kind.ARGUMENTS:
        return _each(path, bad, kind, lambda line: argument_of(line.value))
    return _cited(read_debates(path, bad))


def count_arguments(path: Place) -> int | None:
    """Return how many arguments a collection can hold at most, or None for a file of debates."""
    if detect_kind(path) is not Kind.ARGUMENTS:
        return None
    return sum(1 for _ in numbered_lines(path, BadLines(skip=True)))


def _cited(debates: Iterator[Debate]) -> Iterator[Argument]:
    seen: set[str] = set()
    for debate in debates:
        for turn in debate.turns:
            of_system = turn.response.arguments if turn.response else ()
            for argument in (*_of_user(turn), *of_system):
                if argument.id not in seen:
                    seen.add(argument.id)
                    yield _without_hit(argument)


def _of_user(turn: Turn) -> Iterator[Argument]:
    """Yield what the user's side cites, where it is a citation: anything may stand there."""
    found = (turn.model_extra or {}).get("arguments")
    for value in found if isinstance(found, list) else ():
        try:
            yield argument_of(value)
        except FieldError:
            continue


_OF_HIT = frozenset(("key", "score"))


def _without_hit(argument: Argument) -> Argument:
    """Drop the rank and the score that a search had added: they are not the argument's."""
    return argument_of(drop_keys(plain(argument), _OF_HIT))


def simulation_line(debate: Debate) -> str:
    """Write a debate as the official client does."""
    return dump(simulation_record(debate))


def annotated_line(debate: Debate) -> str:
    """Write a debate as in the official annotated debates."""
    return dump(annotated_record(debate))


def chat_line(debate: Debate) -> str:
    """Write a debate as a chat request."""
    return dump(chat_record(debate))


def response_line(debate: Debate, turn: int, response: Response) -> str:
    """Write the response to the last turn of a debate, with the request it answers."""
    return dump(response_record(debate, turn, response))


def evaluation_line(evaluation: Evaluation) -> str:
    """Write a judged debate as the official client does."""
    return dump(evaluation_record(evaluation))


def labels_line(turns: tuple[Labels, ...]) -> str:
    """Write the labels of one debate."""
    return dump(labels_record(turns))


def argument_line(argument: Argument) -> str:
    """Write an argument as in a collection."""
    return dump(plain(argument))
