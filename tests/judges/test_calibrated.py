"""The calibrated judge and what trains it, through the terminal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from judges.grice.sinai.judge import examples
from tests.models.by_schema import answering, called, prompt_of
from tests.models.scripted import Scripted
from touche_rad import files
from touche_rad.cli import run
from touche_rad.debate import Argument, Debate, Maxim, Response, Turn
from touche_rad.demo import demo_file
from touche_rad.text import clean

DEBATES, LABELS = str(demo_file("debates.jsonl")), str(demo_file("labels.jsonl"))


def five(folder: Path) -> str:
    """Write the first debates alone: each of their turns is judged in the same way."""
    path = folder / "five.jsonl"
    path.write_text("".join(Path(DEBATES).read_text().splitlines(keepends=True)[:5]))
    return str(path)


def verdicts(path: Path) -> list[Any]:
    return [turn for one in files.read_evaluations(path) for turn in one.turns]


def scores(path: Path) -> list[dict[str, float]]:
    return [{maxim.value: one[maxim].score for maxim in Maxim} for one in verdicts(path)]


def test_without_a_model_and_labels_it_says_what_the_model_free_judge_says(tmp_path: Path) -> None:
    for name in ("grounded", "calibrated"):
        assert run(["judge", DEBATES, "-j", name, "-o", str(tmp_path / name), "-q"]) == 0
    free, ours = scores(tmp_path / "grounded"), scores(tmp_path / "calibrated")
    assert [{key: value >= 0.5 for key, value in row.items()} for row in free] == [
        {key: value >= 0.5 for key, value in row.items()} for row in ours
    ]


def test_one_call_a_turn_moves_the_scores_to_the_models_side(
    server: Scripted, tmp_path: Path
) -> None:
    found = {}
    few = five(tmp_path)
    for said in ("yes", "no"):
        answering(server, {"Answer": dict.fromkeys((m.value for m in Maxim), said)})
        server.asked.clear()
        out = tmp_path / said
        assert (
            run(
                ["judge", few, "-j", "calibrated", "-m", f"{server.url}#tiny", "-o", str(out), "-q"]
            )
            == 0
        )
        assert called(server) == ["Answer"] * 15
        found[said] = scores(out)
    assert all(
        yes[maxim.value] > no[maxim.value]
        for yes, no in zip(found["yes"], found["no"], strict=True)
        for maxim in Maxim
    )


def test_under_tira_a_model_that_is_down_leaves_the_model_free_verdicts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    common = ["judge", five(tmp_path), "-j", "calibrated", "-q"]
    assert run([*common, "-o", str(tmp_path / "free")]) == 0
    down = ["-m", "http://127.0.0.1:9/v1#tiny", "-O", "model.deadline=0.2"]
    assert run([*common, *down, "-o", str(tmp_path / "down")]) == 1
    assert not (tmp_path / "down").exists()
    monkeypatch.setenv("outputDir", str(tmp_path))
    assert run([*common, *down, "-o", str(tmp_path / "down")]) == 0
    assert scores(tmp_path / "down") == scores(tmp_path / "free")


@pytest.mark.services
def test_training_finds_a_model_that_knows_and_says_how_well(
    server: Scripted, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The scripted model knows the labels of Relation by the response's words, and no others."""
    known = {}
    labels = [turn for of in files.read_labels(Path(LABELS)) for turn in of]
    views = [view for _, of in files.read_views(Path(DEBATES)) for view in of]
    for view, label in zip(views, labels, strict=True):
        known[view.last.response.content] = "yes" if label[Maxim.RELATION] else "no"  # type: ignore[union-attr]

    def knows(told: str) -> dict[str, str]:
        said = next(
            label for words, label in known.items() if f"System: {words}\n\nThe retrieved" in told
        )
        return {"quantity": "yes", "quality": "yes", "relation": said, "manner": "yes"}

    answering(server, {"Answer": knows})
    weights = tmp_path / "weights.json"
    assert (
        run(
            [
                "train",
                "judge",
                DEBATES,
                LABELS,
                "-m",
                f"{server.url}#tiny",
                "-q",
                "--json",
                "-o",
                str(weights),
            ]
        )
        == 0
    )
    told = json.loads(capsys.readouterr().out)
    assert told["with_model"]["relation"]["f1"] > told["without_model"]["relation"]["f1"]
    assert told["with_model"]["relation"]["f1"] > 0.95
    for of_maxim in told["with_model"].values():
        assert sum(one["turns"] for one in of_maxim["reliability"]) == of_maxim["turns"]
        assert 0 <= of_maxim["error"] <= 1
    out = tmp_path / "out"
    assert (
        run(
            [
                "judge",
                DEBATES,
                "-j",
                "calibrated",
                "-m",
                f"{server.url}#tiny",
                "-q",
                "-O",
                f"weights={weights}",
                "-o",
                str(out),
            ]
        )
        == 0
    )
    right = [
        (row["relation"] >= 0.5) == bool(label[Maxim.RELATION])
        for row, label in zip(scores(out), labels, strict=True)
    ]
    assert sum(right) / len(right) > 0.95


