"""Simulate a run of a million debates on 64 workers, and compare its end with the lower bound.

    python benchmarks/tools/cluster_simulation.py [--debates 1e6] [--workers 64]

A worker processes a number of debates at once; a debate makes its calls in parallel and ends with
the slowest one. The seconds of calls are drawn from a file with one number per line (by default
measured ones: `python benchmarks/workers.py --samples FILE`), and do not depend on the load. What
goes wrong:

- A call fails with a probability, and is sent again after a pause that doubles each time.
- A worker is killed now and then, and comes back later. Its block is done again; a shard goes on
  where its journal ends.
- Some workers are stragglers: all that they do takes several times as long.

The divisions of the work: the blocks of --engine ray, which shrink towards the end (its own code
cuts them), blocks of one size, and one shard per worker (--shard I/N). All have the same seconds
for the same debates. The lower bound is the work without any failure, divided by the workers'
speed.
"""

from __future__ import annotations

import argparse
import heapq
import itertools
import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from touche_rad.runs.blocks import sizes

SAMPLES: Final = Path(__file__).with_name("latencies.txt")
CHUNK: Final = 1_000
"""Debates whose seconds are drawn at once."""
FIRST_PAUSE: Final = 0.25
MOST_RETRIES: Final = 5
AHEAD: Final = 2
"""Blocks that a worker of the engine has: one under work, and the next one."""
Numbers = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
Blocks = Sequence[slice]


@dataclass(frozen=True)
class Cluster:
    """The workers and what goes wrong."""

    slowness: Numbers
    """For each worker, how many times as long as usual its work takes."""
    at_once: int
    processor: float
    """Seconds of a worker's processor per debate."""
    deaths: float
    """Deaths per worker and hour."""
    restart: float

    @property
    def speed(self) -> float:
        """Workers, each counted by its speed."""
        return float((1 / self.slowness).sum())

    def dies_within(self, seconds: float) -> float:
        """Return the probability that a worker dies."""
        return -math.expm1(-self.deaths * seconds / 3600)


@dataclass(frozen=True)
class Result:
    """The end of a simulated run."""

    seconds: float
    killed: int
    redone: int


