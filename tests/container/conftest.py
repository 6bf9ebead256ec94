"""The slim image, built once for all that is asked of it."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.container.building import Image, base_image, build, buildah, needed


@pytest.fixture(scope="session")
def image() -> Iterator[Image]:
    needed()
    tag = f"localhost/touche-rad-test:slim-{os.getpid()}"  # another run may build its own
    with base_image() as base:
        build(tag, BASE=base)
        yield Image(tag, base)
        buildah("rmi", tag)
