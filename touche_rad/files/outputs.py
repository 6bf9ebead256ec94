"""Outputs: the status beside them, and the one rule for replacing one that exists already.

An output that holds something is replaced only if the user says so. Only a run, such as `judge`,
may write its own output again: it knows it by `OUT.status.json`, with the run's identity and the
digest of what it wrote.

Locks between processes end with their process, also by a kill. On a file system without locks (for
example Lustre without the mount option `flock`) work goes on without them.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypedDict

from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field

from touche_rad import __version__
from touche_rad.errors import UserError, refuse_newer, why
from touche_rad.events import OF_ANSWERS, Event, EventCount
from touche_rad.files.records import (
    STANDARD_OUTPUT,
    Place,
    is_unfinished,
    make_folder,
    parse,
    path_beside,
    read_file,
    read_json,
    refuse_links,
)
from touche_rad.text import printable

STATUS: Final = ".status.json"
STATUS_FORMAT: Final = 2
_LARGEST_STATUS: Final = 2**23
REPLACE_OUTPUT: Final = "replace it with --replace, or choose another output"
OTHER_STATUS: Final = (
    "the run was changed after it was written, or the status beside it is of another run"
)
UNREADABLE_STATUS: Final = (
    "the status beside it cannot be read: damaged, or of another version of touche-rad"
)
UNKNOWN_FALLBACKS: Final = "fallbacks are unknown unless the lines of the run name them"
"""What a run without a status lacks; nothing else is lost."""


def check_output(
    path: Place | None,
    *,
    replace: bool,
    fix: str = REPLACE_OUTPUT,
) -> None:
    """Raise an error if a file or a folder holds something and must not be replaced.

    None and the standard output are always free, and so are pipes. What a killed `atomic_write`
    left in a folder does not count.
    """
    if path is None or str(path) in STANDARD_OUTPUT:
        return
    target = Path(path)
    if target.is_dir():
        refuse_links(target)
        holds_something = not all(map(is_unfinished, target.iterdir()))
    else:
        holds_something = target.is_file() and target.stat().st_size > 0
    if holds_something and not replace:
        raise UserError(f"{path} exists already: {fix}")


def is_output_of(path: Path, identity: Mapping[str, Any]) -> bool:
    """Whether a file is the finished output of a run with this identity, and unchanged since."""
    status = read_status(path)
    return (
        path.is_file()
        and status.get("state") == "done"
        and status.get("identity") == identity
        and status.get("sha256") == sha256_of(path)
    )


def cache_folder() -> Path:
    """Return the user's folder for what can be made again."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "touche-rad"


