"""`touche-rad edition`: from an empty folder to a verified leaderboard, also when it is killed."""

from __future__ import annotations

import hashlib
import json
import random
import re
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.editions import killing
from tests.editions.makers import (
    WITH_LABELS,
    contents,
    run_edition,
    write_data,
    write_edition,
)
from tests.terminal import touche_rad


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a small edition that has been run."""
    edition = write_edition(tmp_path_factory.mktemp("editions") / "small", WITH_LABELS)
    run_edition(edition)
    return edition


@pytest.fixture
def edition(finished: Path) -> Iterator[Path]:
    """Return the edition; the test may change it."""
    before = contents(finished)
    yield finished
    for path in set(contents(finished)) - set(before):
        (finished / path).unlink()
    for path, data in before.items():
        (finished / path).write_bytes(data)


def verify(edition: Path) -> str:
    """Return the difference that `edition verify` names."""
    ended = touche_rad("edition", "verify", edition)
    assert ended.code == 1, ended.err
    (line,) = ended.err.splitlines()
    return line.removeprefix("error: ")


def test_a_new_edition_has_a_manifest_data_and_hashes(tmp_path: Path) -> None:
    claims = write_data(tmp_path / "data") / "claims.tsv"
    made = touche_rad(
        "edition",
        "new",
        tmp_path / "rad",
        "--claims",
        claims,
        "-i",
        "demo",
        "--turns",
        "1",
        "-d",
        "verbatim",
        "-d",
        "grounded(k=3)",
        "-d",
        "verbatim",
        "-j",
        "length",
        "--user",
        "rules(max_words=25)",
    )
    assert made.code == 0, made.err
    plan = tomllib.loads((tmp_path / "rad" / "edition.toml").read_text())
    assert plan["debaters"] == {
        "verbatim": "verbatim",
        "grounded": "grounded(k=3)",
        "verbatim-2": "verbatim",
    }

    assert plan["users"] == {"rules": "rules(max_words=25)"}
    assert (tmp_path / "rad" / "claims.tsv").read_bytes() == claims.read_bytes()
    sums = (tmp_path / "rad" / "SHA256SUMS").read_text().splitlines()
    assert [line.split("  ")[1] for line in sums] == ["claims.tsv", "edition.toml"]
    again = touche_rad("edition", "new", tmp_path / "rad")
    assert again.code == 2
    assert "--replace" in again.err
    dry = touche_rad("edition", "run", tmp_path / "rad", "--dry-run")
    assert dry.out.startswith("edition rad: 2 claims x 3 debaters x 1 user x 1 seed = 6 debates")
    assert "share of yes on one maxim" in dry.out
    assert not (tmp_path / "rad" / "results").exists()


def test_a_new_edition_with_a_wrong_entry_leaves_nothing(tmp_path: Path) -> None:
    made = touche_rad("edition", "new", tmp_path / "rad", "-d", "grounded(m=3)")
    assert made.code == 2
    assert "debaters.grounded: debater grounded has no option 'm'" in made.err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["a b", "..", ".hidden", "x" * 41])
def test_a_name_that_is_no_path_is_refused(name: str, tmp_path: Path) -> None:
    made = touche_rad("edition", "new", name, cwd=tmp_path)
    assert made.code == 2
    assert not list(tmp_path.iterdir())


def test_an_edition_is_verified(edition: Path) -> None:
    ended = touche_rad("edition", "verify", edition)
    assert ended.code == 0, ended.err
    assert re.search(r"verified: \d+ files and \d+ figures", ended.err)
    assert f"next: touche-rad rerun {edition}/results" in ended.err
    assert not re.search(rb"/editions\d*/small", b"".join(contents(edition).values()))


def test_a_second_run_changes_nothing(edition: Path) -> None:
    before = contents(edition)
    run_edition(edition)
    assert contents(edition) == before


def test_verify_finds_a_changed_label(edition: Path) -> None:
    path = edition / "labels.jsonl"
    path.write_text(path.read_text().replace("1", "0", 1))
    assert re.fullmatch(rf"{path}: SHA-256 is [0-9a-f]+…, expected [0-9a-f]+…", verify(edition))
    _forge(edition, path)
    assert verify(edition).startswith(f"{edition}/results/figures.json: judges.")


def test_verify_finds_a_changed_figure(edition: Path) -> None:
    path = edition / "results" / "figures.json"
    figures = json.loads(path.read_text())
    true = figures["debaters"][0]["yes"]
    figures["debaters"][0]["yes"] = 0.987654
    path.write_text(json.dumps(figures, indent=2) + "\n")
    assert verify(edition) == (f"{path}: debaters.0.yes is 0.987654, the files give {true:.6g}")


def test_verify_finds_a_changed_page(edition: Path) -> None:
    path = edition / "results" / "page" / "index.html"
    path.write_text(path.read_text().replace("verbatim", "verbatum", 1))
    assert verify(edition) == f"{path}: the page differs from the one that the files give"


@pytest.mark.parametrize(
    "name", ["claims.tsv", "results/debates/seed-0/rules/verbatim.jsonl", "results/page/index.html"]
)
def test_verify_finds_a_missing_file(name: str, edition: Path) -> None:
    (edition / name).unlink()
    assert verify(edition) == f"{edition / name}: the file is missing"


def test_verify_finds_verdicts_on_other_debates(edition: Path) -> None:
    path = edition / "results" / "debates" / "seed-0" / "rules" / "verbatim.length.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(reversed(lines)))
    _forge(edition, path)
    assert verify(edition).startswith(f"{path}:1: the debate is not the one in ")


def _forge(edition: Path, path: Path) -> None:
    """Give a changed file its new hash in the record and in the sums."""
    name = path.relative_to(edition).as_posix()
    sums = edition / "SHA256SUMS"
    lines = sums.read_text().splitlines()
    old = next(line[:64] for line in lines if line.endswith(f"  {name}"))
    for one in (edition / "results" / "record.json", sums):
        text = one.read_text()
        one.write_text(text.replace(old, hashlib.sha256(path.read_bytes()).hexdigest()))


def test_an_edition_that_was_not_run_is_not_verified(tmp_path: Path) -> None:
    ended = touche_rad("edition", "verify", write_edition(tmp_path / "e"))
    assert ended.code == 2
    assert "expected the record of a finished run" in ended.err


def test_a_new_entry_keeps_the_debates_of_the_others(edition: Path) -> None:
    played = edition / "results" / "debates" / "seed-0" / "rules" / "verbatim.jsonl"
    before = played.stat().st_mtime_ns
    plan = edition / "edition.toml"
    plan.write_text(
        plan.read_text().replace(
            'debaters = { verbatim = "verbatim" }',
            'debaters = { verbatim = "verbatim", many = "best-of-n" }',
        )
    )
    assert "many" in run_edition(edition)
    assert played.stat().st_mtime_ns == before
    assert touche_rad("edition", "verify", edition).code == 0
    plan.write_text(WITH_LABELS, "utf-8")
    refused = touche_rad("edition", "run", edition)
    assert refused.code == 2
    assert "of an entry that the plan does not name" in refused.err
    assert touche_rad("edition", "run", edition, "--replace").code == 0
    assert not list(edition.rglob("many*"))


def test_other_settings_need_replace(edition: Path) -> None:
    plan = edition / "edition.toml"
    plan.write_text(plan.read_text().replace("turns = 1", "turns = 2"))
    before = contents(edition / "results")
    refused = touche_rad("edition", "run", edition)
    assert refused.code == 2
    assert "turns was 1 and is now 2; replace it with --replace" in refused.err
    assert contents(edition / "results") == before


@pytest.mark.parametrize("value", ["../claims.tsv", "/etc/hostname"])
def test_the_data_of_an_edition_lies_in_its_folder(value: str, tmp_path: Path) -> None:
    write_data(tmp_path)
    edition = write_edition(tmp_path / "e")
    plan = edition / "edition.toml"
    plan.write_text(plan.read_text().replace('"claims.tsv"', f'"{value}"'))
    ended = touche_rad("edition", "run", edition)
    assert ended.code == 2
    assert f"{plan}: claims: expected a file in the folder of the edition" in ended.err


@pytest.mark.long
def test_a_killed_edition_ends_with_the_same_files(tmp_path: Path) -> None:
    """Four debaters, three judges and two users; killed twice at random moments."""
    edition = write_edition(tmp_path / "killed" / "tiny")
    whole = write_edition(tmp_path / "whole" / "tiny")
    begun = time.monotonic()
    printed = run_edition(whole)
    assert {"long", "short", "verbatim", "best"} <= set(re.findall(r"\w+", printed))
    seconds = time.monotonic() - begun
    chance = random.Random()
    hit = killing.disturbed(edition, chance, seconds, 2)
    assert contents(edition) == contents(whole), hit
    assert touche_rad("edition", "verify", edition).code == 0
