"""A run that is played back."""

from __future__ import annotations


class Playback:
    pass
