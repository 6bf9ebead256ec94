"""Agreement of annotators on the labels of texts: Jaccard, F1, Hamming, kappa and alpha.

Each text has a set of labels, and each label may have a grade. An index with annotations is an
annotator, too: its annotations need the key `labels`. Where a file uses a label of an annotator
plugin, such as R-Debater's schemes, all labels of the plugin count, and not only those that occur:
otherwise Hamming loss, kappa and alpha would depend on the sample of texts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Final, Literal

import numpy as np

from touche_rad import files
from touche_rad.errors import InputError, UserError
from touche_rad.files.labels import AnnotationLine
from touche_rad.files.models import validate
from touche_rad.plugins import annotations_of, open_index, registered
from touche_rad.records import FrozenRecord
from touche_rad.score import confusion
from touche_rad.score.measures import correlations, mean
from touche_rad.score.naming import each_run, named
from touche_rad.score.tables import Columns, Part, Printed, cell, table
from touche_rad.text import packaged_table

Grades = Mapping[str, float]
"""The grades of a text's labels; a missing label and the grade 0 are the same."""
Annotator = Mapping[str, Grades]
"""The grades of each annotated text, by its id."""
_APART: Final = 1 - np.eye(2)
Pair = tuple[frozenset[str], frozenset[str]]
"""The labels of a text by two annotators."""


def used(grades: Grades) -> frozenset[str]:
    """Return the labels that a text has."""
    return frozenset(label for label, grade in grades.items() if grade > 0)


def jaccard(pairs: Sequence[Pair]) -> float:
    """The mean of |A ∩ B| / |A ∪ B| over the texts; 1 where neither annotator gave a label."""
    return fmean(len(a & b) / len(a | b) if a | b else 1.0 for a, b in pairs)


def hamming(pairs: Sequence[Pair], labels: Sequence[str]) -> float:
    """The share of all pairs of a text and a label on which the annotators differ."""
    return sum(len(a ^ b) for a, b in pairs) / (len(pairs) * len(labels))


def precision(pairs: Sequence[Pair]) -> float | None:
    """The mean share of the first annotator's labels that the second one has; None without any."""
    return mean([len(a & b) / len(a) for a, b in pairs if a])


def f1(pairs: Sequence[Pair]) -> float | None:
    """The mean of 2 |A ∩ B| / (|A| + |B|) over the texts that have a label; None without any."""
    return mean([2 * len(a & b) / (len(a) + len(b)) for a, b in pairs if a or b])


def kappa_micro(pairs: Sequence[Pair], labels: Sequence[str]) -> float:
    """Cohen's kappa over all pairs of a text and a label."""
    return float(confusion.kappa(confusion.count_answers(_bits(pairs, labels), 2), _APART))


def kappa_macro(pairs: Sequence[Pair], labels: Sequence[str]) -> float | None:
    """The mean of Cohen's kappa of each label, without labels that both always or never use."""
    kappas = []
    for label in labels:
        table = confusion.count_answers(_bits(pairs, [label]), 2)
        if table.sum() not in table.diagonal():
            kappas.append(float(confusion.kappa(table, _APART)))
    return mean(kappas)


def _bits(pairs: Sequence[Pair], labels: Sequence[str]) -> Iterable[tuple[int, int]]:
    """Yield 1 or 0 of the second and of the first annotator, for each text and label."""
    for a, b in pairs:
        for label in labels:
            yield int(label in b), int(label in a)


def alpha_of_labels(annotators: Sequence[Annotator], labels: Sequence[str]) -> float | None:
    """Krippendorff's alpha over all pairs of a text and a label; texts may be missing."""
    texts: dict[str, list[frozenset[str]]] = {}
    for annotator in annotators:
        for text, grades in annotator.items():
            texts.setdefault(text, []).append(used(grades))
    units = []
    for sets in texts.values():
        for label in labels:
            units.append([int(label in of_annotator) for of_annotator in sets])
    return _alpha(units)


def _alpha(units: Iterable[Sequence[int]]) -> float | None:
    result = float(confusion.alpha(confusion.coincidences(units, 2), _APART))
    return None if math.isnan(result) else result


class AgreementRow(FrozenRecord):
    """The agreement of one annotator with the truth, on the texts that both annotated."""

    run: str
    texts: int
    jaccard: float
    precision: float | None
    recall: float | None
    f1: float | None
    hamming: float
    kappa_micro: float | None
    kappa_macro: float | None
    alpha: float | None
    grades: int
    """Labels that both gave to the same text; their grades are correlated."""
    pearson: float | None
    spearman: float | None
    kendall: float | None


