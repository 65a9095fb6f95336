"""`wim_edge.engine.trial`, whose patience is short: `python -m tests.attack.tried FILE`."""

import sys
from pathlib import Path

from wim_edge.engine import trial

if __name__ == "__main__":
    trial._SECONDS = 1
    sys.exit(trial.main(Path(sys.argv[1]), embeds=False))