def sha256_of(path: Path) -> str:
    """Return the SHA-256 digest of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def read_status(run: Path) -> dict[str, Any]:
    """Return the status of a run; empty if there is none.

    It lies in the folder of the run, under any name, and has the digest of the run. That of a run
    without an output, or that is not finished, lies beside it or in TIRA's folder, and names it.

    Raises:
        UserError: Another version wrote it, or it is damaged.
    """
    named = (path_beside(run, STATUS), run.with_name("status.json"))
    digest = sha256_of(run) if run.is_file() else ""
    for path in chain(named, run.parent.glob(f"*{STATUS[1:]}")):
        if path.is_symlink():  # a stranger's may lead anywhere
            continue
        status: object = None
        with suppress(OSError, ValueError):
            content = read_file(path, _LARGEST_STATUS)
            if path in named or digest.encode() in content:
                status = parse(content.decode())
        if not isinstance(status, dict):
            if path != named[0] or not path.is_file():
                continue
            status = {"output": run.name}  # damaged: without its other fields it is refused below
        if digest and status.get("sha256"):
            is_of_run = status["sha256"] == digest
        else:
            is_of_run = path in named and Path(str(status.get("output"))).name == run.name
        if is_of_run:
            refuse_newer(path, status, STATUS_FORMAT)
            try:
                Status.model_validate(status)
                if status["format"] != STATUS_FORMAT:
                    raise ValueError("an earlier format")
            except (KeyError, ValueError):
                raise UserError(
                    f"{path}: made by an earlier touche-rad, or damaged: move the output and its "
                    "status away, and run the same command again"
                ) from None
            return status
    return {}


def status_or_problem(run: Path) -> tuple[dict[str, Any], str]:
    """Return the status of a run; if it is empty, also what is wrong with the file beside the run.

    A run may have no status.
    """
    try:
        status = read_status(run)
    except UserError:
        return {}, UNREADABLE_STATUS
    if status or not path_beside(run, STATUS).is_file():
        return status, ""
    return {}, OTHER_STATUS


def known_status(run: Path) -> dict[str, Any]:
    """Return the status of a run; empty if there is none, or none that can be read."""
    return status_or_problem(run)[0]


def last_status(run: Path) -> dict[str, Any]:
    """Return the status of a run, or the one beside it if the run was changed since."""
    place = path_beside(run, STATUS)
    with suppress(OSError, ValueError, LookupError):
        # A stranger's link may lead anywhere; what is no status is refused.
        status = known_status(run) or ({} if place.is_symlink() else read_json(place))
        Status.model_validate(status)
        return status
    return {}


def command_of(run: Path) -> list[str]:
    """Return the command that made a run, with its input after its verb; empty if it is unknown.

    A status may be a stranger's, so it cannot advise to trust.
    """
    status = last_status(run)
    folder, *options = map(printable, status.get("command") or ("",))
    words = []
    for word in filter("--trust".__ne__, options):
        place = os.path.normpath(run.parent / folder / word)
        words.append(place if os.path.exists(place) else word)
    return words and [status["verb"], *words]


State = Literal["done", "stopped", "failed"]
Result = Literal[
    "answers",
    "utterances",
    "verdicts",
    "speeches",
    "without a winner",
    "naming only a side",
    "answers citing nothing",
]
"""Kinds of results that a run counts."""
Count = Annotated[int, Field(strict=True, ge=0, lt=2**53)]


@dataclass
class Cost:
    """Cost of a step, debate or run."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    calls: Count = 0
    from_cache: Count = 0
    retries: Count = 0
    repairs: Count = 0
    failures: Count = 0
    prompt_tokens: Count = 0
    completion_tokens: Count = 0
    cached_tokens: Count = 0
    reasoning_tokens: Count = 0
    """Tokens of thoughts among those of the completion, where the server counts them."""
    seconds: Annotated[float, Field(strict=True, ge=0)] = 0.0

    def add(self, cost: Cost) -> None:
        """Add the counts of another cost."""
        for name, count in vars(cost).items():
            setattr(self, name, getattr(self, name) + count)

    def record(self) -> dict[str, Any]:
        """Return the counts for a run's record."""
        return {**vars(self), "seconds": round(self.seconds, 3)}


class Setup(TypedDict, total=False):
    """The fields of `Status` that say how the run was set up; all parts of a run have the same."""

    demo: bool
    criteria: Mapping[str, Any]
    judged: Mapping[str, Any]
    command: Sequence[str]


class _ModelName(BaseModel):
    name: str | None = None


class _Identity(BaseModel):
    """What readers of a status ask about the identity of a run; it has more keys."""

    debater: str = ""
    judge: str = ""
    index: str | None = None
    input: str = ""
    seed: int | None = None
    model: _ModelName | None = None


class _Usage(BaseModel, strict=True):
    """The model calls of a run."""

    total: Cost
    plugins: Mapping[str, Mapping[str, Cost]]
    faults: Mapping[str, Count]
    first_fault: str


class _FallbackRow(BaseModel):
    """What readers of a status ask about fallbacks of equal causes; it has more keys."""

    what: Result
    count: Count
    turns: tuple[str, ...] = ()


