"""Measure indexes of any size: a generated collection, its loading with a kill, and searches.

    python benchmarks/scale.py write FILE [--arguments 287156]
    python benchmarks/scale.py load FILE LOCATION [--kill 0.5] [-- OPTIONS OF touche-rad index]
    python benchmarks/scale.py search LOCATION [--claims 100] [--processes 2] [--from FILE]

`write` generates arguments with the lengths and the share of repeated claims of the real
collection and words by Zipf's law; a shorter collection is the beginning of a longer one. `load`
runs `touche-rad index`, kills it once (SIGKILL) at this share of the sent arguments and repeats it;
it prints arguments a second, processor time, and the memory of its processes in tenths of its time
(RSS, and its anonymous part, without the pages of temporary files that the system may drop).
`search` opens an index in several processes, and prints the time of opening, the memory of each
(RSS, and PSS, in which shared pages are divided by their users) and the latency of three
retrievers.
"""

from __future__ import annotations

import argparse
import json
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from touche_rad.text import stopwords

SEED: Final = 22
BLOCK: Final = 9_000
"""Arguments that are generated together, with an own random seed."""
WORDS: Final = 400_000
"""Size of the vocabulary."""
TOPIC: Final = 9
"""Arguments of a topic."""
SYLLABLES: Final = [one + other for one in "bcdfghklmnprstvw" for other in "aeiou"]
RETRIEVERS: Final = ("attack", "support", "text")
DEPTH: Final = 10


