"""`touche-rad bench`: the plan and its errors, resuming, and the first difference."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import shutil
import tomllib
from pathlib import Path

import pytest

from tests import demo
from tests.bench.makers import BRIEF, SMALL, WITH_LABELS, contents, write_bench, write_data
from tests.cases import with_cases
from tests.demo import CLAIMS, LABELS
from tests.models import scripted
from tests.records import read_json, read_table
from tests.screens import check_messages, check_screen
from tests.terminal import touche_rad
from touche_rad.demo import demo_file
from touche_rad.files.append_log import IDENTITY, AppendLog
from touche_rad.files.outputs import STATUS
from touche_rad.files.records import JOURNAL, path_beside
from touche_rad.runs.journal import RUN

DEBATES = "debates/seed-0/rules/verbatim.jsonl"
VERDICTS = "debates/seed-0/rules/verbatim.length.jsonl"


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a finished bench: its plan, data and results."""
    folder = write_bench(tmp_path_factory.mktemp("bench") / "small", WITH_LABELS).parent
    touche_rad("bench run", folder)
    return folder


@pytest.fixture
def bench(finished: Path) -> Path:
    """Return a copy of the bench, which the test may change."""
    return Path(shutil.copytree(finished, "small"))


def verify_bench(folder: str | Path, *words: str) -> str:
    """Return the difference that `bench verify` prints."""
    ended = touche_rad("bench verify", folder, *words, code=1)
    return ended.err.splitlines()[-1].removeprefix("touche-rad: error: ")


def test_new_bench_has_a_plan_data_and_hashes() -> None:
    claims = write_data("data") / "claims.tsv"
    entries = "--turns 1 -d verbatim -d grounded(k=3) -d verbatim -j length -j zsl --user rules"
    words = ("--claims", claims, "-i", "demo", *entries.split())
    touche_rad("bench new rad", *words, err=" -m MODEL")
    plan = tomllib.loads(Path("rad/bench.toml").read_text())
    assert plan["debaters"] == {
        "verbatim": "verbatim",
        "grounded-k-3": "grounded(k=3)",
        "verbatim-2": "verbatim",
    }
    assert plan["pages"]["baselines"] == ["verbatim", "verbatim-2", "length"]
    assert Path("rad/claims.tsv").read_bytes() == claims.read_bytes()
    assert plan["sha256"] == {"claims": hashlib.sha256(claims.read_bytes()).hexdigest()}
    touche_rad("bench new rad", code=2, err="--replace")
    packed = Path("data/packed.jsonl.gz")
    packed.write_bytes(gzip.compress(demo.DEBATES.read_bytes()))
    touche_rad("bench new compressed --claims", packed, *words[2:])
    assert Path("compressed/claims.jsonl.gz").read_bytes() == packed.read_bytes()


@pytest.mark.parametrize(
    "words",
    [
        ("rad", "-d", "grounded(m=3)"),
        ("rad", "--claims", CLAIMS),
        ("a b",),
        ("..",),
        ("x" * 41,),
    ],
)
def test_refused_new_bench_leaves_nothing(words: tuple[str | Path, ...], tmp_path: Path) -> None:
    touche_rad("bench new", *words, code=2)
    assert not list(tmp_path.iterdir())


def test_record_names_plan_versions_prompts_and_hashes(finished: Path) -> None:
    record = read_json(finished / "results" / "record.json")
    assert record["plan"]["debaters"] == {"verbatim": {"plugin": "verbatim", "model": ""}}
    assert record["plan_file"] == "../bench.toml"
    assert set(record["inputs"]) == {"claims", "debates", "labels"}
    assert set(record["outputs"]) == {DEBATES, VERDICTS, "labelled/seed-0/length.jsonl"}
    assert record["usage"]["calls"] == 0
    assert {"touche-rad", "python", "numpy"} <= set(record["versions"])
    assert record["entries"]["users"]["rules"]["prompts"]
    page = (finished / "results" / "page" / "index.html").read_text("utf-8")
    assert "claims (2)" in page
    touche_rad("report", finished, "-o", finished.with_name("own.html"))
    assert page.count("significantly") == 1, "in the legend of ranks, which no row needs"


def test_a_second_run_has_the_same_files(finished: Path) -> None:
    before = contents(finished)
    touche_rad("bench run", finished)
    assert contents(finished) == before
    touche_rad("bench verify", finished)
    touche_rad("bench run -o again", finished)
    first = read_json(finished / "results" / "record.json")
    second = read_json("again/record.json")
    for key in ("outputs", "files", "entries", "inputs"):
        assert first[key] == second[key], key


