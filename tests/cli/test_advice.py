"""Each command that is advised can be typed as it stands, and the last ones have a valid run."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from tests.bench.makers import BRIEF
from tests.cases import with_cases
from tests.demo import ARGUMENTS, CLAIMS, DEBATES
from tests.records import copy_lines, read_json, write_lines, write_records
from tests.terminal import touche_rad

FAILS_ONCE = BRIEF.replace(
    "return", "assert debate.turns[1:] or 'e' in debate.thesis\n        return"
)
COMMANDS = {
    "simulate claims.tsv -i index --turns 1 --replace": "",
    "simulate claims.tsv -i index -d brief --plugin brief.py --turns 2": "",
    "respond debates.jsonl -i index -d verbatim": "",
    "respond debates.jsonl -i index --as simulations": "",
    "judge debates.jsonl -j length": "",
    "judge simulations.jsonl -i index": "claims.tsv",
    "judge answers.jsonl -i index": "",
    "judge shuffled.jsonl -i index": "claims.tsv",
    "judge twice.jsonl -i index": "claims.tsv",
}
"""Commands, and with what their run is compared if it is not their input."""
DAMAGES = (
    "first rest",
    "rest first",
    "rest",
    "lost rest",
    "first rest first",
    "nonsense rest",
)
"""What a damaged run has; the first case is sound."""


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the commands read, and an index that is not the demo's."""
    folder = tmp_path_factory.mktemp("in puts")
    copy_lines(ARGUMENTS, folder / "arguments.jsonl", 400)
    copy_lines(CLAIMS, folder / "claims.tsv", 4)
    copy_lines(DEBATES, folder / "debates.jsonl", 3)
    (folder / "brief.py").write_text(FAILS_ONCE)
    for words in (
        "index arguments.jsonl -o index",
        "simulate claims.tsv -i index --turns 1 -o simulations.jsonl",
        "respond debates.jsonl -i index -o answers.jsonl",
    ):
        touche_rad(words, cwd=folder)
    first, *rest = (folder / "simulations.jsonl").read_text().splitlines()
    write_lines(folder / "shuffled.jsonl", [*rest, first])
    write_lines(folder / "twice.jsonl", [first, *rest, first])
    return folder


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("command", COMMANDS)
def test_each_advised_command_works_as_typed(inputs: Path, command: str, damage: str) -> None:
    shutil.copytree(inputs, "in puts")
    folder = Path("elsewhere")
    folder.mkdir()
    # The status of verdicts elsewhere names debates that `check` does not read.
    out = "../elsewhere/run.jsonl" if "shuffled" in command else "run.jsonl"
    run = Path("in puts", out)
    touche_rad(command, "-o", out, cwd=Path("in puts"))
    first, *rest = run.read_text().splitlines()
    parts = {"first": [first], "rest": rest, "lost": ["{}"], "nonsense": ["nonsense"]}
    write_lines(run, [line for part in damage.split() for line in parts[part]])
    source = COMMANDS[command] or command.split()[1]
    check = f"check '../in puts/{out}' -i '../in puts/index' --input '../in puts/{source}'"
    first_advice = touche_rad(check, cwd=folder, code=None).out
    steps = [shlex.split(check)]
    for words in steps:  # it grows
        ended = touche_rad(*words, cwd=folder, code=None)
        advised = re.findall("^(?:next: |  +)touche-rad (.*)$", ended.out + ended.err, re.M)
        assert ended.code == 0 or ("check" in words and advised), ended
        steps += map(shlex.split, advised)
    assert len(set(map(tuple, steps))) == len(steps)
    assert "--replace" not in str(steps)
    # The commands below the first heading suffice.
    block = re.search("^To .*:\n((?:  .*\n)+)", first_advice, re.M)
    *_, last = re.findall(r"run(?:\.fixed|\.new)*\.jsonl", block[1] if block else check)
    touche_rad(check.replace("run.jsonl", last), cwd=folder)


def test_of_debates_that_were_judged_twice_the_debates_are_repaired_first(inputs: Path) -> None:
    shutil.copy(inputs / "twice.jsonl", ".")
    shutil.copy(inputs / "claims.tsv", "CLAIMS")
    touche_rad("judge twice.jsonl -j length -o run.jsonl")
    advised = touche_rad("check run.jsonl", code=1).out.partition("To repair it, in this order (")[
        2
    ]
    assert advised.startswith("the last one makes it valid, also if one before it fails):\n")
    first, second = re.findall("touche-rad (check .*)", advised)
    assert "judge" not in advised
    touche_rad(first)
    touche_rad(second)
    touche_rad("check run.fixed.jsonl")


