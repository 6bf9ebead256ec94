"""`vllm:MODEL`: a vLLM server of our own, started when it is first asked and stopped at the end.

It is ready when it has completed one token, not when /health says so. When its engine dies it is
started again, and the calls that were in flight are sent again.
"""

from __future__ import annotations

import asyncio
import importlib.util
import logging
import os
import shlex
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import anyio

from touche_rad.errors import UserError
from touche_rad.models.endpoint import Address, Endpoint
from touche_rad.models.errors import BadReply, Busy, ModelError, Timeout, Unreachable

log = logging.getLogger("touche_rad")

PYTHON: Final = "TOUCHE_RAD_VLLM_PYTHON"
"""The Python that has vLLM, where it is not this one."""
ARGUMENTS: Final = "TOUCHE_RAD_VLLM_ARGS"
START: Final = 1_800.0
"""Seconds that a start may take: a large model is read from a slow disk."""
MOST_STARTS: Final = 5
"""So many times a server that never answered a call in between is started anew."""
_MODULE: Final = "vllm.entrypoints.openai.api_server"
_KEEPER: Final = Path(__file__).with_name("keeper.py")
_PROBE: Final = 30.0
_DEFAULTS: Final = {
    "enable-prefix-caching": "true",
    "enable-prompt-tokens-details": "true",
    # Free to, a weak model fills an answer with blanks until its tokens are spent.
    "structured-outputs-config": '{"backend": "xgrammar", "disable_any_whitespace": true}',
}

Report = Callable[[str], None]


class Vllm:
    """A server on this machine."""

    def __init__(
        self,
        model: str,
        options: Mapping[str, str] | None = None,
        *,
        seed: int = 0,
        report: Report | None = None,
        log_file: Path | None = None,
    ) -> None:
        """Remember what to start; nothing is started before it is asked.

        Args:
            model: A folder, or OWNER/NAME of the hub.
            options: `vllm serve`'s own options, without their dashes.
            seed: The server's seed.
            report: Told how the start goes on.
            log_file: Where the server's own words go.
        """
        self.model = model
        self._given = {**_DEFAULTS, "seed": str(seed), **(options or {})}
        self._report = report or log.info
        self._log = log_file
        self._keeper: subprocess.Popen[bytes] | None = None
        self._endpoint: Endpoint | None = None
        self._starting: dict[asyncio.AbstractEventLoop, asyncio.Task[None]] = {}
        self._generation = 0
        self._fruitless = 0
        check_installed(model)

    @property
    def place(self) -> str:
        """What it was asked for by."""
        return f"vllm:{self.model}"

    @property
    def log_file(self) -> Path | None:
        """Where the server's own words are."""
        return self._log

    @property
    def url(self) -> str | None:
        """Its address while it runs."""
        return self._endpoint.place if self._endpoint else None

    async def ready(self) -> float:
        """Start it where it does not run, and return the seconds that took."""
        if self._endpoint is not None:
            return 0.0
        begun = time.monotonic()
        await self._started(self._generation)
        return time.monotonic() - begun

    async def complete(self, body: Mapping[str, Any], seconds: float) -> Mapping[str, Any]:
        """Ask the server; where it has died it is started again, and the call is to be repeated."""
        await self.ready()
        generation, endpoint = self._generation, self._endpoint
        if endpoint is None:
            raise Unreachable(f"{self.place}: it is being started")
        try:
            reply = await endpoint.complete(body, seconds)
        except (Unreachable, Busy, BadReply) as error:
            if await self._lives(error):
                raise
            self._begin(generation + 1, f"it died ({error}) and is started again")
            raise Unreachable(f"{self.place}: it died and is started again") from None
        self._fruitless = 0
        return reply

    async def context(self) -> int | None:
        """Return what the server says of its context."""
        await self.ready()
        return await self._endpoint.context() if self._endpoint else None

    async def close(self) -> None:
        """Stop the server and all that it started."""
        start = self._starting.pop(asyncio.get_running_loop(), None)
        if start is not None and not start.done():
            start.cancel()
            with suppress(asyncio.CancelledError, ModelError):
                await start
        endpoint, self._endpoint = self._endpoint, None
        if endpoint is not None:
            await endpoint.close()
        await anyio.to_thread.run_sync(self._stop)

    def _stop(self) -> None:
        keeper, self._keeper = self._keeper, None
        if keeper is None:
            return
        assert keeper.stdin is not None
        keeper.stdin.close()
        try:
            keeper.wait(30)
        except subprocess.TimeoutExpired:
            keeper.kill()

    async def _lives(self, error: ModelError) -> bool:
        """Whether a fault is no death: the process is there and completes a token."""
        endpoint = self._endpoint
        if endpoint is None or self._keeper is None or self._keeper.poll() is not None:
            return False
        if isinstance(error, Busy) and "429" in str(error):
            return True
        try:
            await endpoint.complete(_probe(self.model), _PROBE)
        except Timeout:
            return True  # it is slow, or too much is asked of it
        except (Unreachable, Busy, BadReply):
            return False
        except ModelError:
            return True
        return True

    async def _started(self, generation: int) -> None:
        """Wait for a server of this generation or a later one.

        It is started once, by itself: whoever waits for it may stop waiting, and the start goes on.
        """
        start = self._begin(generation)
        if start is not None:
            await asyncio.shield(start)

    def _begin(self, generation: int, reason: str = "") -> asyncio.Task[None] | None:
        """Begin to start a server, unless that is under way or one of this generation runs."""
        loop = asyncio.get_running_loop()
        start = self._starting.get(loop)
        if start is not None and not start.done():
            return start
        if self._endpoint is not None and self._generation >= generation:
            return None
        dead, self._endpoint = self._endpoint, None
        start = loop.create_task(self._started_anew(generation, reason, dead))
        start.add_done_callback(_heard)
        self._starting[loop] = start
        return start

    async def _started_anew(self, generation: int, reason: str, dead: Endpoint | None) -> None:
        if reason:
            log.warning("vLLM: %s", reason)
        if self._fruitless >= MOST_STARTS:
            raise Unreachable(f"{self.place}: it died {MOST_STARTS} times; {last_words(self._log)}")
        self._fruitless += 1
        if dead is not None:
            await dead.close()
        await anyio.to_thread.run_sync(self._stop)
        started = await self._start()
        self._generation = max(generation, self._generation + 1)
        self._endpoint = started

    async def _start(self) -> Endpoint:
        port = _free_port()
        command = [python_of_vllm(), "-m", _MODULE, *self._arguments(port)]
        self._log = self._log or Path(tempfile.mkdtemp(prefix="touche-rad-vllm-")) / "vllm.log"
        self._report(f"vLLM: starting {self.model} (its words: {self._log})")
        log.debug("%s", shlex.join(command))
        with self._log.open("ab") as words:
            self._keeper = subprocess.Popen(
                [sys.executable, "-P", str(_KEEPER), *command],
                stdin=subprocess.PIPE, stdout=words, stderr=words, env=environment(),
            )  # fmt: skip
        endpoint = Endpoint(Address(f"http://127.0.0.1:{port}/v1", self.model))
        try:
            await self._answering(endpoint)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await endpoint.close()
                await anyio.to_thread.run_sync(self._stop)
            raise
        return endpoint

    async def _answering(self, endpoint: Endpoint) -> None:
        """Wait for the first token, and say now and then how far the start is."""
        begun, reported = time.monotonic(), ""
        while time.monotonic() - begun < START:
            assert self._keeper is not None
            if self._keeper.poll() is not None:
                raise Unreachable(f"{self.place}: it did not start; {last_words(self._log)}")
            try:
                await endpoint.complete(_probe(self.model), _PROBE)
            except (Unreachable, Busy, Timeout):
                stage = stage_of(self._log)
                if stage and stage != reported:
                    reported = stage
                    self._report(f"vLLM: {time.monotonic() - begun:.0f} s, {stage}")
                await anyio.sleep(0.5)
            else:
                self._report(f"vLLM: ready after {time.monotonic() - begun:.0f} s")
                return
        raise Unreachable(
            f"{self.place}: it was not ready within {START:.0f} s; {last_words(self._log)}"
        )

    def _arguments(self, port: int) -> list[str]:
        found = ["--model", self.model, "--served-model-name", self.model]
        found += ["--host", "127.0.0.1", "--port", str(port)]
        for name, value in self._given.items():
            flag = f"--{name.replace('_', '-')}"
            if value.lower() == "true":
                found.append(flag)
            elif value.lower() != "false":
                found += [flag, value]
        return found + shlex.split(os.environ.get(ARGUMENTS, ""))


