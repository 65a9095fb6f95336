"""`wim-edge tune` with short measurements: the attack is on the files that it writes."""

from unittest.mock import patch

from wim_edge import tuned
from wim_edge.__main__ import main

if __name__ == "__main__":
    with patch.multiple(tuned, PREFILL_SECONDS=0.0, DECODE_SECONDS=0.0):
        main()
