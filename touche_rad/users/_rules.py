"""The user simulated by rules: insists, asks and counters, without a model."""

from __future__ import annotations

from dataclasses import field
from random import Random
from typing import Annotated, Final

from pydantic import Field, PositiveInt

from touche_rad.debate import Debate
from touche_rad.frozen import frozen
from touche_rad.plugins import ArgumentIndex
from touche_rad.plugins import Options as PluginOptions
from touche_rad.text import clean, count_words, cut_to_words, digest_of_text, sentences
from touche_rad.users.arguments import arguments_for_user


def seeded_random(seed: int, debate: Debate, purpose: str) -> Random:
    """Return random numbers that depend on the seed, the claim and the purpose."""
    return Random(int(digest_of_text(f"{seed}\n{debate.claim}\n{purpose}", 16), 16))


OPENINGS: Final = (
    "I am convinced of this: {claim}",
    "Let me say plainly what I think: {claim}",
    "{claim} I am quite sure of that.",
    "{claim} That is my honest opinion.",
    "My position is clear: {claim}",
)
OPENINGS_ON_A_QUESTION: Final = (
    "{claim} My answer is a clear yes.",
    "{claim} I think the answer is yes.",
)
OPENING_ON_NOTHING: Final = "I like a good argument. On what do you think most people are wrong?"
INSISTING: Final = (
    "I hear you, but that does not move me. As I said: {claim}",
    "That may be so, but it does not settle the matter for me. I still say: {claim}",
    "You have not answered what I actually said. {claim}",
    "I have thought about this for a long time, and I stay with it: {claim}",
    "One point does not outweigh all the others. I stand by my words: {claim}",
)
ASKING: Final = (
    'You say: "{answer}" What makes you so sure of that?',
    'You told me: "{answer}" Why should that count for more than my point?',
    'When you say "{answer}", do you mean always, or only now and then?',
    '"{answer}" Even if I granted you that, how would it show that I am wrong?',
    'You claim: "{answer}" What is that based on?',
)
ASKING_ABOUT_ALL: Final = "What is your strongest reason for that, in one sentence?"
COUNTERING: Final = (
    "I disagree.",
    "I do not think that holds.",
    "That overlooks something.",
    "You are leaving out the other side.",
    "I see it differently.",
    "There is a good reason against that.",
)

_SHARE_OF_COUNTERS = 0.7
"""Share of the turns after the first one in which the user counters if it can."""
_LONGEST_ECHO = 18
"""Maximum words of a sentence of the system that the user repeats in a question."""


@frozen
class RuleUser:
    """Insists, asks, and counters with arguments of its own side, by rules alone.

    Its arguments are quotations from the collection that support the claim or attack the system's
    last response. It repeats no argument, neither its own nor the system's.
    """

    class Options(PluginOptions):
        """Options."""

        max_words: Annotated[int, Field(ge=20)] = 60
        """maximum words of an utterance"""
        candidates: PositiveInt = 20
        """hits per search for a counter-argument"""

    index: ArgumentIndex | None
    """Without it, the user gives no counter-arguments."""
    seed: int = 0
    options: Options = field(default_factory=Options)

    def open(self, claim: Debate) -> str:
        """State the claim as the user's own opinion."""
        text = clean(claim.claim)
        if not text:
            return OPENING_ON_NOTHING
        templates = OPENINGS_ON_A_QUESTION if text.endswith("?") else OPENINGS
        template = seeded_random(self.seed, claim, "open").choice(templates)
        return self._fill(template, claim=_with_end(text))

    def reply(self, debate: Debate) -> str:
        """Counter with an argument of its side; if there is none, and sometimes, insist or ask."""
        move = seeded_random(self.seed, debate, f"move {len(debate.turns)}").random()
        if self.index is not None and (len(debate.turns) == 1 or move < _SHARE_OF_COUNTERS):
            lead = self._next(debate, "counter", COUNTERING)
            room = self.options.max_words - count_words(lead)
            for argument in arguments_for_user(
                self.index, users_claim(debate), debate, self.options.candidates
            ):
                quote = cut_to_words(clean(argument.text), room)
                if quote and not quote.endswith("…"):
                    return f"{lead} {_with_end(quote)}"
        return self._ask(debate) if len(debate.turns) % 2 else self._insist(debate)

    def new_reply(self, debate: Debate) -> str:
        """Return a reply that is not in the debate yet, if there is one."""
        earlier = {turn.utterance for turn in debate.turns}
        reply = self.reply(debate)
        claim = _with_end(users_claim(debate))
        replies = (
            reply,
            self._insist(debate),
            self._ask(debate),
            *(self._fill(template, claim=claim) for template in INSISTING),
            ASKING_ABOUT_ALL,
            *COUNTERING,
        )
        return next((text for text in replies if text not in earlier), reply)

    def _insist(self, debate: Debate) -> str:
        return self._fill(
            self._next(debate, "insist", INSISTING), claim=_with_end(users_claim(debate))
        )

    def _ask(self, debate: Debate) -> str:
        answer = next(iter(sentences(clean(debate.last.answer))), "")
        if not answer or count_words(answer) > _LONGEST_ECHO:
            return ASKING_ABOUT_ALL
        return self._fill(self._next(debate, "ask", ASKING), answer=answer.replace('"', "'"))

    def _next(self, debate: Debate, purpose: str, templates: tuple[str, ...]) -> str:
        """Return another template each turn, in a random order."""
        order = list(templates)
        seeded_random(self.seed, debate, purpose).shuffle(order)
        return order[len(debate.turns) % len(order)]

    def _fill(self, template: str, **parts: str) -> str:
        room = self.options.max_words - count_words(template) + len(parts)
        return template.format(**{name: cut_to_words(part, room) for name, part in parts.items()})


def users_claim(debate: Debate) -> str:
    """Return the claim, or the first utterance of a debate without a claim."""
    return clean(debate.claim) or clean(debate.turns[0].utterance)


def _with_end(text: str) -> str:
    return text if text.endswith(tuple(".!?…\"'”’)")) else f"{text}."
