"""viser and mjviser, which come with an extra."""

from __future__ import annotations

from typing import Any

from pliant.errors import missing_extra


def packages() -> tuple[Any, Any]:
    """(viser, mjviser)."""
    try:
        import mjviser
        import viser
    except ModuleNotFoundError as error:
        missing_extra(error.name or "mjviser", "viewer")
    return viser, mjviser