@pytest.mark.services
def test_labels_that_do_not_fit_the_debates_are_told_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    short = tmp_path / "short.jsonl"
    short.write_text("".join(Path(LABELS).read_text().splitlines(keepends=True)[:3]))
    assert run(["train", "judge", DEBATES, str(short), "-o", str(tmp_path / "w")]) == 2
    assert f"{short}: 3 debates, and {DEBATES} has 20" in capsys.readouterr().err
    assert not (tmp_path / "w").exists()


def test_wrong_weights_are_told_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = tmp_path / "w.json"
    wrong.write_text('{"how": 3}')
    assert (
        run(
            [
                "judge",
                DEBATES,
                "-j",
                "calibrated",
                "-O",
                f"weights={wrong}",
                "-q",
                "-o",
                str(tmp_path / "x"),
            ]
        )
        == 2
    )
    assert f"{wrong}: how: " in capsys.readouterr().err


def test_examples_are_balanced_and_the_judges_show_them(
    server: Scripted, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "examples.jsonl"
    assert run(["train", "examples", DEBATES, LABELS, "-o", str(out), "--count", "3"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert all(of == {"yes": 3, "no": 3} for of in told["by maxim"].values())
    found = examples(out)
    whole = {debate.key: debate for debate in files.read_debates(demo_file("debates.jsonl"))}
    for one in found:
        turn = whole[one.debate].turns[(one.turn or 0) - 1]
        assert turn.response is not None
        assert (clean(turn.utterance), clean(turn.response.content)) == (one.user, one.system)
    for maxim in Maxim:
        for label in ("yes", "no"):
            assert sum(one.labels.get(maxim) == label for one in found) >= 3
    answering(server, {"yes|no": "yes", "Reasons": {"yes": "Y", "no": "N"}})
    assert (
        run(
            [
                "judge",
                DEBATES,
                "-j",
                "analysis3",
                "-O",
                "profile=paper",
                "-q",
                "-O",
                f"examples={out}",
                "-m",
                f"{server.url}#tiny",
                "-o",
                str(tmp_path / "x"),
            ]
        )
        == 0
    )
    evaluations = str(tmp_path / "x")
    for more, left in ([], 0), (["--exclude", str(out)], len(found)):
        capsys.readouterr()
        assert run(["score", evaluations, LABELS, "--json", "--samples", "100", *more]) == 0
        assert json.loads(capsys.readouterr().out)["excluded"] == left
    reasons = next(prompt_of(body) for body in server.asked if "json_schema" in str(body))
    assert sum(one.system in reasons for one in found) == 6


ZOOS = "A zoo keeps animals whose wild homes were cut down."
LIKE = "A zoo keeps animals whose wild homes were cut down long ago."
TRAINS = "Night trains carry freight while motorways sleep."
MADE_UP = "Statistics show that 87 percent of castles collapse."


def chosen(tmp_path: Path, labels: list[tuple[str, str, int]], count: int) -> list[Any]:
    """What `train examples` takes of debates of one turn: what is said, what is cited, Quality."""
    debates, given, out = tmp_path / "debates.jsonl", tmp_path / "labels.jsonl", tmp_path / "out"
    with debates.open("w") as stream, given.open("w") as told:
        for number, (said, cited, label) in enumerate(labels):
            response = Response(content=said, arguments=(Argument(id=f"1.{number}", text=cited),))
            turn = Turn(utterance="Go on.", response=response)
            one = Debate(id=f"d{number}", claim=f"claim {number}", turns=(turn,))
            stream.write(files.annotated_line(one) + "\n")
            quality = {maxim.value: None for maxim in Maxim} | {"quality": label}
            told.write(json.dumps([quality]) + "\n")
    assert (
        run(
            [
                "train",
                "examples",
                str(debates),
                str(given),
                "-o",
                str(out),
                "-q",
                "--count",
                str(count),
                "--replace",
            ]
        )
        == 0
    )
    return [(one.system, one.labels[Maxim.QUALITY]) for one in examples(out)]


def test_examples_are_those_that_the_model_free_judge_gets_wrong(tmp_path: Path) -> None:
    """A quotation that people call unsupported teaches more than an invention that they do."""
    labels = [(MADE_UP, TRAINS, 0), (ZOOS, ZOOS, 0), (TRAINS, TRAINS, 1), (MADE_UP, ZOOS, 1)]
    for order in (labels, labels[::-1]):
        assert sorted(chosen(tmp_path, order, 1)) == sorted([(ZOOS, "no"), (MADE_UP, "yes")])


def test_examples_differ_in_their_words(tmp_path: Path) -> None:
    labels = [(ZOOS, ZOOS, 1), (LIKE, LIKE, 1), (TRAINS, TRAINS, 1)]
    for order in (labels, labels[::-1]):
        found = {said for said, _ in chosen(tmp_path, order, 2)}
        assert TRAINS in found
        assert len(found) == 2
