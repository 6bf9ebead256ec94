"""What differs between two runs of the same code, and by what it is replaced.

This is the only place for such rules; each has its reason. A rule that is wider than its reason
hides differences.
"""

from __future__ import annotations

import fnmatch
import re

RULES = (
    # Addresses on the loopback interface have a free port; the pages of `label` a new token.
    (r"(127\.0\.0\.1|localhost):\d+", r"\1:PORT"),
    (r'(PORT|")/[\w-]{16}/', r"\1/TOKEN/"),
    # Moments of the run, in files, on pages, and in links of pages.
    (r"20\d\d-\d\d-\d\d(T| |%20)\d\d(:|%3A)\d\d((:|%3A)\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?", "MOMENT"),
    # Progress that is printed now and then; its last line stays.
    (r"(?m)^\w+: (\d+) of (?!\1$)\d+\n", ""),
    # Durations, on the screen and in files.
    (r"\bin \d[\d.,]* (m?s|minutes?|min)\b", "in DURATION"),
    (r'("(?:seconds|milliseconds)": )[\d.e-]+', r"\1DURATION"),
    # In tracebacks, the place of libraries: each checkout has its own.
    (r'File "[^"\n]*/site-packages/', 'File "SITE-PACKAGES/'),
    # The lines of code of ours: any change moves them.
    (r'(  File "/PLACE/checkout/[^\n]*\n(    [^\n]*\n)*)+', "  OUR CODE\n"),
    # The server's process, and the free space of the disk (doctor).
    (r"(process) \[\d+\]", r"\1 [PID]"),
    (r"[\d.]+ GiB free", "SPACE free"),
)
SORTED = (
    # Parallel calls end in any order: traces, requests, and the log of a tournament's games.
    "*.trace.jsonl",
    "requests/*",
    "*/games.jsonl",
)


def normal(path: str, content: bytes) -> bytes:
    """Return the normal form of a file."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return content
    for pattern, replacement in RULES:
        text = re.sub(pattern, replacement, text)
    if any(fnmatch.fnmatchcase(path, pattern) for pattern in SORTED):
        text = "".join(sorted(text.splitlines(keepends=True)))
    return text.encode()
