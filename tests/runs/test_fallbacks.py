"""Results that are not from the selected plugin: counted, explained, and visible at the terminal."""

from __future__ import annotations

import json
import os
import re
import shutil
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from tests.demo import DEBATES
from tests.models import scripted
from tests.models.by_schema import filling
from tests.models.scripted import Scripted, content, fails
from tests.records import read_json, read_records, read_status, write_records
from tests.terminal import touche_rad
from touche_rad.models import Message, Model, ModelError, sending
from touche_rad.models.endpoint import Address
from touche_rad.runs.fallbacks import FailureLog
from touche_rad.runs.runner import process_units
from touche_rad.runs.work import Done, RunOptions, Work

DEAD = "http://127.0.0.1:9/v1#tiny"
BUGGY = """import os
from touche_rad.plugins import debater, judge


@debater("buggy")
class Buggy:
    def __init__(self, options, services):
        pass

    def answer(self, debate):
        if "fine" in debate.last.utterance or os.path.exists(__file__ + ".mended"):
            return {"content": "I disagree.", "extra": {"fallback": "of the plugin"}}
        return self.best({})

    def best(self, found):
        return found["nothing"]


@judge("buggy-judge")
class BuggyJudge:
    def __init__(self, options, services):
        pass

    def judge(self, debate):
        raise ZeroDivisionError("a bug of the judge")
"""


COUNTING = """
        with open(os.path.join(os.path.dirname(__file__), "calls.txt"), "a") as calls:
            calls.write("called\\n")
        return self.best({})"""


@pytest.fixture
def buggy() -> Path:
    path = Path("buggy_plugins.py")
    path.write_text(BUGGY)
    return path


def mend(buggy: Path) -> None:
    """Let the debater work; its file stays as it is, because a run does not continue with another."""
    buggy.with_name(f"{buggy.name}.mended").touch()


ANSWER = "--plugin buggy_plugins.py respond debates.jsonl -d buggy -i demo -o run.jsonl"
JUDGE = f"--plugin buggy_plugins.py judge {DEBATES} -o evaluations.jsonl"
ZSL = f"judge {DEBATES} -j zsl"


def write_debates(*utterances: str) -> Path:
    rows = [{"messages": [{"role": "user", "content": text}]} for text in utterances]
    return write_records("debates.jsonl", *rows)


def test_a_bug_of_a_debater_reaches_its_author(buggy: Path) -> None:
    out = "run.jsonl"
    write_debates("Zoos are bad.", "All is fine.", "Cars are bad.")
    ended = touche_rad(ANSWER, err="2 of 3 answers")
    assert ended.err.count("KeyError: 'nothing' (buggy_plugins.py:16 in best)") == 2
    errors = Path("run.jsonl.errors.txt")
    assert f"tracebacks: {errors}" in ended.err
    assert errors.read_text().count("Traceback") == 1
    assert 'return found["nothing"]' in errors.read_text()
    assert 'File "/' not in errors.read_text(), "it may be published"
    status = read_status(out)
    assert status["replaced"] == 2
    assert status["errors"] == str(errors)
    (fallback,) = status["fallbacks"]
    assert fallback["plugin"] == "debater buggy"
    assert fallback["by"] == "grounded"
    assert fallback["kind"] == "KeyError"
    assert fallback["place"] == "buggy_plugins.py:16 in best"
    assert fallback["count"] == 2
    first, second, third = (line.get("fallback") for line in read_records(out))
    assert (
        first == third == "debater buggy failed: KeyError: 'nothing' (buggy_plugins.py:16 in best)"
    )
    assert second is None, "no plugin can set it"


ODD = "".join(map(chr, [0x1B, 0x5B, 0x37, 0x6D, *range(1, 32), *range(127, 160), 0x202E, 0x2066]))


@pytest.mark.parametrize("debater", ["buggy", "composed"])
def test_unprintable_characters_of_plugins_and_endpoints_are_not_written_raw(
    debater: str, buggy: Path, server: Scripted
) -> None:
    buggy.write_text(
        BUGGY.replace('return found["nothing"]', f"raise ValueError({ODD!a})  # \x9b\u202e"),
        "utf-8",
    )
    server.always = fails(400, ODD)
    write_debates("Zoos are bad.")
    model = "" if debater == "buggy" else f"-m {server.url}#tiny"
    touche_rad(f"{ANSWER} -d {debater} {model}", code=None)
    for suffix in ("status.json", "errors.txt"):
        text = Path(f"run.jsonl.{suffix}").read_text()
        assert text.replace("\n", "").isprintable()


