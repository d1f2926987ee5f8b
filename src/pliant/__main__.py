"""`python -m pliant` is the command `pliant`."""

import sys

from pliant.cli import main

sys.exit(main())
