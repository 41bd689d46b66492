"""`python -m ecotone.cli.reference FOLDER`: writes the reference pages."""

from __future__ import annotations

import sys
from pathlib import Path

from ecotone.cli.reference import write_pages

if __name__ == "__main__":
    write_pages(Path(sys.argv[1]))
