"""The registry: plugins by decorator and entry point, their needs and options."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import Field

from tests.cases import with_cases
from tests.demo import DEBATES
from tests.records import copy_lines, read_json, read_records, write_records
from tests.refusals import expect_error
from tests.runs.fakes import SmallIndex
from tests.terminal import touche_rad
from touche_rad.debate import Debate, Response
from touche_rad.errors import OptionError, WorkError
from touche_rad.plugins import (
    Options,
    Services,
    debater,
    find,
    import_plugins,
    registered,
)


def _register() -> None:
    @debater("parrot", needs=("index",))
    class Parrot:
        """Repeat what was said.

        More about it.
        """

        class Options(Options):
            times: int = Field(2, ge=1, description="How often.")
            loud: bool = False

        def __init__(self, options: Options, services: Services) -> None:
            self.options = options

        def answer(self, debate: Debate) -> Response:
            return Response(content=debate.last.utterance * self.options.times)


def test_a_decorated_class_is_found_by_name() -> None:
    _register()
    plugin = find("debater", "parrot")
    assert plugin.purpose == "Repeat what was said."
    assert plugin.needs == ("index",)
    parrot = plugin.make(Services(index=SmallIndex()), {"times": "3"})
    assert parrot.answer(Debate().with_utterance("ha")).content == "hahaha"


def test_a_plugin_cannot_have_the_name_of_ours() -> None:
    with expect_error("'verbatim'"):
        debater("verbatim")(object)


@with_cases(("options", "problem"), "plugins/wrong_options.json")
def test_a_wrong_option_is_named(options: dict[str, str], problem: str) -> None:
    _register()
    with expect_error(problem, OptionError):
        find("debater", "parrot").configure(options)


def test_the_identity_names_what_was_set() -> None:
    _register()
    plugin = find("debater", "parrot")
    assert plugin.configure().tag == "parrot"
    assert plugin.configure({"times": "2"}).tag == "parrot"
    assert plugin.configure({"loud": "yes", "times": "5"}).tag == "parrot(loud=true,times=5)"


def test_a_plugin_is_not_created_without_what_it_needs() -> None:
    _register()
    with expect_error(r"parrot.*-i DIR"):
        find("debater", "parrot").make(Services())


@with_cases(("need", "command"), "plugins/unmet_needs.json")
def test_an_unmet_need_has_the_command_that_meets_it(need: str, command: str | None) -> None:
    @debater("needy", needs=(need,))
    class Needy:
        """Need something."""

    missing = find("debater", "needy").missing(index=False)
    assert len(missing) == (command is not None)
    assert (command or "") in "".join(missing)


@pytest.mark.parametrize("need", ["indexes", "extra:dense", "module:", "modul:numpy"])
def test_a_need_of_another_form_is_an_error(need: str) -> None:
    @debater("needy", needs=(need,))
    class Needy:
        """Need something unknown."""

    with expect_error(f"'needy' .*'{need}'", WorkError):
        find("debater", "needy").missing(index=True)


def test_a_file_of_plugins_is_imported() -> None:
    file = Path("mine.py")
    file.write_text(
        "from touche_rad.plugins import judge\n@judge('mine')\nclass Mine:\n    'Judge as I do.'\n"
    )
    import_plugins([str(file)])
    assert registered("judge")["mine"].purpose == "Judge as I do."


@pytest.mark.parametrize("text", ["raise ValueError('no')", "def (", "exit(0)"])
def test_a_broken_file_of_plugins_is_one_line(text: str) -> None:
    file = Path("broken.py")
    file.write_text(text)
    with expect_error(r"broken\.py: "):
        import_plugins([str(file)])


def test_the_plugins_of_an_installed_package_are_listed() -> None:
    listed = touche_rad("list --json", stranger=True)
    rows = {(row["kind"], row["name"]): row for row in listed.json}
    assert rows["debater", "echo"]["source"] == "rad-stranger"
    assert rows["debater", "echo"]["purpose"].endswith("shrug.")
    assert rows["judge", "stern"]["missing"] == []
    assert any("no_such_module" in need for need in rows["debater", "lacking"]["missing"])
    assert "broken" in rows["debater", "broken"]["missing"][0]
    assert rows["debater", "verbatim"]["source"] == "touche-rad", "a package replaces what we ship"


def test_the_server_names_a_broken_plugin_of_a_package_and_goes_on() -> None:
    served = touche_rad("serve -i nowhere --port 0", stranger=True, code=2).err
    assert "broken" in served
    assert served.splitlines()[-1].startswith("touche-rad: error: nowhere: ")


def test_a_debater_and_a_judge_of_a_package_process_a_debate() -> None:
    debates = Path("chat.jsonl")
    debates.write_text('{"messages": [{"role": "user", "content": "Zoos are bad."}]}\n')
    run = "run.jsonl"
    respond = f"respond {debates} -i demo -d echo -O shrug=Well. -o {run}"
    touche_rad(respond, stranger=True)
    assert read_json(run)["content"] == "Well. Zoos are bad."
    verdicts = "verdicts.jsonl"
    touche_rad("judge -j stern", run, "-o", verdicts, stranger=True)
    assert read_json(verdicts)["userTurnsEvaluations"][0]["Manner"]["score"] == 0.0


def test_a_retriever_of_a_package_searches(demo_index_path: Path) -> None:
    hits = Path("hits.run")
    queries = Path("queries.tsv")
    queries.write_text("q1\tZoos should be closed\n")
    retrieve = f"retrieve {queries} -r backwards -i {demo_index_path} -k 5 -o {hits}"
    touche_rad(retrieve, stranger=True)
    assert len(hits.read_text().splitlines()) == 5


def test_a_plugins_options_are_listed() -> None:
    touche_rad("list echo", stranger=True, out="-O times=1")
    wrong = touche_rad("respond x.jsonl -d echo -O shurg=x", stranger=True, code=2, err="'shrug'")
    assert wrong.out == ""


MISTAKEN = """
from touche_rad.debate import Hit, Maxim, Response, Verdict
from touche_rad.plugins import Options, Services, debater, judge, retriever

