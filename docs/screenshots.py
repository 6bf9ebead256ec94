"""Take the screenshots of the documents with Chromium: `make screenshots`.

`pictures/stamps.json` has a hash of what they show: style sheets, and the tags, classes and ids of
templates. So a picture is old if its page looks different, not if a wording changes.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PICTURES = ROOT / "docs" / "pictures"
STAMPS = PICTURES / "stamps.json"
PAGES = {
    "serve": ("page", "page-dark", "compare"),
    "labelling": ("label",),
    "report": ("report", "debates", "panels", "tournament", "retrieval", "bench"),
}
"""The pictures of the pages of each package."""
CALLS = """
judge demo/debates.jsonl -o grounded.jsonl
judge demo/debates.jsonl -j length -o length.jsonl
report grounded.jsonl length.jsonl --labels demo/labels.jsonl --title Judges -o report.html
judge demo/contests.jsonl -j grice -o panel.jsonl
report panel.jsonl --labels demo/contests.jsonl --title Panels -o panels.html
tournament demo/claims.tsv -i demo -d grounded -d verbatim -d grounded(k=3) --rounds 1 -o cup
report cup --title Tournament -o tournament.html
retrieve demo/claims.tsv -i demo -r attack -o attack.run
retrieve demo/claims.tsv -i demo -r text -o text.run
report attack.run text.run --labels qrels --queries demo/claims.tsv -i demo -o retrieval.html
bench new bench --turns 1
bench run bench
""".replace("demo/", f"{ROOT}/touche_rad/demo/").strip()
QRELS = """awk '$4 % 3 == 1 {print $1, 0, $3, 1}' attack.run > qrels"""
SAID = "Zoos should be closed because animals suffer in small enclosures."


def stamp(package: str) -> str:
    """Return a hash of how the pages of a package look."""
    folders = [ROOT / "touche_rad" / name for name in (package, "pages")]
    texts = []
    for path in sorted(path for folder in folders for path in folder.iterdir()):
        if path.suffix == ".css":
            texts.append(path.read_text("utf-8"))
        elif path.suffix in (".jinja", ".js"):
            texts += re.findall(r"<\w+|(?:class|id)=\"[^\"]*\"", path.read_text("utf-8"))
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]


@contextmanager
def served(*words: str) -> Iterator[str]:
    """Start a command that serves a page; yield its address."""
    command = [sys.executable, "-m", "touche_rad", *words]
    with subprocess.Popen(command, stdout=-1, stderr=-2, text=True) as process:
        assert process.stdout is not None
        yield next(found[0] for line in process.stdout if (found := re.search(r"http://\S+", line)))
        process.terminate()


def debate(page: Any, second: str = "") -> None:
    """Debate for a turn."""
    page.locator("#say").fill(SAID)
    page.get_by_label("Compare with").select_option(second)
    page.locator("#send").click()
    page.locator("#t0 .foot").first.wait_for()
    page.locator("#send").wait_for()


def take_all(browser: Any) -> None:
    """Take all pictures."""
    from PIL import Image

    def take(name: str, url: str, act: Callable[[Any], object], **more: Any) -> None:
        size = {"viewport": {"width": 1280, "height": 760}}
        page = browser.new_page(**(size | more), reduced_motion="reduce")
        page.goto(url)
        act(page)
        page.wait_for_timeout(1000)
        page.screenshot(path="shot.png")
        page.close()
        picture = Image.open("shot.png").convert("RGB").quantize(128, method=1, dither=0)
        picture.save(PICTURES / f"{name}.png", optimize=True)

    with served("serve", "-i", "demo", "--port", "0") as url:
        phone = {"width": 390, "height": 844}
        take("page", url, debate)
        take("page-dark", url, debate, viewport=phone, color_scheme="dark")
        take("compare", url, lambda page: debate(page, "verbatim"))
    run = str(ROOT / "touche_rad" / "demo" / "debates.jsonl")
    with served("label", run, "grounded.jsonl", "-o", "labels.jsonl", "--annotator", "ana") as url:
        take("label", url, lambda page: None)
    files = {name: f"{name}.html" for name in ("report", "tournament", "retrieval", "panels")}
    files |= {"debates": "report.html", "bench": "bench/results/page/index.html"}
    for name, file in files.items():
        place = {"debates": "#debates", "panels": "#wholes", "retrieval": "#queries"}.get(name, "")
        take(name, f"{Path(file).absolute().as_uri()}{place}", lambda page: None)


def main() -> None:
    """Make the pages, take the pictures, and write the stamps."""
    from playwright.sync_api import sync_playwright

    os.environ |= {"PYTHONPATH": str(ROOT), "BROWSER": "true"}
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        os.chdir(folder)
        for call in CALLS.splitlines():
            if "qrels" in call:
                subprocess.run(QRELS, shell=True, check=True)
            subprocess.run([sys.executable, "-m", "touche_rad", *call.split(), "-q"], check=True)
        take_all(
            playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        )
    STAMPS.write_text(json.dumps({name: stamp(name) for name in PAGES}, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