def test_a_judge_of_played_debates_gets_the_index() -> None:
    plan = write_bench("small", WITH_LABELS.replace("length", "grounded"))
    said = "grounded judged the labelled debates without the index"
    touche_rad("bench run", plan.parent, err=said)
    results = plan.parent / "results"
    assert said in (results / "page" / "index.html").read_text("utf-8")
    played = read_json(results / f"{VERDICTS.replace('length', 'grounded')}.status.json")
    labelled = read_json(results / "labelled/seed-0/grounded.jsonl.status.json")
    assert played["identity"]["index"]
    assert labelled["identity"]["index"] is None


@pytest.mark.parametrize("index", ["", "demo"])
def test_a_bench_says_of_its_judges_what_judge_and_score_say(tmp_path: Path, index: str) -> None:
    for name in ("debates.jsonl", "labels.jsonl"):
        shutil.copy(demo_file(name), tmp_path)
    plan = Path("bench.toml")
    plan.write_text(
        'format = 1\nname = "judges"\ndebates = "debates.jsonl"\nlabels = "labels.jsonl"\n'
        f'judges = {{ length = "length", grounded = "grounded" }}\nindex = "{index}"\n'
    )
    ended = touche_rad("bench run -o out", plan)
    runs = [Path(f"out/labelled/seed-0/{judge}.jsonl") for judge in ("length", "grounded")]
    scored = touche_rad("score", *runs, "labels.jsonl").out
    assert "significantly (" in scored
    assert scored.partition("\n\n")[0] in ended.out
    with_index = ["-i", index] if index else []
    touche_rad("judge debates.jsonl -j grounded -o judged.jsonl", *with_index)
    assert Path("judged.jsonl").read_bytes() == runs[1].read_bytes()


def test_the_screen_of_a_finished_bench(bench: Path) -> None:
    check_screen("bench.run", touche_rad("bench run", bench))


@pytest.mark.parametrize(
    "name", ["claims.tsv", f"results/{DEBATES}", "results/figures.json", "results/page/index.html"]
)
def test_verify_prints_a_missing_or_changed_file(name: str, bench: Path) -> None:
    path = bench / name
    text = path.read_text()
    path.write_text(text.replace("a", "b", 1))
    again = "bench run small/bench.toml -o small/results --replace"
    fix = f"to make the results again: touche-rad {again}"
    if name == "claims.tsv":
        fix = "it is an input: restore it, or make another bench: touche-rad bench new DIR"
    assert verify_bench(bench) == f"{path}: was changed: {fix}"
    path.unlink()
    assert verify_bench(bench) == f"{path}: the file is missing: {fix}"
    if name == "claims.tsv":
        path.write_text(text)
    else:
        touche_rad(again)
    touche_rad("bench verify small")


@with_cases(("expected", "change"), "bench/damaged_records.json")
def test_a_damaged_record_is_refused(bench: Path, expected: str, change: dict[str, object]) -> None:
    record = bench / "results" / "record.json"
    record.write_text(json.dumps(read_json(record) | change))
    touche_rad("bench verify", bench, code=2, err=f"error: small/results/{expected}")


def test_changed_data_are_refused() -> None:
    touche_rad("bench new rad")
    claims = Path("rad/claims.tsv")
    claims.write_text(claims.read_text().replace("a", "b", 1))
    touche_rad("bench run rad", code=2, err="sha256.claims")


def test_results_of_other_settings_need_replace(bench: Path) -> None:
    plan = bench / "bench.toml"
    plan.write_text(plan.read_text().replace("turns = 1", "turns = 2"))
    assert verify_bench(bench) == f"{plan}: it is not the plan of the record"
    before = contents(bench / "results")
    touche_rad("bench run", bench, code=1, err="--replace")
    assert contents(bench / "results") == before
    touche_rad("bench run --replace", bench)


def test_a_run_that_fails_does_not_stop_the_others(bench: Path) -> None:
    plan = bench / "bench.toml"
    foreign = bench / "results" / VERDICTS.replace("length", "yes")
    plan.write_text(plan.read_text().replace('"length" }', '"length", yes = "always-yes" }'))
    foreign.write_text("foreign\n")
    touche_rad("bench run", bench, code=1, err=f"error: {foreign.relative_to(bench / 'results')}: ")
    assert foreign.read_text() == "foreign\n"
    assert (bench / "results/labelled/seed-0/yes.jsonl").is_file()
    foreign.unlink()
    touche_rad("bench run", bench)


