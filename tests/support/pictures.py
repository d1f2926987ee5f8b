"""Draw the pictures of docs/plots.md again: `python -m tests.support.pictures`."""

from pathlib import Path
from unittest.mock import patch

from tests.test_docs import ROOT, run

FOLDER = ROOT / "docs" / "images" / "plots"


def draw(folder: Path = FOLDER) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with patch("tempfile.mkdtemp", return_value=str(folder)):  # where its blocks save them
        run(ROOT / "docs" / "plots.md")


if __name__ == "__main__":
    draw()
