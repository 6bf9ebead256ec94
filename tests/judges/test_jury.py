"""The judge `jury`: votes, weights, abstention and the cascade, through the command line."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.score.makers import labels_file
from tests.terminal import Ended, touche_rad
from touche_rad import files, plugins
from touche_rad.debate import Debate, Maxim, Response, Turn, Verdict
from touche_rad.plugins import Services, judge

ASKED: Counter[str] = Counter()


@judge("reads")
class Reads:
    """Says the score that the response gives it: `a=0.7` for the judge `reads(key=a)`."""

    class Options(plugins.Options):
        key: str = "a"

    def __init__(self, options: Options, services: Services) -> None:
        self.key = options.key

    def judge(self, debate: Debate) -> dict[Maxim, Verdict]:
        ASKED[self.key] += 1
        assert debate.last.response is not None
        found = re.search(rf"\b{self.key}=([\d.]+)", debate.last.response.content)
        if found is None:
            raise ValueError(f"no score for {self.key}")
        return dict.fromkeys(Maxim, Verdict(score=float(found[1]), rationale="read"))


@judge("reads-all")
class ReadsAll(Reads):
    """The same, for all responses of a debate at once."""

    async def judge_all(self, debate: Debate) -> list[dict[Maxim, Verdict]]:
        ASKED["calls at once"] += 1
        return [self.judge(debate.view(turn)) for turn in range(len(debate.turns))]


A, B, C = "reads(key=a)", "reads(key=b)", "reads(key=c)"


@pytest.fixture(autouse=True)
def _count_anew() -> None:
    ASKED.clear()


def debates(path: Path, *talks: list[str]) -> Path:
    lines = [
        files.simulation_line(
            Debate(
                id=f"d{number}",
                turns=tuple(
                    Turn(utterance=f"Claim {number}.{at}", response=Response(content=said))
                    for at, said in enumerate(talk)
                ),
            )
        )
        for number, talk in enumerate(talks)
    ]
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def run_jury(source: Path, *words: str, **options: str) -> Ended:
    given = [word for key, value in options.items() for word in ("-O", f"{key}={value}")]
    out = source.with_name("out.jsonl")
    return touche_rad("judge", source, "-j", "jury", *given, "-o", out, *words)


def verdicts(source: Path) -> list[dict[str, Any]]:
    """The official records of Quantity, turn by turn."""
    lines = source.with_name("out.jsonl").read_text().splitlines()
    return [turn["Quantity"] for line in lines for turn in json.loads(line)["userTurnsEvaluations"]]


def test_equal_weights_are_the_mean_of_the_members_and_each_vote_is_kept(tmp_path: Path) -> None:
    source = debates(tmp_path / "d.jsonl", ["a=0.9 b=0.2", "a=0.1 b=0.2"])
    assert run_jury(source, of=f"{A},{B}").code == 0
    first, second = verdicts(source)
    assert first["score"] == pytest.approx(0.55)
    assert second["score"] == pytest.approx(0.15)
    assert first["votes"] == {A: 0.9, B: 0.2}
    assert first["explanation"] == f"{A} 0.90; {B} 0.20"


def test_a_member_that_fails_is_left_out_and_the_verdict_says_so(tmp_path: Path) -> None:
    source = debates(tmp_path / "d.jsonl", ["a=0.9", "nothing", "a=0.7 b=0.3"])
    ended = run_jury(source, of=f"{A},{B}")
    assert "judge reads failed: ValueError: no score for " in ended.err
    alone, none, both = verdicts(source)
    assert (alone["score"], alone["votes"]) == (0.9, {A: 0.9, B: None})
    assert f"{B} gave no verdict" in alone["explanation"]
    assert none["score"] == 1.0
    assert "no judge of the jury gave a verdict" in none["explanation"]
    assert both["score"] == 0.5


def test_an_abstention_is_marked_and_keeps_its_score(tmp_path: Path) -> None:
    source = debates(tmp_path / "d.jsonl", ["a=0.45", "a=0.8", "a=0.3"])
    run_jury(source, of=A, margin="0.1")
    near, far, other = verdicts(source)
    assert (near["score"], near["abstained"]) == (0.45, True)
    assert "the jury abstains" in near["explanation"]
    assert "abstained" not in far
    assert "abstained" not in other


def test_a_dear_judge_is_asked_only_where_the_others_are_unsure(tmp_path: Path) -> None:
    source = debates(tmp_path / "d.jsonl", ["a=0.9 b=0.1", "a=0.5 b=0.1", "a=0.6 b=0.9"])
    run_jury(source, of=f"{A},{B}", dear="1", unsure="0.2")
    sure, first, second = verdicts(source)
    assert sure["votes"] == {A: 0.9}
    assert f"{B} not asked" in sure["explanation"]
    assert first["score"] == pytest.approx(0.3)
    assert second["score"] == pytest.approx(0.75)
    assert ASKED == {"a": 3, "b": 2}


def test_dear_judges_are_asked_one_after_the_other_until_the_jury_is_sure(tmp_path: Path) -> None:
    source = debates(tmp_path / "d.jsonl", ["a=0.5 b=1 c=0", "a=0.5 b=0.5 c=0"])
    run_jury(source, of=f"{A},{B},{C}", dear="2", unsure="0.2")
    assert [list(one["votes"]) for one in verdicts(source)] == [[A, B], [A, B, C]]


TALKS = [
    [f"a={0.5 + 0.04 * ((3 * talk + turn) % 10):.2f} b=0" for turn in range(4)] for talk in range(5)
]


@pytest.mark.parametrize(("budget", "most"), [("7", 7), ("30%", 6), ("0", 0), ("100%", 14)])
def test_the_budget_goes_to_the_least_certain_responses_of_the_file(
    tmp_path: Path, budget: str, most: int
) -> None:
    source = debates(tmp_path / "d.jsonl", *TALKS)
    options = {"of": f"{A},{B}", "dear": "1", "unsure": "0.23", "budget": budget}
    run_jury(source, **options)
    found = verdicts(source)
    asked = [one["votes"][A] for one in found if B in one["votes"]]
    others = [one["votes"][A] for one in found if B not in one["votes"]]
    assert len(asked) == ASKED["b"] == most
    assert max(asked, default=0.5) <= min([one for one in others if one < 0.74], default=1.0)


def test_the_choice_does_not_depend_on_the_workers_or_on_an_interruption(tmp_path: Path) -> None:
    source = debates(tmp_path / "d.jsonl", *TALKS)
    options = {"of": f"{A},{B}", "dear": "1", "budget": "30%"}
    out, written = tmp_path / "out.jsonl", set()
    for workers in ("1", "8"):
        run_jury(source, "--workers", workers, "--restart", "--replace", **options)
        written.add(out.read_bytes())
    assert len(written) == 1


def test_members_that_judge_whole_debates_do_so_in_a_jury(tmp_path: Path) -> None:
    source = debates(tmp_path / "d.jsonl", ["a=0.9 b=0.5", "a=0.5 b=0.9"])
    run_jury(source, of=f"reads-all(key=a),{B}")
    assert ASKED["calls at once"] == 1
    assert [one["score"] for one in verdicts(source)] == pytest.approx([0.7, 0.7])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"of": f"{A},{A}"}, "reads(key=a) is named twice"),
        ({"of": "jury,length"}, "a jury cannot contain a jury"),
        ({"of": "lenght"}, "there is no judge 'lenght'"),
        ({"of": "zsl"}, "judge zsl needs a language model"),
        ({"of": A, "dear": "1"}, "expected fewer than the 1 judges"),
        ({"of": f"{A},{B}", "budget": "many"}, "expected a number of responses, or a share"),
        ({"of": f"{A},{B}", "budget": "120%"}, "expected a number of responses, or a share"),
        ({"weights": "none.json"}, "none.json: cannot be read"),
    ],
)
def test_wrong_options_are_refused_in_one_line(
    tmp_path: Path, options: dict[str, str], said: str
) -> None:
    ended = run_jury(debates(tmp_path / "d.jsonl", ["a=1"]), **options)
    assert ended.code == 2
    assert said in " ".join(ended.err.split())


# --- scores


def test_score_shows_the_members_beside_the_jury_and_what_the_cascade_saved(tmp_path: Path) -> None:
    source = debates(tmp_path / "d.jsonl", ["a=0.9 b=1", "a=0.6 b=0", "a=0.2 b=0", "a=0.5 b=0"])
    labels = labels_file(tmp_path / "labels.jsonl", [[(1,) * 4, (0,) * 4, (0,) * 4, (0,) * 4]])
    run_jury(source, of=f"{A},{B}", dear="1", unsure="0.2", margin="0.25")
    scored = touche_rad("score", tmp_path / "out.jsonl", labels, "--json")
    rows = {row["juror"]: row for row in json.loads(scored.out)["jurors"]}
    assert (rows[A]["turns"], rows[A]["saved"]) == (4, 0.0)
    assert (rows[B]["turns"], rows[B]["saved"]) == (2, 0.5)
    assert rows[A]["f1"] == pytest.approx(0.5), "one right yes, two wrong ones"
    assert rows[A]["judge_f1"] == 1.0
    assert json.loads(scored.out)["abstained"] == {"out": 4}, "0.3 on the four maxims"


def test_score_leaves_out_abstentions_on_request(tmp_path: Path) -> None:
    source = debates(tmp_path / "d.jsonl", ["a=0.9", "a=0.45", "a=0.1"])
    labels = labels_file(tmp_path / "labels.jsonl", [[(1,) * 4, (1,) * 4, (0,) * 4]])
    run_jury(source, of=A, margin="0.1")
    words = ("score", tmp_path / "out.jsonl", labels)
    counted = json.loads(touche_rad(*words, "--json").out)
    left = json.loads(touche_rad(*words, "--json", "--leave-out-abstained").out)
    found = [
        next(row for row in report["rows"] if (row["run"], row["maxim"]) == ("out", "quantity"))
        for report in (counted, left)
    ]
    assert [(row["labelled"], round(row["f1"], 3)) for row in found] == [(3, 0.667), (2, 1.0)]
    shown = touche_rad(*words, "--leave-out-abstained").out
    assert "verdicts on which a judge abstains are left out for all runs: out 4" in shown


# --- learned weights

RIGHT = {"a": 0.9, "b": 0.7, "c": 0.55}
"""How often each scripted judge agrees with the label."""


def study(folder: Path, seed: int = 1, size: int = 80) -> tuple[Path, Path]:
    """Debates with labels; judges of known error rates, whose errors are independent."""
    chance = np.random.default_rng(seed)
    truth = (chance.random((size, 4)) < 0.55).astype(int)
    talks = [
        [
            " ".join(
                f"{key}={said if chance.random() < right else 1 - said}"
                for key, right in RIGHT.items()
            )
            for said in row.tolist()
        ]
        for row in truth
    ]
    labels = [[(int(one),) * 4 for one in row] for row in truth]
    return (
        debates(folder / f"d{seed}.jsonl", *talks),
        labels_file(folder / f"l{seed}.jsonl", labels),
    )


@pytest.mark.services
def test_learned_weights_are_the_log_odds_of_the_judges_being_right(tmp_path: Path) -> None:
    source, labels = study(tmp_path, size=250)
    out = tmp_path / "jury.json"
    ended = touche_rad(
        "train", "jury", source, labels, "--of", f"{A},{B},{C}", "-o", out, "-q", "--json"
    )
    assert ended.code == 0
    report = json.loads(ended.out)["quantity"]
    weights = json.loads(out.read_text())["sums"][-1]["quantity"]["weights"]
    for name, key in ((A, "a"), (B, "b"), (C, "c")):
        expected = np.log(RIGHT[key] / (1 - RIGHT[key]))
        assert 4 * weights[name] == pytest.approx(expected, abs=0.35)  # logits are ±4
        assert report["jurors"][name]["accuracy"] == pytest.approx(RIGHT[key], abs=0.05)
    assert report["jury"]["accuracy"] > report["equal weights"]["accuracy"] + 0.03
    assert report["jury"]["accuracy"] > report["best juror"]["accuracy"] - 0.01
    decided = report["abstention"]
    assert decided[-1]["accuracy"] > report["jury"]["accuracy"]
    other, known = study(tmp_path, seed=2)
    assert run_jury(other, weights=str(out)).code == 0
    right = [
        (one["score"] >= 0.5) == bool(label[Maxim.QUANTITY])
        for one, label in zip(
            verdicts(other), (turn for of in files.read_labels(known) for turn in of), strict=True
        )
    ]
    assert np.mean(right) == pytest.approx(report["jury"]["accuracy"], abs=0.06)


@pytest.mark.services
def test_few_labels_give_equal_weights_and_the_file_says_so(tmp_path: Path) -> None:
    source, labels = study(tmp_path, size=3)
    out = tmp_path / "jury.json"
    ended = touche_rad("train", "jury", source, labels, "--of", f"{A},{B}", "-o", out, "-q")
    assert "equal weights, because there are too few labels" in ended.out
    assert run_jury(source, weights=str(out)).code == 0
    wrong = run_jury(source, "--replace", weights=str(out), of=f"{B},{A}")
    assert wrong.code == 2
    assert "has weights for" in wrong.err


@pytest.mark.services
def test_a_turn_without_a_verdict_is_named_in_the_weights_and_at_the_terminal(
    tmp_path: Path,
) -> None:
    source, labels = study(tmp_path, size=3)
    source.write_text(source.read_text().replace("b=", "no=", 1))
    out = tmp_path / "jury.json"
    named = f"no verdict of {B} on 1 of 12 turns: debate 1, turn 1"
    ended = touche_rad("train", "jury", source, labels, "--of", f"{A},{B}", "-o", out)
    assert named in ended.out
    assert named in ended.err
    assert named in json.loads(out.read_text())["how"]
    source.write_text(source.read_text().replace("b=", "no="))
    ended = touche_rad("train", "jury", source, labels, "--of", f"{A},{B}", "-o", out, "--replace")
    assert (ended.code, f"{B} gave no verdict on any response" in ended.err) == (1, True)
