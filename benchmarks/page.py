"""Measure the report at its two large sizes: making it, its first view, and keystrokes.

50 judges of the same 160 debates, and 50 debaters on the same 160 claims, with generated words:

    python benchmarks/page.py [--folder DIR] [--all]

What the columns are:

- paint, turn: seconds from the start of loading to the first paint, and to the first frame that has
  a turn of a debate. The page itself notes both.
- key: milliseconds from the event to the frame that shows its effect, as the browser reports them
  (Event Timing, in steps of 8). Frames are 16.7 ms apart, so 16 to 24 ms is the least. Other work
  on the machine lengthens it.
- CPU: milliseconds of the page's main thread for the same key until 150 ms after it, with what is
  done behind the frame, such as the next debate. A second line divides it into script, style,
  layout, and the rest, which is mostly paint.
- The keys "x" do nothing on these pages: their CPU is the cost of measuring.

With --all, every debate of each page is opened by the key n, and its heading is compared with the
runs.

Needs Chromium and the extra test-services.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from touche_rad import files
from touche_rad.debate import Argument, Debate, Maxim, Response, Turn, Verdict
from touche_rad.report import write_report

RUNS, CLAIMS, TURNS = 50, 160, 3
WORDS = (
    "city car zoo school water power tax vote book music street price health science animal "
    "people law work home food train market energy child court union river bank farm ship"
).split()


def sentence(chance: random.Random, words: int) -> str:
    """Return a sentence of random words."""
    return " ".join(chance.choices(WORDS, k=words)).capitalize() + "."


def debate(claim: int, system: int) -> Debate:
    """Return a debate of one debater on one claim."""
    chance = random.Random(1000 * claim + system)
    texts = random.Random(claim)
    pool = [
        Argument(id=f"{claim}.{at}", text=" ".join(sentence(texts, 12) for _ in range(6)))
        for at in range(12)
    ]
    turns = []
    for _ in range(TURNS):
        cited = tuple(chance.sample(pool, 2))
        said = " ".join(one.text.split(". ")[0] + "." for one in cited)
        response = Response(content=f"{said} {sentence(chance, 20)}", arguments=cited)
        turns.append(Turn(utterance=sentence(chance, 40), response=response))
    topic = f"Claim {claim}: {sentence(random.Random(claim), 8)}"
    return Debate(id=f"{claim}", claim=topic, turns=tuple(turns))


def evaluations(path: Path, debates: list[Debate], run: int) -> Path:
    """Write the verdicts of one judge."""
    chance = random.Random(run)
    rate = 0.5 + run / 200
    lines = []
    for one in debates:
        verdicts = tuple(
            {
                maxim: Verdict(
                    score=round(
                        min(1.0, chance.random() * 0.5 + 0.5 * (chance.random() < rate)), 2
                    ),
                    rationale=sentence(chance, 14),
                )
                for maxim in Maxim
            }
            for _ in one.turns
        )
        lines.append(files.evaluation_line(files.Evaluation(one, verdicts)))
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def judges(folder: Path) -> tuple[list[Path], Path]:
    """Write 50 runs of judges on the same debates, and labels."""
    same = [debate(claim, 0) for claim in range(CLAIMS)]
    runs = [evaluations(folder / f"judge-{run:02}.jsonl", same, run) for run in range(RUNS)]
    chance = random.Random(0)
    labels = folder / "labels.jsonl"
    with labels.open("w", encoding="utf-8") as stream:
        for one in same:
            known = [{maxim.value: chance.choice([0, 1, 1]) for maxim in Maxim} for _ in one.turns]
            stream.write(json.dumps(known) + "\n")
    return runs, labels


def debaters(folder: Path) -> tuple[list[Path], None]:
    """Write 50 judged runs of debaters on the same claims."""
    return [
        evaluations(
            folder / f"debater-{run:02}.jsonl",
            [debate(claim, run) for claim in range(CLAIMS)],
            run,
        )
        for run in range(RUNS)
    ], None


FIRST = """() => { const look = () => {
  if (!document.querySelector(".reader .turn")) { requestAnimationFrame(look); return; }
  requestAnimationFrame(() => { window.firstTurn = performance.now(); });
}; requestAnimationFrame(look); }"""
EVENTS = """() => { window.slow = []; new PerformanceObserver((list) => {
  for (const one of list.getEntries()) {
    if (/key/.test(one.name)) { window.slow.push(one.duration); }
  }
}).observe({type: "event", durationThreshold: 16}); }"""
FRAME = 8
"""Milliseconds of a key that the browser does not report, because it is faster than 16."""
PARTS = ("TaskDuration", "ScriptDuration", "RecalcStyleDuration", "LayoutDuration")
SERIES = {"none": "xxxx", "turn": "jjjjjjkk", "debate": "nnnnnpppnnnn", "search": "/market price"}


@dataclass(frozen=True)
class Key:
    """A key: milliseconds to the frame, and of CPU: all, script, style and layout."""

    wait: float
    work: tuple[float, ...]


@dataclass(frozen=True)
class Measured:
    """Seconds of the first view, and the keys by what they do."""

    paint: float
    turn: float
    keys: dict[str, list[Key]]

    @property
    def pressed(self) -> list[Key]:
        """All keys that do something."""
        return [key for name, keys in self.keys.items() for key in keys if name != "none"]


def measure(page: Any, url: str) -> Measured:
    """Measure the first view, and keys."""
    page.add_init_script(f"({FIRST})()")
    page.goto(url, wait_until="commit")
    page.wait_for_function("() => window.firstTurn", timeout=60_000)
    turn, paint = page.evaluate(
        "[window.firstTurn, performance.getEntriesByName('first-contentful-paint')[0]?.startTime]"
    )
    devtools = page.context.new_cdp_session(page)
    devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.evaluate(EVENTS)
    page.evaluate("document.getElementById('debates').scrollIntoView()")
    page.wait_for_timeout(1500)
    pressed = {name: [_press(page, devtools, key) for key in keys] for name, keys in SERIES.items()}
    page.wait_for_function("() => / of /.test(document.querySelector('.pager .soft').textContent)")
    return Measured((paint or 0) / 1000, turn / 1000, pressed)


def _press(page: Any, devtools: Any, key: str) -> Key:
    before = cpu(devtools)
    page.keyboard.press(key)
    page.wait_for_timeout(150)
    work = tuple(1000 * (now - then) for then, now in zip(before, cpu(devtools), strict=True))
    return Key(max(page.evaluate("window.slow.splice(0)"), default=FRAME), work)


def cpu(devtools: Any) -> list[float]:
    """Return the CPU seconds of the page's main thread: all, script, style and layout."""
    metrics = {
        one["name"]: one["value"] for one in devtools.send("Performance.getMetrics")["metrics"]
    }
    return [float(metrics[name]) for name in PARTS]


