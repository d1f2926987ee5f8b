"""Scenes give an engine some seconds: what is compiled first is not of them."""

from __future__ import annotations

import pytest

from pliant.bench import trust


@pytest.fixture(scope="session")
def compiled() -> None:
    trust.compile_first()
