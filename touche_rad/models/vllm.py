"""`vllm:MODEL`: a vLLM server that starts with the first call and stops at the end of the run.

It is ready when it has completed one token, not when /health says so. If its engine dies, it is
started again, and the open calls are sent again.
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
"""The Python in which vLLM is installed, if not this one."""
ARGUMENTS: Final = "TOUCHE_RAD_VLLM_ARGS"
START: Final = 1_800.0
"""Time limit of a start in seconds: a large model may be read from a slow disk."""
MOST_STARTS: Final = 5
"""Maximum starts without an answer between them."""
_MODULE: Final = "vllm.entrypoints.openai.api_server"
_KEEPER: Final = Path(__file__).with_name("keeper.py")
_PROBE: Final = 30.0
_DEFAULTS: Final = {
    "enable-prefix-caching": "true",
    "enable-prompt-tokens-details": "true",
    # Otherwise a weak model fills an answer with blanks up to its maximum tokens.
    "structured-outputs-config": '{"backend": "xgrammar", "disable_any_whitespace": true}',
}

Report = Callable[[str], None]


class Vllm:
    """A vLLM server on this machine."""

    def __init__(
        self,
        model: str,
        options: Mapping[str, str] | None = None,
        *,
        seed: int = 0,
        report: Report | None = None,
        log_file: Path | None = None,
    ) -> None:
        """Keep the settings; the first call starts the server.

        Args:
            model: A folder, or OWNER/NAME of the hub.
            options: Options of `vllm serve`, without dashes.
            seed: The server's random seed.
            report: Called with each step of the start.
            log_file: File for the server's output.
        """
        self.model = model
        self._given = {**_DEFAULTS, "seed": str(seed), **(options or {})}
        self._report = report or log.info
        self._log = log_file
        self._keeper: subprocess.Popen[bytes] | None = None
        self._endpoint: Endpoint | None = None
        self._starting: dict[asyncio.AbstractEventLoop, asyncio.Task[None]] = {}
        self._generation = 0
        self._failed_starts = 0
        check_installed(model)

    @property
    def place(self) -> str:
        """The value of `-m`."""
        return f"vllm:{self.model}"

    @property
    def log_file(self) -> Path | None:
        """File with the server's output."""
        return self._log

    @property
    def url(self) -> str | None:
        """Address of the running server."""
        return self._endpoint.place if self._endpoint else None

    async def ready(self) -> float:
        """Start the server if it does not run; return the seconds that this took."""
        if self._endpoint is not None:
            return 0.0
        begun = time.monotonic()
        await self._wait_started(self._generation)
        return time.monotonic() - begun

    async def complete(self, body: Mapping[str, Any], seconds: float) -> Mapping[str, Any]:
        """Send a request.

        Raises:
            Unreachable: The server died; it is started again, and the call can be repeated.
        """
        await self.ready()
        generation, endpoint = self._generation, self._endpoint
        if endpoint is None:
            raise Unreachable(f"{self.place}: the server is starting")
        try:
            reply = await endpoint.complete(body, seconds)
        except (Unreachable, Busy, BadReply) as error:
            if await self._is_alive(error):
                raise
            self._begin(generation + 1, f"the server died ({error}); starting it again")
            raise Unreachable(f"{self.place}: the server died; starting it again") from None
        self._failed_starts = 0
        return reply

    async def context(self) -> int | None:
        """Return the context length that the server reports."""
        await self.ready()
        return await self._endpoint.context() if self._endpoint else None

    async def close(self) -> None:
        """Stop the server and its processes."""
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

    async def _is_alive(self, error: ModelError) -> bool:
        """Whether the server survived an error: its process runs and completes a token."""
        endpoint = self._endpoint
        if endpoint is None or self._keeper is None or self._keeper.poll() is not None:
            return False
        if isinstance(error, Busy) and "429" in str(error):
            return True
        try:
            await endpoint.complete(_probe(self.model), _PROBE)
        except Timeout:
            return True  # slow or overloaded
        except (Unreachable, Busy, BadReply):
            return False
        except ModelError:
            return True
        return True

    async def _wait_started(self, generation: int) -> None:
        """Wait for a server of this generation or a later one.

        The start is a task of its own: it goes on if a caller stops waiting.
        """
        start = self._begin(generation)
        if start is not None:
            await asyncio.shield(start)

    def _begin(self, generation: int, reason: str = "") -> asyncio.Task[None] | None:
        """Return the task that starts a server; None if one of this generation runs."""
        loop = asyncio.get_running_loop()
        start = self._starting.get(loop)
        if start is not None and not start.done():
            return start
        if self._endpoint is not None and self._generation >= generation:
            return None
        dead, self._endpoint = self._endpoint, None
        start = loop.create_task(self._restart(generation, reason, dead))
        start.add_done_callback(_ignore_error)
        self._starting[loop] = start
        return start

    async def _restart(self, generation: int, reason: str, dead: Endpoint | None) -> None:
        if reason:
            log.warning("vLLM: %s", reason)
        if self._failed_starts >= MOST_STARTS:
            raise Unreachable(f"{self.place}: died {MOST_STARTS} times; {last_error(self._log)}")
        self._failed_starts += 1
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
        self._report(f"vLLM: starting {self.model} (log: {self._log})")
        log.debug("%s", shlex.join(command))
        with self._log.open("ab") as output:
            self._keeper = subprocess.Popen(
                [sys.executable, "-P", str(_KEEPER), *command],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                env=environment(),
            )
        endpoint = Endpoint(Address(f"http://127.0.0.1:{port}/v1", self.model))
        try:
            await self._wait_for_token(endpoint)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await endpoint.close()
                await anyio.to_thread.run_sync(self._stop)
            raise
        return endpoint

    async def _wait_for_token(self, endpoint: Endpoint) -> None:
        """Wait for the first token, and report each stage of the start."""
        begun, reported = time.monotonic(), ""
        while time.monotonic() - begun < START:
            assert self._keeper is not None
            if self._keeper.poll() is not None:
                raise Unreachable(f"{self.place}: did not start; {last_error(self._log)}")
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
        raise Unreachable(f"{self.place}: not ready within {START:.0f} s; {last_error(self._log)}")

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


