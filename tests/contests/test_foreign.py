"""Debates of other collections become contests: sides, speeches, and one winner of many votes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.cases import with_cases
from tests.demo import DEBATES
from tests.records import read_cases
from tests.refusals import expect_error
from tests.terminal import touche_rad
from touche_rad import files
from touche_rad.contest import TIE, Contest
from touche_rad.contests.foreign import contests
from touche_rad.errors import InputError

ART = read_cases("contests/debate_about_cats.json")


def read_contests_of(path: Path, value: Any) -> list[Contest]:
    path.write_text(json.dumps(value), "utf-8")
    return list(contests(path))


def test_votes_of_debateart_give_a_winner_per_dimension() -> None:
    (contest,) = read_contests_of(Path("art.json"), [ART])
    assert contest.sides == {"Ann": "pro", "Ben": "con"}
    assert [speech.speaker for speech in contest.speeches] == ["Ann", "Ben", "Ann", "Ben"]
    assert contest.motion == "Cats are better"
    assert contest.info == "House cats."
    assert contest.gold["argument"] == "Ann"
    assert contest.gold["source"] == "Ben"
    assert contest.gold["language"] == TIE, "one for con, one for nobody, one for pro"
    assert contest.gold["general"] == "Ann", "by 7 points to 6, though the third voter names con"
    assert contest.gold["votes"]["source"] == {"tie": 2, "Ben": 1}
    assert contest.gold["votes"]["general"] == {"Ann": 1, "Ben": 2}


def test_the_examples_of_the_help_are_contests() -> None:
    text = " ".join(touche_rad("contests --help").out.split())
    (art,) = re.findall(r"DebateArt: (\{.+?\]\})", text)
    (contest,) = read_contests_of(Path("art.json"), json.loads(art))
    wanted = r"([a-z/1]+)\.json(?: is)? ([{[].+?[}\]])(?=, [sg]|\. )"
    for place, content in re.findall(wanted, text):
        file = Path("bench", f"{place}.json")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    (from_folder,) = contests(Path("bench"))
    assert contest.gold["general"] == "con"
    assert from_folder.gold == {"general": "Ben"}


def write_panelbench(folder: Path, **change: Any) -> Path:
    for name in ("motion", "speech/2", "gold"):
        (folder / name).mkdir(parents=True)
    for name in ("2", "10"):
        motion = {
            "motion": f"Motion {name}",
            "pro_side": [{"name": "OG"}, {"name": "CG"}],
            "con_side": [{"name": "OO"}, {"name": "CO"}],
            "info_slide": "Slide.",
            "speech_order": ["OG", "OO", "CG", "CO"],
            **change,
        }
        (folder / "motion" / f"{name}.json").write_text(json.dumps(motion), "utf-8")
    for number in range(4):
        (folder / "speech/2" / f"{number + 8}.md").write_text(f"Said {number}", "utf-8")
    (folder / "speech/10.json").write_text(json.dumps([f"Told {n}" for n in range(4)]), "utf-8")
    (folder / "gold.json").write_text(json.dumps({"10": ["OO", "CG"]}), "utf-8")
    (folder / "gold/2.json").write_text(json.dumps({"general": "CO"}), "utf-8")
    return folder


def test_a_folder_of_panelbench() -> None:
    first, second = contests(write_panelbench(Path("bench")))
    assert [contest.id for contest in (first, second)] == ["2", "10"]
    assert first.speakers == ("OG", "OO", "CG", "CO")
    assert [speech.text for speech in first.speeches] == [f"Said {n}" for n in range(4)]
    assert first.gold == {"general": "CO"}
    assert second.gold == {"general": ["OO", "CG"]}
    assert second.info == "Slide."
    assert second.sides["CG"] == "pro"


def test_the_terminal_writes_contests_that_read_back() -> None:
    source, out = Path("art.json"), Path("contests.jsonl")
    source.write_text(json.dumps([ART, {**ART, "id": "z"}]), "utf-8")
    touche_rad("contests", source, "-o", out, err="2 contests, 2 with")
    assert [contest.id for contest in files.read_contests(out)] == ["1", "z"]
    again = Path("again.jsonl")
    touche_rad("contests", out, "-o", again)
    assert again.read_bytes() == out.read_bytes()


@pytest.mark.parametrize("votes", [{"votes": None}, {"votes": []}, {}])
def test_a_debate_without_votes_has_no_winner(votes: dict[str, Any]) -> None:
    source, out = Path("x.json"), Path("contests.jsonl")
    bare = {key: value for key, value in ART.items() if key != "votes"}
    source.write_text(json.dumps([bare | votes]), "utf-8")
    touche_rad("contests", source, "-o", out, err="1 contests, 0 with")
    (contest,) = files.read_contests(out)
    assert contest.gold == {}
    assert len(contest.sides) == 2


def test_debates_of_the_task_are_contests_too() -> None:
    debates = list(contests(DEBATES))
    assert {tuple(contest.sides.items()) for contest in debates} == {
        (("user", "pro"), ("system", "con"))
    }


@with_cases(("changes", "expected"), "contests/wrong_debates.json")
def test_an_invalid_record_is_reported_and_can_be_skipped(
    changes: list[Any], expected: str
) -> None:
    value = [{**ART, **change} if isinstance(change, dict) else change for change in changes]
    source, out = Path("x.json"), Path("out.jsonl")
    source.write_text(json.dumps(value), "utf-8")
    touche_rad("contests", source, "-o", out, code=2, err=expected)
    assert not out.exists()
    touche_rad("contests --skip-bad", source, "-o", out, err="skipped: 1;")


@with_cases(("change", "expected"), "contests/wrong_folders.json")
def test_an_invalid_folder_is_reported(change: dict[str, Any], expected: str) -> None:
    folder = write_panelbench(Path("bench"), **change)
    ended = touche_rad("contests -o out.jsonl", folder, code=2, err=expected)
    assert "Traceback" not in ended.err


def test_a_speech_is_no_link_out_of_the_folder() -> None:
    (write_panelbench(Path("bench")) / "speech/2/3.txt").symlink_to("/etc/hosts")
    touche_rad("contests bench -o out.jsonl", code=2, err="3.txt leads out of bench")


@with_cases(("name", "text", "expected"), "contests/invalid_gold.json")
def test_invalid_gold_is_reported(name: str, text: str, expected: str) -> None:
    folder = write_panelbench(Path("bench"))
    (folder / name).write_text(text, "utf-8")
    with expect_error(re.escape(expected), InputError):
        list(contests(folder))
    (folder / name).write_text("{}" if name == "gold.json" else "null", "utf-8")
    assert list(contests(folder))[name == "gold.json"].gold == {}
