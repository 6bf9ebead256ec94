"""Labels of people: of the turns of debates, and of texts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import partial
from itertools import zip_longest
from typing import Annotated, Any, Final, Literal

from pydantic import (
    BeforeValidator,
    Field,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    create_model,
    model_validator,
)

from touche_rad.criteria import Answers, Criteria, Unit, grice
from touche_rad.debate import Debate
from touche_rad.errors import InputError, UserError
from touche_rad.events import log
from touche_rad.files.formats import Kind, OpenFile, detect_kind, read_debates
from touche_rad.files.models import FileRecord, validate
from touche_rad.files.records import (
    BadLines,
    FieldError,
    Line,
    Place,
    dump,
    field_error,
    short_repr,
)
from touche_rad.text import count_of

Labels = Mapping[str, int | None]
"""The labels of a turn, by the key of the criterion: 1 yes and 0 no, or the place of an answer."""
_FIELDS: Final = frozenset(("sample", "annotators", "settled", "words", "criteria", "run"))
"""Fields beside the labels of a turn: of `touche-rad label`, and the digest of the turn's text."""


def digest(utterance: object, response: object) -> str:
    """Return a digest of a turn's words; white space does not matter."""
    text = "\x1f".join(" ".join(str(text or "").split()) for text in (utterance, response))
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()


def digests(debate: Debate, unit: Unit = "response") -> tuple[str, ...]:
    """Return the digest of each turn of a debate, or of the whole debate if it is the unit."""
    of_turns = tuple(digest(turn.utterance, turn.answer) for turn in debate.turns)
    return (digest("", " ".join(of_turns)),) if unit == "debate" and of_turns else of_turns


def read_labels(
    path: Place, bad: BadLines | None = None, criteria: Criteria | None = None
) -> Iterator[tuple[Labels, ...]]:
    """Read labels, one debate at a time; without criteria, on those of the task."""
    odd: list[object] = []
    model: Any = list
    turns = TypeAdapter(model[turn_labels(criteria or grice())])
    yield from OpenFile(path, bad, {Kind.LABELS}).each(partial(_labels_of, turns=turns, odd=odd))
    if odd:
        log.warning("%s: %d labels such as %s are read as 0 or 1", path, len(odd), dump(odd[0]))


def read_labelled(
    debates: Place, labels: Place, criteria: Criteria | None = None
) -> list[tuple[Debate, tuple[Labels, ...], int]]:
    """Read debates with the labels of each turn, and with the line of these labels.

    Raises:
        UserError: The numbers of debates or turns differ, or the digests in the labels.
    """
    if detect_kind(debates) is Kind.CLAIMS:
        raise InputError(debates, "got claims: give the labelled debates, with responses")
    rows = list(read_labels(labels, None, criteria))
    by_words = {_words(turns): (turns, line) for line, turns in enumerate(rows, 1)}
    labelled_debates = []
    for number, (debate, turns) in enumerate(
        zip_longest(read_debates(debates, lost=Debate()), rows), 1
    ):
        texts = digests(debate or Debate(), criteria.unit if criteria else "response")
        # Labels of several runs have the digests of the texts, and no order that tells the runs.
        labelled = turns or ()
        line = number
        if _words(labelled) != texts:  # of debates with equal texts, each keeps its labels
            labelled, line = by_words.get(texts, (labelled, line))
        words = _words(labelled)
        if not texts and any(words):  # labels of other debates
            if debate is None:
                break
            labelled = ()  # the debate is lost
        elif debate is None or words not in (texts, (None,) * len(texts)):
            raise UserError(
                f"{debates}: debate {number} of {len(texts)} turns does not fit its labels in "
                f"{labels}: give the labelled debates, with responses, in the labels' order"
            )
        labelled_debates.append((debate, labelled, line))
    return labelled_debates


def _words(turns: Iterable[Mapping[str, Any]]) -> tuple[Any, ...]:
    """Return the digests that the labels of a debate have."""
    return tuple(label.get("words") for label in turns)


def label_place(label: object, answers: Answers) -> int | None:
    """Return the place of a label of a file among the answers: 1 for yes, 0 for no.

    Raises:
        FieldError: It is none of the answers.
    """
    if label is None:
        return None
    if answers.kind != "yes-no":
        if answers.parse(label) is None:
            raise FieldError(
                "",
                f"expected one of {', '.join(answers.names)}, or null, got {short_repr(label)}",
            )
        return answers.names.index(str(label))
    # The official scorer reads also booleans, and numbers in quotes.
    if label not in (0, 1, "0", "1"):
        raise FieldError("", f"expected 0, 1 or null, got {short_repr(label)}")
    return int(label in (1, "1"))


