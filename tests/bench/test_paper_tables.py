"""Each table of a paper runs from its file, beside the paper's values."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.bench.small_data import command_of, example_answer, rows_run, write_small_data
from tests.models.by_schema import prompt_of
from tests.models.scripted import Handler, Scripted, content
from tests.records import copy_lines, read_json, read_records, write_records
from tests.screens import check_messages
from tests.terminal import touche_rad
from touche_rad.demo import demo_file
from touche_rad.models.examples import example
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
    monkeypatch.setenv("TOUCHE_RAD_WEB", str(data))
    words = command_of(name, data, f"{server.url}#tiny")
    run = touche_rad(*words, code=0)
    table = load(name)
    written = read_json(Path("out/table.json"))
    papers = [value for row in table.rows for value in row.values]
    printed = ["" if cell["paper"] is None else cell["paper"] for cell in written["cells"]]
    assert printed[: len(papers)] == papers
    ours = {cell["row"] for cell in written["cells"] if cell["ours"] is not None}
    ours.difference_update(table.baselines)
    assert ours == OURS.get(name, rows_run(name))
    again = touche_rad(*words, code=0)
    assert again.out == run.out
    assert "$ touche-rad" not in again.err  # finished commands are not run again


def scores_pro_names_con(handler: Handler) -> None:
    """Score the first debater better, and name the second one the winner."""
    answer: Any = example(handler.body["response_format"]["json_schema"]["schema"])
    if "winner" in answer:
        answer["winner"] = "debater_2"
    if "verdict" in answer:
        answer["verdict"] = "con"
    if "score" in answer:
        answer["score"] = 9 if "on debater_1" in prompt_of(handler.body) else 2
    content(json.dumps(answer))(handler)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        (
            "inspiredebate/table3",
            {
                "ChatGPT RMSE": 0,
                "Debatrix RMSE": 0,
                "always tie RMSE": 50,
                "always pro RMSE": 0,
                "always con RMSE": 100,
            },
        ),
        ("debatrix/table5", {"Direct Summary": 0, "Debatrix-F Summary": 0}),
        ("debatrix/table6", {"Direct Summary": 100, "Debatrix-F Summary": 100}),
        (
            "debgraph/table1",
            {
                "Debatrix DebateArt, scores": 0,
                "Debatrix DebateArt, winner": 100,
                "Debatrix Competition": 100,
                "DebGraph Competition": None,
                "DebGraph, by side (SC) Competition": 0,
                "DebGraph, by side (SC) DebateArt, scores": None,
                "always side pro Competition": 0,
                "always side con Competition": 100,
                "always OG Competition": 0,
            },
        ),
        (
            "inspiredebate/table5",
            {
                "LLaMA-8B EA": 0.55,
                "Inspire-LLaMA-8B EA": 0.1,
                "Inspire-LLaMA-8B subjective": 0.25,
                "Inspire-LLaMA-8B objective": 0.7,
                "Inspire-LLaMA-8B InspireScore": 0.4,
            },
        ),
    ],
)
def test_cells_have_the_measure_of_the_paper(
    name: str,
    values: dict[str, float | None],
    data: Path,
    tmp_path: Path,
    server: Scripted,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    for file in ("contests.jsonl", "bp.jsonl"):
        shutil.copy(data / file, tmp_path)
    contest = read_records(data / "debateart.jsonl")[0]
    gold = {"general": contest["speeches"][0]["speaker"]}
    shorter = {**contest, "speeches": contest["speeches"][:2], "gold": gold}
    write_records(Path("debateart.jsonl"), shorter)
    server.always = scores_pro_names_con
    touche_rad(*command_of(name, tmp_path, f"{server.url}#tiny"), code=0)
    cells = {
        f"{cell['row']} {cell['column']}": cell
        for cell in read_json(Path("out/table.json"))["cells"]
    }
    assert {key: cells[key]["ours"] for key in values} == pytest.approx(values)


def test_the_next_speech_is_written_and_scored_alone_by_the_judge_of_m(
    data: Path, tmp_path: Path, server: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    server.always = example_answer
    touche_rad(*command_of("rdebater/table1", data, f"{server.url}#tiny"), code=0)
    (recorded,) = read_records(data / "short/debates.jsonl")
    first, second, _ = recorded["simulation"]["userTurns"]
    (contest,) = read_records(Path("out/gpt-4o-llm-contests.jsonl"))
    texts = [speech["text"] for speech in contest["speeches"]]
    assert texts[1] == first["systemResponse"]["utterance"]
    assert texts[3] == second["systemResponse"]["utterance"]
    (outcome,) = read_records(Path("out/gpt-4o-llm-outcomes.jsonl"))
    assert {scored["round"] for scored in outcome["outcome"]["details"]["responses"]} == {3}
    sent = {(body["model"], body["temperature"]) for body in server.asked}
    assert sent == {("tiny", 0.0), ("tiny-0", 0.2)}


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
    assert "--replace" in touche_rad(*words, "-i", "data", code=2).err
    with monkeypatch.context() as changed:
        changed.setenv("TOUCHE_RAD_WEB", "data")
        assert "--replace" in touche_rad(*words, code=2).err
    Path("data/debateart.jsonl").write_text(contests.splitlines(keepends=True)[0], "utf-8")
    assert "--replace" in touche_rad(*words, code=2).err
    again = touche_rad(*words, "--replace")
    assert "$ touche-rad judge" in again.err
    assert len(Path("out/inspirescore.jsonl").read_text("utf-8").splitlines()) == 1


def test_a_table_stops_after_a_first_row_without_a_result(
    data: Path, tmp_path: Path, server: Scripted
) -> None:
    server.always = content("?")
    words = f"bench run paper:debatrix/table5 --data {data} -o {tmp_path}/out -m"
    run = touche_rad(*words.split(), f"{server.url}#tiny", code=1)
    assert run.err.count("$ touche-rad judge") == 1


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
        "--model-of Inspire-LLaMA-8B=u#m",
        "bench run paper:rdebater/table2 --data .",
    ):
        messages[f"touche-rad {line}"] = touche_rad(*line.split())
        assert messages[f"touche-rad {line}"].code == 2, line
        assert [path.name for path in tmp_path.iterdir()] == ["claims.tsv"], line
    check_messages("bench.paper", messages, tmp_path)


@pytest.mark.parametrize(
    ("table", "files", "named"),
    [
        ("inspiredebate/table2", ["contests"], "gold.sc"),
        ("sinai/table2", ["debates", "labels"], "20"),
    ],
)
def test_missing_and_too_few_labels_are_refused(
    table: str, files: list[str], named: str, tmp_path: Path
) -> None:
    for name in files:
        copy_lines(demo_file(f"{name}.jsonl"), tmp_path / f"{name}.jsonl", 4)
    words = f"bench run paper:{table} --data {tmp_path} -o {tmp_path}/out -m http://localhost:9#m"
    assert named in touche_rad(*words.split(), code=2).err


def test_a_failed_row_leaves_the_others_and_fallbacks_are_counted(
    data: Path, tmp_path: Path, server: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("data").mkdir()
    for name, lines in (("debates", 1), ("labels", 1), ("examples", 40)):
        copy_lines(data / f"{name}.jsonl", Path(f"data/{name}.jsonl"), lines)

    def answer(handler: Handler) -> None:
        (content("?") if len(server.asked) <= 80 else example_answer)(handler)

    def cells(code: int, column: str) -> dict[str, dict[str, Any]]:
        run = touche_rad(*words, code=code)
        assert (run.err.count("\nerror: ") > 0) == (code == 1), run.err
        written = read_json(Path("out/table.json"))["cells"]
        return {cell["row"]: cell for cell in written if cell["column"] == column}

    server.always = answer
    words = [*"bench run paper:sinai/table4 --data data -o out -m".split(), f"{server.url}#tiny"]
    first = cells(1, "Quality F1")
    assert first["Analysis5"]["ours"] is None
    assert any(cell["fallbacks"] for cell in first.values() if cell["ours"] is not None)
    assert first["1-baseline"]["ours"] == pytest.approx(0.8)
    assert first["1-baseline"]["samples"] == {"yes": 2, "no": 1}
    assert cells(0, "Quality P")["1-baseline"]["ours"] == pytest.approx(2 / 3)
    (one_class,) = {cell["ours"] for cell in cells(0, "Manner F1").values()}
    assert one_class is None
    Path("out/zsl.jsonl").write_text("{", "utf-8")
    damaged = cells(1, "Quality F1")
    assert [row for row, cell in damaged.items() if cell["ours"] is None] == ["ZSL"]
