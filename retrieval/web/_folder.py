"""A folder of texts instead of the web: BM25 over passages, with reproducible results."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

import anyio

from retrieval.index.analyser import LONGEST_QUERY, analyse, tokens
from retrieval.index.postings import Postings
from retrieval.web.search import LONGEST_TEXT, Page, SearchFailed, page_of
from touche_rad.errors import UserError
from touche_rad.lists import unique
from touche_rad.plugins import Once
from touche_rad.text import sentences

SUFFIXES: Final = (".txt", ".md", ".markdown")
MAX_FILES: Final = 20_000
LARGEST: Final = 2_000_000
"""Characters read of a file."""
_PIECE: Final = 10_000


class TextFolder:
    """Searches the .txt and .md files below a folder; they are read once, at the first search."""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise UserError(f"web search {str(folder)!r}: there is no such folder")
        self._folder = folder
        self._open = Once(self._read)

    @property
    def place(self) -> str:
        """The folder's name, without its path, which may be private."""
        return "folder:" + (self._folder.name or str(self._folder))

    async def search(self, query: str, k: int) -> list[Page]:
        """Return the best `k` passages, at most one per file."""
        return await anyio.to_thread.run_sync(self._search, query, k)

    def _search(self, query: str, k: int) -> list[Page]:
        stems = " ".join(tokens(query)[:LONGEST_QUERY])
        try:
            pages, postings = self._open()
        except (OSError, RuntimeError) as error:
            raise SearchFailed(f"{self.place}: {error}") from None
        if not postings or not stems or k < 1:
            return []
        best = [pages[number] for _, number in postings.best([stems], 8 * k)[0]]
        return unique(best, key=lambda page: page.address)[:k]

    def _read(self) -> tuple[list[Page], Postings | None]:
        pages = list(_pages(self._folder))
        stems = [analyse(f"{page.title}\n{page.text}") for page in pages]
        words = [(number, text) for number, text in enumerate(stems) if text]
        return pages, Postings.build(words) if words else None


def _pages(folder: Path) -> Iterator[Page]:
    for path in islice(_files(folder), MAX_FILES):
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


def _files(folder: Path) -> Iterator[Path]:
    """Yield the text files below a folder, sorted; links and hidden ones are not followed."""
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() not in SUFFIXES or not path.is_file() or path.is_symlink():
            continue
        if not any(part.startswith(".") for part in path.relative_to(folder).parts):
            yield path


def _passages(text: str) -> Iterator[str]:
    """Yield passages of whole sentences that fit into a page, so that none is truncated."""
    for paragraph in re.split(r"\n[ \t]*\n", text):
        passage = ""
        for start in range(0, len(paragraph), _PIECE):
            for sentence in sentences(" ".join(paragraph[start : start + _PIECE].split())):
                if passage and len(passage) + len(sentence) >= LONGEST_TEXT:
                    yield passage
                    passage = ""
                passage = f"{passage} {sentence}".strip()
        if passage:
            yield passage