def label_value(place: int | None, answers: Answers) -> int | str | None:
    """Return a label as files have it: 1 or 0, a number of a scale, or a category."""
    if place is None or answers.kind == "yes-no":
        return place
    return answers.values[place].value


def say_unsettled(counts: Mapping[str, int]) -> Iterator[str]:
    """Yield on how many turns people disagree, by question."""
    for key, count in counts.items():
        if count:
            yield f"{key}: {count_of(count, 'turn')} left out: people disagree (label --settle)"


def is_unsettled(turn: Mapping[str, Any], key: str) -> bool:
    """Whether annotators gave different answers to a question, and there is no label."""
    annotators = turn.get("annotators")
    answers = set()
    if turn.get(key) is None and isinstance(annotators, dict):  # it may be a stranger's
        for labels in annotators.values():
            answers.add(dump(labels.get(key)) if isinstance(labels, dict) else "null")
    return len(answers - {"null"}) > 1


def _place(label: object, info: ValidationInfo, answers: Answers) -> int | None:
    place = label_place(label, answers)
    is_odd = answers.kind == "yes-no" and label is not None and type(label) is not int
    if is_odd and info.context is not None:
        info.context.append(label)
    return place


class _TurnLabels(FileRecord):
    """People's verdicts on one response, or on another unit of the criteria; null is no verdict.

    These are the task's four. Labels on other criteria have a field for the key of each question: 1
    for yes and 0 for no, the number of a scale as a number, or a category as a text. They have also
    `criteria`, the name and the digest, and `words`, a digest of the text, as `touche-rad label
    RUNS --criteria FILE -o NEW --summary` writes them.
    """

    @model_validator(mode="before")
    @classmethod
    def _check_names(cls, record: object) -> object:
        """Refuse names that are nearly those of criteria, and only unknown ones."""
        if not isinstance(record, dict):
            return record
        keys = list(cls.model_fields)
        unknown = record.keys() - set(keys) - _FIELDS
        misspelt = {name for name in unknown if get_close_matches(name.lower(), keys, cutoff=0.8)}
        if misspelt or (unknown and not record.keys() & set(keys)):
            raise FieldError(min(misspelt or unknown), f"expected one of {', '.join(keys)}")
        if not isinstance(record.get("words", ""), str):
            raise FieldError("words", "expected a text")
        return record


def turn_labels(criteria: Criteria) -> Any:
    """Return the model of the labels of a turn, which are places of answers."""
    fields: dict[str, Any] = {}
    for criterion in criteria:
        check = BeforeValidator(partial(_place, answers=criterion.answers))
        possible: Any = Literal[0, 1] if criterion.answers.kind == "yes-no" else int
        fields[criterion.key] = (Annotated[possible | None, check], None)
    return create_model("TurnLabels", __base__=_TurnLabels, __doc__=_TurnLabels.__doc__, **fields)


def _labels_of(
    line: Line, turns: TypeAdapter[list[FileRecord]], odd: list[object]
) -> tuple[Labels, ...]:
    """Read the labels of one debate: places or null by criterion; other fields are kept.

    Labels that are 0 or 1 in another form are added to `odd`.
    """
    if not isinstance(line.value, list):
        raise FieldError(
            "", f"expected a list with one object a turn, got {short_repr(line.value)}"
        )
    try:
        labels = turns.validate_python(line.value, context=odd)
    except ValidationError as error:
        raise field_error(error) from None
    pairs = zip(line.value, labels, strict=True)
    return tuple({**record, **turn.model_dump(exclude_unset=True)} for record, turn in pairs)


def labels_line(turns: Iterable[Mapping[str, Any]]) -> str:
    """Write the labels of one debate."""
    return dump(list(map(dict, turns)))


def _grades(value: object) -> object:
    """Return the grades of labels; each label of a list has the grade 1."""
    return dict.fromkeys(_LABELS.validate_python(value), 1.0) if isinstance(value, list) else value


_LABELS: Final = TypeAdapter(list[str])
_GRADED: Final[Any] = list[str] | dict[str, Annotated[float, Field(ge=0)]]


class AnnotationLine(FileRecord):
    """The labels of a text; an object grades them."""

    id: str
    labels: Annotated[
        dict[str, Annotated[float, Field(strict=True, ge=0, lt=2**31)]],
        BeforeValidator(_grades, json_schema_input_type=_GRADED),
    ]
    """The grade of each label; 0 is a label that the text does not have."""


def read_annotations(path: Place, bad: BadLines | None) -> Iterator[AnnotationLine]:
    """Read the labels of texts."""
    file = OpenFile(path, bad, {Kind.ANNOTATIONS})
    return file.each(lambda line: validate(AnnotationLine, line.value))
