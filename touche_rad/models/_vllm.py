"""`vllm:MODEL`: a vLLM server that starts with the first call and stops at the end of the run.

It is ready when it has completed one token, not when /health says so. One that dies is started
again, and the open calls are sent again. Its options follow from the model and the machine.
"""

from __future__ import annotations

import asyncio
import importlib.util
import itertools
import os
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import anyio
from pydantic import BaseModel, PositiveInt

from touche_rad import processes
from touche_rad.errors import UserError
from touche_rad.events import log
from touche_rad.files.records import read_json, refuse_links
from touche_rad.models.endpoint import Address, Backend, Endpoint
from touche_rad.models.errors import Busy, Timeout, Unreachable
from touche_rad.models.thinking import family_of

PYTHON: Final = "TOUCHE_RAD_VLLM_PYTHON"
"""The Python in which vLLM is installed, if not this one."""
START: Final = 1_800.0
"""Time limit of a start in seconds: a large model may be read from a slow disk."""
_CONTEXT: Final = 16_384
"""Tokens that are enough for our prompts; a longer context takes more memory."""
_MEMORY_SHARE: Final = 0.9
"""Share of a GPU's memory that vLLM takes by itself, or nearly."""
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
_CARDS: Final = "nvidia-smi --query-gpu=memory.free,memory.total --format=csv,noheader,nounits"
_DOWNLOAD: Final = (
    "import sys, huggingface_hub as hub; print(hub.hf_hub_download(sys.argv[1], 'config.json'))"
)
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
        _check_installed(model)
        if log_file:
            refuse_links(log_file)
        self.model = model
        self.place = f"vllm:{model}"
        self._options = {name.replace("_", "-"): value for name, value in (options or {}).items()}
        self._seed = seed
        self._report = report or log.info
        self._log = log_file
        self._start: asyncio.Task[Endpoint] | None = None
        """The start of the server; it goes on if a caller stops waiting for it."""
        self._server: subprocess.Popen[bytes] | None = None

    async def ready(self) -> None:
        """Start the server if it does not run."""
        await self._endpoint()

    async def complete(self, body: Mapping[str, Any], seconds: float) -> Mapping[str, Any]:
        """Send a request; a server that died is started again by the next one."""
        try:
            with anyio.fail_after(seconds):
                endpoint = await self._endpoint()
        except TimeoutError:
            raise Timeout(f"{self.place}: it is still starting after {seconds:.3g} s") from None
        return await endpoint.complete(body, seconds)

    async def context(self) -> int | None:
        """Return the context length that the server reports."""
        return await (await self._endpoint()).context()

    async def close(self) -> None:
        """Stop the server and its processes."""
        start = self._start
        if not start:
            return
        self._start = None
        while not start.done():  # it fails as soon as its server has ended
            await anyio.to_thread.run_sync(self._stop)
            await anyio.sleep(0.05)
        if not start.cancelled() and start.exception() is None:
            await start.result().close()
        await anyio.to_thread.run_sync(self._stop)

    async def _endpoint(self) -> Endpoint:
        """Return the running server, once it is ready; start it if it does not run."""
        died = self._server is not None and self._server.poll() is not None
        if not self._start or (died and self._start.done()):
            self._start = asyncio.create_task(self._run())
        return await asyncio.shield(self._start)

    async def _run(self) -> Endpoint:
        """Start a server, and wait until it has completed a token."""
        is_ready = False
        try:
            # In a thread: the configuration of the model may be downloaded first.
            endpoint, server = await anyio.to_thread.run_sync(self._launch)
            await self._wait_for_token(endpoint, server)
            is_ready = True
        finally:
            if not is_ready:
                with anyio.CancelScope(shield=True):
                    await anyio.to_thread.run_sync(self._stop)
        return endpoint

    def _launch(self) -> tuple[Endpoint, subprocess.Popen[bytes]]:
        """Start a server."""
        self._stop()
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1])
        command = self._command(port)
        self._log = self._log or Path(tempfile.mkdtemp(prefix="touche-rad-vllm-")) / "vllm.log"
        self._report(f"vLLM: starting {self.model} (log: {self._log})")
        self._report(f"vLLM: {shlex.join(command)}")
        with self._log.open("ab") as output:
            self._server = processes.start(
                ["sh", "-c", _LAUNCH, "sh", *command],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                start_new_session=True,  # Ctrl-C is for touche-rad, which then stops the server
            )
        endpoint = Endpoint(Address(f"http://127.0.0.1:{port}/v1", self.model), is_ours=True)
        return endpoint, self._server

    async def _wait_for_token(self, endpoint: Endpoint, server: subprocess.Popen[bytes]) -> None:
        """Wait until the server has completed a token."""
        begun = reported = time.monotonic()
        while (now := time.monotonic()) - begun < START:
            if server.poll() is not None:
                raise Unreachable(f"{self.place}: did not start; {_last_error(self._log)}")
            try:
                await endpoint.complete_a_token(_PROBE)
            except (Unreachable, Busy, Timeout):
                if now - reported >= _REPORT:
                    reported = now
                    self._report(f"vLLM: starting for {now - begun:.0f} s")
                await asyncio.sleep(0.5)
            else:
                self._report(f"vLLM: ready after {now - begun:.0f} s")
                return
        raise Unreachable(f"{self.place}: not ready within {START:.0f} s; {_last_error(self._log)}")

    def _command(self, port: int) -> list[str]:
        """Return the command of the server; the user's options come last and count."""
        python = os.environ.get(PYTHON) or sys.executable
        weights = self._options.get("model", self.model)  # for an adapter, the base model
        options = {
            "model": weights,
            "served-model-name": self.model,
            "host": "127.0.0.1",
            "port": str(port),
            **_DEFAULTS,
            "seed": str(self._seed),
            **family_of(weights).vllm,
            **_fitting(_config_of(weights, python), _free_shares()),
            **self._options,
        }
        command = [python, "-m", _MODULE]
        for name, value in options.items():
            if value.lower() == "true":
                command.append(f"--{name}")
            elif value.lower() != "false":
                # In one word, so that no value of a plan is read as another option.
                command.append(f"--{name}={value}")
        return command

    def _stop(self) -> None:
        server = self._server
        if not server or sys.platform == "win32":
            return
        self._server = None
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