_COLUMNS: Columns = packaged_table(__package__, "agreement.toml")


class AgreementReport(Printed):
    """The agreement of annotators."""

    kind: Literal["agreement"] = "agreement"
    truth: str
    labels: tuple[str, ...]
    rows: tuple[AgreementRow, ...]
    alpha_of_all: float | None
    """Krippendorff's alpha of all annotators together with the truth."""
    refused: Mapping[str, str] = {}
    """Annotators that could not be compared, and why."""

    def parts(self) -> Iterator[Part]:
        """Yield the table, and the agreement of all if there are more than two annotators."""
        yield [f"{self.truth}: {len(self.labels)} labels"]
        yield table(_COLUMNS, self.rows)
        if len(self.rows) > 1:
            alpha = cell("{alpha_of_all:.4f}", self)
            yield [f"Krippendorff's alpha of all {len(self.rows) + 1} annotators: {alpha}"]


def score_annotations(
    runs: Sequence[Path], truth: Path, *, bad: files.BadLines | None
) -> AgreementReport:
    """Compare annotators with the truth."""
    gold = _read(truth, None)

    def read(name: str, path: Path) -> Annotator:
        if path.is_dir():
            # The annotations of an index for the texts of the truth.
            stored = annotations_of(open_index(str(path)))
            if len(stored) != 1:
                raise UserError(
                    f"{path} has {len(stored)} sets of annotations, and one is needed: run "
                    "touche-rad index --annotate NAME"
                )
            (annotations,) = stored.values()
            pairs = zip(gold, annotations.get_all(list(gold)), strict=True)
            annotator: Annotator = {
                text: validate(AnnotationLine, {**annotation, "id": text}).labels
                for text, annotation in pairs
                if annotation and "labels" in annotation
            }
        else:
            annotator = _read(path, bad)
        if not set(annotator) & set(gold):
            raise UserError(f"{name} and the truth have no text in common: compare their ids")
        return annotator

    refused: dict[str, str] = {}
    annotators = each_run(named(runs), read, refused)
    all_annotators = [*annotators.values(), gold]
    used_labels: set[str] = set()
    for annotator in all_annotators:
        used_labels.update(*annotator.values())
    # With all other labels of the annotator plugins that give them.
    for plugin in registered("annotator").values():
        of_plugin = set(getattr(plugin.factory, "labels", ()))
        if used_labels & of_plugin:
            used_labels |= of_plugin
    labels = sorted(used_labels)
    if not labels:
        raise InputError(truth, "no text has a label")
    return AgreementReport(
        truth=truth.name,
        labels=tuple(labels),
        alpha_of_all=alpha_of_labels(all_annotators, labels),
        rows=tuple(_row(run, annotator, gold, labels) for run, annotator in annotators.items()),
        refused=refused,
    )


def _read(path: Path, bad: files.BadLines | None) -> Annotator:
    annotator: dict[str, Grades] = {}
    for line in files.read_annotations(path, bad):
        if line.id in annotator:
            raise InputError(path, f"duplicate annotation of the text {line.id!r}", field="id")
        annotator[line.id] = line.labels
    return dict(sorted(annotator.items()))  # sums of fractions depend on their order


def _row(run: str, annotator: Annotator, gold: Annotator, labels: Sequence[str]) -> AgreementRow:
    """Compare an annotator with the truth on the texts that both annotated."""
    texts = [text for text in gold if text in annotator]
    pairs: list[Pair] = []
    grades: list[float] = []
    gold_grades: list[float] = []
    for text in texts:
        labels_of_text = used(annotator[text])
        gold_labels = used(gold[text])
        pairs.append((labels_of_text, gold_labels))
        for label in sorted(labels_of_text & gold_labels):
            grades.append(annotator[text][label])
            gold_grades.append(gold[text][label])
    return AgreementRow(
        run=run,
        texts=len(texts),
        jaccard=jaccard(pairs),
        precision=precision(pairs),
        recall=precision([(b, a) for a, b in pairs]),
        f1=f1(pairs),
        hamming=hamming(pairs, labels),
        kappa_micro=kappa_micro(pairs, labels),
        kappa_macro=kappa_macro(pairs, labels),
        alpha=_alpha(_bits(pairs, labels)),
        grades=len(grades),
        **correlations(grades, gold_grades),
    )
