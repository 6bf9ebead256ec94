"""vLLM's engine in a process of its own: requests on standard input, replies on standard output.

Run as `python offline_worker.py MODEL OPTIONS`, by a Python that has vLLM; imports nothing of
touche_rad. Each line is a JSON object: `{"id": 1, "body": REQUEST}` or `{"cancel": 1}` in,
`{"ready": FACTS}`, `{"id": 1, "reply": REPLY}` or `{"id": 1, "kind": KIND, "error": TEXT}` out.
All requests that are open run in the engine's batch together. When standard input ends, because
the owner closed it or was killed, the process ends with all that it started.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
from typing import Any


def main(model: str, options: dict[str, Any]) -> None:
    """Start the engine and answer until standard input ends."""
    replies = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)  # what vLLM prints belongs to the log
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(lines,), daemon=True).start()

    def send(**values: Any) -> None:
        replies.write(json.dumps(values) + "\n")
        replies.flush()

    engine = _Engine(model, options)
    send(ready=engine.facts)
    while True:
        while engine.is_idle or not lines.empty():
            asked = json.loads(lines.get())
            if "cancel" in asked:
                engine.cancel(asked["cancel"])
                continue
            try:
                engine.add(asked["id"], asked["body"])
            except _TooLong as error:
                send(id=asked["id"], kind="too long", error=str(error))
            except Exception as error:  # whatever vLLM, a template or a grammar refuses
                send(id=asked["id"], kind="refused", error=f"{type(error).__name__}: {error}")
        for number, reply in engine.step():
            send(id=number, reply=reply)


def _read(lines: queue.SimpleQueue[str]) -> None:
    for line in sys.stdin:
        lines.put(line)
    os.killpg(0, signal.SIGKILL)


class _TooLong(ValueError):
    """The prompt and the answer do not fit into the context."""


class _Engine:
    """vLLM's engine, fed with requests of the chat completions API."""

    def __init__(self, model: str, options: dict[str, Any]) -> None:
        import vllm
        from vllm import envs

        self._llm = vllm.LLM(model=model, **options)
        self._engine = self._llm.llm_engine
        self._tokenizer = self._llm.get_tokenizer()
        self._context = int(self._llm.model_config.max_model_len)
        self._open: set[str] = set()
        """The engine's names of the open requests."""
        invariant = " batch-invariant" if envs.VLLM_BATCH_INVARIANT else ""
        self._fingerprint = f"vllm-{vllm.__version__}{invariant}"
        self._model = model
        self.facts = {"context": self._context, "fingerprint": self._fingerprint}

    @property
    def is_idle(self) -> bool:
        return not self._engine.has_unfinished_requests()

    def add(self, number: int, body: dict[str, Any]) -> None:
        """Begin a request; it runs with all others that are open."""
        text = self._tokenizer.apply_chat_template(
            body["messages"], add_generation_prompt=True, tokenize=False
        )
        tokens = self._tokenizer.encode(text, add_special_tokens=False)
        if len(tokens) + int(body["max_tokens"]) > self._context:
            raise _TooLong(
                f"the maximum context length is {self._context} tokens: the prompt has "
                f"{len(tokens)}, the answer up to {body['max_tokens']}"
            )
        name = f"request-{number}"
        self._engine.add_request(name, {"prompt_token_ids": tokens}, self._params(body))
        self._open.add(name)

    def cancel(self, number: int) -> None:
        """Give a request up; nobody waits for it."""
        name = f"request-{number}"
        if name in self._open:
            self._open.remove(name)
            self._engine.abort_request([name])

    def step(self) -> list[tuple[int, dict[str, Any]]]:
        """Make one token of each open request; return the finished ones."""
        done = []
        for output in self._engine.step():
            if output.finished and output.request_id in self._open:
                self._open.remove(output.request_id)
                number = int(output.request_id.removeprefix("request-"))
                done.append((number, self._reply(output)))
        return done

    def _params(self, body: dict[str, Any]) -> Any:
        """Return vLLM's sampling parameters; the model's own defaults apply, as on its server."""
        from vllm.sampling_params import StructuredOutputsParams

        params = self._llm.get_default_sampling_params()
        params.temperature = float(body["temperature"])
        params.seed = int(body["seed"])
        params.max_tokens = int(body["max_tokens"])
        params.logprobs = int(body["top_logprobs"]) if body.get("logprobs") else None
        wanted = body.get("response_format") or {}
        choice = (body.get("structured_outputs") or {}).get("choice")
        if choice:
            params.structured_outputs = StructuredOutputsParams(choice=list(choice))
        elif wanted.get("type") == "json_schema":
            params.structured_outputs = StructuredOutputsParams(
                json=wanted["json_schema"]["schema"]
            )
        elif wanted.get("type") == "json_object":
            params.structured_outputs = StructuredOutputsParams(json_object=True)
        return params

    def _reply(self, output: Any) -> dict[str, Any]:
        """Return an output in the form of a chat completion."""
        said = output.outputs[0]
        choice = {
            "index": 0,
            "finish_reason": said.finish_reason,
            "message": {"role": "assistant", "content": said.text},
        }
        if said.logprobs is not None:
            choice["logprobs"] = {
                "content": [
                    _token(token, likely)
                    for token, likely in zip(said.token_ids, said.logprobs, strict=True)
                ]
            }
        return {
            "model": self._model,
            "system_fingerprint": self._fingerprint,
            "choices": [choice],
            "usage": {
                "prompt_tokens": len(output.prompt_token_ids),
                "completion_tokens": len(said.token_ids),
                "prompt_tokens_details": {"cached_tokens": output.num_cached_tokens or 0},
            },
        }


def _token(token: int, likely: dict[int, Any]) -> dict[str, Any]:
    """Return the log probabilities of one token, the likeliest first."""
    ranked = sorted(likely.values(), key=lambda one: -one.logprob)
    return {
        **_likelihood(likely[token]),
        "top_logprobs": [_likelihood(one) for one in ranked],
    }


def _likelihood(one: Any) -> dict[str, Any]:
    return {"token": one.decoded_token or "", "logprob": max(float(one.logprob), -9999.0)}


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))
