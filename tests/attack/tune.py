"""`wim-edge tune` with short measurements: the attack is on the files that it writes."""

from unittest.mock import patch

from wim_edge.__main__ import main
from wim_edge.engine import tune

if __name__ == "__main__":
    with patch.multiple(tune, PREFILL_SECONDS=0.0, DECODE_SECONDS=0.0):
        main()
