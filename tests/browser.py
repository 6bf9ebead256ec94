"""Pages in Debian's Chromium: fixtures for tests marked `services`.

`browser` belongs to a module, because Playwright keeps an event loop running in the test's thread:
code that calls `asyncio.run` must run in another thread or process while a browser is open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

PHONE, LAPTOP = {"width": 390, "height": 844}, {"width": 1280, "height": 800}
TABLET = {"width": 768, "height": 1024}
OpenPage = Callable[..., Any]


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Any]:
    """Chromium, for all tests of a module."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield made
        made.close()


@pytest.fixture
def open_page(browser: Any) -> Iterator[OpenPage]:
    """Open an address: `open_page(url, phone=False, dark=False)`.

    The test fails if a script of the page fails, if its policy refused something, or if it asked
    for an address outside of the machine; `errors=False` allows it.
    """
    contexts, problems = [], []

    def open_one(
        url: str, *, phone: bool = False, dark: bool = False, errors: bool = True, **more: Any
    ) -> Any:
        context = browser.new_context(
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce",
            **{"viewport": PHONE if phone else LAPTOP, **more},
        )
        contexts.append(context)
        context.set_default_timeout(15_000)
        page = context.new_page()
        if errors:
            page.on("pageerror", lambda error: problems.append(f"error: {error}"))
            page.on("console", lambda line: _note_refusal(line, problems))
        page.on("request", lambda request: _note_request(request.url, problems))
        page.goto(url)
        return page

    yield open_one
    for context in contexts:
        context.close()
    assert problems == []


def _note_refusal(line: Any, problems: list[str]) -> None:
    if "Content Security Policy" in line.text:
        problems.append(line.text)


def _note_request(url: str, problems: list[str]) -> None:
    local = ("file:", "data:", "blob:", "about:", "http://127.0.0.1:", "http://localhost:")
    if not url.startswith(local):
        problems.append(f"request to {url}")


def assert_accessible(page: Any) -> None:
    """Check that axe finds nothing serious or critical."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    serious = [
        f"{one['id']}: {one['help']}: {[node['target'] for node in one['nodes']][:5]}"
        for one in found
        if one["impact"] in ("serious", "critical")
    ]
    assert serious == []


def assert_count(place: Any, selector: str, count: int) -> None:
    """Check how many elements a page, or a part of one, has."""
    assert place.locator(selector).count() == count, selector


def assert_fits(page: Any) -> None:
    """Check that the page is not wider than the window."""
    wide = page.evaluate(
        "[...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right >"
        " innerWidth + 1 && getComputedStyle(e).position !== 'absolute').map(e => e.outerHTML.slice(0, 90))"
    )
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), wide[:5]
