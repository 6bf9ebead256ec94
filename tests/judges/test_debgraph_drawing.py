"""DebGraph's drawing: every argument and relation in it, told apart, followed, and escaped."""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.debgraph.drawing import WIDTH, figure, layout, script, style, wrapped
from judges.debgraph.graph import OTHER, Edge, Origin, Relation, SceneGraph, chain
from touche_rad.contest import Side

SIDES: tuple[Side, Side] = ("pro", "con")


def sixty(seed: int = 1) -> SceneGraph:
    """Sixty arguments in three rounds, with rebuttals from everywhere to everywhere."""
    chance = random.Random(seed)
    graph = SceneGraph("The motion of sixty arguments. " * 4)
    for id_ in range(1, 61):
        side = SIDES[(id_ - 1) // 10 % 2]
        graph.add(
            id_,
            f"Argument {id_} says " + "something " * chance.randint(1, 30),
            Origin(side, 1 + (id_ - 1) // 20),
        )
        against = [node.id for node in graph.arguments(OTHER[side])]
        own = [node.id for node in graph.arguments(side) if node.id != id_]
        if against and chance.random() < 0.5:
            graph.relate(Edge(id_, chance.choice(against), Relation.REBUTTAL))
        elif own and chance.random() < 0.8:
            graph.relate(Edge(id_, chance.choice(own), Relation.PREMISE))
        else:
            graph.relate(Edge(id_, 0, Relation.CLAIM))
    return graph


def drawing(graph: SceneGraph, names: Mapping[Side, str] | None = None) -> str:
    """A page's part that holds one drawing."""
    return f"<style>{style()}</style>\n{figure(graph, names)}<script>{script()}</script>\n"


class Seen(HTMLParser):
    """The elements of a fragment, and whether each was closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def of(self, name: str) -> list[dict[str, str | None]]:
        return [its for _, its in self.elements if name in (its.get("class") or "").split()]


def test_sixty_arguments_and_all_their_relations_are_in_the_drawing() -> None:
    graph = sixty()
    seen = Seen(drawing(graph))
    assert seen.open == []
    assert {int(one["data-id"] or -1) for one in seen.of("dg-node")} == set(range(61))
    drawn = [(int(e["data-from"] or -1), int(e["data-to"] or -1)) for e in seen.of("dg-edge")]
    assert sorted(drawn) == sorted((edge.source, edge.target) for edge in graph.edges())


def test_sixty_arguments_stand_apart_in_their_sides_columns() -> None:
    graph = sixty()
    placed = layout(graph)
    cards = list(placed.cards.values())
    for card in cards:
        assert card.x >= 0
        assert card.x + card.width <= WIDTH
        assert card.y + card.height <= placed.height
        if card.side is not None:
            assert (card.x + card.width / 2 < WIDTH / 2) == (card.side == "pro")
    for at, one in enumerate(cards):
        for other in cards[at + 1 :]:
            assert (
                one.y + one.height <= other.y
                or other.y + other.height <= one.y
                or one.x + one.width <= other.x
                or other.x + other.width <= one.x
            ), (one, other)


def test_rounds_come_one_below_the_other() -> None:
    graph = sixty()
    placed = layout(graph)
    assert [number for number, _ in placed.bands] == [1, 2, 3]
    for number, y in placed.bands:
        inside = [placed.cards[n.id] for n in graph.arguments() if n.origin.round == number]
        assert min(card.y for card in inside) > y
        later = [begin for next_one, begin in placed.bands if next_one == number + 1]
        assert all(card.y + card.height < begin for card in inside for begin in later)


def test_a_premise_stands_below_its_claim_and_further_out() -> None:
    graph = SceneGraph("m")
    for id_, side in ((1, "pro"), (2, "pro"), (3, "pro"), (4, "con"), (5, "con")):
        graph.add(id_, "x", Origin(side, 1))  # type: ignore[arg-type]
    graph.relate(Edge(3, 1, Relation.PREMISE))
    graph.relate(Edge(5, 4, Relation.PREMISE))
    cards = layout(graph).cards
    assert cards[1].y < cards[3].y < cards[2].y
    assert cards[3].outer > cards[1].outer
    assert cards[5].outer < cards[4].outer
    assert cards[3].inner == cards[1].inner


def test_sides_and_relations_differ_in_colour_and_in_form() -> None:
    graph = SceneGraph("m")
    graph.add(1, "x", Origin("pro", 1))
    graph.add(2, "y", Origin("con", 1))
    graph.add(3, "z", Origin("con", 1))
    graph.relate(Edge(2, 1, Relation.REBUTTAL))
    graph.relate(Edge(3, 2, Relation.PREMISE))
    text = drawing(graph)
    nodes = {found["data-id"]: found["class"] for found in Seen(text).of("dg-node")}
    assert (nodes["1"], nodes["2"]) == ("dg-node dg-pro dg-claim", "dg-node dg-con dg-rebuttal")
    pro, con = (text[text.index(f'data-id="{id_}"') :] for id_ in (1, 2))
    assert re.search(r"<(rect|path) class=\"dg-card\"", pro)[1] == "rect"  # type: ignore[index]
    assert re.search(r"<(rect|path) class=\"dg-card\"", con)[1] == "path"  # type: ignore[index]
    attack, support = Seen(text).of("dg-edge")
    assert "dg-attack" in (attack["class"] or "")
    assert "dg-support" in (support["class"] or "")
    assert attack["marker-end"] != support["marker-end"]
    rules = dict(re.findall(r"\.debgraph (\.dg-attack|\.dg-support) \{([^}]*)\}", text))
    assert "stroke-dasharray" in rules[".dg-attack"]
    assert "stroke-dasharray" not in rules[".dg-support"]
    colours = [re.search(r"stroke: (#\w+)", rule)[1] for rule in rules.values()]  # type: ignore[index]
    assert len(set(colours)) == 2


def test_what_is_followed_from_an_argument_is_written_at_it() -> None:
    graph = sixty()
    for one in Seen(drawing(graph)).of("dg-node"):
        followed = [int(id_) for id_ in (one["data-chain"] or "").split()]
        assert followed == chain(graph, int(one["data-id"] or -1))
        assert one["tabindex"] == "0"


HOSTILE = '</title></svg></script><script>alert(1)</script><img src=x onerror="alert(2)">\'"&amp;'


@given(st.text(st.characters()) | st.just(HOSTILE))
def test_no_text_becomes_markup(text: str) -> None:
    graph = SceneGraph(text)
    graph.add(1, text, Origin("pro", 1, text))
    graph.add(2, "x" + text, Origin("con", 1, text))
    graph.relate(Edge(2, 1, Relation.REBUTTAL))
    seen = Seen(drawing(graph, {"pro": text, "con": text}))
    assert seen.open == []
    names = {tag for tag, _ in seen.elements}
    assert names <= {
        "figure",
        "style",
        "ul",
        "li",
        "svg",
        "rect",
        "path",
        "p",
        "div",
        "defs",
        "marker",
        "g",
        "title",
        "text",
        "script",
    }
    assert [tag for tag, _ in seen.elements].count("script") == 1
    assert not [its for _, its in seen.elements for key in its if key.startswith("on")]
    (first,) = [its for its in seen.of("dg-node") if its["data-id"] == "1"]
    assert first["aria-label"] == f"1, pro, claim: {graph.node(1).text}"


def test_the_drawing_asks_no_network_and_no_other_file() -> None:
    text = drawing(sixty())
    assert not re.search(r"https?:|//[a-z]|@import|src=|href=|fetch\(|innerHTML|eval\(", text)


def test_two_drawings_share_a_page_without_sharing_names() -> None:
    one, other = drawing(sixty(1)), drawing(sixty(2))
    ids = [set(re.findall(r' id="([^"]+)"', text)) for text in (one, other)]
    assert len(ids[0]) == len(ids[1]) == 2
    assert not ids[0] & ids[1]
    for text, own in zip((one, other), ids, strict=True):
        assert set(re.findall(r"url\(#([^)]+)\)", text)) == own


def test_a_drawing_alone_has_no_style_and_no_script() -> None:
    assert not re.search("<style|<script| style=", figure(sixty()))


@pytest.mark.parametrize("count", [0, 1])
def test_a_graph_of_nearly_nothing_is_drawn(count: int) -> None:
    graph = SceneGraph("")
    for id_ in range(1, count + 1):
        graph.add(id_, "", Origin("con", 1))
    assert Seen(drawing(graph)).open == []


def test_a_circle_is_drawn() -> None:
    graph = SceneGraph("m")
    for id_ in (1, 2, 3):
        graph.add(id_, f"argument {id_}", Origin("pro", 1))
        if id_ > 1:
            graph.relate(Edge(id_ - 1, id_, Relation.PREMISE))
    graph.relate(Edge(3, 1, Relation.PREMISE))
    assert set(layout(graph).cards) == {0, 1, 2, 3}


@given(st.text(st.characters()), st.integers(20, 400))
def test_text_is_broken_into_at_most_three_lines_of_its_width(text: str, width: int) -> None:
    lines = wrapped(text, width)
    assert 1 <= len(lines) <= 3
    whole = "".join(text.split())
    shown = "".join("".join(lines).split())
    assert shown == whole or (lines[-1].endswith("…") and whole.startswith(shown[:-1]))


@pytest.mark.services
def test_a_browser_follows_an_argument_that_is_clicked_and_lets_it_go(
    chromium: str, tmp_path: Path
) -> None:
    graph = sixty()
    followed = next(n.id for n in graph.arguments() if len(chain(graph, n.id)) > 5)

    def shown(clicks: int) -> Seen:
        page = tmp_path / f"{clicks}.html"
        node = f"document.querySelectorAll('[data-id=\"{followed}\"]')[1]"
        click = f"{node}.dispatchEvent(new Event('click', {{bubbles: true}}));" * clicks
        second = drawing(graph, {"pro": HOSTILE})
        page.write_text(
            f"<!doctype html><meta charset=utf-8>{drawing(sixty(2))}{second}<script>{click}</script>",
            "utf-8",
        )
        run = subprocess.run(
            [
                chromium,
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                f"--user-data-dir={tmp_path / 'profile'}",
                "--dump-dom",
                page.as_uri(),
            ],
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
        return Seen(run.stdout)

    held = shown(1)
    lit = [int(one["data-id"] or -1) for one in held.of("dg-on") if "data-id" in one]
    assert sorted(lit) == chain(graph, followed), "the other drawing stays as it was"
    inside = set(lit)
    edges = [one for one in held.of("dg-on") if "data-from" in one]
    assert len(edges) == sum(e.source in inside and e.target in inside for e in graph.edges())
    assert f"{followed}, " in " ".join(held.words)
    assert shown(2).of("dg-on") == []