def test_warnings_of_several_runs_are_printed_once_and_no_folder_of_the_user(
    tmp_path: Path,
) -> None:
    Path("own.toml").write_text('description = "Mine."')
    with scripted.serving() as server:
        server.always = scripted.content("yes")
        judge = f'zsl = {{ plugin = "zsl(profile=own.toml)", model = "{server.url}#tiny" }}'
        plan = write_bench(tmp_path, WITH_LABELS.replace('length = "length"', judge))
        warnings = touche_rad("bench run -o out", plan).err
    assert warnings.count("no log probabilities") == 1
    assert "(and 1 more)" in warnings
    assert "without a language model" not in warnings
    for path in Path("out").rglob("*.json"):
        assert str(tmp_path) not in path.read_text("utf-8")


@pytest.mark.parametrize(
    "change",
    [{"format": 1, "warnings": ["a text"]}, {"identity": 3}, {"identity": {"judge": {}}}],
    ids=["earlier", "identity", "judge"],
)
def test_a_status_of_an_earlier_version_or_a_damaged_one_is_refused(
    bench: Path, change: dict[str, object]
) -> None:
    path = bench / "results" / f"{VERDICTS}.status.json"
    path.write_text(json.dumps(read_json(path) | change))
    touche_rad("bench run", bench, code=1, err=f"{path}: ")


def test_new_entry_keeps_the_debates_of_the_others(bench: Path) -> None:
    played = bench / "results" / DEBATES
    before = played.stat().st_mtime_ns
    plan = bench / "bench.toml"
    debaters = 'verbatim = "verbatim", short = "grounded(max_words=30)"'
    plan.write_text(plan.read_text().replace('verbatim = "verbatim"', debaters))
    ended = touche_rad("bench run", bench)
    page = (bench / "results" / "page" / "index.html").read_text("utf-8")
    for shown in (ended.out, page):
        assert "grounded(max_words=30)" in shown
    assert played.stat().st_mtime_ns == before
    touche_rad("bench verify", bench)


def test_a_bench_has_its_plugin_and_plays_again_what_an_edit_changes(tmp_path: Path) -> None:
    plugin = write_data(tmp_path) / "brief.py"
    plugin.write_text(BRIEF)
    touche_rad(
        "bench new rad --claims claims.tsv -i demo --turns 1 -d brief -d verbatim -j grounded "
        "--plugin brief.py",
        err="next: touche-rad bench run rad --plugin rad/brief.py\n",
    )
    touche_rad("bench run rad", code=2, err="--plugin rad/brief.py")
    touche_rad("bench run rad --trust")
    touche_rad("bench verify rad")

    plugin.write_text(BRIEF.replace("Nothing", "No evidence"))
    other = Path(f"rad/results/{DEBATES}")
    before = other.stat().st_mtime_ns
    edited = touche_rad("bench run rad --plugin brief.py")
    assert [line for line in edited.err.splitlines() if line.startswith("again: ")] == [
        "again: debates/seed-0/rules/brief.jsonl (--plugin brief.py changed)",
        "again: debates/seed-0/rules/brief.grounded.jsonl (input changed)",
    ]
    assert other.stat().st_mtime_ns == before
    touche_rad("bench verify rad")
    other.unlink()
    again = verify_bench("rad").partition("again: touche-rad ")[2]
    assert again.endswith("--replace --plugin rad/brief.py")
    touche_rad(again)
    touche_rad("bench verify rad")
    copy = Path("rad/brief.py")
    assert copy.read_bytes() == plugin.read_bytes()
    copy.write_text(BRIEF)
    assert verify_bench("rad").startswith(f"{copy}: ")
    os.utime(plugin, (0, 0))
    refused = touche_rad("bench run rad --plugin brief.py", code=2)
    assert "--plugin rad/brief.py" in refused.error
    assert copy.read_text() == BRIEF


def test_a_killed_run_of_code_that_was_edited_is_played_again(bench: Path) -> None:
    played = bench / "results" / DEBATES
    expected = played.read_bytes()
    status = read_json(path_beside(played, STATUS))
    identity = {**status["identity"], "code of debater verbatim": "earlier"}
    journal = AppendLog(path_beside(played, JOURNAL), RUN, {IDENTITY: identity})
    journal.append({"unit": 0, "lines": [], "counts": {}, "events": [], "fallbacks": []})
    journal.close()
    touche_rad("bench run", bench, err=f"again: {DEBATES} (code of debater verbatim changed)")
    assert played.read_bytes() == expected


