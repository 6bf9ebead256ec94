"""`hf:MODEL`: a small model in this process, with transformers; slow, but without a server."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import anyio

from touche_rad.errors import UserError
from touche_rad.models.endpoint import Backend
from touche_rad.models.errors import BadReply, BadRequest, PromptTooLong, Timeout

log = logging.getLogger("touche_rad")

_TOPS: Final = 20


class Local(Backend):
    """A causal language model that generates one answer at a time."""

    def __init__(self, model: str) -> None:
        """Check the name; the model is loaded with the first call."""
        self.model, self.place = model, f"hf:{model}"
        if model.startswith(("/", ".", "~")) and not Path(model).expanduser().is_dir():
            raise UserError(f"hf:{model}: this folder does not exist")
        self._loaded: Any = None
        self._lock = threading.Lock()

    async def ready(self) -> float:
        """Load the model if it is not loaded."""
        begun = anyio.current_time()
        await anyio.to_thread.run_sync(self._load)
        return anyio.current_time() - begun

    async def complete(self, body: Mapping[str, Any], seconds: float) -> Mapping[str, Any]:
        """Generate an answer; requests with a schema are rejected."""
        if "response_format" in body:
            raise BadRequest(f"{self.place}: response_format is not supported")
        await self.ready()
        return await anyio.to_thread.run_sync(self._answer, dict(body), seconds)

    async def context(self) -> int | None:
        """Return the context length of the model's configuration."""
        await self.ready()
        return self._longest()

    async def close(self) -> None:
        """Free the model."""
        self._loaded = None

    def _load(self) -> None:
        with self._lock:
            if self._loaded is not None:
                return
            try:
                import torch
                from transformers import AutoModelForCausalLM, AutoTokenizer
            except ImportError:
                raise UserError(
                    f"{self.place}: transformers is missing (pip install 'touche-rad[local]')"
                ) from None
            try:
                tokenizer = AutoTokenizer.from_pretrained(self.model)
                model: Any = AutoModelForCausalLM.from_pretrained(self.model, dtype="auto")
            except (OSError, ValueError) as error:
                reason = " ".join(str(error).split())[:200]
                raise UserError(f"{self.place}: the model cannot be loaded: {reason}") from None
            device = "cuda" if torch.cuda.is_available() else "cpu"
            self._loaded = (torch, tokenizer, model.to(device).eval())

    def _longest(self) -> int | None:
        _, _, model = self._loaded
        longest = getattr(model.config, "max_position_embeddings", None)
        return int(longest) if longest else None

    def _answer(self, body: Mapping[str, Any], seconds: float) -> Mapping[str, Any]:
        if not self._lock.acquire(timeout=seconds):
            raise Timeout(f"{self.place}: too many calls; no place within {seconds:.3g} s")
        try:
            choices = (body.get("structured_outputs") or {}).get("choice")
            return self._choose(body, choices) if choices else self._generate(body, seconds)
        finally:
            self._lock.release()

    def _choose(self, body: Mapping[str, Any], choices: list[str]) -> Mapping[str, Any]:
        """Return the choice whose tokens are most likely, with the probability of each."""
        torch, tokenizer, model = self._loaded
        ids = self._ids(body)
        tops: list[dict[str, Any]] = []
        for one in choices:
            tokens = tokenizer(one, return_tensors="pt", add_special_tokens=False).input_ids
            whole = torch.cat([ids, tokens.to(ids.device)], dim=1)
            with torch.inference_mode():
                rows = model(whole).logits[0, ids.shape[1] - 1 : -1].float()
            likely = torch.log_softmax(rows, -1).gather(1, tokens.to(rows.device)[0, :, None])
            tops.append({"token": one, "logprob": float(likely.sum())})
        best = max(tops, key=lambda top: float(top["logprob"]))
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": best["token"]},
            "logprobs": {"content": [{"token": best["token"], "top_logprobs": tops}]},
            "finish_reason": "stop",
        }
        used = {"prompt_tokens": ids.shape[1], "completion_tokens": 1}
        return {"model": self.model, "choices": [choice], "usage": used}

    def _ids(self, body: Mapping[str, Any]) -> Any:
        """Return the tokens of the prompt; raise PromptTooLong without room for an answer."""
        _, tokenizer, model = self._loaded
        ids = _prompt(tokenizer, body["messages"]).to(model.device)
        size, longest = ids.shape[1], self._longest()
        if longest is not None and size + 1 > longest:
            raise PromptTooLong(f"{self.place}: {size} tokens, its context length is {longest}")
        return ids

    def _generate(self, body: Mapping[str, Any], seconds: float) -> Mapping[str, Any]:
        torch, tokenizer, model = self._loaded
        ids = self._ids(body)
        size, most = ids.shape[1], int(body.get("max_tokens") or 256)
        longest = self._longest()
        most = min(most, longest - size) if longest else most
        hot = float(body.get("temperature") or 0) > 0
        torch.manual_seed(int(body.get("seed") or 0))
        with torch.inference_mode():
            out = model.generate(
                ids,
                attention_mask=torch.ones_like(ids),
                max_new_tokens=most,
                do_sample=hot,
                max_time=seconds,
                output_scores=True,
                return_dict_in_generate=True,
                pad_token_id=tokenizer.eos_token_id or 0,
                **({"temperature": float(body["temperature"])} if hot else {}),
            )
        new = out.sequences[0, size:].tolist()
        ended = bool(new) and new[-1] == tokenizer.eos_token_id
        if not ended and len(new) < most:
            raise Timeout(f"{self.place}: no answer within {seconds:.3g} s")
        text = tokenizer.decode(new, skip_special_tokens=True)
        choice: dict[str, Any] = {
            "index": 0,
            "message": {"role": "assistant", "content": text},
            "finish_reason": "stop" if ended else "length",
        }
        if body.get("logprobs"):
            choice["logprobs"] = {"content": _likely(torch, tokenizer, out.scores, new)}
        used = {"prompt_tokens": size, "completion_tokens": len(new)}
        return {"model": self.model, "choices": [choice], "usage": used}


def _prompt(tokenizer: Any, messages: list[dict[str, str]]) -> Any:
    """Return the tokens of a chat; without a chat template, of plain paragraphs."""
    if getattr(tokenizer, "chat_template", None):
        try:
            text = tokenizer.apply_chat_template(
                messages, tokenize=False, add_generation_prompt=True
            )
        except Exception as error:
            raise BadReply(f"the model's chat template fails: {error}") from None
        return tokenizer(text, return_tensors="pt", add_special_tokens=False).input_ids
    text = "\n\n".join(message["content"] for message in messages) + "\n\n"
    return tokenizer(text, return_tensors="pt").input_ids


def _likely(torch: Any, tokenizer: Any, scores: Any, new: list[int]) -> list[dict[str, Any]]:
    likely = []
    for token, row in zip(new, scores, strict=False):
        chances = torch.log_softmax(row[0].float(), -1)
        best = torch.topk(chances, min(_TOPS, chances.shape[-1]))
        tops = [
            {"token": tokenizer.decode([int(one)]), "logprob": float(chance)}
            for one, chance in zip(best.indices, best.values, strict=True)
        ]
        likely.append({"token": tokenizer.decode([token]), "top_logprobs": tops})
    return likely
