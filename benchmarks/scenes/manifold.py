"""Contacts remembered from step to step: their names, and those that a collision routine loses for a step.

Between boxes MuJoCo reports either the corners of a face or a single point of an edge, and changes its mind
from step to step: a box at rest loses three of its four supports, tips, gets them back pressed in, and so on.
Here a contact that is no longer reported stays as long as its two witness points stay opposite each other.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from benchmarks.scenes.stepping import Array, Ints

SAME = 0.01  # contacts of a pair nearer than this are one [m]
DRIFT = 0.002  # a contact whose points have moved apart sideways by more than this is forgotten [m]


class Frames(NamedTuple):
    """Where the bodies are: body b is at position[b], turned by rotation[b]; body 0 is the world."""

    position: Array  # (bodies, 3)
    rotation: Array  # (bodies, 3, 3)

    def out(self, body: Ints, local: Array) -> Array:
        """Points of bodies in world axes, (n, 3)."""
        return np.asarray(self.position[body] + np.einsum("nij,nj->ni", self.rotation[body], local))

    def into(self, body: Ints, point: Array) -> Array:
        """Points in the axes of bodies, (n, 3)."""
        return np.asarray(np.einsum("nji,nj->ni", self.rotation[body], point - self.position[body]))


class Contacts(NamedTuple):
    """n contacts as they are now."""

    pair: Ints  # (n,) names the two geoms
    bodies: Ints  # (n, 2)
    gap: Array  # (n,) [m]
    point: Array  # (n, 3) midway between the surfaces
    axes: Array  # (n, 3, 3) normal from the first body to the second, two tangents
    name: Ints  # (n,)

    def take(self, which: Array) -> Self:
        """Those chosen by a mask."""
        return self._replace(**{field: values[which] for field, values in self._asdict().items()})

    def within(self, reach: Array) -> Self:
        """Those that can close."""
        return self.take(self.gap <= reach[self.bodies].sum(axis=1))


class Manifold:
    """The memory: witness points in the axes of their bodies."""

    def __init__(self) -> None:
        self._next = 0
        self._last: Contacts | None = None
        self._witness = (np.zeros((0, 3)), np.zeros((0, 3)))

    def update(self, found: Contacts, frames: Frames, reach: Array) -> Contacts:
        """`found` with names, and after them the contacts that were lost but still hold.

        reach: how far the surface of each body can come within the step, (bodies,); contacts farther apart
        than that are left out.
        """
        found, old = found.within(reach), self._moved(frames, reach)
        name = np.full(len(found.gap), -1)
        if old is not None and len(old.gap) and len(name):
            far = np.linalg.norm(found.point[:, None] - old.point[None], axis=2)
            far[found.pair[:, None] != old.pair[None]] = np.inf
            nearest = far.argmin(axis=1)
            mutual = (far.argmin(axis=0)[nearest] == np.arange(len(name))) & (far.min(axis=1) < SAME)
            name[mutual] = old.name[nearest[mutual]]
            old = old.take(far.min(axis=0) >= SAME)
        fresh = name < 0
        name[fresh] = self._next + np.arange(np.count_nonzero(fresh))
        self._next += int(np.count_nonzero(fresh))
        found = found._replace(name=name)
        if old is not None:
            found = Contacts(*(np.concatenate([new, kept]) for new, kept in zip(found, old, strict=True)))
        self._remember(found, frames)
        return found

    def _remember(self, contacts: Contacts, frames: Frames) -> None:
        half = 0.5 * contacts.gap[:, None] * contacts.axes[:, 0]
        first, second = contacts.bodies.T
        self._witness = frames.into(first, contacts.point - half), frames.into(second, contacts.point + half)
        # the axes turn with the first body
        local = np.einsum("nai,nij->naj", contacts.axes, frames.rotation[first])
        self._last = contacts._replace(axes=local)

    def _moved(self, frames: Frames, reach: Array) -> Contacts | None:
        """The remembered contacts where their bodies are now, less those that no longer hold."""
        if self._last is None:
            return None
        first, second = self._last.bodies.T
        a, b = frames.out(first, self._witness[0]), frames.out(second, self._witness[1])
        axes = np.einsum("naj,nij->nai", self._last.axes, frames.rotation[first])
        gap = np.einsum("ni,ni->n", axes[:, 0], b - a)
        drift = np.linalg.norm(b - a - gap[:, None] * axes[:, 0], axis=1)
        moved = self._last._replace(gap=gap, point=0.5 * (a + b), axes=axes)
        return moved.take(drift < DRIFT).within(reach)
