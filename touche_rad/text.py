"""Count and cut words and sentences as the task does, and make texts safe to print."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import textwrap
import tomllib
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from importlib.resources import files
from pathlib import PurePath
from typing import Any, Final
from unicodedata import category

_ABBREVIATIONS = frozenset(
    "e.g. i.e. vs. cf. mr. mrs. ms. dr. prof. approx. al. jr. sr. inc. ltd. co. pp. ca.".split()
)
_COUNTRIES = ("u.s.", "u.k.", "u.n.", "e.u.")
NEGATIONS = frozenset("not no never none nothing neither nor nobody cannot without hardly".split())
"""Words that negate a statement; contractions end in n't. Some users of the list extend it."""
_SENTENCE_END = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’)\]]*+(?=\s|$)")
"""It begins only at the first mark of several, so that the time grows linearly with the text."""
_NO_SPACE = re.compile(r"\S")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*", re.UNICODE)


def packaged_text(package: str, name: str) -> str:
    """Return the text of a file of a package; its name may have folders."""
    return files(package).joinpath(name).read_text("utf-8")


def packaged_table(package: str, name: str) -> dict[str, Any]:
    """Return what a TOML file of a package contains."""
    return tomllib.loads(packaged_text(package, name))


def filled_template(package: str, name: str, /, **values: object) -> str:
    """Return the text of a Jinja template of a package with values; nothing is escaped."""
    import jinja2  # only a few commands need it

    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.from_string(packaged_text(package, name)).render(values)


def load_json(text: str | bytes) -> Any:
    """Parse JSON as `json.loads` does; JSON that is nested too deeply is a ValueError too."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def digest_of_text(text: str, digits: int = 64) -> str:
    """Return the first hexadecimal digits of the SHA-256 of a text."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:digits]


def count_words(text: str) -> int:
    """Count words as the task does: separated by white space."""
    return len(text.split())


def encodable(text: str) -> str:
    """Replace lone surrogates, which tokenizers and servers reject and a debate may contain."""
    return text.encode("utf-8", "replace").decode()


def clean(text: str) -> str:
    """Return the text on one line, without lone surrogates and control characters."""
    text = text.encode("utf-8", "replace").decode()
    return " ".join(_CONTROL.sub(" ", text).split())


_TERMINAL_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # colours, cursor, screen
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x90\x98\x9c-\x9f]*(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*[0-~]"
)
"""Control sequences; those of the second line contain text, such as a window title."""


def printable(text: str) -> str:
    """Return a text that cannot control the terminal: no escape sequences, no hidden characters.

    Line breaks and tabs are kept; other white space becomes a space. Names of files and texts of
    arguments, debates and models go through this function before they are printed.
    """
    if text.isprintable():
        return text
    characters: list[str] = []
    for character in _TERMINAL_SEQUENCE.sub("", text):
        if character in "\n\t" or character.isprintable():
            characters.append(character)
        elif character.isspace():
            characters.append(" ")
    return "".join(characters)


def shell_words(*words: object) -> str:
    """Return the words of a command that a user can type; the path of a file is no option.

    The text is safe to print as it is: what is left out later could be a quotation mark's end.
    """
    texts: list[str] = []
    for word in words:
        text = " ".join(printable(str(word)).splitlines())
        is_file = isinstance(word, PurePath)
        texts.append(f"./{text}" if is_file and text.startswith("-") else text)
    return shlex.join(texts)


