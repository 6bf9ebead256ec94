"""Links on the server: the same as in a folder, so that chains are the same."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from retrieval.elastic.arguments import ElasticArguments
from retrieval.links import LinkedIndex
from tests.retrieval.elastic.asking import asked
from tests.retrieval.elastic.servers import Server
from tests.retrieval.small import BEES, opened
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
    assert there.links("2")
    assert pickle.loads(pickle.dumps(there)).links("2") == there.links("2")
    query, near = "Beehives on roofs starve the wild bees nearby.", {"near": "0.7"}
    chains = [find("retriever", "chain").make(Services(index=one), near) for one in (there, here)]
    found = [{hit.argument.id for hit in one.search(query, 9)} for one in chains]
    assert found[0] == found[1] != set()
    for nobody in ("nobody", "", "?", "\udfff"):
        assert there.links(nobody) == here.links(nobody) == []


def test_an_index_without_groups_is_searched_for_its_links(server: Server, location: str) -> None:
    name = location.rpartition("/")[2]
    properties = {one: {"type": "text"} for one in ("topic", "text", "attacks", "supports")}
    asked(server, name, {"mappings": {"properties": properties}}, "PUT")
    index = open_index(location)
    assert isinstance(index, ElasticArguments)
    assert not isinstance(index, LinkedIndex)