def _check_judged(value: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    return _check(Status, value)


def _check(model: type[BaseModel], value: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Check the keys that are read; the value stays as it is in the file."""
    if value:
        model.model_validate(value)
    return value


class Status(BaseModel, frozen=True, extra="forbid"):
    """The result of a run: what it made of its input, and what happened meanwhile."""

    format: int = STATUS_FORMAT
    verb: str
    state: State
    error: str | None = None
    output: str = ""
    units: Count | None = None
    done: Count = 0
    resumed: Count = 0
    skipped: Count = 0
    replaced: Count = 0
    """Results that are not from the selected plugin, or that it made without its model."""
    fallbacks: tuple[
        Annotated[Mapping[str, Any], BeforeValidator(partial(_check, _FallbackRow))], ...
    ] = ()
    """These results by plugin, cause and fallback, with counts and turns.

    A turn is DEBATE.TURN in the output's order, counted from 1, or DEBATE for a whole debate.
    """
    replaced_turns: object = Field(None, exclude=True)
    """Only earlier statuses have it: the turns of `fallbacks` once more."""
    errors: str = ""
    """The file with the first traceback of each kind of failure."""
    counts: Mapping[Result, Count] = {}
    """The number of results by kind."""
    events: tuple[EventCount, ...] = ()
    """Failures and changes, the most frequent first."""
    warnings: tuple[Event, ...] = ()
    """What is wrong with the run as a whole."""
    sha256: str = ""
    """The digest of the finished output."""
    demo: bool = False
    """Whether the index is the demo collection's: such a run is not fit to upload."""
    criteria: Mapping[str, Any] = {}
    """The questions, so that readers of the output need no file; empty for those of the task."""
    identity: Annotated[Mapping[str, Any], BeforeValidator(partial(_check, _Identity))] = {}
    judged: Annotated[Mapping[str, Any], BeforeValidator(_check_judged)] = {}
    """The status of the debates that this run judged: it may lie in another folder."""
    command: tuple[str, ...] = ()
    """The input and the options of the command; `./` stands for the folder of the output."""
    usage: Annotated[Mapping[str, Any], BeforeValidator(partial(_check, _Usage))] = {}
    """Cost of model calls in this process; without the cost of an earlier, interrupted run."""
    started: AwareDatetime
    finished: AwareDatetime
    seconds: float
    version: str = __version__

    @property
    def setup(self) -> Mapping[str, Any]:
        """How the run was set up, for the status of a run that is merged from parts."""
        return self.model_dump(include=set(Setup.__annotations__))


def changes_of_answers(status: Mapping[str, Any]) -> Iterator[EventCount]:
    """Yield what a run changed in answers, by its status."""
    for events in map(EventCount.model_validate, status.get("events", ())):
        if events.examples[0].kind in OF_ANSWERS:
            yield events


def count_replaced(fallbacks: Iterable[Mapping[str, Any]]) -> Counter[Result]:
    """Count the fallbacks by kind of result, from the field of a status."""
    replaced: Counter[Result] = Counter()
    for row in fallbacks:
        replaced[row["what"]] += row["count"]
    return replaced


def say_replaced(fallbacks: Mapping[Result, tuple[int, int]]) -> str:
    """Say how many results of each kind are fallbacks."""
    texts = [f"{count} of {total} {what}" for what, (count, total) in fallbacks.items()]
    return f"{', '.join(texts)} are fallbacks"


def all_replaced(
    fallbacks: Iterable[Mapping[str, Any]], counts: Mapping[Result, int]
) -> list[Result]:
    """Return the kinds of results that are all fallbacks, from the fields of a status."""
    replaced = count_replaced(fallbacks)
    return [what for what, number in replaced.items() if number >= total_of(what, counts)]


def total_of(what: Result, counts: Mapping[Result, int]) -> int:
    """Return how many results of a kind a run has."""
    return counts.get(what, max(counts.values(), default=0))


def open_locked(path: Path, *, folder: bool = False, wait: bool = False) -> int:
    """Open and lock a file, which is made if needed, or a folder; closing it releases the lock.

    On a file system without locks, it is only opened.

    Raises:
        BlockingIOError: Another process has the lock.
        OSError: It cannot be opened.
    """
    from filelock import lock_descriptor  # it is slow to import

    if sys.platform == "win32":  # it opens no folders
        path = path / ".lock" if folder else path
        kind = os.O_RDWR | os.O_CREAT | os.O_BINARY  # line ends are written as they are
    else:
        kind = os.O_RDONLY | os.O_DIRECTORY if folder else os.O_RDWR | os.O_CREAT | os.O_NONBLOCK
        kind |= os.O_NOFOLLOW
    while True:
        opened = os.open(path, kind, 0o666)
        with ExitStack() as unless_returned:
            unless_returned.callback(os.close, opened)
            is_free = True
            with suppress(OSError):  # the file system has no locks
                is_free = lock_descriptor(opened, blocking=wait)
            if not is_free:
                raise BlockingIOError("in use by another process")
            if os.fstat(opened).st_nlink:
                unless_returned.pop_all()
                return opened
            # Else another process removed the file between our opening and our locking.


@contextmanager
def locked(folder: Path, *, wait: bool = False) -> Iterator[None]:
    """Lock a folder.

    Raises:
        BlockingIOError: Another process has the lock.
        OSError: It cannot be opened.
    """
    opened = open_locked(folder, folder=True, wait=wait)
    try:
        yield
    finally:
        os.close(opened)


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Keep other processes from a folder of results, until the end or until this one is killed.

    Raises:
        UserError: Another process is at work on them, or the folder cannot be made.
    """
    with ExitStack() as stack:
        try:
            make_folder(folder)
            stack.enter_context(locked(folder.resolve()))
        except BlockingIOError:
            raise UserError(f"{folder}: another process is at work on these results") from None
        except OSError as error:
            raise UserError(f"{folder}: expected a folder to write: {why(error)}") from None
        yield