def json_text(value: object, indent: int | None = 2) -> str:
    """Return JSON that people read: characters that are not printable are escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    for character in set(text) - {"\n"}:
        if not character.isprintable():
            text = text.replace(character, json.dumps(character)[1:-1])
    return text


def wrap(text: str, width: int, first: str = "", rest: str = "") -> list[str]:
    """Wrap a text at its spaces; no word such as a path is cut, and no number loses its "%"."""
    lines = textwrap.wrap(
        text.replace(" %", "\xa0%"),
        width,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace("\xa0", " ") for line in lines]


def is_blank(text: str) -> bool:
    """Whether a text has only white space and characters that nobody sees, such as U+200B."""
    return all(character.isspace() or category(character) in ("Cc", "Cf") for character in text)


def sentences(text: str) -> list[str]:
    """Split into sentences; abbreviations, initials and decimal points do not end a sentence."""
    parts: list[str] = []
    start = 0
    for match in _SENTENCE_END.finditer(text):
        if match.end() < len(text) and _ends_no_sentence(text, start, match):
            continue
        parts.append(text[start : match.end()].strip())
        start = match.end()
    rest = text[start:].strip()
    if rest:
        parts.append(rest)
    return parts


CHUNK = 4_000
"""Longer texts are split into sentences in pieces of this many letters."""


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a text."""
    parts: list[str] = []
    while len(text) > CHUNK:
        cut = text.rfind(" ", CHUNK // 2, CHUNK)
        cut = CHUNK if cut < 0 else cut
        parts += sentences(text[:cut])
        text = text[cut:]
    return parts + sentences(text)


_LONGEST_ABBREVIATION = 64
"""Characters before a mark that are compared with abbreviations, with opening quotation marks."""


def _ends_no_sentence(text: str, start: int, match: re.Match[str]) -> bool:
    end = match.end()
    if match.group()[0] not in ".…":
        return False
    following = _NO_SPACE.search(text, end)
    if following and following.group().islower():
        return True
    before = text[max(start, end - _LONGEST_ABBREVIATION) : end].split()
    last = before[-1].lower().lstrip("(\"'“‘[") if before else ""
    if last in _COUNTRIES:
        # "in the U.S. The law ..." is two sentences, "the U.S. Senate" is none.
        start = following.start() if following else len(text)
        next_words = words(text[start : start + 40])
        return not next_words or next_words[0] not in stopwords()
    is_initial = re.fullmatch(r"[^\W\d_]\.", last) is not None and last != "i."
    return is_initial or last in _ABBREVIATIONS


def cut_to_words(text: str, limit: int) -> str:
    """Return the first whole sentences that have at most `limit` words together.

    If the first sentence is longer than the limit, return its first words and an ellipsis.
    """
    if count_words(text) <= limit:
        return text
    fitting: list[str] = []
    room = limit
    for sentence in sentences(text):
        room -= count_words(sentence)
        if room < 0:
            break
        fitting.append(sentence)
    if fitting:
        return " ".join(fitting)
    return " ".join(text.split()[:limit]).rstrip(",;:–—- ") + "…"


def words(text: str) -> list[str]:
    """Lower-cased words without punctuation, with plain apostrophes."""
    return [word.replace("’", "'") for word in _WORD.findall(text.lower())]


def is_negation(word: str) -> bool:
    """Whether a lower-case word is a negation or a contraction with `not`."""
    return word in NEGATIONS or word.endswith("n't")


@lru_cache(maxsize=1_024)
def plain_words(text: str) -> str:
    """Return the words of a text, to compare it without case and punctuation."""
    return " ".join(words(text))


def spaced_words(text: str) -> str:
    """Return the plain words with a space around each, so that none is found within another."""
    return f" {plain_words(text)} "


@cache
def stopwords() -> frozenset[str]:
    """Return function words, without negations."""
    return frozenset(packaged_text(__package__, "stopwords.txt").split())


def content_words(text: str) -> list[str]:
    """Return the words that are no stopwords, in order; negations are kept."""
    return [word for word in words(text) if word not in stopwords()]


def colour_setting() -> bool | None:
    """Whether to use colour: never, always, or (None) on terminals only.

    NO_COLOR and TERM=dumb switch colour off, FORCE_COLOR switches it on; NO_COLOR goes first.
    """
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return False if os.environ.get("TERM") == "dumb" else None


KEY: Final = "OPENAI_API_KEY"
"""Variable with the key of the model's endpoint, which no output may contain."""
HIDDEN: Final = "***"
_SECRETS: Final = (
    KEY,
    "TOUCHE_RAD_TOKEN",
    "TOUCHE_RAD_ES_API_KEY",
    "TOUCHE_RAD_ES_PASSWORD",
)
_NO_SECRETS: Final = frozenset("none null empty dummy test key no-key not-needed".split())
"""Values for servers that need no key."""
_MIN_LENGTH: Final = 6
_MAX_WORD_LENGTH: Final = 15
"""A shorter key, or a plain word ("public"), can occur in any text by chance. Messages and records
of a run hide it as a whole word; the texts of a debate keep it: quotations must be exact."""
_IN_ADDRESS: Final = re.compile(
    r"(?<=://)[^\s/@\"\\]{1,200}@"
    r"|(?<=[?&])((?:[\w-]{0,20}[_-])?(?:key|token|password|secret|signature|apikey)=)[^\s&#\"'\\]+",
    re.IGNORECASE,
)


def redact(text: str) -> str:
    """Return a message with `***` for each key, and for keys and passwords in addresses."""
    if "=" in text or ("@" in text and "://" in text):  # the search takes 0.2 ms in a long prompt
        text = _IN_ADDRESS.sub(lambda match: match[1] + HIDDEN if match[1] else f"{HIDDEN}@", text)
    for key in _keys():
        if _is_common(key):
            text = re.sub(rf"(?<!\w){re.escape(key)}(?!\w)", HIDDEN, text)
    return _without_keys(text)


def excerpt(text: object, limit: int) -> str:
    """Return the beginning of a message on one line; keys are hidden before it is cut."""
    return " ".join(redact(str(text)).split())[:limit]


def _keys() -> list[str]:
    values = {os.environ.get(name, "") for name in _SECRETS}
    return sorted(key for key in values if len(key) > 1 and key.lower() not in _NO_SECRETS)


def _is_common(key: str) -> bool:
    """Whether a key can occur in a text by chance."""
    return len(key) < _MIN_LENGTH or (len(key) <= _MAX_WORD_LENGTH and key.isalpha())


def _without_keys(text: str) -> str:
    """Return a text with `***` for each key, in each of its forms."""
    for key in _keys():
        if not _is_common(key):
            for pattern in _patterns(key):
                text = pattern.sub(HIDDEN, text)
    return text


@lru_cache(maxsize=16)
def _patterns(key: str) -> tuple[re.Pattern[str], ...]:
    """Return patterns of a key and its base64, each character as itself or escaped."""
    data = key.encode("utf-8", "surrogateescape")
    padding = f"(?:{_escaped('=')}){{0,2}}"
    patterns = ["".join(map(_escaped, key))]
    for encode in (b64encode, urlsafe_b64encode):
        encoded = encode(data).decode().rstrip("=")
        patterns.append("".join(map(_escaped, encoded)) + padding)
    return tuple(map(re.compile, patterns))


def _escaped(character: str) -> str:
    """Return a pattern of a character as itself, and as addresses, JSON and Python escape it."""
    data = character.encode("utf-8", "surrogateescape")
    percent = "".join(f"%(?i:{byte:02x})" for byte in data)
    texts = {character, json.dumps(character)[1:-1], ascii(character)[1:-1], repr(data)[2:-1]}
    texts.add({" ": "+", "'": r"\'", "/": r"\/"}.get(character, character))
    return f"(?:{'|'.join([*map(re.escape, sorted(texts)), percent])})"


def map_texts(value: object, change: Callable[[str], str], *, names: bool = False) -> Any:
    """Return JSON data with each of its texts changed; with `names`, those of fields too."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {
            change(name) if names else name: map_texts(inner, change, names=names)
            for name, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [map_texts(inner, change, names=names) for inner in value]
    return value


def key_values(options: Mapping[str, object]) -> list[str]:
    """Return each option as `KEY=VALUE`, as the command line has it: True is `true`."""
    texts = {
        key: str(value).lower() if isinstance(value, bool) else value
        for key, value in options.items()
    }
    return [f"{key}={text}" for key, text in texts.items()]


def redact_line(line: str) -> str:
    """Return a line of a run file with the keys hidden; a JSON line remains valid JSON.

    Words and addresses of the debate are kept, since they may be quoted.
    """
    if _without_keys(line) == line:
        return line
    try:
        return json.dumps(map_texts(json.loads(line), _without_keys), ensure_ascii=False)
    except ValueError:
        return _without_keys(line)


def count_of(number: int, singular: str, plural: str = "") -> str:
    """Return a number with its noun."""
    noun = singular if number == 1 else plural or singular + "s"
    return f"{number} {noun}"
