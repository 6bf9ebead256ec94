"""One annotator at work: the queue, the answers, and the files they are written to."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from touche_rad import files
from touche_rad.criteria import Criteria
from touche_rad.errors import InputError, UserError
from touche_rad.files.append_log import AppendLog, LogKind
from touche_rad.files.records import write_text
from touche_rad.labelling._queue import Item, Selection, make_queue, samples
from touche_rad.labelling._study import Answer, Event, Study, effective, label_rows, labels_of
from touche_rad.labelling.exchanges import Exchanges, JudgeVerdicts, Place

LABELS: Final = LogKind(
    "labelling",
    1,
    fix="choose another output",
    damaged="the line is kept, but its answer or undo does not count",
    identity="digest",
    lasting=True,
    synced=True,
)


def log_beside(output: Path) -> Path:
    """Return the path of the log beside a labels file."""
    return output.with_name(f"{output.name}.log")


def is_begun(path: Path) -> bool:
    """Whether a log has a complete first line; before it is written, there are no labels."""
    return path.is_file() and b"\n" in path.read_bytes()


class Session:
    """One annotator's work on a labels file."""

    def __init__(
        self,
        exchanges: Exchanges,
        judges: JudgeVerdicts,
        annotator: str,
        output: Path,
        criteria: Criteria,
        *,
        others: Sequence[Path] = (),
        seed: int = 0,
        random_share: float = 0.3,
    ) -> None:
        """Open the log beside a labels file, or begin it with a queue, and read the answers."""
        self.exchanges, self.judges = exchanges, judges
        self.annotator, self.output, self.unwritten = annotator, output, True
        self.criteria = criteria
        queue = make_queue(exchanges, judges, criteria, seed=seed, random_share=random_share)
        header = {
            "run": exchanges.path.name,
            "digest": exchanges.digest,
            "seed": seed,
            "random_share": random_share,
            "queue": [[*item.place, item.sample, item.rank] for item in queue],
        }
        self.log = AppendLog(log_beside(output), LABELS, header)
        with ExitStack() as on_failure:
            on_failure.callback(self.log.close)
            self._events = [(entry.line, entry.record) for entry in self.log.entries()]
            self.queue = [
                Item(Place(debate, turn), Selection(sample), rank)
                for debate, turn, sample, rank in self.log.header["queue"]
            ]
            self._sample_of = {item.place: item.sample for item in self.queue}
            self.others = {path: self._read(path) for path in others}
            self.study = self._study()
            on_failure.pop_all()

    def _study(self) -> Study:
        """Return the answers of the log and of the other files."""
        study = Study(self.criteria)
        for number, event in effective(self._events):
            try:
                study.apply(event)
            except (KeyError, TypeError, ValueError) as error:
                raise InputError(
                    self.log.path, f"expected an event: {error!r}", line=number
                ) from None
        for path, other in self.others.items():
            for name in other.annotators:
                if name == self.annotator or name in study.annotators:
                    raise UserError(f"{path} has labels of {name}, and so has {self.log.path}")
                study.answers[name] = other.answers[name]
        return study

    def _read(self, path: Path) -> Study:
        rows = list(files.read_labels(path))
        if [len(turns) for turns in rows] != self.exchanges.shape:
            raise UserError(
                f"{path} has labels of another run: expected {len(self.exchanges.shape)} debates "
                f"with as many turns as in {self.exchanges.path}"
            )
        study = labels_of(rows, path.name.partition(".")[0], self.criteria)
        if not study.annotators:
            raise UserError(f"{path} has no labels")
        return study

    def answer(self, place: Place, key: str, label: Answer, *, settle: bool = False) -> None:
        """Store an answer, or settle a disagreement."""
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        event: dict[str, Any] = {"at": at, "by": self.annotator, **place._asdict()}
        event |= {"maxim": key, "label": label}
        if settle:
            event["settle"] = True
        elif (sample := self._sample_of.get(place)) is not None:
            event["sample"] = sample
        self._append(event)
        self.study.apply(event)
        self.unwritten = True

    def _append(self, event: dict[str, Any]) -> None:
        """Write an event to the disk; it counts when it is there."""
        self.log.append(event)
        self._events.append((len(self._events) + 2, event))

    def undo(self) -> tuple[Place, str] | None:
        """Take back the annotator's last answer; None if there is none."""
        event = self._last()
        if event is None:
            return None
        self._append({"by": self.annotator, "undo": True})
        self.study = self._study()
        self.unwritten = True
        return Place(event["debate"], event["turn"]), event["maxim"]

    def _last(self) -> Event | None:
        events = [event for _, event in effective(self._events)]
        return next((one for one in reversed(events) if one["by"] == self.annotator), None)

    @property
    def can_undo(self) -> bool:
        """Whether the annotator has an answer to take back."""
        return self._last() is not None

    def samples(self) -> dict[Place, Selection]:
        """Return which turns are random, and which were chosen."""
        return samples(self.queue, self.study.samples)

    def first_open(self) -> int:
        """Return the number of the first incomplete turn of the queue, or of the last turn."""
        done = (self.study.is_complete(self.annotator, item.place) for item in self.queue)
        return next((at for at, one in enumerate(done) if not one), max(len(self.queue) - 1, 0))

    def done(self) -> int:
        """Return the number of turns of the queue that are labelled."""
        return sum(self.study.is_complete(self.annotator, item.place) for item in self.queue)

    def write(self) -> None:
        """Write the labels file, if an answer is new."""
        if not self.unwritten:
            return
        rows = label_rows(self.study, self.exchanges.shape, self.samples())
        write_text(self.output, "".join(f"{files.labels_line(turns)}\n" for turns in rows))
        self.unwritten = False