def main() -> None:
    """Simulate, and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--debates", type=float, default=1e6)
    parser.add_argument("--workers", type=int, default=64)
    parser.add_argument("--at-once", type=int, default=16, help="debates at once per worker")
    parser.add_argument("--calls", type=int, default=8, help="parallel calls per debate")
    parser.add_argument("--block", type=int, nargs="+", default=[64, 256, 1024])
    parser.add_argument("--latencies", type=Path, default=SAMPLES)
    parser.add_argument("--processor", type=float, default=0.08, help="seconds per debate")
    parser.add_argument("--failures", type=float, default=0.01)
    parser.add_argument("--stragglers", type=int, default=2, help="number of slow workers")
    parser.add_argument("--slower", type=float, default=4.0, help="how many times as slow")
    parser.add_argument("--deaths", type=float, default=1.0, help="per worker and hour")
    parser.add_argument("--restart", type=float, default=60.0, help="seconds")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    samples = np.loadtxt(given.latencies, ndmin=1)
    slowness = np.ones(given.workers)
    slowness[: given.stragglers] = given.slower
    cluster = Cluster(slowness, given.at_once, given.processor, given.deaths, given.restart)
    count = int(given.debates)
    plain, real = drawn(count, samples, given.calls, given.failures, given.seed)
    bound = max(plain.sum() / cluster.at_once, count * cluster.processor) / cluster.speed
    print(
        f"{count:,} debates of {given.calls} calls ({np.mean(samples):.2f} s on average), "
        f"{given.workers} workers x {given.at_once} debates at once\n"
        f"{given.failures:.0%} of the calls fail, {given.deaths:g} deaths per worker and hour, "
        f"{given.stragglers} workers are {given.slower:g} times as slow"
    )
    print(f"lower bound: {bound / 3600:.3f} h\n")
    print("| division | end (h) | end / bound | workers killed | debates done again |")
    print("| --- | --- | --- | --- | --- |")
    blocks = _slices(list(sizes(count, given.workers, given.at_once)))
    print(row("--engine ray", in_blocks(real, blocks, cluster, given.seed), bound))
    for block in given.block:
        whole = _slices([block] * math.ceil(count / block))
        print(row(f"blocks of {block:,}", in_blocks(real, whole, cluster, given.seed), bound))
    result = in_shards(real, cluster, given.seed)
    print(row(f"--shard I/{given.workers}", result, bound))


def _slices(sizes: Sequence[int]) -> Blocks:
    ends = list(itertools.accumulate(sizes))
    return [slice(end - size, end) for size, end in zip(sizes, ends, strict=True)]


def row(name: str, result: Result, bound: float) -> str:
    """Return a row of the table."""
    cells = (
        name,
        f"{result.seconds / 3600:.3f}",
        f"{result.seconds / bound:.3f}",
        f"{result.killed}",
        f"{result.redone:,}",
    )
    return f"| {' | '.join(cells)} |"


def drawn(
    count: int, samples: Numbers, calls: int, failures: float, seed: int
) -> tuple[Numbers, Numbers]:
    """Return the seconds of each debate: without failures, and with the retries of its calls."""
    random = np.random.default_rng(seed)
    plain, real = [], []
    for start in range(0, count, CHUNK):
        shape = (min(CHUNK, count - start), calls)
        seconds = random.choice(samples, shape)
        plain.append(seconds.max(axis=1))
        failed = random.random(shape) < failures
        pause = FIRST_PAUSE
        for _ in range(MOST_RETRIES):
            more = pause * random.uniform(0.5, 1.5, shape) + random.choice(samples, shape)
            seconds = seconds + np.where(failed, more, 0.0)
            failed &= random.random(shape) < failures
            pause *= 2
        real.append(seconds.max(axis=1))
    return np.concatenate(plain), np.concatenate(real)


def worked(seconds: Numbers, cluster: Cluster) -> float:
    """Return the time in which one worker of usual speed does some debates, some at once."""
    slots = [0.0] * min(cluster.at_once, len(seconds))
    for one in seconds.tolist():
        heapq.heapreplace(slots, slots[0] + one)
    return max(max(slots), len(seconds) * cluster.processor)


def in_blocks(seconds: Numbers, blocks: Blocks, cluster: Cluster, seed: int) -> Result:
    """Let free workers take blocks; each one also has the next block waiting, as the engine does.

    The events are the ends of blocks, deaths, and returns of workers.
    """
    random = np.random.default_rng([seed, 1])
    waiting = deque(blocks)
    queues: list[deque[slice]] = [deque() for _ in cluster.slowness]
    tie = itertools.count()
    events: list[tuple[float, int, int, bool]] = []
    idle: set[int] = set()
    killed = redone = 0
    end = 0.0

    def at(time: float, worker: int, *, died: bool = False) -> None:
        heapq.heappush(events, (time, next(tie), worker, died))

    for worker in range(len(queues)):
        at(0.0, worker)
    while events:
        now, _, worker, died = heapq.heappop(events)
        queue = queues[worker]
        if died:  # its blocks wait again, the one under work first, and it comes back later
            waiting.extendleft(reversed(queue))
            queue.clear()
            at(now + cluster.restart, worker)
            for other in idle:
                at(now, other)
            idle.clear()
            continue
        while waiting and len(queue) < AHEAD:
            queue.append(waiting.popleft())
        if not queue:
            idle.add(worker)
            continue
        takes = worked(seconds[queue[0]], cluster) * cluster.slowness[worker]
        if random.random() < cluster.dies_within(takes):
            killed, redone = killed + 1, redone + len(seconds[queue[0]])
            at(now + takes * random.random(), worker, died=True)
        else:
            queue.popleft()
            end = max(end, now + takes)
            at(now + takes, worker)
    return Result(end, killed, redone)


def in_shards(seconds: Numbers, cluster: Cluster, seed: int) -> Result:
    """Give each worker its shard; one that dies resumes, without the debates that were open."""
    random = np.random.default_rng([seed, 2])
    ends, killed = [], 0
    for worker, work in enumerate(np.array_split(seconds, len(cluster.slowness))):
        takes = worked(work, cluster) * cluster.slowness[worker]
        deaths = int(random.poisson(cluster.deaths * takes / 3600))
        again = float(work[: cluster.at_once].max()) * cluster.slowness[worker]
        killed += deaths
        ends.append(takes + deaths * (cluster.restart + again))
    return Result(max(ends), killed, killed * cluster.at_once)


if __name__ == "__main__":
    main()
