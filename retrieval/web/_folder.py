"""A folder of texts instead of the web: BM25 over passages, with reproducible results."""

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

SUFFIXES: Final = frozenset((".txt", ".md", ".markdown"))
MAX_FILES: Final = 20_000
LARGEST: Final = 2_000_000
"""Characters read of a file."""
_PIECE: Final = 10_000


class Folder:
    """Searches the .txt and .md files below a folder; they are read once, at the first search."""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise UserError(f"web search {str(folder)!r}: there is no such folder")
        self._folder = folder
        self._lock = threading.Lock()
        self._pages: list[Page] | None = None
        self._engine: Engine | None = None
        self._index: tempfile.TemporaryDirectory[str] | None = None

    @property
    def place(self) -> str:
        """The folder's name, without its path, which may be private."""
        return f"folder:{self._folder.name or self._folder}"

    async def search(self, query: str, k: int) -> list[Page]:
        """Return the best `k` passages, at most one per file."""
        return await anyio.to_thread.run_sync(self._search, query, k)

    def _search(self, query: str, k: int) -> list[Page]:
        stems = " ".join(tokens(query)[:LONGEST_QUERY])
        try:
            pages, engine = self._open()
        except (OSError, RuntimeError) as error:
            raise SearchFailed(f"{self.place}: {error}") from None
        if engine is None or not stems or k < 1:
            return []
        best: dict[str, Page] = {}
        for _, number in engine.best([stems], 8 * k)[0]:
            best.setdefault(pages[number].address, pages[number])
        return list(best.values())[:k]

    def _open(self) -> tuple[list[Page], Engine | None]:
        with self._lock:
            if self._pages is None:
                pages = list(_pages(self._folder))
                words = [(number, analyse(_content(page))) for number, page in enumerate(pages)]
                words = [(number, stems) for number, stems in words if stems]
                if words:
                    self._index = tempfile.TemporaryDirectory(prefix="touche-rad-web-")
                    place = Path(self._index.name) / "pages"
                    build_engine(place, words)
                    self._engine = Engine(place)
                self._pages = pages
            return self._pages, self._engine


def _content(page: Page) -> str:
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
    """Return the text files below a folder, sorted; links are not followed."""
    selection: list[Path] = []
    for place, folders, names in os.walk(folder, followlinks=False):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        paths = (Path(place) / name for name in sorted(names) if not name.startswith("."))
        texts = (path for path in paths if path.suffix.lower() in SUFFIXES)
        selection += [path for path in texts if path.is_file() and not path.is_symlink()]
        if len(selection) >= MAX_FILES:
            break
    return selection[:MAX_FILES]


def _passages(text: str) -> Iterator[str]:
    """Yield passages of whole sentences that fit into a page, so that none is truncated."""
    for paragraph in re.split(r"\n[ \t]*\n", text):
        for start in range(0, len(paragraph), _PIECE):
            yield from _joined(sentences(" ".join(paragraph[start : start + _PIECE].split())))


def _joined(parts: Iterable[str]) -> Iterator[str]:
    held = ""
    for part in parts:
        if held and len(held) + len(part) >= LONGEST_TEXT:
            yield held
            held = ""
        held = f"{held} {part}".strip()
    if held:
        yield held
