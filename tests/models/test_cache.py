"""The cache: shared, and read without an endpoint."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import anyio
import pytest
from pydantic import BaseModel

from tests.models import scripted
from tests.models.scripted import Scripted, reply
from tests.refusals import expect_error
from touche_rad.models import Message, Model
from touche_rad.models import errors as faults
from touche_rad.models.cache import CACHE_FILE
from touche_rad.models.endpoint import NONE, Address


class Fine(BaseModel):
    words: str


@pytest.fixture
def server(server: Scripted) -> Scripted:
    server.always = lambda handler: handler.say(
        200,
        json.dumps(reply(json.dumps({"words": handler.body["messages"][0]["content"]}))).encode(),
    )
    return server


def ask(url: str, cache: Path, number: int = 0) -> Fine:
    async def run() -> Fine:
        model = Model(Address(url, "tiny"), cache=cache)
        try:
            return await model.ask([Message("user", f"Number {number}")], Fine)
        finally:
            await model.close()

    return anyio.run(run)


def test_of_two_answers_to_a_request_both_processes_use_the_first(
    server: Scripted, tmp_path: Path
) -> None:
    def answer_late(handler: scripted.Handler) -> None:
        ask(server.url, tmp_path)  # what another process asks at the same time
        scripted.content('{"words": "late"}')(handler)

    def fail_at_the_same_time(handler: scripted.Handler) -> None:
        with pytest.raises(faults.BadRequest):
            ask(server.url, tmp_path, 1)
        scripted.content('{"words": "Number 1"}')(handler)

    server.script = [fail_at_the_same_time, *[scripted.fails(400)] * 3, answer_late]
    assert ask(server.url, tmp_path, 1).words == "Number 1"
    assert ask(server.url, tmp_path).words == "Number 0"
    assert ask(NONE, tmp_path).words == "Number 0"


def test_a_failure_is_repeated_without_an_endpoint_and_asked_again_with_one(
    server: Scripted, tmp_path: Path
) -> None:
    good = server.always
    for always in (scripted.content("nonsense"), scripted.fails(400, "broken"), good):
        server.always = always
        results = []
        for url in (server.url, NONE):
            try:
                results.append(repr(ask(url, tmp_path)))
            except faults.ModelError as error:
                results.append(repr(error))
        assert results[0] == results[1]
        assert "NotCached" not in results[0]
    assert results == ["Fine(words='Number 0')"] * 2


OLD = r"""
PRAGMA user_version=2;
CREATE TABLE answers (
  key TEXT PRIMARY KEY, model TEXT NOT NULL, asked TEXT NOT NULL, answer TEXT NOT NULL,
  version INTEGER NOT NULL, kept REAL NOT NULL
) WITHOUT ROWID;
INSERT INTO answers VALUES(
  'b3a0f440768d8ad1f87bc19952e1f9918fc3624d10784f52d03747e1eb2b0195', 'tiny',
  '{"model": "tiny", "messages": [{"role": "user", "content": "Number 7"}], "temperature": 0.0, "seed": 0, "max_tokens": 1024}',
  '{"said": "{\"words\": \"Number 7\"}", "chances": []}', 2, 1795884044.4
);
"""
"""A cache of version 0.1.0."""


def test_a_cache_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    with sqlite3.connect(Path("answers.sqlite")) as database:
        database.executescript(OLD)
    database.close()
    assert ask(NONE, tmp_path, 7).words == "Number 7"


@pytest.mark.parametrize(
    "damage",
    [
        *("''", "'{'", "'null'", "'7'", "'[]'", "'{}'", "'{\"said\": 7}'", '\'{"said": "{"}\''),
        "x'ff'",
        "replace(answer, 'Numb', 'Lumb')",  # a flipped bit
    ],
)
def test_a_damaged_answer_is_asked_again_and_replaced(
    server: Scripted, tmp_path: Path, damage: str
) -> None:
    assert ask(server.url, tmp_path).words == "Number 0"
    with sqlite3.connect(Path(CACHE_FILE)) as database:
        database.execute(f"UPDATE answers SET answer = {damage}")
    for _ in range(2):
        assert ask(server.url, tmp_path).words == "Number 0"
    assert len(server.asked) == 2


def test_a_cache_of_a_stranger_changes_no_other_file(server: Scripted) -> None:
    """The journal names a file that SQLite would remove."""
    ask(server.url, Path("cache"))
    victim = Path("victim")
    victim.write_text("precious")
    journal = Path("cache", f"{CACHE_FILE}-journal")
    journal.write_bytes(bytes.fromhex(Path(__file__).with_name("journal.hex").read_text()))
    with expect_error("remove it"):
        ask(server.url, Path("cache"))
    journal.unlink()
    for suffix in ("", "-journal", "-wal", "-shm"):
        link = Path("cache", f"{CACHE_FILE}{suffix}")
        link.unlink(missing_ok=True)
        link.symlink_to(victim.absolute())
        with expect_error("remove it"):
            ask(server.url, Path("cache"))
        link.unlink()
    assert victim.read_text() == "precious"
    with sqlite3.connect(Path("cache", CACHE_FILE)) as database:
        database.execute("CREATE VIEW answers AS SELECT 1")
    with expect_error("no cache"):
        ask(server.url, Path("cache"))
