"""`python -m ecotone`, where the entry point is not on PATH."""

import sys

from ecotone.cli import main

sys.exit(main())
