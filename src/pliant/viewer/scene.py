"""What is in the picture: the bodies, what is drawn over them, and the place that the camera looks at."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from pliant.viewer.bodies import Bodies, aim, place_of
from pliant.viewer.moment import Moment
from pliant.viewer.overlays import Overlays
from pliant.viewer.playback import Playback
from pliant.viewer.source import Source
from pliant.viewer.survey import place_of_run


class Scene:
    """For a run, the camera sees all of it, and the scales are those of all of it."""

    def __init__(self, server: Any, source: Source, *, show: Iterable[str], see_through: bool) -> None:
        self._server, self._source = server, source
        self.moment: Moment = source.look()
        place = place_of_run(source) if isinstance(source, Playback) else place_of(source.model, source.shown)
        aim(server, place)
        self.bodies = Bodies(server, source.model, see_through=see_through)
        self.overlays = Overlays(server, source.model, place.size, show=show)
        if isinstance(source, Playback):
            self.overlays.survey(source.survey())

    def draw(self, *, everything: bool = False) -> None:
        """What the source shows now. everything: also what is hidden, for an exported page."""
        self.moment = self._source.look()
        with self._server.atomic():
            self.bodies.draw(self._source.shown)
            self.overlays.move(self.bodies.offset)
            self.overlays.update(self.moment, self._source.shown, everything=everything)

    def follow(self, wanted: bool) -> None:
        """Keep the first body that moves where it is in the picture, or let it go."""
        before = np.array(self.bodies.offset)
        self.bodies.follow(wanted)
        self.draw()
        moved = np.array(self.bodies.offset) - before
        for client in self._server.get_clients().values():  # who has turned the camera keeps the view
            client.camera.position = np.array(client.camera.position) + moved
