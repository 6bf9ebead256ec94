"""Links on the server: the same as in a folder, so that chains are the same."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from retrieval.elastic.arguments import ElasticArguments
from retrieval.index.pisa import PisaArguments
from retrieval.links import LinkedIndex
from tests.retrieval.elastic.asking import asked
from tests.retrieval.elastic.servers import Server
from tests.retrieval.small import BEES, opened
from touche_rad import files
from touche_rad.debate import Argument
from touche_rad.plugins import Services, build_index, find, open_index

pytestmark = pytest.mark.services

DEMO = Path(__file__).parent.parent.parent.parent / "touche_rad/demo/arguments.jsonl"
ODD = (
    *BEES,
    Argument(id="\ud800", text="Bees belong in town.", attacks="Bees have no place in town."),
    Argument(id="blank", text=" ", attacks="", supports=" "),
    Argument(id="again", text="Bees have no place in town!", supports="Bees belong in town"),
    Argument(id="Z", text="", attacks="Night trains save time."),
)


def _linked(location: str) -> Any:
    index = open_index(location)
    assert isinstance(index, ElasticArguments)
    assert isinstance(index, LinkedIndex)
    return index


@pytest.mark.parametrize("parts", ["1", "3"])
def test_both_homes_link_the_same_arguments(location: str, tmp_path: Path, parts: str) -> None:
    build_index(ODD, location, options={"shards": parts})
    there, here = _linked(location), opened(ODD, tmp_path / "ix")
    for argument in ODD:
        assert there.links(argument.id) == here.links(argument.id)
    assert [link.argument.id for link in there.links("2")]
    for nobody in ("nobody", "", "?", "\udfff"):
        assert there.links(nobody) == here.links(nobody) == []


@pytest.fixture(scope="module")
def demo(server: Server) -> Any:
    location = server.location("demo-links")
    build_index(files.read_arguments(DEMO), location, replace=True)
    return _linked(location)


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> PisaArguments:
    return opened(list(files.read_arguments(DEMO)), tmp_path_factory.mktemp("local") / "ix")


def test_the_demo_is_linked_as_in_a_folder(demo: Any, local: PisaArguments) -> None:
    linked = [one.id for one in local.arguments()][::4]
    assert [demo.links(one) for one in linked] == [local.links(one) for one in linked]
    assert pickle.loads(pickle.dumps(demo)).links(linked[0]) == local.links(linked[0])


def test_chains_are_those_of_a_folder(demo: Any, local: PisaArguments) -> None:
    queries = [one.attacks for one in local.arguments()][::40]
    found = [
        [[hit.argument.id for hit in retriever.search(query, 5)] for query in queries]
        for retriever in (
            find("retriever", "chain").make(Services(index=index), {"near": "0.7"})
            for index in (demo, local)
        )
    ]
    assert all(found[1])
    same = sum(len(set(one) & set(other)) for one, other in zip(*found, strict=True))
    assert same >= 0.9 * sum(map(len, found[1]))


def test_an_index_without_groups_is_searched_for_its_links(server: Server, location: str) -> None:
    name = location.rpartition("/")[2]
    properties = {one: {"type": "text"} for one in ("topic", "text", "attacks", "supports")}
    asked(server, name, {"mappings": {"properties": properties}}, "PUT")
    index = open_index(location)
    assert isinstance(index, ElasticArguments)
    assert not isinstance(index, LinkedIndex)
