"""`touche-rad prompts`, and a user's own prompt files (`-O prompts=DIR`)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.models.by_schema import roles_of
from tests.terminal import touche_rad
from touche_rad.plugins import find

ROLES = ("user", "assistant")


def copy_prompts(name: str, addition: str) -> Path:
    """Copy the prompts of `composed`; the system message of `writing` begins with an addition."""
    folder = Path(name)
    touche_rad("prompts composed -o", folder)
    source = (folder / "writing.jinja").read_text("utf-8")
    before, begin, system = source.partition("=== system\n")
    (folder / "writing.jinja").write_text(f"{before}{begin}{addition}{system}", "utf-8")
    return folder


def test_the_overview_names_the_plugins_that_have_prompts() -> None:
    rows = touche_rad("prompts --json").json
    prompts = {row["name"]: row["prompts"] for row in rows}
    assert {"composed", "sinai", "zsl", "debatrix"} <= prompts.keys()
    assert "verbatim" not in prompts
    assert "writing" in prompts["composed"]


def test_a_prompt_is_printed_as_it_is_sent_with_schema_and_tokens() -> None:
    shown = touche_rad("prompts zsl")
    (request,) = touche_rad("prompts zsl --json").json
    assert request["tokens"] > 100
    assert roles_of(request["messages"]) == ["system", "user"]
    assert all(message["content"] in shown.out for message in request["messages"])
    assert set(request["schema"]["properties"]) >= {"quantity", "quality", "relation", "manner"}


def test_a_plugin_that_sends_the_prompts_of_others_shows_them() -> None:
    touche_rad("prompts grice -O judge=zsl", out="quantity")
    touche_rad("prompts grice -o copied", code=2, err="grice")
    touche_rad("prompts debatri", code=2, err="'debatrix'")
    touche_rad("prompts length", code=2)


def test_an_option_of_the_model_is_refused_because_none_is_called() -> None:
    touche_rad("prompts zsl -O model.max_tokens=9", code=2, err="-O")


OWN = """
from touche_rad.calls import Calls
from touche_rad.debate import Response
from touche_rad.models import Prompt
from touche_rad.plugins import debater, find


@debater("slotted", needs=("model",))
class Slotted:
    __slots__ = ("model",)

    def __init__(self, options, services):
        self.model = services.model

    async def answer(self, debate):
        messages = Prompt.load(__package__, "words").messages()
        likely = await self.model.ask_choice(messages, ["changed", "unchanged"])
        return Response(content=f"The prompt is {max(likely, key=likely.get)}.")


@debater("outer", needs=("model",))
class Outer:
    def __init__(self, options, services):
        self.inner = find("debater", "slotted").make(services)

    async def answer(self, debate):
        return await Calls()(self.inner.answer, debate)
"""


@pytest.mark.parametrize(("name", "word"), [("slotted", "changed"), ("outer", "unchanged")])
def test_own_prompts_reach_any_class_of_plugin_but_no_plugin_inside_it(
    name: str, word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = Path("own_prompts")
    mine = Path("mine")
    package.mkdir()
    mine.mkdir()
    (package / "__init__.py").write_text(OWN)
    (package / "words.jinja").write_text("=== user\nHello.\n")
    (mine / "words.jinja").write_text("=== user\nGood day.\n")
    script = Path("answers.jsonl")
    script.write_text(
        '{"when": "Good day", "answer": "changed"}\n{"when": "Hello", "answer": "unchanged"}\n'
    )
    with_own = ("--plugin", "own_prompts", "-O", f"prompts={mine}", "-m", f"scripted:{script}")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, package.name, raising=False)
    call = "respond --say 'Zoos should be closed.' -i demo -d"
    touche_rad(call, name, *with_own, out=f" {word}.")


def test_a_run_depends_on_the_content_of_own_prompts_not_on_their_place() -> None:
    plugin = find("debater", "composed")

    def identity(folder: Path) -> str:
        return plugin.configure({"prompts": str(folder)}).tag

    brief = copy_prompts("first", "Be brief. ")
    same = copy_prompts("second", "Be brief. ")
    kind = copy_prompts("third", "Be kind. ")
    assert identity(brief) == identity(same)
    assert len({identity(brief), identity(kind), plugin.configure().tag}) == 3
    assert "first" not in identity(brief)


def test_files_that_cannot_replace_a_prompt_are_refused(tmp_path: Path) -> None:
    folder = copy_prompts("mine", "{{ secret }} ")

    def refusal(*words: str) -> str:
        refused = touche_rad("prompts composed", *words, code=2)
        return refused.err

    assert "secret" in refusal("-O", f"prompts={folder}")
    (folder / "writing.jinja").rename(folder / "writting.jinja")
    assert "'writing'" in refusal("-O", f"prompts={folder}")
    assert "nothing" in refusal("-O", f"prompts={tmp_path / 'nothing'}")
    assert "exists already" in refusal("-o", str(folder))
