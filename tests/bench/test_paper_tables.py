"""Each table of a paper runs from its file, beside the paper's values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.models.scripted import Handler, Scripted, content
from tests.terminal import touche_rad
from touche_rad.demo import demo_file
from touche_rad.models.examples import example
from touche_rad.papers.tables import load, names

MODELS = {
    "inspiredebate/table4": ("LLaMA-8B", "Inspire-LLaMA-8B"),
    "inspiredebate/table6": ("LLaMA-8B", "LLaMA-8B+SFT"),
    "inspiredebate/table19": ("DPO(EA)", "DPO(AC)"),
    "inspiredebate/figure3": ("LLaMA-8B", "Inspire-LLaMA-8B"),
    "debatrix/table10": ("GPT-4",),
    "debatrix/table11": ("GPT-4",),
    "rdebater/table1": ("GPT-4o",),
}
"""The models that are given to a table; without them these rows are left out."""
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


def example_answer(handler: Handler) -> None:
    """Answer with an example of the schema, or with yes."""
    wanted = handler.body.get("response_format", {}).get("json_schema")
    answer = example(wanted["schema"]) if wanted else "yes"
    content(json.dumps(varied(answer, len(handler.server.asked))) if wanted else "yes")(handler)


def varied(value: Any, number: int) -> Any:
    """Give each answer another score: equal scores have no correlation."""
    if isinstance(value, dict):
        return {key: varied(one, number + at) for at, (key, one) in enumerate(value.items())}
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    return 1 + number % 9 if isinstance(value, int) else number % 9 / 10


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small data under the names that the tables expect."""
    folder = tmp_path_factory.mktemp("data")
    claims = demo_file("claims.tsv").read_text("utf-8").splitlines(keepends=True)
    (folder / "claims.tsv").write_text("".join(claims[:2]), "utf-8")
    debates = demo_file("debates.jsonl").read_text("utf-8")
    labels = demo_file("labels.jsonl").read_text("utf-8")
    # Twice, because 80 of 120 turns are examples that are left out of table 2.
    (folder / "debates.jsonl").write_text(debates * 2, "utf-8")
    (folder / "labels.jsonl").write_text(labels * 2, "utf-8")
    (folder / "short").mkdir()
    (folder / "short" / "debates.jsonl").write_text(debates.splitlines(keepends=True)[0], "utf-8")
    contests = [json.loads(line) for line in demo_file("contests.jsonl").read_text().splitlines()]
    for number, contest in enumerate(contests[:2]):
        first, second = contest["sides"]
        contest["debaters"] = {first: "LLaMA-8B", second: "Inspire-LLaMA-8B"}
        contest["gold"]["scores"] = {first: {"total": 5 + number}, second: {"total": 7}}
    lines = "".join(f"{json.dumps(one)}\n" for one in contests[:2])
    for name in ("debateart.jsonl", "contests.jsonl"):
        (folder / name).write_text(lines, "utf-8")
    teams = [json.dumps({**one, "debaters": {}}) for one in contests[:2]]
    for at, contest in enumerate(contests[:2]):
        for speaker, team in zip(contest["sides"], ("OG", "OO"), strict=True):
            teams[at] = teams[at].replace(f'"{speaker}"', f'"{team}"')
    (folder / "bp.jsonl").write_text("".join(f"{one}\n" for one in teams), "utf-8")
    return folder


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in names() if name != "rdebater/table3"])
def test_a_table_is_printed_beside_the_paper(
    name: str, data: Path, tmp_path: Path, server: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    server.always = example_answer
    examples = touche_rad(
        *f"train examples {data}/debates.jsonl {data}/labels.jsonl --count 5".split(),
        *f"-o {data}/examples.jsonl --replace".split(),
    )
    assert examples.code == 0
    model = f"{server.url}#tiny"
    folder = data / "short" if name.startswith("rdebater/") and name != "rdebater/table2" else data
    given = [f"--model-of={one}={model}-{at}" for at, one in enumerate(MODELS.get(name, ()))]
    words = ["bench", "run", f"paper:{name}", "--data", str(folder), "-m", model, "-i", "demo"]
    run = touche_rad(*words, *given, "-o", "out")
    assert run.code == 0, run.err
    table = load(name)
    written = json.loads(Path("out/table.json").read_text("utf-8"))
    cells = [(cell["row"], cell["column"], cell["paper"]) for cell in written["cells"]]
    assert cells == [
        (row.name, column, value if value != "" else None)
        for row in table.rows
        for column, value in zip(table.columns, row.values, strict=True)
    ]
    ours = {cell["row"] for cell in written["cells"] if cell["ours"] is not None}
    run_rows = [one for one in table.rows if one.system]
    given_rows = {
        one.name for one in run_rows if not one.model or one.model in MODELS.get(name, ())
    }
    assert ours == OURS.get(name, given_rows)
    again = touche_rad(*words, *given, "-o", "out")
    assert (again.code, again.out) == (0, run.out)
    assert "$ touche-rad" not in again.err  # finished commands are not run again


def test_annotations_are_compared_with_experts(
    tmp_path: Path, server: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    server.always = example_answer
    arguments = demo_file("arguments.jsonl").read_text("utf-8").splitlines(keepends=True)[:6]
    Path("arguments.jsonl").write_text("".join(arguments), "utf-8")
    made = touche_rad(
        *f"index arguments.jsonl -o data/index --annotate schemes -m {server.url}#tiny".split()
    )
    assert made.code == 0, made.err
    lines = [{"id": json.loads(one)["id"], "labels": ["Causal Argumentation"]} for one in arguments]
    Path("data/experts.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in lines), "utf-8")
    run = touche_rad(*"bench run paper:rdebater/table3 --data data -o out --json".split())
    cells = {cell["row"]: cell for cell in json.loads(run.out)["cells"]}
    assert cells["Hamming Loss"]["paper"] == 0.1291
    assert cells["Hamming Loss"]["ours"] is not None


def test_options_reach_the_runs_and_other_data_are_run_again(
    data: Path, tmp_path: Path, server: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    server.always = example_answer
    Path("data").mkdir()
    contests = (data / "debateart.jsonl").read_text("utf-8")
    Path("data/debateart.jsonl").write_text(contests, "utf-8")
    model = ["-m", f"{server.url}#tiny", "-O", "model.temperature=0.7", "--no-trace"]
    words = ["bench", "run", "paper:inspiredebate/table3", "--data", "data", "-o", "out", *model]
    assert touche_rad(*words).code == 0
    assert {body["temperature"] for body in server.asked} == {0.7}
    assert not list(Path("out").glob("*.trace.jsonl"))
    Path("data/debateart.jsonl").write_text(contests.splitlines(keepends=True)[0], "utf-8")
    again = touche_rad(*words)
    assert "$ touche-rad judge" in again.err
    assert len(Path("out/inspirescore.jsonl").read_text("utf-8").splitlines()) == 1


def test_what_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = touche_rad("bench", "run", "paper:sinai/table3")
    assert (run.code, "list papers" in run.err) == (2, True)
    run = touche_rad("bench", "run", "paper:sinai/table2")
    assert (run.code, "--data" in run.err) == (2, True)
    run = touche_rad("bench", "run", "paper:sinai/table2", "--data", ".")
    assert (run.code, "debates.jsonl" in run.err) == (2, True)