def test_a_run_of_nothing_but_fallbacks_ends_with_exit_code_1(buggy: Path) -> None:
    write_debates("Zoos are bad.")
    touche_rad(ANSWER, code=1, err="run.jsonl")
    judge = "--plugin buggy_plugins.py judge run.jsonl -j buggy-judge -o verdicts.jsonl"
    ended = touche_rad(judge, code=1, err="ZeroDivisionError")
    assert "4 of 4 verdicts" in ended.err

    Path("elsewhere").mkdir()
    for kind, run, number in (("answers", "run", 1), ("verdicts", "verdicts", 4)):
        copy = f"elsewhere/{kind}.jsonl"
        shutil.copy(f"{run}.jsonl", copy)
        touche_rad("check", copy, code=1, out=f"not fit to upload: all {kind} are fallbacks")
        touche_rad(f"report {copy} -o {kind}.html")
        assert f"{number} of {number} {kind}" in Path(f"{kind}.html").read_text()

    judged = "elsewhere/judged.jsonl"
    for line in (f"judge elsewhere/answers.jsonl -o {judged}", f"score {judged}"):
        touche_rad(line, code=None, err="judged.jsonl: 1 of 1 answers are fallbacks")
    touche_rad(f"report {judged} run.jsonl -o judged.html")
    assert re.search(
        "1 of 1 answers are fallbacks\".*1 of 1 answers are fallbacks; 1 from .*'nothing'",
        Path("judged.html").read_text(),
    )
    touche_rad("check", judged, code=1, out="not fit to upload: all answers are fallbacks")
    status = read_status("run.jsonl")
    (cause,) = status["fallbacks"]
    write_records("run.jsonl.status.json", {**status, "fallbacks": [cause, {**cause, "by": "x"}]})
    touche_rad("report run.jsonl -o several.html")
    assert "'nothing'; 1 from x: " in Path("several.html").read_text()


def test_strict_stops_at_the_first_fallback_and_the_run_resumes(buggy: Path) -> None:
    write_debates("All is fine.", "Zoos are bad.")
    ended = touche_rad(f"{ANSWER} --strict --workers 1", code=1, err="--strict")
    assert "KeyError" in ended.err
    assert "1 of 2 done" in ended.err
    checked = touche_rad("check run.jsonl run.jsonl.part", code=None).out
    assert checked.count("the run is not finished: run its command again") == 2
    assert "touche-rad COMMAND" not in checked
    mend(buggy)
    touche_rad(f"{ANSWER} --strict", err="1 of them")
    assert len(Path("run.jsonl").read_text().splitlines()) == 2


def test_a_run_without_a_finished_unit_lets_no_other_run_replace_the_output(buggy: Path) -> None:
    out = Path("evaluations.jsonl")
    touche_rad(f"{JUDGE} -j length")
    verdicts = out.read_bytes()
    stopped = f"{JUDGE} -j buggy-judge --strict"
    touche_rad(f"{stopped} --replace", code=1)
    assert Path("evaluations.jsonl.part").is_file()
    touche_rad(f"{JUDGE} -j random", code=2, err="--replace")
    assert out.read_bytes() == verdicts
    # The run that was to replace it may go on, and any other run that says so.
    touche_rad(stopped, code=1)
    touche_rad(f"{JUDGE} -j random --replace")


def test_strict_stops_at_a_turn_and_does_not_answer_the_rest_of_the_debate(buggy: Path) -> None:
    buggy.write_text(BUGGY.replace("        return self.best({})", COUNTING))
    shutil.copy(DEBATES, ".")
    touche_rad(f"{ANSWER} --strict --workers 1", code=None, err="0 of 20 done")
    assert Path("calls.txt").read_text() == "called\n"


def test_respond_prints_the_fallback_above_the_answer(buggy: Path) -> None:
    line = "--plugin buggy_plugins.py respond --say Zoos. -d buggy -i demo"
    ended = touche_rad(line, code=1, err="from grounded")
    assert "buggy_plugins.py:16 in best" in ended.error
    assert ended.out


@pytest.mark.parametrize("debater", ["sinai", "composed", "rdebater"])
def test_an_answer_without_the_model_counts_as_a_fallback(server: Scripted, debater: str) -> None:
    server.always = content("I only talk.")
    write_debates("Zoos should be closed.")
    line = f"respond debates.jsonl -d {debater} -i demo -m {server.url}#tiny -o run.jsonl"
    touche_rad(line, code=1, err="1 of 1")
    status = read_status("run.jsonl")
    assert status["replaced"] == 1
    assert status["fallbacks"][0]["kind"] == "InvalidAnswer"
    assert status["usage"]["faults"]["InvalidAnswer"] >= 1


