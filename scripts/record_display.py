"""Records the terminal output of a real run of `wim-edge ask` as docs/ask.svg.

    python scripts/record_display.py [DOCUMENT QUESTION]
"""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

from rich.console import Console

from wim_edge import Runtime, Settings, events
from wim_edge.cli.display import Live

ROOT = Path(__file__).resolve().parent.parent
QUESTION = "How long must the written offer for source code be valid?"


def main() -> None:
    os.chdir(ROOT)  # the place is shown by its path
    document, question = (sys.argv[1:] or ["examples/gpl-3.0.txt", QUESTION])[:2]
    console = Console(record=True, width=100, file=io.StringIO(), force_terminal=True, highlight=False)
    console.print(f'$ wim-edge ask {Path(document).name} "{question}"', style="bold")
    display = Live(console, margins=True)
    # A picture does not move: the live region is drawn once, where the answer begins
    display._live.start = lambda *_, **__: None  # type: ignore[method-assign]
    drawn = False
    with Runtime(Settings(model="smollm2-135m", save=False)) as runtime:
        for event in runtime.stream(document, question):
            if isinstance(event, events.AnswerDelta) and not drawn:
                console.print(display._progress)
                drawn = True
            display.show(event)
    console.save_svg(str(ROOT / "docs" / "ask.svg"), title="wim-edge ask")


if __name__ == "__main__":
    main()
