"""Rerankers, NLI models and encoders on a server, and a local cross-encoder: what they are sent, what follows."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from retrieval.stance.backend import backend
from tests.bench.makers import SMALL, write_bench
from tests.debaters.test_sinai import PLAN, query
from tests.debaters.world import (
    AGAINST_PENNY,
    ARGUMENTS,
    FOR_PENNY,
    WORTH,
    WORTHLESS,
    BothSides,
    answers,
    argument,
    debate,
)
from tests.models import scripted
from tests.models.by_schema import answering
from tests.models.scripted import Handler, Scripted
from tests.nli import by_chance
from tests.retrieval.small import opened
from tests.terminal import touche_rad
from touche_rad.errors import ToucheRadError, UserError
from touche_rad.plugins import Services, close_index, find, make
from touche_rad.testing import check_retriever

SAID = "Nothing costs a penny, and it fills jars at home."
AGREEING = [
    argument(number, *AGAINST_PENNY, text)
    for number, text in enumerate(
        (
            "Nothing in shops costs a penny, so it only fills jars and drawers.",
            "Jars and drawers at home are where a penny ends.",
            "Makers of jars alone gain from a penny.",
            "A penny at home is lost to everyone.",
        )
    )
]
JARS = AGREEING[0]
CHARITY = argument(9, *FOR_PENNY, "Charities live on the penny that nobody misses at home.")
FOLLOWS = "Small change is of use to those who help the needy."
BOTH = (*AGREEING, CHARITY, *ARGUMENTS[4:])


def routes(**of: Callable[[dict[str, Any]], Any]) -> scripted.Answer:
    """Answer some routes, and 404 elsewhere."""

    def act(handler: Handler) -> None:
        route = handler.path.rpartition("/")[2]
        if route not in of:
            handler.say(404, b'{"detail": "Not Found"}')
            return
        assert handler.body.pop("model") == "tiny"
        scripted.says(of[route](handler.body))(handler)

    return act


def scores(texts: Sequence[str]) -> list[float]:
    """The truth: who attacks what the user says comes first, and who says the same, last."""
    sides = {one.text: one.attacks for one in BOTH}
    return [{WORTHLESS: 0.9, WORTH: 0.1}.get(sides.get(text, ""), 0.4) for text in texts]


def rerank(body: dict[str, Any]) -> Any:
    assert body["top_n"] == len(body["documents"]) > 0
    assert set(body) == {"query", "documents", "top_n"}
    rows = [
        {"index": at, "relevance_score": score}
        for at, score in enumerate(scores(body["documents"]))
    ]
    return {"results": sorted(rows, key=lambda row: -row["relevance_score"])}


def score(body: dict[str, Any]) -> Any:
    assert set(body) == {"text_1", "text_2"}
    rows = [{"index": at, "score": one} for at, one in enumerate(scores(body["text_2"]))]
    return {"data": rows}


@pytest.fixture
def ranking() -> Iterator[Scripted]:
    with scripted.serving() as made:
        made.always = routes(rerank=rerank)
        yield made


def found(by: str, said: str = SAID, **options: str) -> list[str]:
    given = {"of": "text", "by": by, **options}
    hits = find("retriever", "rerank").make(Services(index=BothSides(BOTH)), given).search(said, 9)
    assert [hit.rank for hit in hits] == list(range(len(hits)))
    return [hit.argument.id for hit in hits]


@pytest.mark.parametrize("of", [{"rerank": rerank}, {"score": score}])
@pytest.mark.parametrize("ending", ["", "/v1"])
def test_who_attacks_the_claim_comes_first(ranking: Scripted, of: Any, ending: str) -> None:
    ranking.always = routes(**of)
    by = f"{ranking.url.removesuffix('/v1')}{ending}#tiny"
    plain = find("retriever", "text").make(Services(index=BothSides(BOTH))).search(SAID, 9)
    assert plain[0].argument == JARS
    assert found(by)[0] == CHARITY.id
    assert found(by, top="1")[0] == JARS.id


def test_the_connections_to_servers_are_closed_with_the_index(
    ranking: Scripted, tmp_path: Path
) -> None:
    closed = threading.Event()

    def act(handler: Handler) -> None:
        handler.finish = closed.set  # type: ignore[method-assign]  # once there is no connection
        routes(rerank=rerank)(handler)

    ranking.always = act
    index = opened(BOTH, tmp_path / "index")
    options = {"of": "text", "by": f"{ranking.url}#tiny"}
    retriever = find("retriever", "rerank").make(Services(index=index), options)
    hits = retriever.search(SAID, 9)
    assert not closed.is_set()
    close_index(index)
    assert closed.wait(5)
    assert retriever.search(SAID, 9) == hits


def test_the_instruction_stands_before_the_query(ranking: Scripted) -> None:
    by = f"{ranking.url}#tiny"
    for options in ({}, {"instruction": "Find friends."}, {"instruction": ""}):
        found(by, **options)
    asked = [body["query"] for body in ranking.asked if body["query"].endswith(SAID)]
    default = "Find an argument that argues against this claim."
    assert asked == [f"{default} {SAID}", f"Find friends. {SAID}", SAID]


FIRST = {
    "Choice": {"number": 1, "frame": "none"},
    "Outline": {"plan": PLAN, "searches": {"SEARCH_1": query(SAID)}},
    "Numbers": {"selected": [{"number": 1, "justification": ""}]},
}


@pytest.mark.parametrize("debater", ["grounded", "composed", "sinai"])
def test_the_argument_of_a_debater_follows_the_reranker(
    server: Scripted, ranking: Scripted, debater: str
) -> None:
    """The model takes the first argument that it is shown."""

    def written(told: str) -> dict[str, Any]:
        texts = {told.find(one.text): one.text for one in BOTH if one.text in told}
        text = texts[min(texts)]
        return {"numbers": [1], "arguments": [1], "response": text}

    answering(server, {**FIRST, "Written": written})
    asked, index = [debate(SAID)], BothSides(BOTH)
    (plain,) = answers(server, debater, asked, index)
    assert [one.attacks for one in plain.arguments] == [WORTH]
    by = f"rerank(of=text,by={ranking.url}#tiny)"
    (reranked,) = answers(server, debater, asked, index, retriever=by)
    assert [one.attacks for one in reranked.arguments] == [WORTHLESS]


def test_a_turn_goes_on_when_the_server_is_down_and_it_is_said_once(
    ranking: Scripted, caplog: pytest.LogCaptureFixture
) -> None:
    index = BothSides(BOTH)
    options = {"retriever": f"rerank(of=text,by={ranking.url}#tiny)", "floor": "0"}
    debater = find("debater", "grounded").make(Services(index=index), options)
    assert debater.answer(debate(SAID)).arguments[0].id == CHARITY.id
    ranking.always = scripted.fails(500)
    for _ in range(2):
        assert debater.answer(debate(SAID)).arguments[0].id == JARS.id
    told = [one for one in caplog.messages if "hits stay in the order of text" in one]
    assert len(told) == 1
    assert ": 500: no" in told[0]


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (routes(), "has no route /rerank or /score: start a server with such a model"),
        (scripted.fails(400, "the model cannot rank"), ": 400: the model cannot rank"),
        (scripted.fails(404, "The model `tiny` does not exist."), "404: The model"),
    ],
)
def test_a_server_that_cannot_rank_is_told_in_one_line(
    ranking: Scripted, answer: scripted.Answer, told: str
) -> None:
    ranking.always = answer
    options = f"-i demo -r rerank -O by={ranking.url}#tiny".split()
    ended = touche_rad("retrieve", "--say", SAID, *options)
    assert ended.code == 2
    assert told in ended.err
    assert len(ended.err.strip().splitlines()) == 1


@pytest.mark.services
def test_a_local_cross_encoder_ranks_as_it_scores(tmp_path: Path) -> None:
    from sentence_transformers import CrossEncoder

    folder = by_chance(tmp_path / "one", ("LABEL_0",))
    texts = {one.text: one.id for one in BOTH}
    order = CrossEncoder(str(folder)).rank(SAID, list(texts), return_documents=True)
    told = found(str(folder), instruction="", of="text")
    assert told == [texts[row["text"]] for row in order if texts[row["text"]] in told]
    check_retriever("rerank", {"by": str(folder)})
    with pytest.raises(UserError, match="not one score"):
        found(str(by_chance(tmp_path / "three")))


LABELS = ("contradiction", "entailment", "neutral")


def classify(body: dict[str, Any]) -> Any:
    """What two texts say of each other: the same entails, `not` contradicts, else neither."""
    rows = []
    for at, text in enumerate(body["input"]):
        one, _, two = text.partition("</s></s>")
        here = "not" in one.split(), "not" in two.split()
        near = two == FOLLOWS or len(set(one.split()) & set(two.split())) > 2
        row = 2 if not near else 1 if here[0] == here[1] else 0
        probs = np.full(3, 0.05)
        probs[row] = 0.9
        rows.append({"index": at, "label": LABELS[row], "probs": probs.tolist(), "num_classes": 3})
    return {"data": rows[::-1]}


def tokenize(body: dict[str, Any]) -> Any:
    return {"token_strs": ["<s>", body["prompt"], "</s>"]}


def test_an_nli_model_on_a_server_tells_the_side(ranking: Scripted) -> None:
    ranking.always = routes(classify=classify, tokenize=tokenize)
    name = f"nli:{ranking.url}#tiny"
    against, along = backend(name).stances(f"{WORTHLESS}</s></s>", [CHARITY, JARS])
    assert against.against > 0.8
    assert along.against < -0.8
    pairs = [text for text in ranking.asked[-1]["input"] if WORTHLESS in text]
    assert all(text.count("</s></s>") == 1 for text in pairs)
    for options, first in (
        ("weight=9", CHARITY.id),
        ("weight=9,side=for", JARS.id),
        ("weight=0", JARS.id),
    ):
        spec = f"stance(of=text,by={name},{options})"
        hits = make("retriever", spec, Services(index=BothSides(BOTH))).search(WORTHLESS, 9)
        assert hits[0].argument.id == first
        assert hits[0].path[-1].startswith("same 0.")


def test_the_retrievers_with_a_server_hold_their_contracts(ranking: Scripted) -> None:
    ranking.always = routes(rerank=rerank, classify=classify, tokenize=tokenize)
    check_retriever("rerank", {"of": "text", "by": f"{ranking.url}#tiny"})
    check_retriever("stance", {"of": "text", "by": f"nli:{ranking.url}#tiny"})


def test_the_guard_asks_an_nli_model_on_a_server(server: Scripted, ranking: Scripted) -> None:
    ranking.always = routes(classify=classify, tokenize=tokenize)
    answering(server, {"Written": {"numbers": [1], "response": FOLLOWS}})
    index = BothSides([CHARITY])
    asked = [debate("The penny is worthless.")]
    (plain,) = answers(server, "composed", asked, index)
    assert plain.content != FOLLOWS
    (guarded,) = answers(server, "composed", asked, index, guard=f"nli:{ranking.url}#tiny")
    assert guarded.content == FOLLOWS


def good(body: dict[str, Any]) -> Any:
    rows = [{"index": at, "label": "good", "probs": [0.9, 0.1]} for at in range(len(body["input"]))]
    return {"data": rows}


@pytest.mark.parametrize(
    ("of", "told"),
    [
        ({}, "has no route /classify"),
        ({"classify": lambda body: {"data": []}}, "expected 6 rows with probs"),
        ({"classify": good}, "is not an NLI model: its labels are good"),
    ],
)
def test_a_server_without_an_nli_model_is_told(ranking: Scripted, of: Any, told: str) -> None:
    ranking.always = routes(**of)
    with pytest.raises(ToucheRadError, match=told):
        backend(f"nli:{ranking.url}#tiny")


def rerank_all(body: dict[str, Any]) -> Any:
    rows = [{"index": at, "relevance_score": 0.5} for at in range(len(body["documents"]))]
    return {"results": rows}


@pytest.mark.parametrize("debater", ["grounded", "composed", "sinai"])
def test_prompts_are_shown_with_a_served_reranker(ranking: Scripted, debater: str) -> None:
    """Its requests are made outside the event loop, which would refuse them."""
    ranking.always = routes(rerank=rerank_all)
    retriever = f"retriever=rerank(of=text,by={ranking.url}#tiny)"
    prompts = touche_rad("prompts", debater, "-i", "demo", "-O", retriever)
    assert prompts.code == 0, prompts.err
    assert len(ranking.asked) > 1, "beside the request when it is made, one for the turn"


def test_a_bench_may_have_a_served_reranker(ranking: Scripted, tmp_path: Path) -> None:
    ranking.always = routes(rerank=rerank_all)
    debater = f'{{ grounded = "grounded(retriever=rerank(of=text,by={ranking.url}#tiny))" }}'
    plan = SMALL.replace('{ verbatim = "verbatim" }', debater)
    ended = touche_rad("bench", "run", write_bench(tmp_path / "small", plan).parent)
    assert ended.code == 0, ended.err
    assert "fallback" not in ended.err
    assert len(ranking.asked) > 2
