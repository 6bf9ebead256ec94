"""The methods of each kind of plugin."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

from touche_rad.contest import Contest, Outcome
from touche_rad.debate import Argument, Debate, Hit, Response, Verdicts
from touche_rad.errors import UserError
from touche_rad.frozen import frozen
from touche_rad.models import Model


@frozen
class Feature:
    """A feature of a candidate."""

    value: float
    weight: float = 1.0
    phrase: str = ""
    """What a positive part of the score means: the end of a sentence that begins with "it"."""

    @property
    def adds(self) -> float:
        """The feature's part of the score."""
        return self.value * self.weight


@frozen
class ExplainedCandidate:
    """An argument or an answer that a debater considered."""

    id: str
    """The argument's id, or the name of who gave the answer."""
    text: str
    score: float
    features: Mapping[str, Feature] = field(default_factory=dict)
    routes: Mapping[str, float] = field(default_factory=dict)
    """The searches that found it, each with its share of the best hit's score."""
    topic: str = ""
    fault: str = ""
    """What speaks against using it; empty if nothing does."""

    def record(self, rank: int, *, chosen: bool) -> dict[str, Any]:
        """Return the candidate as JSON data."""
        return {
            "rank": rank,
            "id": self.id,
            "score": self.score,
            "chosen": chosen,
            "routes": dict(self.routes),
            "features": {
                name: {"value": feature.value, "weight": feature.weight, "adds": feature.adds}
                for name, feature in self.features.items()
            },
            "topic": self.topic,
            "text": self.text,
            "fault": self.fault,
        }


JsonObject = Mapping[str, Any]
Progress = Callable[[int, int], None]
"""Called with the number of finished items and the total."""
Of = Iterable[Argument] | None
"""The arguments that an index must contain; None: not checked."""


