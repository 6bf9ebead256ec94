"""One annotator at work: the queue, the answers, and the files they are written to."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from touche_rad import files
from touche_rad.debate import Maxim, Verdict
from touche_rad.errors import InputError, UserError
from touche_rad.labelling.agreement import Agreement, agreement
from touche_rad.labelling.exchanges import Exchanges, JudgeVerdicts, Place
from touche_rad.labelling.log import Event, Log
from touche_rad.labelling.queue import Item, Selection, samples
from touche_rad.labelling.study import Answer, Study, Undone, add_labels, label_rows, now


def log_beside(output: Path) -> Path:
    """Return the path of the log beside a labels file."""
    return output.with_name(f"{output.name}.log")


def header_of(exchanges: Exchanges, queue: Sequence[Item], **settings: Any) -> dict[str, Any]:
    """Return the first line of a log."""
    return {
        "run": exchanges.path.name,
        "digest": exchanges.digest,
        **settings,
        "queue": [[*item.place, item.sample.value, item.rank] for item in queue],
    }


def queue_of(log: Log, exchanges: Exchanges) -> list[Item]:
    """Return the queue of a log.

    Raises:
        UserError: The log is of another run.
    """
    if log.header.get("digest") != exchanges.digest:
        raise UserError(
            f"{log.path} has labels of another run ({log.header.get('run')}): choose another output"
        )
    try:
        queue = [
            Item(Place(debate, turn), Selection(sample), rank)
            for debate, turn, sample, rank in log.header["queue"]
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(log.path, f"expected a queue: {error}", line=1) from None
    return queue


class Session:
    """One annotator's work on a labels file."""

    def __init__(
        self,
        exchanges: Exchanges,
        log: Log,
        queue: Sequence[Item],
        annotator: str,
        output: Path,
        judges: Sequence[JudgeVerdicts] = (),
        others: Sequence[Path] = (),
    ) -> None:
        """Read the answers so far."""
        self.exchanges, self.log, self.queue, self.judges = exchanges, log, queue, judges
        self._sample_of = {item.place: item.sample for item in queue}
        self.annotator, self.output = annotator, output
        self.study = Study()
        for number, event in enumerate(log.events, 2):
            try:
                self.study.apply(event)
            except (KeyError, TypeError, ValueError) as error:
                raise InputError(log.path, f"expected an event: {error!r}", line=number) from None
        for path in others:
            self._add(path)
        self.unwritten = True

    def _add(self, path: Path) -> None:
        rows = list(files.read_labels(path))
        if [len(turns) for turns in rows] != self.exchanges.shape:
            raise UserError(
                f"{path} has labels of another run: expected {len(self.exchanges.shape)} debates "
                f"with as many turns as in {self.exchanges.path}"
            )
        name = path.name.partition(".")[0]
        study = Study()
        names = add_labels(study, rows, name)
        if not names:
            raise UserError(f"{path} has no labels")
        for one in names:
            if one == self.annotator or one in self.study.annotators:
                raise UserError(f"{path} has labels of {one}, and so has {self.log.path}")
            self.study.answers[one] = study.answers[one]

    def answer(self, place: Place, maxim: Maxim, label: Answer, *, settle: bool = False) -> None:
        """Store an answer, or settle a disagreement."""
        event = {**self._event(place), "maxim": maxim.value, "label": label}
        if settle:
            event["settle"] = True
        elif (sample := self._sample_of.get(place)) is not None:
            event["sample"] = sample.value
        self._apply(event)

    def undo(self) -> Undone | None:
        """Take back the annotator's last answer; None if there is none."""
        if not self.study.can_undo(self.annotator):
            return None
        return self._apply({"at": now(), "by": self.annotator, "undo": True})

    def _event(self, place: Place) -> dict[str, Any]:
        return {
            "at": now(),
            "by": self.annotator,
            "debate": place.debate,
            "turn": place.turn,
        }

    def _apply(self, event: Event) -> Undone | None:
        self.log.append(event)
        self.unwritten = True
        return self.study.apply(event)

    def samples(self) -> dict[Place, Selection]:
        """Return which turns are random, and which were chosen (see `queue.samples`)."""
        return samples(self.queue, self.study.samples)

    def first_open(self) -> int:
        """Return the number of the first incomplete turn of the queue, or of the last turn."""
        for number, item in enumerate(self.queue):
            if not self.study.is_complete(self.annotator, item.place):
                return number
        return max(len(self.queue) - 1, 0)

    def done(self) -> int:
        """Return the number of turns of the queue that are labelled."""
        return sum(self.study.is_complete(self.annotator, item.place) for item in self.queue)

    def agreement(self) -> Agreement:
        """Return the agreement of all annotators."""
        return agreement(self.study)

    def verdicts(self, place: Place) -> list[tuple[str, dict[Maxim, Verdict]]]:
        """Return the judges' verdicts on a turn."""
        return [
            (judge.name, dict(verdicts))
            for judge in self.judges
            if (verdicts := judge.verdicts.get(place))
        ]

    def write(self) -> None:
        """Write the labels file, if an answer is new."""
        if not self.unwritten:
            return
        self.unwritten = False
        try:
            with files.atomic_write(self.output) as stream:
                for turns in label_rows(self.study, self.exchanges.shape, self.samples()):
                    stream.write(files.labels_line(turns) + "\n")
        except OSError:
            self.unwritten = True
            raise