def main() -> None:
    """Run one of the commands."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True)
    writing = commands.add_parser("write")
    writing.add_argument("file", type=Path)
    writing.add_argument("--arguments", type=int, default=287_156)
    writing.set_defaults(run=write)
    loading = commands.add_parser("load")
    loading.add_argument("file", type=Path)
    loading.add_argument("location")
    loading.add_argument("--kill", type=float, default=0.0, help="share of the work, 0 for no kill")
    loading.add_argument("options", nargs="*")
    loading.set_defaults(run=load)
    searching = commands.add_parser("search")
    searching.add_argument("location")
    searching.add_argument("--claims", type=int, default=100)
    searching.add_argument("--processes", type=int, default=2)
    searching.add_argument("--from", dest="file", type=Path, required=True)
    searching.set_defaults(run=search)
    single = commands.add_parser("one")
    single.add_argument("location")
    single.add_argument("claims", nargs="+")
    single.set_defaults(run=one)
    given = parser.parse_args()
    given.run(given)


def write(given: argparse.Namespace) -> None:
    """Write a generated collection."""
    with given.file.open("w", encoding="utf-8") as out:
        for one in islice(generated(), given.arguments):
            out.write(json.dumps(one) + "\n")


def generated() -> Iterator[dict[str, Any]]:
    """Yield arguments without end."""
    words = vocabulary()
    shares = 1 / (np.arange(len(words)) + 2.7)
    ladder = np.cumsum(shares / shares.sum())
    block = 0
    while True:
        yield from _block(np.random.default_rng((SEED, block)), words, ladder, block * BLOCK)
        block += 1


def vocabulary() -> Any:
    """Return words by frequency: stop words first, then made-up ones."""
    chance = np.random.default_rng(SEED)
    count = len(SYLLABLES)
    made = [f"{SYLLABLES[at // count]}{SYLLABLES[at % count]}" for at in range(count**2)]
    short, long = chance.permutation(count**2), chance.permutation(count**3)
    known = sorted(stopwords(), key=lambda word: (len(word), word))[:120]
    known += [made[at] for at in short]
    known += [made[at // count] + SYLLABLES[at % count] for at in long[: WORDS - len(known)]]
    return np.array(known, dtype=object)


def _block(chance: Any, words: Any, ladder: Any, first: int) -> Iterator[dict[str, Any]]:
    def statements(count: int, middle: float, spread: float) -> list[list[str]]:
        """Return statements with log-normal lengths."""
        sizes = np.exp(chance.normal(np.log(middle), spread, count)).astype(int).clip(4, 150)
        flat = words[np.searchsorted(ladder, chance.random(int(sizes.sum()))).clip(0, WORDS - 1)]
        ends = np.cumsum(sizes)
        return [flat[end - size : end].tolist() for size, end in zip(sizes, ends, strict=True)]

    texts = [" ".join(words).capitalize() + "." for words in statements(BLOCK, 26, 0.55)]
    claims = statements(BLOCK * 2 // 3, 20, 0.5)
    topics = statements(BLOCK // TOPIC, 7, 0.3)
    own = chance.random(BLOCK)
    for at in range(BLOCK):
        claim = claims[at * len(claims) // BLOCK]
        place = int(own[at] * len(claim))
        attacks = " ".join(claim).capitalize() + "."
        if own[at] < 0.3 and at % TOPIC:  # an argument against another one of the topic
            attacks = texts[at - 1]
        supports = " ".join((*claim[:place], "not", *claim[place + 1 :])).capitalize() + "."
        topic = at // TOPIC
        yield {
            "id": f"{(first + at) // TOPIC}.{at % TOPIC}",
            "topic": " ".join(topics[topic]).capitalize() + "?",
            "tags": topics[topic][:3],
            "attacks": attacks,
            "supports": supports,
            "text": texts[at],
            "references": [],
            "original": "attacks" if at % 2 else "supports",
        }


def load(given: argparse.Namespace) -> None:
    """Load a collection with `touche-rad index`, killed once, and print speed and memory."""
    total = sum(1 for _ in given.file.open("rb"))
    command = [sys.executable, "-m", "touche_rad", "index", str(given.file), "-q", *given.options]
    command += ["--to", given.location]
    begun, of_server = time.perf_counter(), server_seconds(given.location)
    if given.kill:
        taken = _seen(command, given.location, int(given.kill * total))
        killed, sent = time.perf_counter() - begun, documents(given.location)
        print(
            f"killed after {killed:.0f} s and {taken.processor:.0f} s of processor time "
            f"with {sent} arguments in {_names(given.location)}"
        )
        begun = time.perf_counter()
    taken = _seen(command, given.location, 0)
    seconds = time.perf_counter() - begun
    of_server = server_seconds(given.location) - of_server
    print(
        f"{total} arguments, {seconds:.0f} s, {total / seconds:.0f} a second, "
        f"{taken.processor:.0f} s of processor time and {of_server:.0f} s of the server in all, "
        f"{size(given.location):.0f} MiB"
    )
    for name, memory in (("memory", taken.memory), ("anonymous memory", taken.anonymous)):
        parts = np.array_split(np.array(memory), min(10, len(memory)))
        tenths = ", ".join(f"{part.max():.0f}" for part in parts)
        print(f"{name} (MiB) in tenths of the time: {tenths}")


class Taken(NamedTuple):
    """What a command took."""

    processor: float
    memory: Sequence[float]
    anonymous: Sequence[float]


def _seen(command: Sequence[str], location: str, until: int) -> Taken:
    """Run a command until its end, or until the server has this number of documents; kill it."""
    memory: list[float] = []
    anonymous: list[float] = []
    before = _processor()
    with subprocess.Popen(command) as process:
        while process.poll() is None:
            with suppress(OSError, KeyError):
                sizes = [_resident(one) for one in (process.pid, *_children(process.pid))]
                memory.append(sum(whole for whole, _ in sizes))
                anonymous.append(sum(own for _, own in sizes))
            if until and documents(location) >= until:
                process.send_signal(signal.SIGKILL)
                process.wait()
                break
            with suppress(subprocess.TimeoutExpired):
                process.wait(1)
    if process.returncode and not until:
        raise SystemExit(f"{' '.join(command)}: exit code {process.returncode}")
    return Taken(_processor() - before, memory, anonymous)


def _children(process: int) -> list[int]:
    return [
        int(one) for one in Path(f"/proc/{process}/task/{process}/children").read_text().split()
    ]


def _resident(process: int) -> tuple[float, float]:
    """Return RSS and its anonymous part in MiB."""
    status = Path(f"/proc/{process}/status").read_text().splitlines()
    sizes = {line.split(":")[0]: line.split()[1] for line in status if "kB" in line}
    return int(sizes["VmRSS"]) / 1024, int(sizes["RssAnon"]) / 1024


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def server_seconds(location: str) -> float:
    """Return the processor time that the server has used, 0 for a folder."""
    if not location.startswith("elasticsearch:"):
        return 0.0
    from retrieval.elastic.connection import Connection, place

    nodes = Connection(place(location)).ask(lambda es: es.nodes.stats(metric="process"))["nodes"]
    return sum(float(one["process"]["cpu"]["total_in_millis"]) for one in nodes.values()) / 1000


def size(location: str) -> float:
    """Return the size of an index in MiB."""
    if not location.startswith("elasticsearch:"):
        return sum(one.stat().st_size for one in Path(location).rglob("*") if one.is_file()) / 2**20
    return _stats(location, "store", "size_in_bytes") / 2**20


def documents(location: str) -> int:
    """Return the number of documents that a server has of an index, complete or not."""
    if not location.startswith("elasticsearch:"):
        return 0
    return _stats(location, "indexing", "index_total")


def _stats(location: str, metric: str, key: str) -> int:
    from retrieval.elastic.connection import Connection, place

    at = place(location)
    answer = Connection(at).ask(lambda es: es.indices.stats(index=f"{at.index}-*", metric=metric))
    return int(answer["_all"]["primaries"].get(metric, {}).get(key, 0))


def _names(location: str) -> str:
    from retrieval.elastic.connection import Connection, place

    at = place(location)
    return ", ".join(Connection(at).ask(lambda es: es.indices.get(index=f"{at.index}-*")).body)


def search(given: argparse.Namespace) -> None:
    """Search an index in several processes at once, and print time and memory."""
    with given.file.open(encoding="utf-8") as lines:
        claims = [json.loads(line)["attacks"] for line in islice(lines, 0, 20 * given.claims, 20)]
    searcher = [sys.executable, __file__, "one", given.location, *claims]
    processes = [
        subprocess.Popen(searcher, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(given.processes)
    ]
    found = [json.loads(_line(one)) for one in processes]
    memory = [_memory(one.pid) for one in processes]
    for one in processes:
        one.communicate()
    print(
        "| process | open (ms) | "
        + " | ".join(f"{name}, median and p99 (ms)" for name in RETRIEVERS)
        + " | RSS (MiB) | PSS (MiB) |"
    )
    print("| --- " * (len(RETRIEVERS) + 4) + "|")
    for at, (one, (rss, pss)) in enumerate(zip(found, memory, strict=True), 1):
        times = [
            f"{np.median(one[name]):.1f}, {np.quantile(one[name], 0.99):.1f}" for name in RETRIEVERS
        ]
        print(f"| {at} | {one['open']:.0f} | {' | '.join(times)} | {rss:.0f} | {pss:.0f} |")


def _line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def _memory(process: int) -> tuple[float, float]:
    """Return RSS and PSS of a process in MiB."""
    rows = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()[1:]
    sizes = {row.split(":")[0]: int(row.split()[1]) / 1024 for row in rows}
    return sizes["Rss"], sizes["Pss"]


def one(given: argparse.Namespace) -> None:
    """Search in this process: print the times as JSON, and wait until the input is closed."""
    from touche_rad.plugins import Services, find, open_index

    begun = time.perf_counter()
    index = open_index(given.location)
    times: dict[str, Any] = {"open": 1000 * (time.perf_counter() - begun)}
    for name in RETRIEVERS:
        retriever = find("retriever", name).make(Services(index=index))
        times[name] = []
        for claim in given.claims:
            begun = time.perf_counter()
            found = retriever.search(claim, DEPTH)
            times[name].append(1000 * (time.perf_counter() - begun))
            assert found
    print(json.dumps(times), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