def _heard(start: asyncio.Task[None]) -> None:
    """Note a failure that nobody may have waited for: the next call raises it."""
    if not start.cancelled():
        start.exception()


def check_installed(model: str, kind: str = "vllm") -> None:
    """Check that a model is named, and that some Python has vLLM.

    Raises:
        UserError: It is not.
    """
    if not model:
        raise UserError(f"{kind}: which model? -m {kind}:FOLDER or -m {kind}:OWNER/NAME")
    if model.startswith(("/", ".", "~")) and not Path(model).expanduser().is_dir():
        raise UserError(f"{kind}:{model}: there is no such folder")
    if not os.environ.get(PYTHON) and importlib.util.find_spec("vllm") is None:
        raise UserError(
            f"{kind}:{model}: vLLM is not installed (pip install 'touche-rad[vllm]'; or name a "
            f"Python that has it: {PYTHON})"
        )


def python_of_vllm() -> str:
    """Return the Python that has vLLM."""
    return os.environ.get(PYTHON) or sys.executable


def environment() -> dict[str, str]:
    """Return the environment of a server, without the keys of other servers."""
    return {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _probe(model: str) -> dict[str, Any]:
    message = {"role": "user", "content": "Hello"}
    return {"model": model, "messages": [message], "max_tokens": 1}


def last_words(path: Path | None) -> str:
    """Return the last error of a log, or its last line, to show to a user."""
    lines = last_lines(path)
    errors = [line for line in lines if "Error" in line or "error:" in line]
    found = (errors or lines or ["it said nothing"])[-1]
    return f"its last words: {' '.join(found.split())[-300:]} (all of them: {path})"


def last_lines(path: Path | None) -> list[str]:
    """Return the last lines of a log that are not empty."""
    if path is None or not path.is_file():
        return []
    with path.open("rb") as words:
        words.seek(max(0, path.stat().st_size - 20_000))
        return [line for line in words.read().decode("utf-8", "replace").splitlines() if line]


_STAGES: Final = (
    ("Application startup complete", "waiting for the first token"),
    ("init engine", "the engine is up"),
    ("Capturing CUDA graph", "capturing graphs"),
    ("torch.compile takes", "compiling"),
    ("KV cache", "making room for its cache"),
    ("Loading weights took", "the weights are read"),
    ("Loading safetensors", "reading the weights"),
    ("Starting to load model", "reading the weights"),
    ("Initializing a V1 LLM engine", "starting the engine"),
)


def stage_of(path: Path | None) -> str:
    """Return how far a start is, by its log."""
    text = "\n".join(last_lines(path))
    return next((stage for words, stage in _STAGES if words in text), "")