def test_missing_plan_and_folder_with_other_files_are_refused(tmp_path: Path) -> None:
    touche_rad("bench run", write_bench(tmp_path), "-o", tmp_path, code=2, err="exists already: ")
    touche_rad("bench run nosuch", code=2, err="nosuch")


def test_answers_of_a_fallback_give_exit_code_1_and_no_rank() -> None:
    Path("broken.py").write_text(
        "from touche_rad.plugins import debater\n\n\n"
        '@debater("broken")\nclass Broken:\n    def __init__(self, options, services): ...\n\n'
        '    def answer(self, debate):\n        raise ValueError("broken")\n'
    )
    new = "bench new -i demo --turns 1 --plugin broken.py -d grounded -d verbatim -d broken -j grounded"
    touche_rad(f"{new} small --claims", CLAIMS)
    plan = Path("small/bench.toml")
    plan.write_text(f"samples = 100\n{plan.read_text()}")  # few, so that their order is seen
    broken = DEBATES.replace("verbatim", "broken")
    touche_rad("bench run small --plugin broken.py", code=1, err=broken)
    results = Path("small", "results")
    figures = read_json(results / "figures.json")["debaters"]
    ranks = {row["name"]: row["rank"] for row in figures}
    assert ranks == {"grounded": 1, "verbatim": None, "broken": None}
    runs = [results / DEBATES.replace("verbatim", f"{name}.grounded") for name in ranks]
    scored = touche_rad("score --json --samples 100", *runs).json
    means = [row for row in scored["rows"] if row["maxim"] == "mean"]
    for row in figures:
        (mean,) = (mean for mean in means if mean["run"] == f"{row['name']}.grounded")
        assert [mean["low"], mean["high"]] == [row["low"], row["high"]]
    assert [row["rank"] for row in scored["ranking"]] == [1, 1, None]
    assert "broken.grounded: without a rank, as all its answers are fallbacks" in scored["notes"]


def test_judge_with_only_fallback_verdicts_counts_neither_in_mean_nor_ranking(bench: Path) -> None:
    before = read_json(bench / "results" / "figures.json")
    plan = bench / "bench.toml"
    with scripted.serving() as server:
        server.always = scripted.fails(400)
        broken = f'broken = {{ plugin = "zsl", model = "{server.url}#bad" }}'
        plan.write_text(plan.read_text().replace('"length" }', f'"length", {broken} }}'))
        ended = touche_rad("bench run", bench, code=1, env={"COLUMNS": "70"})
    # All criteria have room, and the means are those of length.
    assert re.search("^rank  run .* manner  broken$", ended.out, re.MULTILINE)
    after = read_json(bench / "results" / "figures.json")
    assert after["debaters"][0]["judges"].pop("broken") is None
    assert after["debaters"] == before["debaters"]
    assert after["judges"]["ranking"] == before["judges"]["ranking"]
    page = (bench / "results" / "page" / "index.html").read_text("utf-8")
    for text in (" ".join(ended.out.split()), page):
        assert "broken (only fallbacks)" in text
        assert "not scored: labelled/seed-0/broken.jsonl: " in text
    assert "responses are fallbacks" not in page


def test_labels_of_fewer_debates_are_refused_at_once() -> None:
    labels = Path("labels.jsonl")
    bench = Path("new")
    labels.write_text("".join(LABELS.read_text().splitlines(True)[1:]))
    data = ("--debates", demo.DEBATES, "--labels", labels)
    touche_rad("bench new -j length", bench, *data, code=2, err=str(labels))
    assert not bench.exists()


CHANGES = read_table("bench/wrong_plans.tsv")


def test_error_names_file_key_and_the_right_name(tmp_path: Path) -> None:
    messages = {}
    for before, after in CHANGES:
        plan = write_bench(tmp_path, SMALL.replace(before, after, 1))
        ended = touche_rad("bench run -o out", plan, code=2)
        assert ended.err.startswith(f"touche-rad: error: {plan}: "), after
        assert ended.err.count("\n") == 1, after
        assert not Path("out").exists(), after
        messages[f"{before} -> {after}"] = ended
    check_messages("bench.plan", messages)