class ArgumentIndex(Protocol):
    """An opened argument index.

    It may also have what is used where it exists: GetsAll, HasMeaning, HasAnnotations, HasVectors
    (the functions of `indexes.py` ask for them), and links.
    """

    def __len__(self) -> int:
        """Return the number of arguments."""

    def get(self, argument_id: str) -> Argument | None:
        """Return the argument with this id, or None."""

    @property
    def fingerprint(self) -> str:
        """A digest of the index's content."""

    def search(self, field: str, query: str, k: int) -> list[Hit]:
        """Return the best `k` arguments by one field: text, attacks, supports, topic or all.

        The field topics finds the first argument on each topic by all arguments on it.
        """
        return self.search_all(field, [query], k)[0]

    def search_all(self, field: str, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """Search for many queries at once."""

    def arguments(self) -> Iterator[Argument]:
        """Yield every argument."""


class Meaning(Protocol):
    """Semantic similarity by the vectors of an index."""

    def nearest(self, field: str, texts: Sequence[str], k: int) -> list[list[str]]:
        """Return the ids of the arguments nearest to each text, nearest first."""

    def likeness(self, field: str, texts: Sequence[str], ids: Sequence[str]) -> list[list[float]]:
        """Return the cosine of each text with each argument's field, -1 to 1."""


class Annotations(Protocol):
    """JSON objects about the arguments of an index, stored beside it under a name."""

    @property
    def fingerprint(self) -> str:
        """A digest of the annotations' content."""

    def get_all(self, ids: Sequence[str]) -> list[JsonObject | None]:
        """Return the annotation of each argument, or None if there is none."""


@runtime_checkable
class GetsAll(Protocol):
    """An index that gets several arguments in one request."""

    def get_all(self, ids: Sequence[str]) -> list[Argument | None]:
        """Return the argument of each id, or None."""


@runtime_checkable
class HasMeaning(Protocol):
    """An index that may have usable vectors."""

    @property
    def meaning(self) -> Meaning | None:
        """Semantic similarity by the vectors, if there are any."""


@runtime_checkable
class HasVectors(Protocol):
    """An index that stores vectors of encoders."""

    @property
    def vectors(self) -> Mapping[str, str]:
        """A digest of the vectors by each encoder."""


@runtime_checkable
class ClosableIndex(Protocol):
    """An index that has connections."""

    def close(self) -> None:
        """Close them."""


@runtime_checkable
class HasAnnotations(Protocol):
    """An index that stores annotations."""

    @property
    def annotations(self) -> Mapping[str, Annotations]:
        """The annotations of the arguments, by name."""


class Annotator(Protocol):
    """Makes annotations with a language model (entry points of `touche_rad.annotators`).

    One that gives labels of a fixed set names them in the class attribute `labels`: `touche-rad
    score` counts all of them, also those that no text has.
    """

    model: Model

    @property
    def name(self) -> str:
        """The name under which the annotations are stored."""

    @property
    def identity(self) -> JsonObject:
        """Everything that an annotation depends on: model, prompts, options."""

    @property
    def per_call(self) -> int:
        """Number of texts in one call; texts of one call are always asked together."""

    async def annotate_all(
        self, texts: Sequence[str], report: Callable[[int], None]
    ) -> list[JsonObject | None]:
        """Return the annotation of each text, or None if the model has no valid one.

        Raises:
            WorkError: The model cannot be reached.
        """


@frozen
class VectorsWanted:
    """The vectors that are added to an index."""

    encoder: str
    fields: tuple[str, ...] = ("text", "attacks", "supports")


class IndexBackend:
    """A way to store indexes. A backend overrides what it supports."""

    for_paths: ClassVar[bool] = False
    """Whether locations that name no backend, such as `DIR`, belong to this one."""

    def __init__(self, options: object, services: object) -> None:
        """Make a backend; one that has options or uses services keeps them."""

    def open(self, location: str) -> ArgumentIndex:
        """Open an index."""
        raise NotImplementedError

    def arguments(self, location: str) -> Iterable[Argument]:
        """Return the arguments of an index, to copy them."""
        return self.open(location).arguments()

    def queries(self, location: str) -> Iterable[tuple[str, str]]:
        """Return the ids and texts of the queries that come with an index."""
        raise UserError(f"{location} has no queries")

    def qrels(self, location: str) -> Iterable[tuple[str, str, int]]:
        """Return the ids of a query and a document, and the document's relevance."""
        raise UserError(f"{location} has no qrels")

    def verify(self, location: str) -> None:
        """Raise an error if a file of an index has changed since the index was built."""

    def build(self, arguments: Iterable[Argument], location: str, *, replace: bool = False) -> int:
        """Build an index and return the number of its arguments."""
        raise NotImplementedError

    def exists(self, location: str) -> bool:
        """Whether there is an index at a location."""
        return Path(location).is_dir()

    def holds(self, location: str, of: Iterable[Argument]) -> bool:
        """Whether there is an index of this version with exactly these arguments."""
        return False

    def check_vectors(self, wanted: VectorsWanted) -> None:
        """Raise an error if vectors cannot be added; called before an index is built."""
        raise UserError(
            "this index cannot store vectors; add them to one in a folder: touche-rad index SOURCE "
            f"-o DIR --dense {wanted.encoder}"
        )

    def add_vectors(
        self, location: str, wanted: VectorsWanted, *, of: Of = None, report: Progress | None = None
    ) -> int:
        """Add vectors to an index, resuming a killed run; return and report the number of texts."""
        self.check_vectors(wanted)
        raise NotImplementedError

    def annotate(
        self, location: str, annotator: Annotator, *, of: Of = None, report: Progress | None = None
    ) -> int:
        """Annotate the arguments of an index, resuming a killed run.

        Returns:
            The number of annotated arguments; 0 if all were annotated before.
        """
        raise UserError(
            f"{location}: this index cannot store annotations; annotate a copy of it in a folder: "
            f"touche-rad index {location} -o DIR --annotate {annotator.name}"
        )


@runtime_checkable
class Debater(Protocol):
    """Answers the last turn of a debate. `answer` may be `def` or `async def`.

    A debater argues against the claim. One that can also argue for it sets the class attribute
    `takes_sides = True` and reads `debate.side`.
    """

    def answer(self, debate: Debate) -> Response | Awaitable[Response]:
        """Answer the user's last message."""


@runtime_checkable
class TakesSides(Protocol):
    """A debater that may also argue for a claim."""

    takes_sides: bool


@runtime_checkable
class Explains(Protocol):
    """A debater that shows what it considers for an answer. `explain` may be async."""

    def explain(
        self, debate: Debate
    ) -> Sequence[ExplainedCandidate] | Awaitable[Sequence[ExplainedCandidate]]:
        """Return the candidates for the answer to the user's last message, best first."""


@runtime_checkable
class Judge(Protocol):
    """Judges the last response of a debate on the four maxims. `judge` may be async.

    The debate ends with the judged turn; later turns are removed before.
    """

    def judge(self, debate: Debate) -> Verdicts | Awaitable[Verdicts]:
        """Return a verdict on each maxim."""


@runtime_checkable
class Panel(Protocol):
    """Judges a whole debate of speeches. `judge` may be async."""

    def judge(self, contest: Contest) -> Outcome | Awaitable[Outcome]:
        """Return the winner, the scores and the reasons."""


@runtime_checkable
class Retriever(Protocol):
    """Finds arguments for a query."""

    def search(self, query: str, k: int) -> list[Hit]:
        """Return the best `k` hits, best first."""


@runtime_checkable
class Pipelined(Protocol):
    """A retriever that is also a PyTerrier transformer."""

    def pipeline(self, k: int) -> Any:
        """Return a transformer that searches for `k` hits."""