def offer_models(server: Scripted, monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Let the server list these models at GET /v1/models."""
    data = json.dumps({"data": [{"id": name} for name in names]}).encode()

    def do_get(handler: scripted.Handler) -> None:
        if handler.path == "/v1/models":
            handler.say(200, data)
        else:
            handler.say(404, b"{}")

    monkeypatch.setattr(scripted.Handler, "do_GET", do_get, raising=False)


def test_an_unknown_model_is_named_with_those_of_the_server(
    server: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer_models(server, monkeypatch, "Qwen/Qwen3-8B", "llama-3")
    server.always = fails(404, "The model does not exist.")
    ended = touche_rad(f"respond --say Zoos. -i demo -m {server.url}#qwen3-8b", code=2)
    offers = "pass another URL#MODEL; it offers Qwen/Qwen3-8B, llama-3"
    assert offers in ended.err
    fixes = {401: "set OPENAI_API_KEY", 404: offers, 500: "see the server's log"}
    for status, fix in fixes.items():
        server.always = fails(status)
        doctor = touche_rad(f"doctor --json -m {server.url}#qwen3-8b", code=None).json
        checks = {check["what"]: check for check in doctor}
        assert checks["model"]["fix"] == fix
        assert not checks["debater sinai"]["ok"]


def test_a_missing_path_is_named(server: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    offer_models(server, monkeypatch, "tiny")
    bare = server.url.removesuffix("/v1")
    line = f"respond --say Zoos. -i demo -m {bare}#tiny"
    touche_rad(line, code=2, err=f"-m '{server.url}#tiny'")


@pytest.mark.parametrize("why", ["connection refused", "401: no; "])
def test_under_tira_a_run_finishes_without_its_model(
    server: Scripted, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    server.always = fails(401)
    at = f"{server.url}#tiny" if why.startswith("401") else DEAD
    folder = Path("out")
    folder.mkdir()
    monkeypatch.setenv("inputDataset", str(write_debates("Zoos are bad.").parent))
    monkeypatch.setenv("outputDir", str(folder))
    ended = touche_rad("respond -d composed -i demo -m", at, err=why)
    assert "model: 1 " in ended.err
    status = read_json(folder / "status.json")
    assert status["replaced"] == 1
    assert any(why in warning["detail"] for warning in status["warnings"])
    assert os.path.dirname(status["errors"]) == str(folder / "trace")
    assert [path.name for path in folder.glob("*.jsonl")] == ["responses.jsonl"]


@pytest.mark.parametrize(
    ("status", "fix"), [(401, "set OPENAI_"), (403, "set OPENAI_"), (404, "#")]
)
def test_a_model_that_refuses_every_call_ends_the_run_and_a_corrected_command_continues(
    server: Scripted, status: int, fix: str
) -> None:
    filling(server)
    good = server.always
    server.always = fails(status)
    line = f"{ZSL} -o o -m {server.url}#tiny --workers 1"
    ended = touche_rad(line, code=1, err=f"error: {server.url}: {status}: ")
    assert len(server.asked) == 4, "a debate's three calls, and a check"
    assert fix in ended.err.splitlines()[-1]
    server.always = good
    server.script = [fails(403, "flagged by moderation")]
    touche_rad(f"{ZSL} -o o -m {server.url}#other", err=": 403: ")


def test_cached_answers_need_no_server(server: Scripted) -> None:
    filling(server)
    touche_rad(f"{ZSL} --cache cache -m {server.url}#tiny -o first")
    touche_rad(f"{ZSL} --cache cache -m {DEAD} -o second")


def test_a_resumed_run_without_fallbacks_shows_no_tracebacks_of_its_first_attempt(
    server: Scripted,
) -> None:
    filling(server)
    good = server.always
    server.always = lambda handler: (good if len(server.asked) <= 20 else fails(500))(handler)
    line = f"{ZSL} -m {server.url}#tiny -o o"
    touche_rad(line, code=1)
    assert Path("o.errors.txt").exists()
    server.always = good
    again = touche_rad(line)
    assert read_status("o")["resumed"] > 0
    assert "tracebacks: " not in again.err


def test_a_result_made_in_part_while_the_endpoint_died_is_not_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sending, "RETRIES", replace(sending.RETRIES, first_wait=0.001))
    recorded: list[int] = []

    async def work() -> None:
        model = Model(Address("http://127.0.0.1:9/v1", "tiny"))

        async def do(unit: str, failures: FailureLog) -> Done:
            with suppress(ModelError):
                await model.ask_choice([Message("user", unit)], ("yes", "no"))
            return Done(("a line",))

        units = iter([(0, "Is it so?")])
        options = RunOptions(model=model)

        def keep(number: int, done: Done) -> None:
            recorded.append(number)

        job = Work[str]("respond", Path(), lambda bad: (), do, {})
        await process_units(job, units, options, FailureLog(), keep)

    with pytest.raises(ModelError):
        anyio.run(work)
    assert recorded == []


def test_wait_ends_with_the_reason() -> None:
    ended = touche_rad("respond --say Zoos. --wait 0.1 -i demo -m", DEAD, code=1)
    assert ended.err.startswith("waiting up to 0 s: model unreachable")
