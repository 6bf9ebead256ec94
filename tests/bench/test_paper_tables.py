"""Each table of a paper runs from its file, beside the paper's values."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.bench.known_answers import KNOWN, TOO_LONG, known_answer
from tests.bench.small_data import command_of, example_answer, write_small_data
from tests.models.by_schema import prompt_of
from tests.models.scripted import Handler, Scripted, content
from tests.records import copy_lines, read_json, read_records
from tests.screens import check_messages
from tests.terminal import touche_rad
from touche_rad.demo import demo_file
from touche_rad.papers.tables import load, names

KNOWN_DATA = Path(__file__).with_name("known")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_small_data(tmp_path_factory.mktemp("data"))


def each_table() -> Iterator[Any]:
    """Yield the names; tables with three runs of competition debates take long."""
    for name in names():
        is_long = name.startswith("debatrix/") and "bp.jsonl" in load(name).data
        yield pytest.param(name, marks=[pytest.mark.long] if is_long else [])


@pytest.mark.parametrize("name", each_table())
def test_cells_have_the_measure_of_the_paper(
    name: str, server: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.always = known_answer
    monkeypatch.setenv("TOUCHE_RAD_WEB", str(KNOWN_DATA / "web"))
    words = command_of(name, KNOWN_DATA, f"{server.url}#tiny")
    run = touche_rad(*words)
    table = load(name)
    ours: dict[str, list[float | str]] = defaultdict(list)
    papers: list[float | str] = []
    for cell in read_json("out/table.json")["cells"]:
        ours[cell["row"]].append("" if cell["ours"] is None else round(cell["ours"], 4))
        papers.append("" if cell["paper"] is None else cell["paper"])
    in_paper = [value for row in table.rows for value in row.values]
    assert papers[: len(in_paper)] == in_paper
    for row, values in KNOWN[name].items():
        known = [value for value in values if value != ""] if "always" in row else values
        assert ours[row] == known, row
        assert len(values) == sum(len(part.columns) for part in table.parts)
    again = touche_rad(*words)
    assert again.out == run.out
    assert "$ touche-rad" not in again.err  # finished commands are not run again


def test_a_debate_that_is_too_long_is_not_completed(server: Scripted) -> None:

    def act(handler: Handler) -> None:
        direct = "The speeches of the debate:" in prompt_of(handler.body)
        handler.say(400, TOO_LONG) if direct else known_answer(handler)

    server.always = act
    touche_rad(*command_of("debatrix/table7", KNOWN_DATA, f"{server.url}#tiny"))
    cells = read_json("out/table.json")["cells"]
    values = {(cell["row"], cell["column"]): cell["ours"] for cell in cells}
    assert values["Direct", "Completion"] == values["Direct", "Accuracy"] == 0
    assert values["Debatrix-F", "Completion"] == pytest.approx(800 / 9)
    assert values["Debatrix-F", "Accuracy"] == pytest.approx(500 / 9)


def test_errors_are_those_to_each_vote_if_wanted(server: Scripted) -> None:

    def act(handler: Handler) -> None:
        is_long = handler.body["model"] == "tiny-0" and "Ban zoos." in prompt_of(handler.body)
        handler.say(400, TOO_LONG) if is_long else known_answer(handler)

    server.always = act
    words = command_of("inspiredebate/table3", KNOWN_DATA, f"{server.url}#tiny")
    touche_rad(*words, "--votes")
    cells = {cell["row"]: cell for cell in read_json("out/table.json")["cells"]}
    # Of four votes, three are for the first debater, whom ChatGPT's scores prefer.
    assert cells["ChatGPT"]["ours"] == pytest.approx(100 * 0.25**0.5)
    assert cells["always con"]["ours"] == pytest.approx(100 * 0.75**0.5)
    assert cells["ChatGPT"]["samples"] == {"debates": 2}, "a debate without a verdict has no error"
    assert cells["InspireScore"]["samples"] == {"debates": 3}
    touche_rad(*command_of("sinai/table2", KNOWN_DATA, "x#y"), "--votes", code=None, err="--votes")


def test_fallbacks_of_a_tournament_are_those_of_its_row(
    server: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOUCHE_RAD_WEB", str(KNOWN_DATA / "web"))

    def act(handler: Handler) -> None:
        (content("?") if handler.body["model"] == "tiny-0" else known_answer)(handler)

    server.always = act
    touche_rad(*command_of("inspiredebate/figure3", KNOWN_DATA, f"{server.url}#tiny"))
    cells = read_json("out/table.json")["cells"]
    counts = {cell["row"]: cell["fallbacks"] for cell in cells}
    assert counts == {"LLaMA-8B": 8, "Inspire-LLaMA-8B": 0}


def test_the_next_speech_is_written_and_scored_alone_by_the_judge_of_m(
    data: Path, server: Scripted
) -> None:
    server.always = example_answer
    touche_rad(*command_of("rdebater/table1", data, f"{server.url}#tiny"))
    (recorded,) = read_records(data / "short/debates.jsonl")
    first, second, _ = recorded["simulation"]["userTurns"]
    (contest,) = read_records("out/gpt-4o-llm-contests.jsonl")
    texts = [speech["text"] for speech in contest["speeches"]]
    assert texts[1] == first["systemResponse"]["utterance"]
    assert texts[3] == second["systemResponse"]["utterance"]
    (outcome,) = read_records("out/gpt-4o-llm-outcomes.jsonl")
    assert {scored["round"] for scored in outcome["outcome"]["details"]["responses"]} == {3}
    sent = {(body["model"], body["temperature"]) for body in server.asked}
    assert sent == {("tiny", 0.0), ("tiny-0", 0.2)}


def test_options_reach_the_runs_and_other_data_need_replace(
    data: Path, server: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.always = example_answer
    Path("data").mkdir()
    contests = (data / "debateart.jsonl").read_text("utf-8")
    Path("data/debateart.jsonl").write_text(contests, "utf-8")
    model = ["-m", f"{server.url}#tiny", "-O", "model.temperature=0.7", "--no-trace"]
    words = ["bench", "run", "paper:inspiredebate/table3", "--data", "data", "-o", "out", *model]
    touche_rad(*words)
    assert max(map(len, Path("out/table.txt").read_text("utf-8").splitlines())) > 80
    assert {body["temperature"] for body in server.asked} == {0.7}
    assert not list(Path("out").glob("*.trace.jsonl"))
    touche_rad(*words, "-i", "data", code=2, err="--replace")
    with monkeypatch.context() as changed:
        changed.setenv("TOUCHE_RAD_WEB", "data")
        touche_rad(*words, code=2, err="--replace")
    Path("data/debateart.jsonl").write_text(contests.splitlines(keepends=True)[0], "utf-8")
    touche_rad(*words, code=2, err="--replace")
    touche_rad(*words, "--replace", err="$ touche-rad judge")
    assert len(Path("out/inspirescore.jsonl").read_text("utf-8").splitlines()) == 1


def test_a_table_stops_after_a_first_row_without_a_result(data: Path, server: Scripted) -> None:
    server.always = content("?")
    words = f"bench run paper:debatrix/table5 --data {data} -o out -m"
    run = touche_rad(words, f"{server.url}#tiny", code=1)
    assert run.err.count("$ touche-rad judge") == 1


def test_what_is_missing_is_named(tmp_path: Path) -> None:
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
        messages[f"touche-rad {line}"] = touche_rad(line, code=None)
        assert messages[f"touche-rad {line}"].code == 2, line
        assert [path.name for path in tmp_path.iterdir()] == ["claims.tsv"], line
    check_messages("bench.paper", messages)


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
        copy_lines(demo_file(f"{name}.jsonl"), f"{name}.jsonl", 4)
    words = f"bench run paper:{table} --data {tmp_path} -o out -m http://localhost:9#m"
    touche_rad(words, code=2, err=named)


def test_a_failed_row_leaves_the_others_and_fallbacks_are_counted(
    data: Path, server: Scripted
) -> None:
    Path("data").mkdir()
    for name, lines in (("debates", 1), ("labels", 1), ("examples", 40)):
        copy_lines(data / f"{name}.jsonl", f"data/{name}.jsonl", lines)

    def answer(handler: Handler) -> None:
        (content("?") if len(server.asked) <= 80 else example_answer)(handler)

    def cells(code: int, column: str) -> dict[str, dict[str, Any]]:
        run = touche_rad(*words, code=code)
        assert (run.err.count("\nerror: ") > 0) == (code == 1), run.err
        written = read_json("out/table.json")["cells"]
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
    for name in ("debates", "labels"):
        copy_lines(data / f"{name}.jsonl", f"data/{name}.jsonl", 6)
    words.append("--replace")
    cell = cells(0, "Quality F1")["1-baseline"]
    assert cell["low"] < cell["ours"] < cell["high"]
    assert f"{cell['low']:.3f} to {cell['high']:.3f}" in Path("out/table.txt").read_text("utf-8")
