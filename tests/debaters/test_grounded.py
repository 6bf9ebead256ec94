"""What `grounded` says: quotations, against the user, new ones, for any turn there may be."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.debaters.world import ARGUMENTS, PENNY, WORTH, WORTHLESS, BothSides, argument, debate
from touche_rad.debate import Argument, Hit, path_of, with_path
from touche_rad.debaters.grounded import Grounded
from touche_rad.debaters.grounded.debater import STANCES
from touche_rad.debaters.grounded.ranking import rank, read
from touche_rad.errors import WorkError
from touche_rad.plugins import Services
from touche_rad.text import count_words, sentences

INDEX = BothSides()


def make_grounded(index: BothSides = INDEX, **options: object) -> Grounded:
    return Grounded(Grounded.Options(**options), Services(index=index))


GROUNDED = make_grounded()
PENNY_IS_WORTHLESS = "I believe that the penny is worthless, and it should be abolished."
PENNY_IS_FINE = "My opinion is that the penny is not worthless, so it should not be abolished."


def without_frame(content: str) -> str:
    for frame in STANCES:
        content = content.removeprefix(f"{frame} ")
    return content


def test_it_attacks_what_the_user_says_whichever_side_that_is() -> None:
    against = GROUNDED.answer(debate(PENNY_IS_WORTHLESS)).arguments[0]
    assert against.topic == PENNY
    assert against.attacks == ARGUMENTS[0].attacks
    in_favour = GROUNDED.answer(debate(PENNY_IS_FINE)).arguments[0]
    assert in_favour.id == "7.2"


def test_each_sentence_is_one_of_the_cited_text() -> None:
    long = debate("Night trains reach more towns than short flights and own empty tracks.")
    for unanswered in (long, debate(PENNY_IS_FINE), debate("No penny.")):
        response = GROUNDED.answer(unanswered)
        (cited,) = response.arguments
        cited_sentences = sentences(cited.text)
        assert all(
            sentence in cited_sentences for sentence in sentences(without_frame(response.content))
        )
        assert count_words(response.content) <= 60


def test_without_a_floor_a_turn_that_no_argument_fits_is_answered_all_the_same() -> None:
    for nothing in ("", "zzz qqq", "🙂", "the of and"):
        response = make_grounded(floor=0).answer(debate(nothing))
        assert response.content
        assert INDEX.get(response.arguments[0].id) == response.arguments[0]


def test_an_empty_index_is_said_to_hold_nothing() -> None:
    with pytest.raises(WorkError):
        make_grounded(BothSides(())).answer(debate(PENNY_IS_FINE))


def test_the_frame_changes_from_turn_to_turn_and_can_be_left_out() -> None:
    first = GROUNDED.answer(debate(PENNY_IS_WORTHLESS)).content
    second = GROUNDED.answer(debate(PENNY_IS_WORTHLESS, "No.", PENNY_IS_WORTHLESS)).content
    assert first.startswith(f"{STANCES[0]} ")
    assert second.startswith(f"{STANCES[1]} ")
    plain = make_grounded(frame=False).answer(debate(PENNY_IS_WORTHLESS))
    assert plain.content == plain.arguments[0].text


@pytest.mark.parametrize(
    "message",
    [
        "The penny is not worthless at all.",  # its attackers have the same words
        "Pennies fill jars in many shops.",
        "While the penny is worthless and should be abolished, it looks nice in a jar.",
        "zzz qqq",
    ],
)
def test_no_stance_opens_an_argument_that_is_not_known_to_oppose_the_user(message: str) -> None:
    response = make_grounded(BothSides(ARGUMENTS[:1]), floor=0).answer(debate(message))
    assert response.content == ARGUMENTS[0].text


def test_a_text_that_needs_its_context_or_has_a_link_is_quoted_only_if_there_is_no_other() -> None:
    unclear = [
        argument(n, PENNY, WORTHLESS, WORTH, text)
        for n, text in enumerate(
            [
                "The penny does just this.",
                "Both of these practices spare the worthless penny.",
                "The parent claim forgets what the worthless penny does.",
                "The worthless penny helps charities (p. 12).",
            ],
            start=20,
        )
    ]
    unanswered = debate(PENNY_IS_WORTHLESS)
    assert (
        make_grounded(BothSides([*unclear, ARGUMENTS[2]])).answer(unanswered).arguments[0].id
        == "7.3"
    )
    assert make_grounded(BothSides(unclear)).answer(unanswered).arguments[0].id in {
        candidate.id for candidate in unclear
    }


def test_max_words_holds_with_and_without_a_frame() -> None:
    for frame in (True, False):
        for most in (1, 5, 20):
            content = (
                make_grounded(frame=frame, max_words=most).answer(debate(PENNY_IS_FINE)).content
            )
            assert 1 <= count_words(content) <= most


def test_k_says_how_many_hits_are_looked_at() -> None:
    shallow, deep = make_grounded(k=1), make_grounded(k=50)
    assert len(shallow.explain(debate(PENNY_IS_FINE))) < len(deep.explain(debate(PENNY_IS_FINE)))


class Faint(BothSides):
    """Has scores of another scale."""

    def search(self, field: str, query: str, k: int) -> list[Hit]:
        hits = super().search(field, query, k)
        return [hit.model_copy(update={"score": hit.score / 1024}) for hit in hits]


def test_only_the_relation_of_scores_counts() -> None:
    faint = make_grounded(Faint()).explain(debate(PENNY_IS_FINE))
    assert faint == GROUNDED.explain(debate(PENNY_IS_FINE))


def test_explain_shows_what_adds_to_the_score() -> None:
    rows = GROUNDED.explain(debate(PENNY_IS_WORTHLESS))
    for row in rows:
        assert row.score == pytest.approx(sum(feature.adds for feature in row.features.values()))
    assert [row.score for row in rows] == sorted((row.score for row in rows), reverse=True)
    record = rows[0].record(1, chosen=True)
    assert record["rank"] == 1
    assert record["chosen"] is True
    assert record["id"] == rows[0].id
    assert json.loads(json.dumps(record, allow_nan=False)) == record


DEBATES = st.lists(
    st.one_of(
        st.text(max_size=200),
        st.sampled_from(["penny", "While night trains rattle, short flights are dear.", "No. No!"]),
    ),
    min_size=1,
    max_size=9,
).filter(lambda words: len(words) % 2 == 1)


@pytest.mark.long
@given(DEBATES)
def test_any_debate_is_answered_with_a_short_quotation(words: list[str]) -> None:
    response = make_grounded(floor=0).answer(debate(*words))
    assert 1 <= count_words(response.content) <= 60
    (cited,) = response.arguments
    assert len(path_of(cited)) <= 2
    stored = INDEX.get(cited.id)
    assert stored is not None
    assert with_path(stored, path_of(cited)) == cited
    assert without_frame(response.content) in " ".join(cited.text.split())
    assert make_grounded(floor=0).answer(debate(*words)) == response


def test_each_candidate_names_the_search_that_led_to_it() -> None:
    alike = Argument(id="a", text="Lighthouses guide fishing boats.", supports="Lighthouses serve.")
    against = Argument(
        id="b", text="Radios guide boats.", attacks=alike.supports, supports="Radios."
    )
    candidates = rank(BothSides([alike, against]), read(debate("Lighthouses guide boats.")), 5)
    paths = {candidate.argument.id: candidate.path for candidate in candidates}
    assert paths["a"] == ("shares words with your message or its topic",)
    assert paths["b"] == ("attacks a claim similar to what was said",)


def test_a_text_that_two_arguments_have_is_a_candidate_once() -> None:
    grounded = make_grounded(BothSides((*ARGUMENTS, ARGUMENTS[0].model_copy(update={"id": "8.1"}))))
    texts = [quotable.quoted for quotable in grounded.select(debate(PENNY_IS_WORTHLESS)).quotables]
    assert ARGUMENTS[0].text in texts
    assert len(texts) == len(set(texts))
