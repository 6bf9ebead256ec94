"""`vllm-offline:MODEL`: vLLM's engine without a server, one for each process that asks it.

All calls that are open run in one batch of the engine. There is no HTTP and no port, so that each
worker of a cluster can have an engine on its own card. The engine is a child process, because its
death must not end the run, and because vLLM may belong to another Python.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import json
import logging
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import anyio

from touche_rad.models.errors import BadRequest, ModelError, PromptTooLong, Timeout, Unreachable
from touche_rad.models.vllm import (
    MOST_STARTS,
    START,
    check_installed,
    environment,
    last_error,
    python_of_vllm,
)

log = logging.getLogger("touche_rad")

_WORKER: Final = Path(__file__).with_name("offline_worker.py")
_PATIENCE: Final = 30.0
_DEFAULTS: Final[Mapping[str, Any]] = {
    "enable_prefix_caching": True,
    # If it may, a weak model fills an answer with blanks until its tokens are used up.
    "structured_outputs_config": {"backend": "xgrammar", "disable_any_whitespace": True},
}
_FAULTS: Final[Mapping[str, type[ModelError]]] = {"too long": PromptTooLong, "refused": BadRequest}

Reply = concurrent.futures.Future[Mapping[str, Any]]


class Offline:
    """An engine of vLLM on this machine, started by the first call."""

    def __init__(
        self,
        model: str,
        options: Mapping[str, str] | None = None,
        *,
        seed: int = 0,
        report: Callable[[str], None] | None = None,
        log_file: Path | None = None,
    ) -> None:
        """Prepare; nothing is started yet.

        Args:
            model: A folder, or OWNER/NAME of the hub.
            options: Arguments of `vllm.LLM`.
            seed: Random seed of the engine.
            report: Called with the progress of the start.
            log_file: Log file of the engine.
        """
        self.model = model
        self._options = {**_DEFAULTS, "seed": seed, **engine_options(options or {})}
        self._report = report or log.info
        self._log = log_file
        self._lock = threading.Lock()
        """Held while the engine is started."""
        self._writing = threading.Lock()
        self._worker: subprocess.Popen[str] | None = None
        self._facts: Mapping[str, Any] | None = None
        """What the engine said of itself; None if it is not ready."""
        self._open: dict[int, Reply] = {}
        self._number = 0
        self._deaths = 0
        """Starts without an answer since."""
        check_installed(model, "vllm-offline")

    @property
    def place(self) -> str:
        """Value of `-m`."""
        return f"vllm-offline:{self.model}"

    @property
    def log_file(self) -> Path | None:
        """Log file of the engine."""
        return self._log

    async def ready(self) -> float:
        """Start the engine if it does not run, and return the seconds that this took."""
        if self._facts is not None:
            return 0.0
        begun = time.monotonic()
        await anyio.to_thread.run_sync(self._start, abandon_on_cancel=True)
        return time.monotonic() - begun

    async def complete(self, body: Mapping[str, Any], seconds: float) -> Mapping[str, Any]:
        """Return the reply to a request.

        Raises:
            PromptTooLong: The prompt does not fit into the context.
            BadRequest: The engine refuses the request.
            Timeout: There is no answer in time.
            Unreachable: The engine died; it is started again with the next call.
        """
        await self.ready()
        number, reply = self._send(body)
        try:
            with anyio.fail_after(seconds):
                found = await asyncio.wrap_future(reply)
        except TimeoutError:
            raise Timeout(f"{self.place}: no answer within {seconds:.3g} s") from None
        finally:
            if self._open.pop(number, None) is not None:
                self._write({"cancel": number})
        self._deaths = 0
        return found

    async def context(self) -> int | None:
        """Return the context length in tokens."""
        await self.ready()
        return int(self._facts["context"]) if self._facts else None

    async def close(self) -> None:
        """Stop the engine."""
        await anyio.to_thread.run_sync(self._stop)

    def _start(self) -> None:
        with self._lock:
            if self._facts is not None:
                return
            if self._deaths >= MOST_STARTS:
                raise Unreachable(f"{self.place}: died {MOST_STARTS} times; {self._last()}")
            self._deaths += 1
            self._stop()
            begun = time.monotonic()
            self._log = self._log or Path(tempfile.mkdtemp(prefix="touche-rad-vllm-")) / "vllm.log"
            self._report(f"vLLM: starting {self.model} (log: {self._log})")
            command = [python_of_vllm(), "-P", str(_WORKER), self.model, json.dumps(self._options)]
            # In one process, so that the engine ends with its owner and repeats its answers.
            settings = {"VLLM_ENABLE_V1_MULTIPROCESSING": "0", **environment()}
            with self._log.open("ab") as output:
                worker = subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=output,
                    env=settings,
                    text=True,
                    start_new_session=True,
                )
            self._worker = worker
            timer = threading.Timer(START, worker.kill)
            timer.start()
            try:
                assert worker.stdout is not None
                line = worker.stdout.readline()
            finally:
                timer.cancel()
            if not line:
                raise Unreachable(f"{self.place}: did not start; {self._last()}")
            self._facts = json.loads(line)["ready"]
            threading.Thread(target=self._listen, args=(worker,), daemon=True).start()
            self._report(f"vLLM: ready after {time.monotonic() - begun:.0f} s")

    def _last(self) -> str:
        return last_error(self._log)

    def _send(self, body: Mapping[str, Any]) -> tuple[int, Reply]:
        reply: Reply = concurrent.futures.Future()
        with self._writing:
            self._number += 1
            number = self._number
            self._open[number] = reply
        self._write({"id": number, "body": body})
        return number, reply

    def _write(self, values: Mapping[str, Any]) -> None:
        """Write a line to the engine; one that has died fails its calls when its output ends."""
        worker = self._worker
        if worker is None or worker.stdin is None:
            self._fail()
            return
        try:
            with self._writing:
                worker.stdin.write(json.dumps(values) + "\n")
                worker.stdin.flush()
        except (OSError, ValueError):
            self._fail()

    def _listen(self, worker: subprocess.Popen[str]) -> None:
        """Give each reply to the call that waits for it, until the engine ends."""
        assert worker.stdout is not None
        for line in worker.stdout:
            values = json.loads(line)
            reply = self._open.pop(values["id"], None)
            if reply is None or not reply.set_running_or_notify_cancel():
                continue
            if "reply" in values:
                reply.set_result(values["reply"])
            else:
                fault = _FAULTS[values["kind"]]
                reply.set_exception(fault(f"{self.place}: {values['error'][:300]}"))
        if worker is self._worker:
            self._facts = None
            log.warning("vLLM: the engine ended; the next call starts it again")
            self._fail()

    def _fail(self) -> None:
        """Fail all open calls; they are sent again."""
        self._facts = None
        while self._open:
            try:
                _, reply = self._open.popitem()
            except KeyError:
                return
            if reply.set_running_or_notify_cancel():
                reply.set_exception(Unreachable(f"{self.place}: the engine ended"))

    def _stop(self) -> None:
        worker, self._worker, self._facts = self._worker, None, None
        if worker is None:
            return
        assert worker.stdin is not None
        try:
            worker.stdin.close()
        except OSError:
            log.debug("vLLM: the engine has ended before")
        try:
            worker.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            worker.kill()
            worker.wait()
        self._fail()


def engine_options(given: Mapping[str, str]) -> dict[str, Any]:
    """Return options of the command line as arguments of `vllm.LLM`.

    Names may have dashes or a leading `no-`, as for `vllm serve`; values are JSON or a text.
    """
    found: dict[str, Any] = {}
    for name, value in given.items():
        key = name.replace("-", "_")
        if key.startswith("no_") and value.lower() == "true":
            found[key.removeprefix("no_")] = False
        else:
            found[key] = _parsed(value)
    return found


def _parsed(value: str) -> Any:
    try:
        return json.loads(value.lower() if value.lower() in ("true", "false") else value)
    except ValueError:
        return value
