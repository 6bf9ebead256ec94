"""Step 5: write a response of at most 60 words, and name its arguments."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

from pydantic import BaseModel, Field, create_model

from touche_rad.debate import Argument, Debate
from touche_rad.debaters._asking import Wording, at_most, named, question_about
from touche_rad.debaters._citing import cited
from touche_rad.debaters.sinai._step1_plan import Plan
from touche_rad.debaters.sinai._step3_4_selection import COPYING, Selected, quoted_by
from touche_rad.evidence.quotable import text_with_claim
from touche_rad.lists import unique
from touche_rad.models import Model, ModelError, Prompt
from touche_rad.models.output import Line, Page, Paragraph, numbers_to
from touche_rad.text import clean, count_words, cut_to_words


class Uncited(BaseModel):
    """The answer of step 5 if no argument was selected."""

    response: Paragraph = Field(min_length=1)


async def write_response(
    model: Model,
    debate: Debate,
    plan: Plan,
    selected: Sequence[Selected],
    *,
    words: int,
    wording: Wording,
    copies: bool,
    shorter_attempts: int,
) -> tuple[str, list[Argument]]:
    """Ask for the response, and for a shorter one if it is too long.

    With `copies` the model names its arguments by their texts, and justifies (figure 7); else it
    names them by numbers.

    Returns:
        The response, and the arguments that the model names; if it names none that it was given,
        those that the response uses.
    """
    messages, shorten = question_about(
        debate,
        Prompt.load(__package__, "response"),
        words=words,
        wording=wording,
        copies=copies,
        plan=plan,
        selected=[
            chosen.shown if copies else text_with_claim(chosen.argument) for chosen in selected
        ],
    )
    fields: dict[str, Any] = {"justification": (Line, "")} if copies else {}
    if selected:
        kind = list[Page] if copies else numbers_to(len(selected))
        fields["arguments"] = (at_most(len(selected), kind), [])
    schema = create_model("Written" if selected else "Uncited", __base__=Uncited, **fields)
    tokens = COPYING if copies else None
    written = await model.ask(
        messages, schema, step="sinai.response", shorten=shorten, max_tokens=tokens
    )
    for _ in range(shorter_attempts):
        count = count_words(clean(written.response))
        if count <= words:
            break
        request = Prompt.load(__package__, "shorter").after(
            messages, written, count=count, words=words
        )
        try:
            written = await model.ask(
                request, schema, step="sinai.shorter_response", max_tokens=tokens
            )
        except ModelError:
            break  # the response before is cut
    content = cut_to_words(clean(written.response), words)
    arguments = [chosen.argument for chosen in selected]
    # Numbers or quoted texts name arguments; an empty list says that the response uses none.
    names: list[Any] = written.model_dump().get("arguments", [])
    if copies:
        uses = list(filter(None, [quoted_by(name, arguments) for name in names]))
    else:
        uses = named(names, arguments)
    if uses or not names:
        return content, unique(uses, key=attrgetter("id"))
    return content, list(cited(content, arguments, (), len(arguments)))