def _ignore_error(start: asyncio.Task[None]) -> None:
    """Retrieve the error of a start that nobody waits for; the next call starts again."""
    if not start.cancelled():
        start.exception()


def check_installed(model: str, kind: str = "vllm") -> None:
    """Check that a model is named, and that vLLM is installed.

    Raises:
        UserError: No model, no such folder, or no vLLM.
    """
    if not model:
        raise UserError(f"{kind}: no model is named; use -m {kind}:FOLDER or -m {kind}:OWNER/NAME")
    if model.startswith(("/", ".", "~")) and not Path(model).expanduser().is_dir():
        raise UserError(f"{kind}:{model}: there is no such folder")
    if not os.environ.get(PYTHON) and importlib.util.find_spec("vllm") is None:
        raise UserError(
            f"{kind}:{model}: vLLM is not installed: pip install 'touche-rad[vllm]', or set "
            f"{PYTHON} to a Python that has it"
        )


def python_of_vllm() -> str:
    """Return the Python in which vLLM is installed."""
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


def last_error(path: Path | None) -> str:
    """Return the last error of a log, or its last line, to show to a user."""
    lines = last_lines(path)
    errors = [line for line in lines if "Error" in line or "error:" in line]
    found = (errors or lines or ["no output"])[-1]
    return f"last output: {' '.join(found.split())[-300:]} (log: {path})"


def last_lines(path: Path | None) -> list[str]:
    """Return the last lines of a log that are not empty."""
    if path is None or not path.is_file():
        return []
    with path.open("rb") as output:
        output.seek(max(0, path.stat().st_size - 20_000))
        return [line for line in output.read().decode("utf-8", "replace").splitlines() if line]


_STAGES: Final = (
    ("Application startup complete", "waiting for the first token"),
    ("init engine", "engine started"),
    ("Capturing CUDA graph", "capturing graphs"),
    ("torch.compile takes", "compiling"),
    ("KV cache", "reserving memory for the KV cache"),
    ("Loading weights took", "weights loaded"),
    ("Loading safetensors", "loading the weights"),
    ("Starting to load model", "loading the weights"),
    ("Initializing a V1 LLM engine", "starting the engine"),
)


def stage_of(path: Path | None) -> str:
    """Return the stage of a start, by its log; empty if unknown."""
    text = "\n".join(last_lines(path))
    return next((stage for line, stage in _STAGES if line in text), "")
