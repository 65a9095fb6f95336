"""`wim-edge tune` that measures for a moment only: what is attacked is what it writes."""

from wim_edge.__main__ import main
from wim_edge.engine import tune

if __name__ == "__main__":
    tune._SECONDS = 0.0
    main()