def test_of_a_run_without_its_input_no_advice_names_the_input(inputs: Path) -> None:
    shutil.copy(inputs / "simulations.jsonl", "simulations.jsonl")
    touche_rad("judge simulations.jsonl -j length -o run.jsonl")
    Path("simulations.jsonl").unlink()
    run = Path("run.jsonl")
    text = run.read_text()
    run.write_text(re.sub(r'("score": )([0-9.]+)', r'\1"\2"', text))
    repairable = touche_rad("check", run, code=1).out
    (repair,) = re.findall("touche-rad (.*)", repairable)
    touche_rad(repair)
    assert "in capitals" not in repairable
    write_lines(run, [*text.splitlines()[1:], "{}"])
    advised = touche_rad("check", run, code=1).out
    assert "touche-rad judge JUDGED_DEBATES -j length -o run.new.jsonl" in advised
    assert "touche-rad check run.jsonl --input JUDGED_DEBATES --fix " in advised
    explained = "or the file is gone): JUDGED_DEBATES = the debates that were judged\nTo make"
    assert explained in advised
    Path("run.jsonl.status.json").unlink()
    touche_rad("check", run, code=1, out="judged; INDEX = the argument index; JUDGE = the judge\n")


def test_settings_of_the_environment_are_advised_as_words(
    inputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Path("run.jsonl")
    shutil.copy(inputs / "brief.py", ".")
    Path("settings.toml").write_text("[simulate]\nturns = 1\n")
    with monkeypatch.context() as environment:
        environment.setenv("TOUCHE_RAD_INDEX", str(inputs / "index"))
        environment.setenv("TOUCHE_RAD_PLUGIN", "brief.py")
        environment.setenv("TOUCHE_RAD_CONFIG", "settings.toml")
        touche_rad("simulate", inputs / "claims.tsv", "-d", "brief", "-o", run)
    write_lines(run, ["{}"])
    (advised,) = re.findall("touche-rad (simulate .*)", touche_rad("check", run, code=1).out)
    assert "-d brief" in advised
    played = touche_rad(*shlex.split(advised), err="written: run.new.jsonl")
    assert "(3 answers" in played.err


@with_cases(("words", "advised"), "cli/commands_of_strangers.json")
def test_a_status_of_a_stranger_advises_only_words_of_a_command(
    inputs: Path, words: list[str], advised: list[str]
) -> None:
    """It cannot advise to trust, and no word ends where a terminal shows no character."""
    run = Path("run.jsonl")
    shutil.copy(inputs / "debates.jsonl", ".")
    touche_rad("judge debates.jsonl -j length -o", run)
    status = Path("run.jsonl.status.json")
    write_records(status, {**read_json(status), "command": words})
    write_lines(run, ["{}"])
    ended = touche_rad("check", run, code=1, err="without --input, missing debates")
    last = shlex.split(ended.out.splitlines()[-1])
    assert last == ["touche-rad", *advised, "-o", "run.new.jsonl"]


def test_a_name_of_a_file_is_no_option_in_an_advised_command(inputs: Path) -> None:
    shutil.copy(inputs / "debates.jsonl", "--config=x.jsonl")
    with Path("--config=x.jsonl").open("a") as run:
        run.write("{}\n")
    advised = touche_rad("check ./--config=x.jsonl", code=1).out
    assert "touche-rad check ./--config=x.jsonl" in advised
    assert " --config" not in advised.partition("To repair it:")[2]


@pytest.mark.parametrize("place", ["mine.jsonl", "theirs/debates.jsonl"])
def test_check_reads_what_only_a_status_names_in_the_folder_of_the_run(
    inputs: Path, place: str
) -> None:
    run = Path("theirs/run.jsonl")
    run.parent.mkdir()
    write_lines(Path(place), [(inputs / "debates.jsonl").read_text().strip(), "{}"])
    touche_rad("judge", place, "-j", "length", "-o", run)
    write_lines(run, ["{}"])
    is_read = place.startswith("theirs")
    assert ("simulate CLAIMS" in touche_rad("check", run, code=1).out) == is_read
    touche_rad("check", run, "--input", place, code=1, out="simulate CLAIMS")
