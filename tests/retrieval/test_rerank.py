"""Rerankers, NLI models and encoders on a server, and a local cross-encoder: what they are sent, what follows."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from retrieval.stance.backend import backend
from tests.debaters.test_sinai import ANSWERS, query
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
from tests.refusals import expect_error
from tests.retrieval.small import opened
from tests.terminal import touche_rad
from touche_rad.debate import Argument, Hit
from touche_rad.errors import OptionError, ToucheRadError
from touche_rad.plugins import Services, find, make
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


def routes(**replies: Callable[[dict[str, Any]], Any]) -> scripted.Answer:
    """Answer some routes, and 404 elsewhere."""

    def act(handler: Handler) -> None:
        route = handler.path.rpartition("/")[2]
        if route not in replies:
            handler.say(404, b'{"detail": "Not Found"}')
            return
        assert handler.body.pop("model") == "tiny"
        scripted.says(replies[route](handler.body))(handler)

    return act


def scores(texts: Sequence[str]) -> list[float]:
    """The truth: who attacks what the user says comes first, and who says the same, last."""
    sides = {argument.text: argument.attacks for argument in BOTH}
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
    rows = [{"index": at, "score": score} for at, score in enumerate(scores(body["text_2"]))]
    return {"data": rows}


@pytest.fixture
def ranking() -> Iterator[Scripted]:
    with scripted.serving() as server:
        server.always = routes(rerank=rerank)
        yield server


def search_reranked(by: str, **options: str) -> list[Hit]:
    options = {"of": "text", "by": by, **options}
    return (
        find("retriever", "rerank").make(Services(index=BothSides(BOTH)), options).search(SAID, 9)
    )


@pytest.mark.parametrize("replies", [{"rerank": rerank}, {"score": score}])
@pytest.mark.parametrize("ending", ["", "/v1"])
def test_who_attacks_the_claim_comes_first(ranking: Scripted, replies: Any, ending: str) -> None:
    ranking.always = routes(**replies)
    by = f"{ranking.url.removesuffix('/v1')}{ending}#tiny"
    plain = find("retriever", "text").make(Services(index=BothSides(BOTH))).search(SAID, 9)
    assert plain[0].argument == JARS
    hits = search_reranked(by)
    assert hits[0].argument == CHARITY
    assert hits[0].score == 0.9
    assert hits[0].path[-1] == "reranked 0.90"


def test_hits_behind_the_reranked_ones_stay_in_their_order(ranking: Scripted) -> None:
    by = f"{ranking.url}#tiny"
    plain = find("retriever", "text").make(Services(index=BothSides(BOTH))).search(SAID, 9)
    hits = search_reranked(by, top="1")
    assert [hit.argument for hit in hits] == [hit.argument for hit in plain]
    assert [hit.rank for hit in hits] == list(range(len(plain)))
    assert [hit.score for hit in hits] == pytest.approx([0.1 - at for at in range(len(plain))])


def test_the_connections_to_servers_are_closed_with_the_index(ranking: Scripted) -> None:
    closed = threading.Event()

    def act(handler: Handler) -> None:
        handler.finish = closed.set  # type: ignore[method-assign]  # once there is no connection
        routes(rerank=rerank)(handler)

    ranking.always = act
    index = opened(BOTH, "index")
    options = {"of": "text", "by": f"{ranking.url}#tiny"}
    retriever = find("retriever", "rerank").make(Services(index=index), options)
    hits = retriever.search(SAID, 9)
    assert not closed.is_set()
    index.close()
    assert closed.wait(5)
    assert retriever.search(SAID, 9) == hits


def test_the_instruction_stands_before_the_query(ranking: Scripted) -> None:
    by = f"{ranking.url}#tiny"
    for options in ({}, {"instruction": "Find friends."}, {"instruction": ""}):
        search_reranked(by, **options)
    queries = [body["query"] for body in ranking.asked if body["query"].endswith(SAID)]
    default = "Find an argument that argues against this claim."
    assert queries == [f"{default} {SAID}", f"Find friends. {SAID}", SAID]


FIRST = {
    "Choice": {"number": 1},
    "Outline": {"plan": ANSWERS["Plan"], "searches": {"SEARCH_1": query(SAID)}},
    "Numbers": {"selected": [{"number": 1, "justification": ""}]},
}


@pytest.mark.parametrize("debater", ["grounded", "composed", "sinai"])
def test_the_argument_of_a_debater_follows_the_reranker(
    server: Scripted, ranking: Scripted, debater: str
) -> None:
    """The model takes the first argument that it is shown."""

    def quote_the_first(prompt: str) -> dict[str, Any]:
        shown = [argument.text for argument in BOTH if argument.text in prompt]
        return {"numbers": [1], "arguments": [1], "response": min(shown, key=prompt.find)}

    answering(server, {**FIRST, "Written": quote_the_first})
    debates = [debate(SAID)]
    index = BothSides(BOTH)
    (plain,) = answers(server, debater, debates, index)
    assert [argument.attacks for argument in plain.arguments] == [WORTH]
    by = f"rerank(of=text,by={ranking.url}#tiny)"
    (reranked,) = answers(server, debater, debates, index, retriever=by)
    assert [argument.attacks for argument in reranked.arguments] == [WORTHLESS]


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
    warnings = [message for message in caplog.messages if "order of text" in message]
    assert len(warnings) == 1
    assert ": 500: no" in warnings[0]
    failed = len(ranking.asked)
    debater.answer(debate(SAID))
    assert len(ranking.asked) == failed, "a server that failed is not asked again at once"


@pytest.mark.parametrize(
    ("answer", "fact"),
    [
        (routes(), "no route /rerank or /score"),
        (scripted.fails(400, "the model cannot rank"), ": 400: the model cannot rank"),
        (scripted.fails(404, "The model `tiny` does not exist."), "404: The model"),
        (scripted.raw(b" " * (2**24 + 1)), "the answer is larger than 16777216 bytes"),
    ],
)
def test_a_server_that_cannot_rank_is_refused_in_one_line(
    ranking: Scripted, answer: scripted.Answer, fact: str
) -> None:
    ranking.always = answer
    options = f"-i demo -r rerank -O by={ranking.url}#tiny".split()
    ended = touche_rad("retrieve --say", SAID, *options, code=2)
    assert fact in ended.error


def each(**row: Any) -> Callable[[dict[str, Any]], Any]:
    """Return a reply with this row for each text."""

    def reply(body: dict[str, Any]) -> Any:
        texts = body["documents"] if "documents" in body else body["input"]
        rows = [{"index": at, **row} for at in range(len(texts))]
        return {"results": rows, "data": rows}

    return reply


@pytest.mark.parametrize(
    "reply",
    [
        lambda body: {"results": []},
        lambda body: {"rows": []},
        each(relevance_score=None),
        each(relevance_score=[0.5]),
        each(relevance_score=1e39),
        each(relevance_score=10**400),
        each(relevance_score=0.5, index=0),
        each(relevance_score=0.5, index=float("inf")),
    ],
)
def test_a_reply_without_a_score_for_each_text_keeps_the_order(
    ranking: Scripted, caplog: pytest.LogCaptureFixture, reply: Any
) -> None:
    ranking.always = routes(rerank=reply)
    hits = search_reranked(f"{ranking.url}#tiny")
    assert hits[0].argument == JARS
    assert "relevance_score" in caplog.text


def test_a_reranker_must_be_named() -> None:
    with expect_error("by=URL#MODEL", OptionError):
        search_reranked("")


LABELS = ("contradiction", "entailment", "neutral")


def classify(body: dict[str, Any]) -> Any:
    """What two texts say of each other: the same entails, `not` contradicts, else neither."""
    rows = []
    for at, text in enumerate(body["input"]):
        premise, _, hypothesis = text.partition("</s></s>")
        words = set(premise.split())
        others = set(hypothesis.split())
        label = "neutral"
        if hypothesis == FOLLOWS or len(words & others) > 2:
            same = ("not" in words) == ("not" in others)
            label = "entailment" if same else "contradiction"
        probs = [0.9 if name == label else 0.05 for name in LABELS]
        rows.append({"index": at, "label": label, "probs": probs, "num_classes": 3})
    return {"data": rows[::-1]}


def tokenize(body: dict[str, Any]) -> Any:
    return {"token_strs": ["<s>", body["prompt"], "</s>"]}


def test_an_nli_model_on_a_server_tells_the_side(ranking: Scripted) -> None:
    ranking.always = routes(classify=classify, tokenize=tokenize)
    name = f"nli:{ranking.url}#tiny"
    opposing, agreeing = backend(name).stances(f"{WORTHLESS}</s></s>", [CHARITY, JARS])
    assert opposing.against > 0.8
    assert agreeing.against < -0.8
    pairs = [text for text in ranking.asked[-1]["input"] if WORTHLESS in text]
    assert pairs
    assert all(text.count("</s></s>") == 1 for text in pairs)


@pytest.mark.parametrize(
    ("options", "first"), [("weight=9", CHARITY), ("weight=9,side=for", JARS), ("weight=0", JARS)]
)
def test_the_side_of_an_argument_changes_its_rank(
    ranking: Scripted, options: str, first: Argument
) -> None:
    ranking.always = routes(classify=classify, tokenize=tokenize)
    spec = f"stance(of=text,by=nli:{ranking.url}#tiny,{options})"
    hits = make("retriever", spec, Services(index=BothSides(BOTH))).search(WORTHLESS, 9)
    assert hits[0].argument == first
    assert hits[0].path[-1].startswith("same 0.")


def test_the_retrievers_with_a_server_hold_their_contracts(ranking: Scripted) -> None:
    ranking.always = routes(rerank=rerank, classify=classify, tokenize=tokenize)
    check_retriever("rerank", {"of": "text", "by": f"{ranking.url}#tiny"})
    check_retriever("stance", {"of": "text", "by": f"nli:{ranking.url}#tiny"})


def test_the_guard_asks_an_nli_model_on_a_server(server: Scripted, ranking: Scripted) -> None:
    ranking.always = routes(classify=classify, tokenize=tokenize)
    response = f"{FOLLOWS} Copper has no other use."
    answering(server, {"Written": {"numbers": [1], "response": response}})
    index = BothSides([CHARITY])
    debates = [debate("The penny is worthless.")]
    (plain,) = answers(server, "composed", debates, index)
    assert plain.content == response
    (guarded,) = answers(server, "composed", debates, index, guard=f"nli:{ranking.url}#tiny")
    assert guarded.content == FOLLOWS


@pytest.mark.parametrize(
    ("replies", "fact"),
    [
        ({}, "/classify"),
        ({"classify": lambda body: {"data": []}}, "6 rows with probs"),
        ({"classify": each(label="good", probs=[0.9, 0.1])}, "labels are good"),
        ({"classify": each(label="neutral", probs=[1.5, -0.5])}, "6 rows with probs"),
    ],
)
def test_a_server_without_an_nli_model_is_refused(
    ranking: Scripted, replies: Any, fact: str
) -> None:
    ranking.always = routes(**replies)
    with expect_error(fact, ToucheRadError):
        backend(f"nli:{ranking.url}#tiny")


@pytest.mark.parametrize("debater", ["grounded", "composed", "sinai"])
def test_prompts_are_shown_with_a_served_reranker(ranking: Scripted, debater: str) -> None:
    """Its requests are made outside the event loop, which would refuse them."""
    ranking.always = routes(rerank=each(relevance_score=0.5))
    retriever = f"retriever=rerank(of=text,by={ranking.url}#tiny)"
    touche_rad("prompts -i demo", debater, "-O", retriever)
    assert len(ranking.asked) > 1, "beside the request when it is made, one for the turn"
