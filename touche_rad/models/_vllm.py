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
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import anyio

from touche_rad.errors import UserError
from touche_rad.models.endpoint import Address, Backend, Endpoint
from touche_rad.models.errors import BadReply, Busy, ModelError, Timeout, Unreachable
from touche_rad.models.thinking import family_of

log = logging.getLogger("touche_rad")

PYTHON: Final = "TOUCHE_RAD_VLLM_PYTHON"
"""The Python in which vLLM is installed, if not this one."""
ARGUMENTS: Final = "TOUCHE_RAD_VLLM_ARGS"
START: Final = 1_800.0
"""Time limit of a start in seconds: a large model may be read from a slow disk."""
MOST_STARTS: Final = 5
"""Maximum starts without an answer between them."""
_MODULE: Final = "vllm.entrypoints.openai.api_server"
_PROBE: Final = 30.0
_REPORT: Final = 15.0
"""Seconds between two lines that say that the server is starting."""
_STOP: Final = 10.0
"""Seconds in which the server may stop by itself."""
_DEFAULTS: Final = {
    "enable-prefix-caching": "true",
    "enable-prompt-tokens-details": "true",
    # Otherwise a weak model fills an answer with blanks up to its maximum tokens.
    "structured-outputs-config": '{"backend": "xgrammar", "disable_any_whitespace": true}',
}
# Starts the server, and beside it a shell that waits until our end of a pipe is closed, also if we
# were killed, and then stops all processes of the session. A server that starts may ignore SIGTERM.
_LAUNCH: Final = """
exec 3<&0
(trap '' TERM; read -r _ <&3; kill -TERM 0; sleep 10; kill -KILL 0) &
exec "$@" 3<&- </dev/null
"""


