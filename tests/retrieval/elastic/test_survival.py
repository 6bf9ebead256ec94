"""A cluster of three: one node dies, and only what had no copy is missed; two, and it is told."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import anyio
import pytest

from retrieval.elastic._arguments import ElasticArguments
from retrieval.elastic._connection import Connection
from tests.demo import ARGUMENTS as DEMO
from tests.retrieval.elastic.servers import PASSWORD, Server
from tests.terminal import Ended, touche_rad
from touche_rad import files
from touche_rad.debate import NOTHING_FOUND, Debate, Turn
from touche_rad.errors import ToucheRadError, WorkError
from touche_rad.plugins import Services, build_index, find, open_index
from touche_rad.runs.answering import LAST_RESORT, make_answerer

pytestmark = pytest.mark.services

RED = "a shard of {!r} is not available (red): see _cluster/health"
SLOW = "no answer in time (set TOUCHE_RAD_ES_TIMEOUT)"
"""What is said instead while a node without its cluster does not answer."""


class Stream:
    """Searches by two threads, compared with what was found before; a node dies after a while."""

    def __init__(self, index: ElasticArguments, queries: Sequence[str]) -> None:
        self._index = index
        self._before = {query: _ids(index, query) for query in queries}
        self._dying = threading.Event()
        self._dead = False
        self.done: list[str] = []
        self.failed: list[str] = []
        self.changed: list[tuple[str, str, list[str], list[str]]] = []
        """When, the query, what was found before it, and what is found."""
        assert all(self._before.values())

    def run(self, cluster: Server, node: int) -> None:
        threads = [threading.Thread(target=self._search) for _ in range(2)]
        for thread in threads:
            thread.start()
        assert self._dying.wait(120)
        cluster.kill(node)
        self._dead = True
        for thread in threads:
            thread.join()

    def _search(self) -> None:
        for _ in range(4):
            for query, expected in self._before.items():
                when = "after" if self._dead else "before"
                try:
                    found = _ids(self._index, query)
                except ToucheRadError as error:
                    self.failed.append(str(error))
                    continue
                if Counter(found) != Counter(expected):
                    self.changed.append((when, query, expected, found))
                self.done.append(when)
            self._dying.set()


def _ids(index: ElasticArguments, query: str) -> list[str]:
    return [hit.argument.id for hit in index.search("text", query, 10)]


def _ran(*words: str) -> Ended:
    ran = touche_rad(*words, code=None)
    assert PASSWORD not in ran.out + ran.err
    return ran


def test_nodes_die_in_the_middle(
    secured: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, demo_index_path: Path
) -> None:
    for key, value in secured.environment(TOUCHE_RAD_ES_TIMEOUT="60").items():
        monkeypatch.setenv(key, value)
    arguments = list(files.read_arguments(DEMO))
    copied, single = secured.location("copied"), secured.location("single")
    build_index(arguments, copied, options={"shards": "3", "replicas": "1"})
    build_index(arguments, single, options={"shards": "3", "replicas": "0"})
    _keep_in_place("copied", copied)
    index = _opened(copied)
    monkeypatch.setenv("TOUCHE_RAD_ES_TIMEOUT", "5")
    hasty = _opened(copied)

    # The first node is the one that is asked; it lives, and the last one dies.
    queries = list(dict.fromkeys(one.attacks for one in arguments))[:120]
    stream = Stream(index, queries)
    stream.run(secured, 2)
    assert stream.failed == []
    assert not stream.changed, (len(stream.changed), stream.changed[:2])
    done = Counter(stream.done)
    assert done.total() == 2 * 4 * len(queries) == 960
    assert min(done["before"], done["after"]) > 100
    assert list(index.arguments()) == arguments

    # What had no copy has lost a part: it is red, while the cluster has its majority still.
    _told_in_one_line(single, tmp_path, RED.format("single"))
    _an_honest_answer(single)

    secured.kill(1)
    _nothing_made_up(hasty, RED.format("copied"))
    _told_in_one_line(copied, tmp_path, RED.format("copied"))
    _answered_from_the_fallback_index(copied, demo_index_path)


def _keep_in_place(name: str, location: str) -> None:
    """Let no node get a part in a dead one's place: after a minute the last would have them all."""
    held = {"index.unassigned.node_left.delayed_timeout": "1h"}
    Connection(location).ask(lambda es: es.indices.put_settings(index=name, settings=held))


def _opened(location: str) -> ElasticArguments:
    index = open_index(location)
    assert isinstance(index, ElasticArguments)
    return index


def _told_in_one_line(location: str, tmp_path: Path, told: str) -> None:
    """Searching and bringing say it in this line, and leave no half of a result."""
    queries, hits, brought = str(DEMO.with_name("claims.tsv")), tmp_path / "run", tmp_path / "ix"
    for words in (
        ("retrieve", queries, "-i", location, "-o", str(hits)),
        ("index", location, "-o", str(brought)),
    ):
        ran = _ran(*words)
        assert ran.code == 1, ran.err
        lines = [one for one in ran.err.splitlines() if "; trying again" not in one]
        assert len(lines) == 1
        assert lines[0].removeprefix(f"touche-rad: error: {location}: ") in (told, SLOW)
    assert not hits.exists()
    assert not brought.exists()


def _an_honest_answer(location: str) -> None:
    """Who debates with an index that cannot answer says so, and makes nothing up."""
    ran = _ran("respond", "--say", "Zoos are cruel.", "--json", "-i", location)
    assert ran.code == 1, ran.err
    assert "last-resort" in ran.err
    answer = ran.json
    assert answer["content"] == NOTHING_FOUND
    assert answer["arguments"] == []


def _nothing_made_up(index: ElasticArguments, told: str) -> None:
    """The same where the index was opened before the cluster died, whatever is asked of it."""
    calls: list[Callable[[], object]] = [
        lambda: index.search("text", "Zoos are cruel.", 5),
        lambda: index.search_all("all", ["Zoos", "Night trains"] * 40, 5),
        lambda: index.get("1"),
        lambda: list(index.arguments()),
    ]
    for call in calls:
        with pytest.raises(WorkError) as refused:
            call()
        assert str(refused.value).removeprefix(f"{index.location}: ") in (told, SLOW)
    answerer = make_answerer(find("debater", "grounded").configure(), Services(index=index))
    debate = Debate(claim="Zoos are cruel.", turns=(Turn(utterance="Zoos are cruel."),))
    answer = anyio.run(answerer.answer, debate)
    assert answer.by == LAST_RESORT
    assert answer.response.content == NOTHING_FOUND
    assert answer.response.arguments == ()


def _answered_from_the_fallback_index(location: str, spare: Path) -> None:
    words = ("respond", "--say", "Zoos are cruel.", "--json", "-i", location)
    ran = _ran(*words, "--fallback-index", str(spare))
    assert ran.code == 0, ran.err
    assert ran.json["arguments"]
    assert "fallback index" in ran.err
