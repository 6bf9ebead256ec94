"""`ir_measures` and `touche-rad score` agree."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from ir_measures import Qrel, ScoredDoc, SetF, SetP, SetR, iter_calc

from tests.score.makers import Four, evaluation, labels_file, run_file
from touche_rad.debate import Maxim
from touche_rad.score import export, score_judgements
from touche_rad.score.figures import per_debate
from touche_rad.score.measures import Counts, f1, precision, recall

LABELS = [[(1, 0, 1, 1), (0, 1, None, 0)], [(1, 1, 0, None), (1, None, 1, 0), (0, 1, 1, 1)]]
SCORES = {
    "mixed": [
        [(0.9, 0.2, 0.5, 0.1), (0.6, 0.8, 1, 1)],
        [(0.4, 0.7, 0.9, 1), (1, 1, 0.3, 0), (0, 0.51, 0.5, 0.499)],
    ],
    "always": [[(1, 1, 1, 1)] * 2, [(1, 1, 1, 1)] * 3],
}


def test_a_report_is_exported_for_each_of_its_runs(tmp_path: Path) -> None:
    truth = labels_file(tmp_path / "labels.jsonl", LABELS)
    runs = [
        run_file(tmp_path / f"{name}.jsonl", [evaluation(turns) for turns in SCORES[name]])
        for name in ("mixed", "always")
    ]
    out = tmp_path / "out"
    written = export(score_judgements(runs, truth, samples=100), out)
    assert [path.relative_to(out).as_posix() for path in written] == [
        "mixed/evaluation.prototext",
        "always/evaluation.prototext",
    ]


def test_names_that_make_the_same_file_name_overwrite_nothing(tmp_path: Path) -> None:
    truth = labels_file(tmp_path / "labels.jsonl", LABELS)
    runs = [
        run_file(tmp_path / f"{name}.jsonl", [evaluation(turns) for turns in SCORES["always"]])
        for name in ("a b", "a&b")
    ]
    written = export(score_judgements(runs, truth, samples=100), tmp_path / "out")
    assert len(set(written)) == 2


four_labels = st.tuples(*[st.sampled_from([0, 1, None])] * 4)
four_scores = st.tuples(*[st.sampled_from([None, 0.0, 0.3, 0.5, 0.77, 1.0])] * 4)
debates = st.lists(
    st.lists(st.tuples(four_labels, four_scores), max_size=6), min_size=1, max_size=12
)


@given(debates)
@settings(max_examples=150)
def test_ir_measures_gives_the_official_figures_to_the_last_digit(
    turns: Sequence[Sequence[tuple[Four, Four]]],
) -> None:
    labels = [[dict(zip(Maxim, label, strict=True)) for label, _ in debate] for debate in turns]
    scores = [[dict(zip(Maxim, score, strict=True)) for _, score in debate] for debate in turns]
    counts = {maxim: sum(per_debate(labels, scores, maxim), Counts()) for maxim in Maxim}
    qrels, hits = [], []
    for number, debate in enumerate(turns):
        for turn, (known, scored) in enumerate(debate):
            for maxim, label, score in zip(Maxim, known, scored, strict=True):
                if label is not None:
                    qrels.append(Qrel(maxim.value, f"{number}.{turn}", label))
                    if score is not None and score >= 0.5:
                        hits.append(ScoredDoc(maxim.value, f"{number}.{turn}", score))
    found = {
        (one.query_id, str(one.measure)): one.value
        for one in iter_calc([SetP, SetR, SetF], qrels, hits)
    }
    assert found == {
        (maxim.value, measure): value
        for maxim, one in counts.items()
        if one.labelled
        for measure, value in (("SetP", precision(one)), ("SetR", recall(one)), ("SetF", f1(one)))
    }
