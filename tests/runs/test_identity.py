"""A run continues only with the same code, files and index; else it is refused with one line."""

from __future__ import annotations

import hashlib
import inspect
import operator
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from retrieval.dense.vectors import AboutVectors
from retrieval.index.store import read_manifest
from tests.cases import with_cases
from tests.demo import ARGUMENTS, DEBATES
from tests.records import read_status
from tests.terminal import Ended, touche_rad
from touche_rad.plugins import Kind, find, open_index, vectors_of
from touche_rad.plugins.digests import code_of, digest_of

JUDGE = """
from pathlib import Path
from touche_rad.debate import Maxim, Verdict
from touche_rad.plugins import Options, judge
{imports}

{decorator}
class Strict:
    needs = {needs}

    class Options(Options):
        words: Path | None = None

    def __init__(self, options, services):
        self.calls = 0

    def judge(self, debate):
        self.calls += 1
        if self.calls > 5 and not Path("ready").exists():
            raise RuntimeError("not ready")
        return {{maxim: Verdict(score=1.0) for maxim in Maxim}}
"""
REFUSED = " is of another run: "


def judge(*words: str | Path, plugin: Path | None = None) -> Ended:
    """Judge 20 debates; without the file `ready`, the judge fails at its sixth response."""
    call = ("judge", DEBATES, "--strict", "--workers", "1", "-o", "out.jsonl")
    loaded = ("--plugin", plugin) if plugin is not None else ()
    return touche_rad(*loaded, *call, *words, code=None)


def continues_only_if_undone(
    run: Callable[[], Ended], changed: Path, text: str, named: str
) -> None:
    """Stop a run, change a file, and see the run refused; with the old file it continues."""
    before = changed.read_text() if changed.exists() else None
    assert run().code == 1, "it stops at the first fallback"
    Path("ready").touch()
    changed.parent.mkdir(parents=True, exist_ok=True)
    changed.write_text(text)
    refused = run()
    assert refused.code == 2, refused.err
    assert f"{REFUSED}{named}" in refused.error
    if before is None:
        changed.unlink()
    else:
        changed.write_text(before)
    ended = run()
    assert ended.code == 0, ended.err
    assert read_status("out.jsonl")["resumed"] > 0
    changed.write_text(text)
    assert f"out.jsonl exists already: {named}" in run().error


def install(site: Path, name: str, module: str, entry_point: str = "") -> Path:
    """Install a package of one module as pip does, and return its record of files."""
    info = site / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (site / f"{name}.py").write_text(module)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(entry_point)
    digest = hashlib.sha256(module.encode()).hexdigest()
    record = info / "RECORD"
    record.write_text(f"{name}.py,sha256={digest},{len(module)}\n{info.name}/RECORD,,\n")
    return record


@pytest.mark.parametrize("upgraded", ["strict_judge", "strict_helper"])
def test_after_an_upgrade_of_a_plugins_package_or_of_one_it_needs(
    monkeypatch: pytest.MonkeyPatch, upgraded: str
) -> None:
    site = Path("site")
    text = JUDGE.format(imports="", decorator="", needs=("module:strict_helper",))
    point = "[touche_rad.judges]\nstrict = strict_judge:Strict\n"
    records = {
        "strict_judge": install(site, "strict_judge", text, point),
        "strict_helper": install(site, "strict_helper", "PHRASE = 1\n"),
    }
    monkeypatch.syspath_prepend(str(site))
    record = records[upgraded]
    new = record.read_text().replace("sha256=", "sha256=0")
    named = "code of judge strict" if upgraded == "strict_judge" else "package strict_helper"
    continues_only_if_undone(lambda: judge("-j", "strict"), record, new, named)


