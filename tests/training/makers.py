"""Data that a tiny model can learn from: a form to copy, and a preference with a rule behind it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio

from tests.debaters.world import BothSides, debate
from tests.models.scripted import Scripted
from tests.records import write_lines, write_records
from touche_rad import files
from touche_rad.calls import Caller, call_context
from touche_rad.debate import Debate, Response
from touche_rad.debaters.inspiredebate import InspireDebate
from touche_rad.debaters.inspiredebate._conversation import conversation
from touche_rad.debaters.inspiredebate.training._samples import answer_of
from touche_rad.models import Model
from touche_rad.models.endpoint import Address
from touche_rad.plugins import Services

SFT = {"rate": 5e-3, "epochs": 3, "batch": 2, "held_out": 0.2, "save_every": 3}
DPO = {"rate": 2e-3, "epochs": 20, "batch": 8, "held_out": 0.3, "save_every": 10}
"""How a tiny model learns in seconds."""

SUBJECTS = ("zoos", "trams", "coins", "flags", "bells", "maps", "boats", "mills", "choirs", "parks")


def in_blocks(reasoning: str, argument: str) -> str:
    """A speech that shows its reasoning, as the debater writes it."""
    return f"<reasoning and analysis process> {reasoning} <argument> {argument}"


def chats(path: Path) -> Path:
    """Answers as the debater gives them, to its own prompts; all of one form."""
    rows = []
    for subject in SUBJECTS:
        of_subject = Debate(id=f"on {subject}", claim=f"We need no {subject}.").with_utterance(
            f"No {subject}!"
        )
        prompt = conversation(of_subject, ())
        answer = answer_of(f"They want no {subject}.", f"Towns live by {subject}.")
        messages = [
            *(message.wire() for message in prompt),
            {"role": "assistant", "content": answer},
        ]
        rows.append({"messages": messages, "debate": of_subject.id, "turn": 0})
    return write_records(path, *rows)


def preferences(path: Path) -> Path:
    """Prefer the answer that takes up the opponent's word: no word is better by itself."""
    rows = []
    for subject in SUBJECTS:
        for word, other_word in (("gold", "iron"), ("iron", "gold")):
            prompt = [
                {"role": "system", "content": f"Debate {subject}."},
                {"role": "user", "content": f"{subject}: {word}."},
            ]
            chosen, rejected = answer_of("so", f"{word}!"), answer_of("so", f"{other_word}!")
            rows.append(
                {
                    "prompt": prompt,
                    "chosen": [{"role": "assistant", "content": chosen}],
                    "rejected": [{"role": "assistant", "content": rejected}],
                    "group": subject,
                }
            )
    return write_records(path, *rows)


ASKED = debate("The penny is worthless and should be abolished.", "No.", "Abolish the penny!")


def answer_and_record(server: Scripted, run: str = "run.jsonl") -> Response:
    """Let the debater answer `ASKED`, and write the run with its trace beside it."""

    async def answer() -> Response:
        trace = Path(f"{run}.trace.jsonl")
        model = Model(Address(server.url, "tiny"), deadline=5, trace=trace)
        services = Services(BothSides(), model=model)
        debater = InspireDebate(InspireDebate.Options(), services)
        try:
            caller = Caller("inspiredebate", ASKED.key, len(ASKED.turns) - 1)
            with call_context(caller=caller):
                response: Response = await debater.answer(ASKED)
                return response
        finally:
            await model.close()

    response = anyio.run(answer)
    write_lines(run, [files.response_line(ASKED, len(ASKED.turns) - 1, response)])
    return response


def log_likelihood(model: Any, tokenizer: Any, chat: list[dict[str, str]]) -> tuple[float, int]:
    """Return the log-likelihood of a chat's last message, and the number of its tokens."""
    import torch

    def ids(messages: list[dict[str, str]], *, asks: bool) -> list[int]:
        token_ids: list[int] = tokenizer.apply_chat_template(
            messages, add_generation_prompt=asks, return_dict=True
        )["input_ids"]
        return token_ids

    question, whole_chat = ids(chat[:-1], asks=True), torch.tensor([ids(chat, asks=False)])
    with torch.inference_mode():
        rows = torch.log_softmax(
            model.eval()(whole_chat).logits[0, len(question) - 1 : -1].float(), -1
        )
    answer = whole_chat[0, len(question) :, None]
    return float(rows.gather(1, answer).sum()), len(answer)
