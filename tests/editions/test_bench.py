"""`touche-rad bench` and `rerun`: the plan, its errors, and the first difference."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from pathlib import Path

import pytest

from tests.editions.makers import SMALL, WITH_LABELS, contents, write_bench
from tests.terminal import touche_rad

EVALUATIONS = "debates/seed-0/rules/verbatim.length.jsonl"


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a finished bench: `bench.toml` and `out`."""
    folder = tmp_path_factory.mktemp("bench")
    ended = touche_rad("bench", write_bench(folder), "-o", folder / "out")
    assert ended.code == 0, ended.err
    assert f"next: touche-rad rerun {folder / 'out'}" in ended.err
    return folder


@pytest.fixture
def copy(bench: Path, tmp_path: Path) -> Path:
    """Return a copy of the bench, which the test may change."""
    return Path(shutil.copytree(bench, tmp_path / "copy"))


def test_a_bench_is_planned_first(tmp_path: Path) -> None:
    plan = write_bench(tmp_path, WITH_LABELS)
    before = contents(tmp_path)
    ended = touche_rad("bench", plan, "--dry-run", "--json")
    assert ended.code == 0, ended.err
    shown = json.loads(ended.out)
    turns = shown["models"]["no model"]["estimate"]["turns"]
    assert turns == {"answers": 2, "verdicts": 2 * 4 + 9 * 4}
    assert {"2 claims", "3 labelled debates"} == set(shown["smallest_differences"])
    plan.write_text(WITH_LABELS.replace("turns = 1", "turns = 2\nseeds = [0, 1]"))
    printed = touche_rad("bench", plan, "--dry-run").out.splitlines()
    assert printed[0] == (
        "bench small: 2 claims x 1 debater x 1 user x 2 seeds = 4 debates of 2 turns, each judged "
        "by 1 judge; 3 labelled debates x 1 judge x 2 seeds"
    )
    assert "no model calls" in printed
    assert printed[-1] == "dry run: nothing was written"
    plan.write_text(WITH_LABELS)
    assert contents(tmp_path) == before


def test_the_cost_of_each_model_is_estimated(tmp_path: Path) -> None:
    judges = ", ".join(
        f'{name} = {{ plugin = "zsl", model = "http://localhost:9/v1#{name}" }}' for name in "ab"
    )
    text = WITH_LABELS.replace('judges = { length = "length" }', f"judges = {{ {judges} }}")
    ended = touche_rad("bench", write_bench(tmp_path, text), "--dry-run", "--rate", "60")
    assert ended.code == 0, ended.err
    for model in "ab":
        assert f"with the model http://localhost:9/v1#{model}:" in ended.out
    calls = [line.split() for line in ended.out.splitlines() if line.startswith("calls ")]
    assert calls == [["calls", "11", "11", "11"]] * 2  # 2 played turns and 9 labelled ones
    assert ended.out.count("60 calls a minute") == 2


def test_a_bench_has_one_record(bench: Path) -> None:
    record = json.loads((bench / "out" / "record.json").read_text())
    assert record["plan"]["debaters"] == {"verbatim": {"plugin": "verbatim", "model": ""}}
    assert record["plan_file"] == "../bench.toml"
    assert set(record["inputs"]) == {"claims.tsv"}
    assert set(record["outputs"]) == {EVALUATIONS, "debates/seed-0/rules/verbatim.jsonl"}
    assert record["usage"]["calls"] == 0
    assert {"touche-rad", "python", "numpy"} <= set(record["versions"])
    assert record["entries"]["users"]["rules"]["prompts"]


def test_a_rerun_is_equal(bench: Path) -> None:
    before = contents(bench)
    ended = touche_rad("rerun", bench / "out")
    assert ended.code == 0, ended.err
    assert "equal: 2 outputs and all figures are those of the record" in ended.err
    assert contents(bench) == before


def test_a_rerun_names_a_changed_file(copy: Path) -> None:
    claims = copy / "claims.tsv"
    claims.write_text(claims.read_text().replace("cars", "dogs"))
    ended = touche_rad("rerun", copy / "out" / "record.json")
    assert ended.code == 1
    assert ended.err == f"error: {claims}: the file has changed since the run\n"


def test_a_rerun_names_the_first_changed_output(copy: Path) -> None:
    out = copy / "out" / EVALUATIONS
    changed = out.read_text().splitlines()
    line = json.loads(changed[1])
    line["userTurnsEvaluations"][0]["Quality"]["score"] = 0.25
    out.write_text(f"{changed[0]}\n{json.dumps(line)}\n")
    record = copy / "out" / "record.json"
    text = json.loads(record.read_text())
    text["outputs"][EVALUATIONS] = "0" * 64
    record.write_text(json.dumps(text))
    ended = touche_rad("rerun", copy / "out", "-o", copy / "again")
    assert ended.code == 1
    assert ended.err.splitlines()[-1].startswith(
        f"error: {EVALUATIONS}:2: userTurnsEvaluations.0.Quality.score was 0.25 and is now 0.8"
    )


