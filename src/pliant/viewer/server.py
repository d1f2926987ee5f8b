"""The server that a browser talks to."""

from __future__ import annotations

import contextlib
import io
import logging
import socket
from typing import Any, Final

from pliant.errors import InputError
from pliant.viewer.packages import packages

HOST: Final = "127.0.0.1"  # this machine alone: whoever reaches the server can steer the simulation
PORT: Final = 8080
# viser fades the picture in while it loads its light, and stays halfway where that is loaded twice.
OPAQUE: Final = "<style>canvas{opacity:1!important}</style>"
WIDTH: Final = 340  # of the panel [px]


def open_server(host: str = HOST, port: int = PORT) -> Any:
    """A viser.ViserServer on this port, or on the next that is free; 0: on any."""
    viser, _ = packages()
    if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port <= 65535:
        raise InputError(f"port must be a whole number from 0 to 65535, got {port!r}")
    _check_host(host)
    logging.getLogger("websockets.server").addFilter(_no_handshake)  # once: the same filter is not added again
    with contextlib.redirect_stdout(io.StringIO()):  # viser's own banner
        server = viser.ViserServer(host=host, port=port, label="pliant", verbose=False)
    # The button would ask a stranger's server for a public address.
    server.gui.configure_theme(show_share_button=False, show_logo=False, brand_color=(0, 114, 178))
    server.gui.set_panel_label("pliant")
    server.gui.main_panel.dock_right()
    server.gui.main_panel.set_width(WIDTH)
    return server


def _no_handshake(record: logging.LogRecord) -> bool:
    """Whether to keep a record: one of a program that asks for something else than a page, such as `curl -I`, is a
    traceback that is nobody's error."""
    return record.getMessage() != "opening handshake failed"


def close_server(server: Any) -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        server.stop()


def address(server: Any) -> str:
    """Where a browser of this machine finds it."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(server.get_host(), str(server.get_host()))
    return f"http://{f'[{host}]' if ':' in host else host}:{server.get_port()}"


def is_private(host: str) -> bool:
    """Whether only this machine reaches it."""
    return host in ("localhost", "::1") or host.startswith("127.")


def _check_host(host: str) -> None:
    """viser would take the port for the one that is taken, and try the next, and the next."""
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.bind(place)
    except OSError as error:
        raise InputError(
            f"host {host!r} is no address of this machine ({error}): use 127.0.0.1 for this machine alone, 0.0.0.0 "
            "for whoever reaches it"
        ) from error
