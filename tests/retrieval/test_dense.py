"""Vectors beside an index: made, resumed and searched."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from retrieval.dense import vectors
from tests.cases import with_cases
from tests.demo import ARGUMENTS as DEMO
from tests.models import scripted
from tests.models.scripted import Scripted
from tests.records import read_json
from tests.refusals import expect_error
from tests.retrieval.small import (
    BEES,
    add_vectors,
    changes_that_doctor_notices,
    encoder_by_chance,
    opened,
)
from tests.runs.fakes import SmallIndex
from tests.terminal import touche_rad, touche_rad_process
from touche_rad.debate import Argument
from touche_rad.errors import OptionError, WorkError
from touche_rad.plugins import Services, VectorsWanted, find, meaning_of, open_index


class ByChance:
    """An encoder with a random unit vector for each text."""

    name = "chance"

    def passages(self, texts: Sequence[str]) -> Any:
        rows = [np.random.default_rng(list(text.encode())).standard_normal(8) for text in texts]
        vectors = np.array(rows, dtype=np.float32).reshape(len(texts), 8)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@settings(max_examples=20, deadline=None)
@given(some.lists(some.integers(0, 12), min_size=1, max_size=40), some.integers(0, 50))
def test_the_nearest_are_those_of_the_whole_product(
    tmp_path_factory: pytest.TempPathFactory, drawn: list[int], k: int
) -> None:
    """Some texts stand in several arguments, and 0 stands for a blank one."""
    attacks = [f"claim {number}" if number else "" for number in drawn]
    arguments = [
        Argument(id=f"{at:02}", text="text", attacks=claim) for at, claim in enumerate(attacks)
    ]
    index: Any = opened(arguments, tmp_path_factory.mktemp("few") / "ix")
    vectors.add_vectors(
        index.folder,
        index.manifest.collection,
        ByChance(),  # type: ignore[arg-type]
        VectorsWanted("chance", ("attacks",)),
    )
    query = ByChance().passages(["claim 3"])
    products = (ByChance().passages(attacks) @ query[0]).tolist()
    cosines = {
        argument.id: cosine
        for argument, cosine in zip(arguments, products, strict=True)
        if argument.attacks
    }
    expected = sorted(cosines.items(), key=lambda hit: (-round(hit[1], 5), hit[0]))[:k]
    (nearest,) = index.nearest("chance", "attacks", query, k)
    assert [id_ for id_, _ in nearest] == [id_ for id_, _ in expected]
    assert dict(nearest) == pytest.approx(dict(expected), abs=1e-6)
    ids = [argument.id for argument in arguments]
    (likeness,) = index.likeness("chance", "attacks", query, ids)
    assert likeness == pytest.approx([cosines.get(id_, 0.0) for id_ in ids], abs=1e-6)


def _embed(handler: scripted.Handler) -> None:
    """Answer with vectors that count letters, the last text first."""
    data = [
        {"index": place, "embedding": [*map(float, map(text.count, "abcdefghij")), 1.0]}
        for place, text in enumerate(handler.body["input"])
    ]
    scripted.says({"data": data[::-1]})(handler)


@pytest.fixture
def server(server: Scripted) -> Scripted:
    server.always = _embed
    return server


def _name(server: Scripted) -> str:
    return f"openai:{server.url}#letters"


def test_an_endpoint_encodes(server: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-key")
    server.script = [scripted.fails(429), scripted.fails(503)]
    opened(BEES, "ix")
    reported: list[tuple[int, int]] = []
    wanted = VectorsWanted(_name(server))
    count = add_vectors("ix", wanted, report=lambda done, total: reported.append((done, total)))
    assert count == 6 + 6 + 6
    assert reported == [(6, count), (12, count), (count, count)]
    sent = set(chain.from_iterable(body["input"] for body in server.asked[2:]))
    texts = {getattr(argument, field) for argument in BEES for field in wanted.fields}
    assert sent == texts
    assert server.headers[0]["Authorization"] == "Bearer a-key"
    assert server.asked[0]["model"] == "letters"
    index: Any = open_index("ix")
    assert list(index.encoders) == ["openai:letters"]
    changes = changes_that_doctor_notices(Path("ix"), "dense")
    assert changes == ["rows.npy", "vectors.npy"] * 3


@pytest.mark.parametrize("vector", [0.5, [[0.5]], [1e39, 0.5], [10**400], []])
def test_what_is_no_vector_is_refused(server: Scripted, tmp_path: Path, vector: Any) -> None:
    opened(BEES, tmp_path / "ix")
    server.always = scripted.says({"data": [{"index": at, "embedding": vector} for at in range(6)]})
    with expect_error("expected 6 rows with embedding", WorkError):
        add_vectors(tmp_path / "ix", VectorsWanted(_name(server)))


class NoLikeness(SmallIndex):
    """An index whose vectors can only be searched, such as those of the official one."""

    encoders = ("openai:letters",)

    def nearest(
        self, encoder: str, field: str, queries: Any, k: int
    ) -> list[list[tuple[str, float]]]:
        assert encoder == "openai:letters"
        assert field == "attacks"
        return [[("2", float(query[1])), ("1", 0.5)][:k] for query in queries]


def test_vectors_that_can_only_be_searched_are_searched(
    server: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOUCHE_RAD_EMBEDDINGS", server.url)
    retriever = find("retriever", "dense").make(Services(index=NoLikeness(BEES)))
    hits = retriever.search("bbbb", 2)
    assert [hit.argument for hit in hits] == [BEES[1], BEES[0]]
    assert hits[0].score == pytest.approx(4 / 17**0.5)


@pytest.mark.services
@pytest.mark.parametrize(
    ("name", "fact"),
    [
        ("openai:nowhere", "openai:URL#MODEL"),
        ("openai:http://user:secret@host/v1#m", "http://HOST:PORT/v1#MODEL"),
        ("minilmm", "minilm"),
    ],
)
def test_encoders_that_cannot_be_are_named(name: str, fact: str) -> None:
    opened(BEES, "ix")
    with expect_error(fact):
        add_vectors("ix", VectorsWanted(name))


def _files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.npy")}


@pytest.mark.long
def test_a_killed_encoding_goes_on_and_ends_alike(server: Scripted) -> None:
    words = (str(DEMO), "--dense", _name(server))
    undisturbed = Path("undisturbed")
    killed = Path("killed")
    touche_rad("index", *words, "-o", undisturbed)
    server.asked.clear()

    def slowly(handler: scripted.Handler) -> None:
        time.sleep(0.05)
        _embed(handler)

    server.always = slowly
    process = subprocess.Popen(
        [sys.executable, "-m", "touche_rad", "index", *words, "-o", str(killed)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while len(server.asked) < 12 and process.poll() is None:
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    server.always = _embed
    touche_rad("index", *words, "-o", killed)
    assert _files(killed) == _files(undisturbed)
    server.asked.clear()
    touche_rad("index", *words, "-o", killed)
    assert not server.asked


def test_vectors_of_other_arguments_are_refused(server: Scripted) -> None:
    opened(BEES, "ix")
    touche_rad("index -o ix", DEMO, "--dense", _name(server), code=2, err="other arguments")
    assert not server.asked


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = str(tmp_path_factory.mktemp("dense") / "ix")
    touche_rad("index --dense minilm", DEMO, "-o", folder)
    return folder


@pytest.mark.services
def test_a_real_encoder_finds_what_no_word_tells(demo: str) -> None:
    index = open_index(demo)
    arguments = list(index.arguments())[::9]
    retriever = find("retriever", "dense").make(Services(index=index), {"field": "text"})
    on_topic = 0
    for argument in arguments:
        hits = retriever.search(argument.text, 10)
        assert hits[0].argument.text == argument.text
        assert hits[0].score == pytest.approx(1, abs=0.01)
        on_topic += sum(hit.argument.topic == argument.topic for hit in hits)
    assert on_topic / (10 * len(arguments)) > 0.6


def _dense(index: Any, encoder: str = "") -> Any:
    """Return the search by vectors as a PyTerrier transformer."""
    options = {"field": "text", "encoder": encoder}
    return find("retriever", "dense").make(Services(index=index), options).pipeline(20)


def test_an_index_without_vectors_names_the_option() -> None:
    with expect_error("--dense"):
        _dense(opened(BEES, "ix"))


def test_unknown_vectors_and_fields_are_named(server: Scripted) -> None:
    opened(BEES, "ix")
    add_vectors("ix", VectorsWanted(_name(server), fields=("text",)))
    index: Any = open_index("ix")
    with expect_error("openai:letters", OptionError):
        _dense(index, "openai:leters")
    with expect_error("'attacks'"):
        index.nearest("openai:letters", "attacks", np.ones((1, 11), dtype=np.float32), 3)
    with expect_error("7 dimensions", WorkError):
        index.nearest("openai:letters", "text", np.ones((1, 7), dtype=np.float32), 3)


@pytest.mark.parametrize("name", ["vectors.npy", "rows.npy"])
def test_damaged_vectors_are_refused_and_a_link_gets_none(
    server: Scripted, tmp_path: Path, name: str
) -> None:
    folder = Path("ix")
    opened(BEES, folder)
    wanted = VectorsWanted(_name(server), fields=("text",))
    add_vectors(folder, wanted)
    (path,) = folder.glob(f"dense/*/text/{name}")
    path.write_bytes(path.read_bytes()[:-1] + b"\x7f")
    index: Any = open_index(str(folder))
    with expect_error(f"text/{name} is missing or has changed"):
        assert index.encoders
    (folder / "dense").rename("elsewhere")
    for link in (folder / "dense", folder / "annotations"):
        link.symlink_to(tmp_path / "elsewhere")
        with expect_error("is a link"):
            add_vectors(folder, wanted)
        link.unlink()


def test_a_field_that_is_blank_everywhere_lacks_no_vectors(
    server: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOUCHE_RAD_EMBEDDINGS", server.url)
    blank = [argument.model_copy(update={"supports": ""}) for argument in BEES]
    opened(blank, "ix")
    # A process keeps an encoder of an index by its name, and other tests have another server.
    add_vectors("ix", VectorsWanted(f"openai:{server.url}#blank"))
    meaning: Any = meaning_of(open_index("ix"))
    assert meaning.nearest("supports", ["bees", "roofs"], 3) == [[], []]
    assert meaning.likeness("supports", ["bees"], ["1", "2"]) == [[0.0, 0.0]]
    assert meaning.nearest("attacks", [BEES[0].attacks], 1) == [["1"]]


@with_cases(("model", "query", "passage"), "retrieval/instructions_of_encoders.json")
def test_queries_are_sent_with_the_instruction_of_the_encoder(
    server: Scripted,
    monkeypatch: pytest.MonkeyPatch,
    model: str,
    query: str,
    passage: str,
) -> None:
    opened(BEES, "ix")
    add_vectors("ix", VectorsWanted(f"openai:{server.url}#{model}"))
    sent = set(chain.from_iterable(body["input"] for body in server.asked))
    assert sent >= {f"{passage}{argument.text}" for argument in BEES}
    index: Any = open_index("ix")
    with expect_error("TOUCHE_RAD_EMBEDDINGS"):
        _dense(index).searcher.search(f"asked without an address by {model}", 3)
    monkeypatch.setenv("TOUCHE_RAD_EMBEDDINGS", server.url)
    assert len(_dense(index).searcher.search("roofs", 3)) == 3
    assert server.asked[-1]["input"] == [f"{query}roofs"]


@pytest.mark.services
def test_a_local_encoder_encodes_queries_with_its_instruction(tmp_path: Path) -> None:
    from retrieval.dense.encoders import encoder

    folder = encoder_by_chance(tmp_path).rename("e5-tiny")
    plain = encoder(f"{folder}(instruction=)")
    instructed = encoder(str(folder))
    text = BEES[0].text
    query = instructed.queries([text])
    passage = instructed.passages([text])
    assert np.allclose(query, plain.queries([f"query: {text}"]), atol=1e-6)
    assert np.allclose(passage, plain.queries([f"passage: {text}"]), atol=1e-6)
    assert not np.allclose(query, passage, atol=1e-3)


@pytest.mark.services
def test_an_index_keeps_the_commit_of_an_encoder_of_the_hub(tmp_path: Path) -> None:
    """The cache of the hub has two commits of the model; `main` moves from the first to the other."""
    hub = tmp_path / "hub" / "models--owner--name"
    main = hub / "refs" / "main"
    main.parent.mkdir(parents=True)
    (hub / "snapshots").mkdir()
    first, second = "a" * 40, "b" * 40
    for seed, commit in enumerate((first, second)):
        encoder_by_chance(tmp_path / commit, seed).rename(hub / "snapshots" / commit)
    env = {"HF_HUB_CACHE": str(tmp_path / "hub"), "HF_HUB_OFFLINE": "1"}
    main.write_text(first)
    touche_rad_process("index -o ix --dense owner/name", DEMO, env=env)
    search = ("retrieve", "--say", "Zoos are cruel.", "-r", "dense", "-i", "ix", "--json")
    before = touche_rad_process(*search, env=env)
    main.write_text(second)
    assert touche_rad_process(*search, env=env).out == before.out
    (about,) = Path("ix").glob("dense/*/about.json")
    assert read_json(about)["encoder"] == f"owner/name@{first}"
    shutil.rmtree(hub / "snapshots" / first)
    touche_rad_process(*search, env=env, code=2, err=f"'owner/name@{first}' cannot be loaded")


@pytest.mark.parametrize(
    "encoder", ["stella", "openai:{url}#mean", "owner/model", "other/model", "other/model@main"]
)
def test_an_unsafe_encoder_that_only_an_index_names_is_not_used(
    server: Scripted, encoder: str
) -> None:
    """The index may be a stranger's, and so may be the folder in which it is opened."""
    for model in ("owner/model", "NovaSearch/stella_en_400M_v5"):
        Path(model).mkdir(parents=True)
        Path(model, "config.json").write_text("{}")
    words = ("-o", "ix", "--dense", _name(server))
    touche_rad("index", DEMO, *words)
    (about,) = Path("ix").glob("dense/*/about.json")
    record = read_json(about)
    about.write_text(json.dumps({**record, "encoder": encoder.format(url=server.url)}))
    server.asked.clear()
    touche_rad(
        'respond --say "Zoos should be closed." -i ix',
        err="TOUCHE_RAD_TRUST_ENCODER",
    )
    touche_rad(
        'retrieve --say "Zoos should be closed." -r dense -i ix',
        code=2,
        err="TOUCHE_RAD_TRUST_ENCODER",
    )
    assert not server.asked


def test_no_folder_of_its_name_is_taken_for_the_encoder_of_the_official_index() -> None:
    Path("NovaSearch/stella_en_400M_v5").mkdir(parents=True)
    touche_rad("index -o ix --dense stella", DEMO, code=2, err="folder")