class Vllm(Backend):
    """A vLLM server on this machine."""

    def __init__(
        self,
        model: str,
        options: Mapping[str, str] | None = None,
        *,
        seed: int = 0,
        report: Callable[[str], None] | None = None,
        log_file: Path | None = None,
    ) -> None:
        """Keep the settings; the first call starts the server."""
        self.model, self.place = model, f"vllm:{model}"
        family = family_of(model)
        own = {name.replace("_", "-"): value for name, value in (options or {}).items()}
        of_family = family.vllm if family is not None else {}
        self._options = {**_DEFAULTS, "seed": str(seed), **of_family, **own}
        self._report = report or log.info
        self._log = log_file
        self._thread = ThreadPoolExecutor(1, "vllm")
        """Starts servers, one after the other."""
        self._lock = threading.Lock()
        self._started: Future[Endpoint] | None = None
        """The start of the server; it goes on if a caller stops waiting for it."""
        self._server: subprocess.Popen[bytes] | None = None
        self._failed_starts = 0
        _check_installed(model)

    @property
    def url(self) -> str | None:
        """Address of the running server."""
        started = self._started
        ready = started is not None and started.done() and started.exception() is None
        return started.result().place if started is not None and ready else None

    async def ready(self) -> None:
        """Start the server if it does not run."""
        await asyncio.shield(asyncio.wrap_future(self._start()))

    async def complete(self, body: Mapping[str, Any], seconds: float) -> Mapping[str, Any]:
        """Send a request; if the server died, it is started again, and Unreachable is raised."""
        started = self._start()
        try:
            with anyio.fail_after(seconds):
                endpoint = await asyncio.shield(asyncio.wrap_future(started))
        except TimeoutError:
            raise Timeout(f"{self.place}: it is still starting after {seconds:.3g} s") from None
        try:
            reply = await endpoint.complete(body, seconds)
        except (Unreachable, Busy, BadReply) as error:
            if await self._is_alive(endpoint, error):
                raise
            with self._lock:
                if self._started is started:  # and no other call has seen that it died
                    self._started = None
                    log.warning("vLLM: the server died (%s); starting it again", error)
            raise Unreachable(f"{self.place}: the server died; starting it again") from None
        self._failed_starts = 0
        return reply

    async def context(self) -> int | None:
        """Return the context length that the server reports."""
        endpoint = await asyncio.shield(asyncio.wrap_future(self._start()))
        return await endpoint.context()

    async def close(self) -> None:
        """Stop the server and its processes."""
        with self._lock:
            started, self._started = self._started, None
        if started is None:
            return
        if started.done() and started.exception() is None:
            await started.result().close()
        await anyio.to_thread.run_sync(self._end, started)

    def _end(self, started: Future[Endpoint]) -> None:
        while not started.done():  # it fails as soon as its server has ended
            self._stop()
            time.sleep(0.05)
        self._stop()

    def _start(self) -> Future[Endpoint]:
        """Return the start of a server that runs, will run, or is started now."""
        with self._lock:
            before = self._started
            if before is None or (before.done() and before.exception() is not None):
                self._started = self._thread.submit(self._run)
            assert self._started is not None
            return self._started

    def _run(self) -> Endpoint:
        """Start a server, and wait until it has completed a token."""
        if self._failed_starts >= MOST_STARTS:
            raise Unreachable(f"{self.place}: died {MOST_STARTS} times; {_last_error(self._log)}")
        self._failed_starts += 1
        self._stop()
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1])
        python = os.environ.get(PYTHON) or sys.executable
        command = [python, "-m", _MODULE, *self._arguments(port)]
        self._log = self._log or Path(tempfile.mkdtemp(prefix="touche-rad-vllm-")) / "vllm.log"
        self._report(f"vLLM: starting {self.model} (log: {self._log})")
        self._report(f"vLLM: {shlex.join(command)}")
        # Keys of other servers are none of its business.
        keep = {name: text for name, text in os.environ.items() if not name.startswith("OPENAI_")}
        with self._log.open("ab") as output:
            self._server = subprocess.Popen(
                ["sh", "-c", _LAUNCH, "sh", *command],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                env=keep,
                start_new_session=True,  # Ctrl-C is for touche-rad, which then stops the server
            )
        endpoint = Endpoint(Address(f"http://127.0.0.1:{port}/v1", self.model))
        try:
            asyncio.run(self._wait_for_token(endpoint, self._server))
        except BaseException:
            self._stop()
            raise
        return endpoint

    async def _wait_for_token(self, endpoint: Endpoint, server: subprocess.Popen[bytes]) -> None:
        begun = reported = time.monotonic()
        while (now := time.monotonic()) - begun < START:
            if server.poll() is not None:
                raise Unreachable(f"{self.place}: did not start; {_last_error(self._log)}")
            try:
                await endpoint.complete(_probe(self.model), _PROBE)
            except (Unreachable, Busy, Timeout):
                if now - reported >= _REPORT:
                    reported = now
                    self._report(f"vLLM: starting for {now - begun:.0f} s")
                await asyncio.sleep(0.5)
            else:
                await endpoint.close()
                self._report(f"vLLM: ready after {now - begun:.0f} s")
                return
        raise Unreachable(f"{self.place}: not ready within {START:.0f} s; {_last_error(self._log)}")

    def _arguments(self, port: int) -> list[str]:
        arguments = ["--model", self.model, "--served-model-name", self.model]
        arguments += ["--host", "127.0.0.1", "--port", str(port)]
        for name, value in self._options.items():
            if value.lower() == "true":
                arguments.append(f"--{name}")
            elif value.lower() != "false":
                arguments += [f"--{name}", value]
        return arguments + shlex.split(os.environ.get(ARGUMENTS, ""))

    async def _is_alive(self, endpoint: Endpoint, error: ModelError) -> bool:
        """Whether the server survived an error: its process runs and completes a token."""
        if self._server is None or self._server.poll() is not None:
            return False
        if isinstance(error, Busy) and not error.is_down:
            return True
        try:
            await endpoint.complete(_probe(self.model), _PROBE)
        except ModelError as failure:  # others: slow, overloaded, or it refuses the request
            return not isinstance(failure, Unreachable | Busy | BadReply)
        return True

    def _stop(self) -> None:
        """Stop the server and all processes of its session."""
        server, self._server = self._server, None
        if server is None or sys.platform == "win32":
            return
        with suppress(ProcessLookupError):
            os.killpg(server.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            server.wait(_STOP)
        with suppress(ProcessLookupError):  # what the server has left behind
            os.killpg(server.pid, signal.SIGKILL)
        server.communicate()


def _check_installed(model: str) -> None:
    """Check that a model is named, and that vLLM is installed."""
    if sys.platform == "win32":
        raise UserError("vLLM does not run on Windows: start a server, and use -m URL#MODEL")
    if not model:
        raise UserError("vllm: no model is named; use -m vllm:FOLDER or -m vllm:OWNER/NAME")
    if model.startswith(("/", ".", "~")) and not Path(model).expanduser().is_dir():
        raise UserError(f"vllm:{model}: there is no such folder")
    if not os.environ.get(PYTHON) and importlib.util.find_spec("vllm") is None:
        raise UserError(
            f"vllm:{model}: vLLM is not installed: pip install 'touche-rad[vllm]', or set "
            f"{PYTHON} to a Python that has it"
        )


def _probe(model: str) -> dict[str, Any]:
    message = {"role": "user", "content": "Hello"}
    return {"model": model, "messages": [message], "max_tokens": 1}


def _last_error(path: Path | None) -> str:
    """Return the last error of a log, or its last line, to show to a user."""
    lines: list[str] = []
    if path is not None and path.is_file():
        with path.open("rb") as output:
            output.seek(max(0, path.stat().st_size - 20_000))
            text = output.read().decode("utf-8", "replace")
        lines = [line for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if "Error" in line or "error:" in line]
    last = (errors or lines or ["no output"])[-1]
    return f"last output: {' '.join(last.split())[-300:]} (log: {path})"
