"""The command `serve`."""

from __future__ import annotations

import gc
import logging
import math
import socket
import sys
from collections import Counter, defaultdict
from contextlib import suppress
from functools import partial
from ipaddress import ip_address
from itertools import islice
from typing import TYPE_CHECKING, Final, cast

from touche_rad.cli import options as opt
from touche_rad.cli import prepare
from touche_rad.cli.console import Label, say
from touche_rad.cli.help_text import Section
from touche_rad.cli.program import command
from touche_rad.demo import is_demo
from touche_rad.errors import ToucheRadError, UserError
from touche_rad.plugins import (
    ArgumentIndex,
    Configured,
    LoadedDebater,
    LoadedJudge,
    Once,
    Services,
    registered,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import FrameType

    from fastapi import FastAPI

    from touche_rad.runs.answering import Answerer
    from touche_rad.serve.debate_page import Offer
    from touche_rad.serve.limits import Access
    from touche_rad.session import Session


@opt.offering("criteria", "max_words", "index", "fallback_index", "trace", "seed", "quiet")
class ServeOptions(opt.ModelOptions):
    """The options of `serve`."""

    debater: opt.PluginSpec = opt.DEBATER
    judge: opt.PluginSpec = opt.JUDGE
    plugin_options: opt.PluginOptions = opt.plugin_options("debater", "judge")
    also_debater: tuple[opt.PluginSpec, ...] = opt.repeatable(
        "Further debater of the debate page, repeatable. [default: all that work]",
        env=True,
    )
    also_judge: tuple[opt.PluginSpec, ...] = opt.repeatable(
        "Further judge of the debate page, repeatable.", env=True
    )
    host: str = opt.HOST
    port: int = opt.PORT
    max_body: int = opt.option("Maximum size of a request in MiB.", metavar="MIB", default=4)
    max_requests: int = opt.option(
        "Maximum requests at a time; further ones get status 503.", default=4096
    )
    token: str = opt.option(
        "Token that clients must send, of 16 characters or more.",
        metavar="TEXT",
        env=True,
        default="",
    )
    is_open: bool = opt.flag("Answer clients on other machines without a token.", "--open")
    hosts: tuple[str, ...] = opt.repeatable(
        "Name under which browsers may open the server; repeatable.",
        "--allow-host",
        metavar="NAME",
    )
    grace: float = opt.option(
        "Seconds to finish requests after SIGTERM.",
        metavar="SECONDS",
        env=True,
        default=30.0,
    )
    keep_running: bool = opt.flag(
        "Start the server again when it is killed or crashes; clients wait meanwhile."
    )
    deadline: float = opt.option(
        "Time limit per answer in seconds, without the time that it waits for its turn; with "
        "this time at most 280. On timeout the fallback answers.",
        metavar="SECONDS",
        env=True,
        default=100.0,
        section=Section.RUN,
    )


@command(
    "serve -i demo -d verbatim -j length --port 8081",
    "serve -i index -d sinai -m http://localhost:8000/v1#llama",
    "serve -i index -d grounded --also-debater verbatim --also-judge length",
)
def serve_command(options: ServeOptions) -> None:
    """Serve the debater at POST / and the judge at POST /quantity, /quality, /relation, /manner.

    With --criteria, the paths and the page have these instead; with feedback, the user's messages
    are judged.

    GET / is a page to debate with one or two debaters, and GET /docs describes the API. The port
    opens when the index is open and both plugins are ready.
    """
    access = _access(options)
    listener = prepare.bind(options.host, options.port)  # before any work
    level = "warning" if options.quiet else "info"
    logging.basicConfig(level=level.upper())
    if options.keep_running:
        from touche_rad.serve.restarts import serve_in_workers

        serve_in_workers(listener)
    else:
        listener.close()
    logging.getLogger("httpx2").setLevel(logging.WARNING)  # it logs each request
    debater = options.debater.configure("debater")
    judge = options.judge.configure("judge")
    opens_index = bool(options.index) or not debater.works_without_index
    debaters, judges = _select_further(options, debater, judge, has_index=opens_index)
    further = [*debaters, *judges]
    from touche_rad.runs.answering import make_answerer
    from touche_rad.serve import create_app
    from touche_rad.serve.limits import Limits
    from touche_rad.serve.observed import ObservedIndex

    with prepare.open_session(
        options,
        debater,
        judge,
        *further,
        needs_index=opens_index
        or any("index" in configured.plugin.needs for configured in further),
        must_answer=False,
    ) as session:
        if session.index is not None:
            session.index = cast("ArgumentIndex", ObservedIndex(session.index))
        services = session.services
        make = partial(
            make_answerer,
            services=services,
            max_words=options.max_words,
            deadline=options.deadline,
        )
        answerer = make(debater, within=_CLIENT_SECONDS)
        loaded_judge = judge.make(services)
        # The page's further plugins are made when it first uses them.
        answerers = {plugin.tag: Once(partial(make, plugin)) for plugin in debaters}
        loaded_judges = {plugin.tag: Once(partial(plugin.make, services)) for plugin in judges}
        app = create_app(
            answerer,
            loaded_judge,
            deadline=options.deadline,
            model=services.model,
            limits=Limits(body=options.max_body * 2**20, requests=options.max_requests),
            access=access,
            offer=_offer(
                {debater.tag: lambda: answerer, **answerers},
                {judge.tag: lambda: loaded_judge, **loaded_judges},
                services,
                options,
            ),
        )
        say(f"debater {debater.tag}, judge {judge.tag}")
        prepare.check_demo(options, services.index)
        # At Python's own rate, garbage collection takes a seventh of the time of an answer that
        # compares many arguments. What is open now stays until the end.
        gc.collect()
        gc.freeze()
        gc.set_threshold(20_000)
        _serve(app, session, options, level, [listener] if options.keep_running else None)


def _serve(
    app: FastAPI,
    session: Session,
    options: ServeOptions,
    log_level: str,
    sockets: list[socket.socket] | None,
) -> None:
    """Serve until Ctrl-C or SIGTERM, and close the session; without `sockets`, at the address.

    Python hands signals to the main thread only, where we wait for the event loop. The signal that
    stopped the server is raised again when all is closed, and SIGTERM ends the process.
    """
    import uvicorn
    from uvicorn.config import STARTUP_FAILURE

    open_files = _raise_open_files_limit()

    class Server(uvicorn.Server):
        """A server that prints its address, and that also ends at once while it starts."""

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            port = self.servers[0].sockets[0].getsockname()[1]
            addresses = " and ".join(f"http://{name}:{port}" for name in _names(options.host))
            say(f"serving at {addresses} (Ctrl-C stops)")

        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            super().handle_exit(sig, frame)
            if not self.started:
                logging.getLogger("uvicorn.error").disabled = True  # it is no failed start
                raise KeyboardInterrupt

    server = Server(
        uvicorn.Config(
            app,
            host=options.host,
            port=options.port,
            log_level=log_level,
            timeout_keep_alive=_KEEP_ALIVE,
            backlog=min(_BACKLOG, open_files // 8),
            ws="none",
            timeout_graceful_shutdown=math.ceil(options.grace),
        )
    )

    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)  # it names 0.0.0.0, too

    async def serve() -> None:
        with suppress(SystemExit):  # it does not start, for the reason that it has logged
            await server.serve(sockets)

    try:
        with server.capture_signals():
            session.run(serve)
            session.close()
    except KeyboardInterrupt:
        if not server.started:
            raise
    if not server.started:
        sys.exit(STARTUP_FAILURE)


def _names(host: str) -> list[str]:
    """Return the names under which browsers can open a server: 0.0.0.0 stands for all of them."""
    try:
        address = ip_address(host)
    except ValueError:
        return [host]
    if not address.is_unspecified:
        return [host if address.version == 4 else f"[{host}]"]
    names = ["127.0.0.1"]
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as way_out:
        way_out.connect(("192.0.2.1", 9))  # sends nothing, but selects this machine's address
        names.insert(0, way_out.getsockname()[0])
    return names


def _select_further(
    options: ServeOptions,
    debater: Configured[LoadedDebater],
    judge: Configured[LoadedJudge],
    *,
    has_index: bool,
) -> tuple[list[Configured[LoadedDebater]], list[Configured[LoadedJudge]]]:
    """Return further debaters and judges of the page; by default, all debaters that work here."""
    has_model = prepare.names_model(options)
    debaters = [spec.configure("debater") for spec in options.also_debater]
    judges = [spec.configure("judge") for spec in options.also_judge]
    for further in (*debaters, *judges):
        missing = further.plugin.missing(index=True, model=has_model)
        if missing:
            raise UserError(f"{further.plugin.kind} {further.plugin.name} needs {missing[0]}")
    if not debaters:
        for name, plugin in registered("debater").items():
            try:
                if name != debater.plugin.name and not plugin.missing(
                    index=has_index, model=has_model
                ):
                    debaters.append(plugin.configure())
            except ToucheRadError as error:
                say(f"not on the page: {error}", Label.WARNING, quiet=options.quiet)
    return (
        [further for further in debaters if further.tag != debater.tag],
        [further for further in judges if further.tag != judge.tag],
    )


def _offer(
    debaters: Mapping[str, Callable[[], Answerer]],
    judges: Mapping[str, Callable[[], LoadedJudge]],
    services: Services,
    options: ServeOptions,
) -> Offer:
    """Return what the page offers, with the topics and limits of the index and the model."""
    from touche_rad.serve.debate_page import Offer
    from touche_rad.serve.limits import is_loopback

    limits = []
    topics = {}
    index = services.index
    if index is not None:
        topics = _topics(index)
        limits = [f"collection {options.index}, {len(index):,} arguments"]
        if len(index) > _MOST_SEEN:
            limits.append(f"topics of the first {_MOST_SEEN:,}")
        if is_demo(index):
            limits = [f"demo collection, {len(topics)} topics"]
    model = services.model
    if model:
        limits += [f"when the server started: {warning}" for warning in model.warnings]
    network = _names(options.host)[0]
    return Offer(
        debaters,
        judges,
        limits,
        topics,
        options.max_words,
        has_model=model is not None,
        criteria=services.criteria,
        network="" if is_loopback(network) else network,
    )


_MOST_CLAIMS: Final = 4
_MOST_SEEN: Final = 20_000
"""Arguments from which topics and claims are taken, because a collection may have millions."""


def _topics(index: ArgumentIndex) -> dict[str, list[str]]:
    """Return the topics of a collection, the largest first, each with claims to begin with.

    These are the claims that are attacked most, if they have a word of the topic and stand alone.
    """
    from touche_rad.evidence.quotable import clear
    from touche_rad.evidence.words import topic_of

    attacked: dict[str, Counter[str]] = defaultdict(Counter)
    for argument in islice(index.arguments(), _MOST_SEEN):
        attacked[argument.topic][argument.attacks] += 1
    topics = {}
    for topic in sorted(attacked, key=lambda topic: -attacked[topic].total()):
        words = topic_of(topic)
        claims = (
            claim
            for claim, _ in attacked[topic].most_common()
            if 3 <= len(claim.split()) <= 20  # no longer than a message
            and (not topic or words & topic_of(claim))
            and clear(claim)
        )
        topics[topic] = list(islice(claims, _MOST_CLAIMS))
    return topics


_CLIENT_SECONDS: Final = 280.0
"""Time limit of the selected debater. The task's client waits 300 seconds; a fallback follows."""
_SHORTEST_TOKEN: Final = 16
"""The least characters of `--token`, so that nobody guesses it."""


def _access(options: ServeOptions) -> Access:
    """Return who may ask; an address that other machines reach needs a token or `--open`."""
    from touche_rad.serve.limits import Access, is_loopback, own_names

    host = options.host
    token = options.token
    if token and (len(token) < _SHORTEST_TOKEN or not token.isascii() or not token.isprintable()):
        raise UserError(f"--token: expected {_SHORTEST_TOKEN} or more ASCII characters")
    if token and options.is_open:
        raise UserError("--open and --token exclude each other: leave one out")
    loopback = is_loopback(host)
    if not (loopback or token or options.is_open):
        raise UserError(
            f"other machines can reach --host {host}: set TOUCHE_RAD_TOKEN to 16 or more random "
            "characters, or allow everybody with --open"
        )
    names = {name.lower() for name in (*options.hosts, host)} | own_names()
    return Access(token, loopback, frozenset(names))


_KEEP_ALIVE: Final = 600
"""Seconds until an idle connection is closed. It is long, so that the client closes connections: a
client that sends a request while the server closes the connection loses its debate."""
_BACKLOG: Final = 128
"""Connections that wait, and that are accepted in one turn: a thousand would take 0.2 seconds."""


def _raise_open_files_limit() -> int:
    """Allow as many open files as possible, for thousands of connections, and return the limit."""
    if sys.platform == "win32":
        return sys.maxsize
    import resource

    hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    with suppress(ValueError):  # macOS says unlimited, but takes less
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard_limit, hard_limit))
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return sys.maxsize if limit == resource.RLIM_INFINITY else limit