class _ModelConfig(BaseModel):
    """What a model's configuration says of its size."""

    max_position_embeddings: int = 0
    num_attention_heads: PositiveInt = 1
    num_key_value_heads: PositiveInt | None = None


def _fitting(config: _ModelConfig, free: Sequence[float]) -> dict[str, str]:
    """Return the options that follow from a model's configuration and the GPUs' free memory.

    The model is split over the first GPUs that are at least half free, as many as divide its heads.
    """
    options = {}
    if config.max_position_embeddings > _CONTEXT:
        options["max-model-len"] = str(_CONTEXT)
    cards = len(list(itertools.takewhile(lambda share: share > 0.5, free)))
    heads = config.num_attention_heads
    groups = config.num_key_value_heads or heads
    split = max(1, cards)
    while split > 1 and (heads % split or (groups % split and split % groups)):
        split -= 1
    if split > 1:
        options["tensor-parallel-size"] = str(split)
    share = min(free[:split], default=1.0) - 0.02  # what vLLM's own start takes
    if share < _MEMORY_SHARE:
        options["gpu-memory-utilization"] = f"{max(share, 0.1):.2f}"
    return options


def _config_of(model: str, python: str) -> _ModelConfig:
    """Return a model's configuration, from its folder or from the hub.

    It is that of a small model if there is none, or a wrong one, which vLLM refuses itself.
    """
    folder = Path(model).expanduser()
    if folder.is_dir():
        path = folder / "config.json"
    else:
        path = Path(os.devnull)
        with suppress(subprocess.CalledProcessError):
            path = Path(processes.output_of([python, "-c", _DOWNLOAD, model]).strip())
    try:
        config = read_json(path)
        return _ModelConfig.model_validate({**config, **config.get("text_config", {})})
    except (AttributeError, OSError, TypeError, ValueError):
        return _ModelConfig()


def _free_shares() -> list[float]:
    """Return the free share of the memory of each GPU that vLLM may use; empty without NVIDIA's."""
    command = _CARDS.split()
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        command += ["-i", visible]
    try:
        rows = [line.split(",") for line in processes.output_of(command).splitlines()]
        return [float(free) / float(total) for free, total in rows]
    except (OSError, ValueError, subprocess.CalledProcessError):
        return []


def _last_error(path: Path | None) -> str:
    """Return the last error of a log, or its last line, to show to a user."""
    lines: list[str] = []
    if path and path.is_file():
        with path.open("rb") as output:
            output.seek(max(0, path.stat().st_size - 20_000))
            text = output.read().decode("utf-8", "replace")
        lines = [line for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if "Error" in line or "error:" in line]
    last = (errors or lines or ["no output"])[-1]
    return f"last output: {' '.join(last.split())[-300:]} (log: {path})"
