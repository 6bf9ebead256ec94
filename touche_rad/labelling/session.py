"""One annotator at work: the queue, the answers, and the files they are written to."""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from touche_rad import files
from touche_rad.errors import InputError, UserError
from touche_rad.files.append_log import AppendLog, LogKind
from touche_rad.files.criteria import criteria_of
from touche_rad.files.records import FieldError, path_beside, write_text
from touche_rad.labelling._study import Answer, LabelEvent, Study, effective, label_rows, labels_of
from touche_rad.labelling.exchanges import Exchanges, JudgeVerdicts, TurnPlace

LABELS: Final = LogKind(
    "labelling",
    1,
    fix="choose another output",
    damaged="the line is kept, but its answer or undo does not count",
    identity="digest",
    lasting=True,
    synced=True,
)

_NOBODY: Final = ""
"""Who gave a label that has no annotator: it is a final one, which the log has."""


LOG: Final = ".log"
"""What the name of the log adds to that of its labels file."""


def is_begun(path: Path) -> bool:
    """Whether a log has a complete first line; before it is written, there are no labels."""
    return path.is_file() and b"\n" in path.read_bytes()


class LabelSession:
    """One annotator's work on a labels file."""

    def __init__(
        self,
        exchanges: Exchanges,
        judges: JudgeVerdicts,
        annotator: str,
        output: Path,
        *,
        others: Sequence[Path] = (),
        seed: int = 0,
    ) -> None:
        """Open the log beside a labels file, or begin it with a queue, and read the answers."""
        self.exchanges = exchanges
        self.judges = judges
        self.annotator = annotator
        self.output = output
        self.criteria = exchanges.criteria
        self.unwritten = True
        # At any time, the labelled turns are a random sample.
        queue = sorted(exchanges.views)
        random.Random(seed).shuffle(queue)
        header = {
            "run": ", ".join(path.name for path in exchanges.paths),
            "digest": exchanges.digest,
            "seed": seed,
            "queue": queue,
        }
        is_continued = output.is_file() and is_begun(path_beside(output, LOG))
        if is_continued:
            criteria_of(self.criteria, output)  # refuses others
        self.log = AppendLog(path_beside(output, LOG), LABELS, header)
        # The log stays open, and locked, as long as the session; not if the session cannot begin.
        with ExitStack() as on_failure:
            on_failure.callback(self.log.close)
            self._events = [(logged.line, logged.record) for logged in self.log.entries()]
            try:
                # Logs of earlier versions say, too, why a turn is in the queue.
                places = [TurnPlace(*place[:2]) for place in self.log.header["queue"]]
                is_damaged = not exchanges.views.keys() >= set(places)
            except (KeyError, TypeError):  # it may be a stranger's
                is_damaged = True
            if is_damaged:
                raise UserError(f"{self.log.path}: the first line is damaged: {LABELS.fix}")
            self.queue = places
            self.others = {path: self._read(path, path.name.partition(".")[0]) for path in others}
            if is_continued:
                self.others[output] = self._brought_before()
            self.study = self._study()
            on_failure.pop_all()

    def _study(self) -> Study:
        """Return the answers of the log and of the other files."""
        study = Study(self.criteria)
        for number, event in effective(self._events):
            try:
                if study.apply(study.check(event)) not in self.exchanges.views:
                    raise FieldError("debate", "expected a place of the run")
            except FieldError as error:
                raise InputError(self.log.path, str(error), line=number) from None
        for path, labels in self.others.items():
            for name in labels.annotators:
                if name in (self.annotator, *study.annotators):
                    raise UserError(f"{path} has labels of {name}, and so has {self.log.path}")
                study.answers[name] = labels.answers[name]
        return study

    def _brought_before(self) -> Study:
        """Return the answers in the labels file that --with brought in an earlier session."""
        study = self._read(self.output, _NOBODY)
        writers = {str(event.get("by")) for _, event in self._events}
        newer = {name for labels in self.others.values() for name in labels.annotators}
        for name in {_NOBODY} | writers | newer:
            study.answers.pop(name, None)
        return study

    def _read(self, path: Path, name: str) -> Study:
        """Read labels of the same run; those without an annotator get the name."""
        rows = list(files.read_labels(path, criteria=criteria_of(self.criteria, path)))
        words = self.exchanges.words
        if list(map(len, rows)) != list(map(len, words)):
            raise UserError(
                f"{path} has labels of another run: expected {len(words)} debates with as many "
                f"turns as in {self.exchanges.paths[0]}"
            )
        try:
            study = labels_of(rows, name, self.criteria)
        except (FieldError, ValidationError):
            raise InputError(
                path, "annotators: expected the answers to each question, by name"
            ) from None
        if name and not study.annotators:
            raise UserError(f"{path} has no labels")
        return study

    def answer(self, place: TurnPlace, key: str, label: Answer, *, settle: bool = False) -> None:
        """Store an answer, or settle a disagreement.

        Raises:
            FieldError: There is no such question or answer.
        """
        event: dict[str, Any] = {
            "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "by": self.annotator,
            **place._asdict(),
            "maxim": key,
            "label": label,
        }
        if settle:
            event["settle"] = True
        checked = self.study.check(event)
        self._append(event)
        self.study.apply(checked)
        self.unwritten = True

    def _append(self, event: dict[str, Any]) -> None:
        """Write an event to the disk; it counts when it is there."""
        self.log.append(event)
        self._events.append((len(self._events) + 2, event))

    def undo(self) -> LabelEvent | None:
        """Take back the annotator's last answer and return it; None if there is none."""
        event = self.last()
        if event is not None:
            self._append({"by": self.annotator, "undo": True})
            self.study = self._study()
            self.unwritten = True
        return event

    def last(self) -> LabelEvent | None:
        """Return the annotator's last answer, which can be taken back."""
        for _, event in reversed(effective(self._events)):
            if event["by"] == self.annotator:
                return event
        return None

    def first_open(self) -> int:
        """Return the number of the first incomplete turn of the queue, or of the last turn."""
        for number, place in enumerate(self.queue):
            if not self.study.is_complete(self.annotator, place):
                return number
        return max(len(self.queue) - 1, 0)

    def done(self) -> int:
        """Return the number of turns of the queue that have all answers."""
        return sum(self.study.is_complete(self.annotator, place) for place in self.queue)

    def write(self) -> None:
        """Write the labels file, if an answer is new."""
        if not self.unwritten:
            return
        rows = label_rows(self.study, self.exchanges)
        write_text(self.output, "".join(f"{files.labels_line(turns)}\n" for turns in rows))
        self.unwritten = False
