"""`wim_edge.engine.load_check` with little patience: `python -m tests.attack.tried FILE`."""

import sys
from pathlib import Path
from unittest.mock import patch

from wim_edge.engine import load_check

if __name__ == "__main__":
    with patch.object(load_check, "_SECONDS", 1):
        sys.exit(load_check.main(Path(sys.argv[1]), embeds=False))
