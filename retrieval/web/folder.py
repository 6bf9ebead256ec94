"""A folder of plain texts in place of the web: BM25 over their passages, the same every time."""

from __future__ import annotations

import os
import re
import tempfile
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import anyio

from retrieval.index.analyser import LONGEST_QUERY, analyse, tokens
from retrieval.index.engine import Engine, build_engine
from retrieval.web.search import LONGEST_TEXT, Page, SearchFailed, page_of
from touche_rad.errors import UserError
from touche_rad.text import sentences

ENDINGS: Final = frozenset((".txt", ".md", ".markdown"))
MOST_FILES: Final = 20_000
LARGEST: Final = 2_000_000
"""Letters of a file that are read."""
_PIECE: Final = 10_000


class Folder:
    """Searches the .txt and .md files below a folder, as they were when it was first searched."""

    def __init__(self, folder: Path) -> None:
        """Take the folder; it is read at the first search."""
        if not folder.is_dir():
            raise UserError(f"web search {str(folder)!r}: there is no such folder")
        self._folder = folder
        self._reading = threading.Lock()
        self._pages: list[Page] | None = None
        self._engine: Engine | None = None
        self._index: tempfile.TemporaryDirectory[str] | None = None

    @property
    def place(self) -> str:
        """The folder's name; where it lies is nobody's business."""
        return f"folder:{self._folder.name or self._folder}"

    async def search(self, query: str, k: int) -> list[Page]:
        """Return the best `k` passages, at most one of a file."""
        return await anyio.to_thread.run_sync(self._search, query, k)

    def _search(self, query: str, k: int) -> list[Page]:
        asked = " ".join(tokens(query)[:LONGEST_QUERY])
        try:
            pages, engine = self._opened()
        except (OSError, RuntimeError) as error:
            raise SearchFailed(f"{self.place}: {error}") from None
        if engine is None or not asked or k < 1:
            return []
        found: dict[str, Page] = {}
        for _, number in engine.best([asked], 8 * k)[0]:
            found.setdefault(pages[number].address, pages[number])
        return list(found.values())[:k]

    def _opened(self) -> tuple[list[Page], Engine | None]:
        with self._reading:
            if self._pages is None:
                pages = list(_pages(self._folder))
                words = [(number, analyse(_searched(page))) for number, page in enumerate(pages)]
                words = [(number, said) for number, said in words if said]
                if words:
                    self._index = tempfile.TemporaryDirectory(prefix="touche-rad-web-")
                    place = Path(self._index.name) / "pages"
                    build_engine(place, lambda: words)
                    self._engine = Engine(place)
                self._pages = pages
            return self._pages, self._engine


def _searched(page: Page) -> str:
    return f"{page.title}\n{page.text}"


def _pages(folder: Path) -> Iterator[Page]:
    for path in _files(folder):
        try:
            with path.open(encoding="utf-8", errors="replace") as opened:
                text = opened.read(LARGEST)
        except OSError:
            continue
        lines = text.strip().splitlines()
        headed = bool(lines) and lines[0].startswith("#")
        title = lines[0].lstrip("# ") if headed else path.stem
        where = path.relative_to(folder).as_posix()
        for passage in _passages("\n".join(lines[1:]) if headed else text):
            yield page_of(title, passage, where)


def _files(folder: Path) -> list[Path]:
    """The texts below a folder in the order of their names; no link leads out of it."""
    found: list[Path] = []
    for place, folders, names in os.walk(folder, followlinks=False):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        paths = (Path(place) / name for name in sorted(names) if not name.startswith("."))
        texts = (path for path in paths if path.suffix.lower() in ENDINGS)
        found += [path for path in texts if path.is_file() and not path.is_symlink()]
        if len(found) >= MOST_FILES:
            break
    return found[:MOST_FILES]


def _passages(text: str) -> Iterator[str]:
    """Whole sentences up to what a page shows, so that a prompt gets all that was searched."""
    for paragraph in re.split(r"\n[ \t]*\n", text):
        for start in range(0, len(paragraph), _PIECE):
            yield from _filled(sentences(" ".join(paragraph[start : start + _PIECE].split())))


def _filled(parts: Iterable[str]) -> Iterator[str]:
    held = ""
    for part in parts:
        if held and len(held) + len(part) >= LONGEST_TEXT:
            yield held
            held = ""
        held = f"{held} {part}".strip()
    if held:
        yield held