@pytest.mark.parametrize(
    "changed", ["mine.py", "phrases_beside.py", "later/words.py", "later/deep.py"]
)
def test_after_a_change_of_a_file_of_plugins_or_of_a_module_that_it_imports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: str
) -> None:
    Path("phrases_beside.py").write_text("def phrase():\n    from later import words\n")
    Path("later").mkdir()
    Path("later/words.py").write_text("def word():\n    from . import deep\n")
    Path("later/deep.py").write_text("WORD = 1\n")
    text = JUDGE.format(imports="import phrases_beside", decorator="@judge('strict')", needs=())
    Path("mine.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "phrases_beside", raising=False)
    continues_only_if_undone(
        lambda: judge("-j", "strict", plugin=Path("mine.py")),
        Path(changed),
        f"{Path(changed).read_text()}\n",
        f"--plugin {changed}",
    )


@pytest.fixture
def strict() -> Path:
    """A file with the judge."""
    path = Path("strict.py")
    path.write_text(JUDGE.format(imports="", decorator="@judge('strict')", needs=()))
    return path


def test_after_a_change_of_a_file_that_an_option_names(strict: Path) -> None:
    words = Path("words.txt")
    words.write_text("because")
    continues_only_if_undone(
        lambda: judge("-j", "strict(words=words.txt)", plugin=strict),
        words,
        "therefore",
        "words of judge strict",
    )
    identity = read_status("out.jsonl")["identity"]
    assert identity["judge"] == "strict(words=words.txt)"


def test_after_vectors_were_added_to_the_index(strict: Path) -> None:
    index = Path("index")
    touche_rad("index -q", ARGUMENTS, "-o", index)
    code = strict.read_text()
    strict.write_text(code.replace("class Strict:", 'class Strict:\n    uses = ("index",)'))
    collection = read_manifest(index).collection
    about = AboutVectors(encoder="tiny", collection=collection, dimension=3, fields=())
    continues_only_if_undone(
        lambda: judge("-j", "strict", "-i", index, plugin=strict),
        index / "dense" / "tiny-1" / "about.json",
        about.model_dump_json(),
        "vectors.tiny-1",
    )


def test_what_counts_for_a_plugin_also_counts_for_one_that_makes_it() -> None:
    for name in ("mine.jsonl", "other.jsonl"):
        Path(name).write_text("1")
    profile = Path("mine.toml")
    profile.write_text('description = "mine"\nextends = "lean"\n')
    touche_rad("prompts zsl -o prompts")
    prompt = next(Path("prompts").iterdir())
    Path("nli").mkdir()

    def digests(kind: Kind, name: str, **options: str) -> dict[str, str]:
        return code_of(find(kind, name).configure(options))

    def all_digests() -> list[dict[str, str]]:
        return [
            digests("judge", "jury", of="fsl1(examples=mine.jsonl),fsl1(examples=other.jsonl)"),
            digests("judge", "jury", of="zsl(profile=mine.toml)"),
            digests("judge", "jury", of="zsl(prompts=prompts)"),
            digests("panel", "grice", judge="fsl1(examples=mine.jsonl)"),
            digests("debater", "grounded", stance="nli:nli"),
            digests("debater", "sinai", retriever="stance(by=nli:nli)"),
        ]

    before = all_digests()
    assert all_digests() == before
    Path("mine.jsonl").write_text("2")
    profile.write_text('description = "mine"\nextends = "paper"\n')
    prompt.write_text(f"{prompt.read_text()}\nBe brief.\n")
    Path("nli/config.json").write_text("{}")
    changed: list[set[str]] = []
    for earlier, now in zip(before, all_digests(), strict=True):
        changed.append({key for key in now if now[key] != earlier[key]})
    examples = {"examples of judge fsl1(examples=mine.jsonl)"}
    assert changed == [
        examples,
        {"plugins of judge jury(of=zsl(profile=mine.toml))"},
        {"plugins of judge jury(of=zsl(prompts=prompts))"},
        examples,
        {"stance of debater grounded(stance=nli:nli)"},
        {"by of retriever stance(by=nli:nli)"},
    ]


def test_variables_count_where_they_replace_an_option_or_decide_on_vectors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = Path("notes")
    notes.mkdir()
    index = Path("index")
    touche_rad("index -q", ARGUMENTS, "-o", index)
    about = AboutVectors(encoder="x", collection="x", dimension=3, fields=())
    (index / "dense" / "x").mkdir(parents=True)
    (index / "dense" / "x" / "about.json").write_text(about.model_dump_json())
    opened = open_index(str(index))

    def digests(web: str = "") -> list[object]:
        panel = find("panel", "inspirescore").configure({"web": web})
        debater = find("debater", "inspiredebate").configure({"web": web})
        return [code_of(panel), code_of(debater), vectors_of(opened)]

    before = digests()
    monkeypatch.setenv("TOUCHE_RAD_WEB", str(notes))
    monkeypatch.setenv("TOUCHE_RAD_TRUST_ENCODER", "stella")
    first = digests()
    (notes / "page.md").write_text("# Zoos")
    second = digests()
    assert str(tmp_path) not in str(second)
    for earlier, now in ((before, first), (first[:2], second[:2])):
        assert not any(map(operator.eq, earlier, now))
    with_option = digests("off")[:2]
    monkeypatch.delenv("TOUCHE_RAD_WEB")
    assert digests("off")[:2] == with_option, "the option replaces the variable"


def test_of_a_plugin_of_ours_its_folder_counts() -> None:
    configured = find("judge", "length").configure()
    folder = Path(inspect.getfile(configured.plugin.factory)).parent
    assert code_of(configured) == {"code of judge length": digest_of(folder)}


def test_compiled_code_does_not_count(tmp_path: Path) -> None:
    Path("first.py").write_text("1")
    digest = digest_of(tmp_path)
    Path("__pycache__").mkdir()
    Path("__pycache__/first.pyc").write_text("1")
    assert digest_of(tmp_path) == digest


@with_cases(("place", "counts"), "runs/changes_of_a_large_file.json")
def test_of_a_large_file_the_first_and_the_last_part_count(place: float, counts: bool) -> None:
    path = Path("weights")
    content = bytearray(8 * 2**20)
    path.write_bytes(content)
    unchanged = digest_of(path)
    content[int(place * 2**20)] = 1
    path.write_bytes(content)
    assert (digest_of(path) != unchanged) == counts