def key_line(name: str, keys: list[Key]) -> str:
    """Return the medians of keys, and the slowest."""
    task, script, style, layout = (
        statistics.median(key.work[at] for key in keys) for at in range(len(PARTS))
    )
    waits = [key.wait for key in keys]
    return (
        f"    {name:7}{len(keys):3} keys: {statistics.median(waits):3.0f} ms, slowest"
        f" {max(waits):3.0f} ms; CPU {task:3.0f} ms = script {script:.0f}, style {style:.0f},"
        f" layout {layout:.0f}, paint and other {task - script - style - layout:.0f}"
    )


ALL = """async () => {
  const index = rad.island("data-debates"), shown = [];
  const heading = () => document.querySelector(".reader header")?.textContent || "";
  await rad.report.browsers[0].follow({ at: "d1" });
  for (let at = 0; at < index.debates.length; at += 1) {
    if (at) { document.dispatchEvent(new KeyboardEvent("keydown", { key: "n", bubbles: true })); }
    const expected = `${at + 1}. ${index.claims[index.debates[at][0]]}`;
    const turns = index.debates[at][4].length, end = performance.now() + 10000;
    const done = () => heading().startsWith(expected)
      && document.querySelectorAll(".reader .turn").length === turns;
    while (!done() && performance.now() < end) { await rad.report.pause(); }
    if (!done()) { return `debate ${at + 1}: expected "${expected}", got "${heading()}"`; }
    shown.push(heading());
  }
  return shown.length;
}"""


def open_all(page: Any, url: str) -> tuple[int, float]:
    """Open each debate of a page by the key n; return their number and the seconds."""
    page.goto(url)
    page.wait_for_selector(".reader .turn", timeout=60_000)
    start = time.monotonic()
    found = page.evaluate(ALL)
    if isinstance(found, str):
        raise SystemExit(found)
    return found, time.monotonic() - start


def main() -> None:
    """Print a row for each size."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, help="keep runs and pages here")
    parser.add_argument("--all", action="store_true", help="also open every debate of each page")
    given = parser.parse_args()
    folder = given.folder or Path(tempfile.mkdtemp())
    rows = []
    for name, make in (("judges", judges), ("debaters", debaters)):
        place = folder / name
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        runs, labels = make(place)
        for kind, out in (("folder", place / "report"), ("file", place / "report.html")):
            start, cpu_seconds = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF).ru_utime
            summary = write_report(runs, out, labels=labels)
            seconds = time.monotonic() - start
            cpu_seconds = resource.getrusage(resource.RUSAGE_SELF).ru_utime - cpu_seconds
            written = out.rglob("*") if out.is_dir() else [out]
            size = sum(path.stat().st_size for path in written if path.is_file())
            rows.append((name, kind, seconds, cpu_seconds, size / 1e6, summary))
    print(
        "runs x debates         kind      made     CPU      size   paint    turn"
        "  key: median, slowest (CPU)  load"
    )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        for name, kind, seconds, cpu_seconds, size, summary in rows:
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            found = measure(page, summary.page.resolve().as_uri())
            waits = [key.wait for key in found.pressed]
            work = [key.work[0] for key in found.pressed]
            of_keys = (
                f"{statistics.median(waits):3.0f} ms ({statistics.median(work):.0f}),"
                f" {max(waits):.0f} ms ({max(work):.0f});"
                f" {sum(wait > 50 for wait in waits)} of {len(waits)} over 50"
            )
            print(
                f"{RUNS} {name} x {CLAIMS:<8} {kind:7}{seconds:5.1f} s {cpu_seconds:5.1f} s"
                f" {size:6.1f} MB {found.paint:5.2f} s {found.turn:5.2f} s"
                f"  {of_keys}  {os.getloadavg()[0]:.1f}"
            )
            print(*(key_line(*series) for series in found.keys.items()), sep="\n", flush=True)
            if given.all:
                number, seconds = open_all(page, summary.page.resolve().as_uri())
                print(f"    every one of {number} debates was opened, {seconds:.0f} s", flush=True)
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