def test_a_rerun_names_a_changed_prompt_and_option(tmp_path: Path) -> None:
    prompts = tmp_path / "my-prompts"
    made = touche_rad("prompts", "grounded", "-o", prompts)
    assert made.code == 0, made.err
    plan = write_bench(tmp_path, SMALL.replace('"verbatim" }', '"grounded(prompts=my-prompts)" }'))
    ended = touche_rad("bench", plan, "-o", tmp_path / "out")
    assert ended.code == 0, ended.err
    first = sorted(prompts.glob("*.jinja"))[0]
    first.write_text(first.read_text() + "\nThink twice.\n")
    ended = touche_rad("rerun", tmp_path / "out")
    assert ended.code == 1
    assert ended.err == (
        f"error: debaters.verbatim: prompt {first.stem} has changed since the run\n"
    )
    refused = touche_rad("bench", plan, "-o", tmp_path / "out")
    assert refused.code == 2
    assert "debater was" in refused.err


FIXED = """
from touche_rad.debate import Maxim, Verdict
from touche_rad.plugins import judge


@judge("fixed")
class Fixed:
    def __init__(self, options, services):
        pass

    def judge(self, debate):
        return {maxim: Verdict(score=0.25) for maxim in Maxim}
"""


def test_a_bench_refuses_to_go_on_with_a_changed_plugin_file(tmp_path: Path) -> None:
    plugin, out = tmp_path / "fixed.py", tmp_path / "out"
    plugin.write_text(FIXED)
    plan = write_bench(tmp_path, SMALL.replace('length = "length"', 'fixed = "fixed"'))
    command = ("--plugin", plugin, "bench", plan, "-o", out)
    ended = touche_rad(*command)
    assert ended.code == 0, ended.err
    plugin.write_text(FIXED.replace("0.25", "0.75"))
    ended = touche_rad(*command)
    assert ended.code == 2
    assert "was made with other settings: --plugin fixed.py was" in ended.err


def test_a_bench_of_stand_ins_only_ends_with_an_error(tmp_path: Path) -> None:
    (tmp_path / "said.jsonl").write_text('{"answer": "no JSON"}\n')
    entry = f'{{ plugin = "composed", model = "scripted:{tmp_path}/said.jsonl" }}'
    plan = write_bench(tmp_path, SMALL.replace('verbatim = "verbatim"', f"composed = {entry}"))
    ended = touche_rad("bench", plan, "-o", tmp_path / "out")
    assert ended.code == 1
    first = "debates/seed-0/rules/composed.jsonl"
    assert f"error: all answers in {first} are stand-ins: see the warnings above" in ended.err


def test_a_folder_with_other_files_is_not_taken(tmp_path: Path) -> None:
    plan = write_bench(tmp_path)
    ended = touche_rad("bench", plan, "-o", tmp_path)
    assert ended.code == 2
    assert "exists already (a folder with files)" in ended.err


def test_two_processes_do_not_write_the_same_results(copy: Path) -> None:
    folder = os.open(copy / "out", os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    ended = touche_rad("bench", copy / "bench.toml", "-o", copy / "out")
    os.close(folder)
    assert ended.code == 2
    assert f"{copy / 'out'}: another process is at work on these results" in ended.err


def test_what_a_killed_process_left_is_removed(copy: Path) -> None:
    before = contents(copy)
    (copy / "out" / "page" / ".index.html.0123456789ab.new").write_text("<html>")
    assert touche_rad("bench", copy / "bench.toml", "-o", copy / "out").code == 0
    assert contents(copy) == before


@pytest.mark.parametrize(
    ("before", "after", "error"),
    [
        ("judges", "judgez", "judgez: there is no such key (did you mean 'judges'?)"),
        ("turns = 1", "turns = 0", "turns: Input should be greater than or equal to 1, got 0"),
        ("format = 1", "format = 2", "made by a newer touche-rad"),
        ("verbatim =", '"../x" =', "debaters.../x: expected another name"),
        ('"verbatim"', '"verbatin"', "there is no debater 'verbatin' (did you mean 'verbatim'?)"),
        ('"verbatim"', '"verbatim(n=1)"', "debaters.verbatim: debater verbatim has no option 'n'"),
        ('"verbatim"', "3", "debaters.verbatim: "),
        ('"verbatim"', '"sinai"', "debaters.verbatim: sinai needs a language model"),
        ('"verbatim"', '{ plugin = "verbatim", modl = "" }', "verbatim.modl: there is no such key"),
        ('"rules"', '"rulez"', "users.rules: there is no user 'rulez' (did you mean 'rules'?)"),
        ('"claims.tsv"', '"clams.tsv"', "claims: clams.tsv is not a file"),
        ('"demo"', '"nowhere"', "index: nowhere: there is no index"),
        ('index = "demo"', "", "index: expected a folder, elasticsearch:URL/NAME or"),
        ('name = "small"', "", "name: is required"),
        ('name = "small"', 'name = "a/b"', "name: expected another name"),
        ("turns = 1", "seeds = [1, 1]", "seeds: a seed is given twice"),
        ("turns = 1", 'labels = "labels.jsonl"', "debates: is required together with labels"),
        ("turns = 1", 'pages.baselines = ["lenght"]', "did you mean 'length'?"),
        ("turns = 1", 'pages.baselines = ["length"]', "one judge must be no baseline"),
    ],
)
def test_an_error_names_file_key_and_the_right_name(
    before: str, after: str, error: str, tmp_path: Path
) -> None:
    plan = write_bench(tmp_path, SMALL.replace(before, after, 1))
    ended = touche_rad("bench", plan, "-o", tmp_path / "out")
    assert ended.code == 2
    (line,) = ended.err.splitlines()
    assert line.startswith(f"touche-rad: error: {plan}: ")
    assert error in line
    assert not (tmp_path / "out").exists()