class Made:
    def __init__(self, options: Options, services: Services) -> None:
        self.index = services.index

@debater("names-arguments-wrongly")
class D(Made):
    def answer(self, debate):
        return Response(content="Zoos are fine.", argument=())

@debater("gives-a-dict")
class F(Made):
    def answer(self, debate):
        return {"content": "Zoos are fine.", "citations": []}

@judge("explains")
class J(Made):
    def judge(self, debate):
        return {maxim: Verdict(score=1.0, explanation="why") for maxim in Maxim}

@judge("explains-in-a-dict")
class K(Made):
    def judge(self, debate):
        return {maxim: {"score": 1.0, "explanation": "why"} for maxim in Maxim}

@retriever("points")
class R(Made):
    def search(self, query, k):
        return [Hit(argument=next(self.index.arguments()), points=1.0)]
"""


@with_cases(("call", "problem"), "plugins/unknown_fields.json")
def test_an_unknown_field_is_named_with_the_nearest_right_one(call: str, problem: str) -> None:
    plugin = Path("mistaken.py")
    out = Path("out")
    plugin.write_text(MISTAKEN)
    source = "in.jsonl"
    copy_lines(DEBATES, source)
    ended = touche_rad(
        "--plugin", plugin, *call.split(), source, "-i", "demo", "-o", out, code=None
    )
    status = out.with_name("out.status.json")
    assert problem in ended.err + (status.read_text() if status.exists() else "")


ENDS = """
import sys
from touche_rad.plugins import debater, judge, panel, retriever

@debater("ends")
@judge("ends")
@panel("all-ends")
@retriever("ends")
class Ends:
    def __init__(self, options, services):
        sys.exit(0)
"""


@pytest.mark.parametrize("call", ["respond -d ", "judge -j ", "judge -j all-", "retrieve -r "])
def test_a_plugin_that_ends_the_program_is_named(call: str) -> None:
    Path("ends.py").write_text(ENDS)
    Path("queries").write_text("Zoos should be closed\n")
    source = "queries" if "retrieve" in call else DEBATES
    words = ("--plugin", "ends.py", *f"{call}ends".split(), source, "-i", "demo", "-o", "out")
    touche_rad(*words, code=1, err="SystemExit: 0")


def test_fields_of_official_files_survive_a_judge() -> None:
    """A judge reads a response with fields that we do not know; the evaluation still has them."""
    record = read_records(DEBATES)[0]
    response = record["simulation"]["userTurns"][0]["systemResponse"]["response"]
    response |= {"reasoning": "because", "extra": {"extra": 1}}
    response["arguments"][0] |= {"key": 3, "score": 7.5, "of": "another system"}
    source = "in.jsonl"
    write_records(source, record)
    touche_rad("judge -j length -o out.jsonl", source)
    written = read_json("out.jsonl")["simulation"]["userTurns"][0]
    assert written["systemResponse"]["response"] == response


def test_a_debater_may_add_fields_to_the_official_record() -> None:
    plugin = Path("adds.py")
    out = "out.jsonl"
    plugin.write_text(MISTAKEN.replace("argument=()", 'extra={"reasoning": "R", "odd": {1, 2}}'))
    respond = f"respond {DEBATES} -d names-arguments-wrongly -i demo -o {out}"
    touche_rad("--plugin", plugin, *respond.split(), err="unwritable field")
    rows = read_records(out)
    assert {row["reasoning"] for row in rows} == {"R"}
    assert not any("extra" in row or "odd" in row for row in rows)
