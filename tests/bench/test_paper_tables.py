"""Each table of a paper runs from its file, beside the paper's values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.bench.small_data import command_of, example_answer, rows_run, write_small_data
from tests.models.scripted import Handler, Scripted, content
from tests.records import read_json, read_records
from tests.screens import check_messages
from tests.terminal import touche_rad
from touche_rad.demo import demo_file
from touche_rad.papers.tables import load, names

OURS = {
    "inspiredebate/table5": {"LLaMA-8B", "Inspire-LLaMA-8B"},
    "inspiredebate/table7": {
        "Emotional Appeal",
        "Argument Clarity",
        "Argument Arrangement",
        "Topic Relevance",
        "InspireScore",
    },
}
"""The rows with values where it is not each row that is run."""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_small_data(tmp_path_factory.mktemp("data"))


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in names() if name != "rdebater/table3"])
def test_a_table_is_printed_beside_the_paper(
    name: str, data: Path, tmp_path: Path, server: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    server.always = example_answer
    words = command_of(name, data, f"{server.url}#tiny")
    run = touche_rad(*words, code=0)
    table = load(name)
    columns = [column for part in table.parts for column in part.columns]
    written = read_json(Path("out/table.json"))
    cells = [(cell["row"], cell["column"], cell["paper"]) for cell in written["cells"]]
    assert cells == [
        (row.name, column, value if value != "" else None)
        for row in table.rows
        for column, value in zip(columns, row.values, strict=True)
    ]
    ours = {cell["row"] for cell in written["cells"] if cell["ours"] is not None}
    assert ours == OURS.get(name, rows_run(name))
    again = touche_rad(*words, code=0)
    assert again.out == run.out
    assert "$ touche-rad" not in again.err  # finished commands are not run again


def test_annotations_are_compared_with_experts(
    tmp_path: Path, server: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    server.always = example_answer
    arguments = demo_file("arguments.jsonl").read_text("utf-8").splitlines(keepends=True)[:6]
    Path("arguments.jsonl").write_text("".join(arguments), "utf-8")
    touche_rad(
        *f"index arguments.jsonl -o data/index --annotate schemes -m {server.url}#tiny".split(),
        code=0,
    )
    with Path("data/experts.jsonl").open("w") as stream:
        for line in arguments:
            labels = {"id": json.loads(line)["id"], "labels": ["Causal Argumentation"]}
            stream.write(json.dumps(labels) + "\n")
    run = touche_rad(*"bench run paper:rdebater/table3 --data data -o out --json".split())
    cells = {cell["row"]: cell for cell in json.loads(run.out)["cells"]}
    assert cells["Hamming Loss"]["paper"] == 0.1291
    assert cells["Hamming Loss"]["ours"] is not None


def test_options_reach_the_runs_and_other_data_need_replace(
    data: Path, tmp_path: Path, server: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    server.always = example_answer
    Path("data").mkdir()
    contests = (data / "debateart.jsonl").read_text("utf-8")
    Path("data/debateart.jsonl").write_text(contests, "utf-8")
    model = ["-m", f"{server.url}#tiny", "-O", "model.temperature=0.7", "--no-trace"]
    words = ["bench", "run", "paper:inspiredebate/table3", "--data", "data", "-o", "out", *model]
    touche_rad(*words, code=0)
    assert max(map(len, Path("out/table.txt").read_text("utf-8").splitlines())) > 80
    assert {body["temperature"] for body in server.asked} == {0.7}
    assert not list(Path("out").glob("*.trace.jsonl"))
    Path("data/debateart.jsonl").write_text(contests.splitlines(keepends=True)[0], "utf-8")
    refused = touche_rad(*words, code=2)
    assert "--replace" in refused.err
    again = touche_rad(*words, "--replace")
    assert "$ touche-rad judge" in again.err
    assert "debateart.jsonl (1 lines)" in " ".join(again.out.split())
    assert len(Path("out/inspirescore.jsonl").read_text("utf-8").splitlines()) == 1


def test_columns_without_labels_are_named(
    tmp_path: Path, server: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    server.always = example_answer
    contest = read_records(demo_file("contests.jsonl"))[0]
    Path("debateart.jsonl").write_text(json.dumps(contest | {"gold": {"general": "Mara"}}))
    words = "bench run paper:debatrix/table5 --data . -o out -m".split()
    run = touche_rad(*words, f"{server.url}#tiny", code=0)
    assert "Arguments, Sources, Language" in " ".join(run.out.split())
    server.always = content("?")
    nothing = touche_rad(*words, f"{server.url}#tiny", "--replace", code=1)
    assert nothing.err.splitlines()[-1].startswith("error: ")


def test_what_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("claims.tsv").write_text("claim\nZoos should close.\n")
    messages = {}
    for line in (
        "bench run paper:sinai/table9",
        "bench run paper:sinai/table3",
        "bench run paper:sinai/table2",
        "bench run paper:sinai/table2 --data .",
        "bench run paper:inspiredebate/table4 -i demo --data claims.tsv",
        "bench run paper:inspiredebate/table4 -i demo --data .",
        "bench run paper:inspiredebate/table4 -i demo --data . --model-of LLaMA=u#m",
        "bench run paper:inspiredebate/table4 --data . --model-of LLaMA-8B=u#m "
        "--model-of Phi-3.6B=u#m",
    ):
        messages[f"touche-rad {line}"] = touche_rad(*line.split())
        assert messages[f"touche-rad {line}"].code == 2, line
        assert [path.name for path in tmp_path.iterdir()] == ["claims.tsv"], line
    check_messages("bench.paper", messages, tmp_path)


def test_labels_that_the_data_lacks_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("contests.jsonl").write_bytes(demo_file("contests.jsonl").read_bytes())
    refused = touche_rad("bench", "run", "paper:inspiredebate/table2", "--data", ".", code=2)
    assert "gold.sc" in refused.err


def test_too_few_labels_are_refused_with_the_number_needed(tmp_path: Path) -> None:
    for name in ("debates.jsonl", "labels.jsonl"):
        (tmp_path / name).write_bytes(demo_file(name).read_bytes())
    words = ("-o", tmp_path / "out", "-m", "http://localhost:9#tiny")
    run = touche_rad("bench", "run", "paper:sinai/table2", "--data", tmp_path, *words, code=2)
    assert "80" in run.err


def test_a_failed_row_leaves_the_others_and_fallbacks_are_counted(
    data: Path, tmp_path: Path, server: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("data").mkdir()
    for name, lines in (("debates", 1), ("labels", 1), ("examples", 40)):
        text = (data / f"{name}.jsonl").read_text("utf-8").splitlines(keepends=True)[:lines]
        Path(f"data/{name}.jsonl").write_text("".join(text), "utf-8")

    def answer(handler: Handler) -> None:
        (content("?") if len(server.asked) <= 80 else example_answer)(handler)

    def cells(code: int) -> dict[str, dict[str, Any]]:
        run = touche_rad(*words, code=code)
        assert (run.err.count("\nerror: ") > 0) == (code == 1), run.err
        written = read_json(Path("out/table.json"))["cells"]
        return {cell["row"]: cell for cell in written}

    server.always = answer
    words = [*"bench run paper:sinai/table4 --data data -o out -m".split(), f"{server.url}#tiny"]
    first = cells(1)
    assert first["Analysis5"]["ours"] is None
    assert any(cell["fallbacks"] for cell in first.values() if cell["ours"] is not None)
    assert first["1-baseline"]["ours"] is not None
    assert cells(0)["Analysis5"]["ours"] is not None
    Path("out/zsl.jsonl").write_text("{", "utf-8")
    damaged = cells(1)
    assert [row for row, cell in damaged.items() if cell["ours"] is None] == ["ZSL"]
