"""What a process is like after hundreds of questions: its memory, its open files, its speed, and the saved readings.

    python scripts/bench_long.py [--questions 500] [--documents 20] [--model NAME]
    python scripts/bench_long.py --minutes 10 --processes 2      at once, on the same documents and the same folder

The documents are parts of the GPL, 400 characters each; the saved readings may take a third of what they all need, so
that they give way.
"""

from __future__ import annotations

import argparse
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

from wim_edge import Document, Runtime, Settings
from wim_edge.library import ReadingStore

TEXT = Path(__file__).parents[1] / "examples" / "gpl-3.0.txt"
ASKED = ("What is allowed here?", "Who may copy it?", "What is said of patents?", "What does a user have to do?")
WARM = 10
"""Questions after which memory counts."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=500)
    parser.add_argument("--documents", type=int, default=20)
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--minutes", type=float, help="so long, not so many questions")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--readings", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.readings is not None:
        sys.exit(ask(given))
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, *sys.argv[1:], "--readings", folder]
        running = [subprocess.Popen(command) for _ in range(given.processes)]
        sys.exit(max([process.wait() for process in running]))


def ask(given: argparse.Namespace) -> int:
    """Ask and measure; 1 where more is held at the end than 2% above what was held when it was warm."""
    text, me, rng = TEXT.read_text(encoding="utf-8"), psutil.Process(), random.Random(7)
    size = 400
    documents = [Document(f"part {at}", text[at * size : (at + 1) * size]) for at in range(given.documents)]
    settings = Settings.from_environment().with_changes(
        model=given.model, segment_tokens=128, answer_tokens=4, readings=given.readings
    )
    end = None if given.minutes is None else time.monotonic() + 60 * given.minutes
    seconds: list[float] = []
    warm, resident, files, reused = 0, [], [], 0
    with Runtime(settings) as runtime:
        one = runtime.ask(documents[0], ASKED[0])
        limit = ReadingStore.of(settings).index.total() * given.documents // 3
        runtime = runtime.with_changes(readings_bytes=limit)
        while len(seconds) < given.questions if end is None else time.monotonic() < end:
            asked = documents[rng.randrange(len(documents))] if len(seconds) >= WARM else documents[len(seconds)]
            begun = time.perf_counter()
            one = runtime.ask(asked, rng.choice(ASKED))
            seconds.append(time.perf_counter() - begun)
            reused += bool(one.usage.reused_tokens)
            resident.append(me.memory_info().rss)
            files.append(getattr(me, "num_fds" if hasattr(me, "num_fds") else "num_handles")())
            if len(seconds) % 50 == 0 or len(seconds) == WARM:
                now = f"{resident[-1] / 1e6:6.0f} MB, {files[-1]} files, {seconds[-1]:.1f} s"
                print(f"{len(seconds):5}: {now}", flush=True)
        held = ReadingStore.of(settings).index.total()
    warm, last = max(resident[:WARM]), max(resident[-50:])
    half = len(seconds) // 2
    print(f"{len(seconds)} questions of {len(documents)} documents, {reused} of them on a text that was known")
    print(f"memory: {warm / 1e6:.0f} MB until the tenth, {last / 1e6:.0f} MB in the last 50: {last / warm - 1:+.1%}")
    print(f"open files: {max(files[:WARM])} until the tenth, {max(files[-50:])} in the last 50")
    print(f"seconds a question, median: {statistics.median(seconds[WARM:half]):.2f} in the first half, "
          f"{statistics.median(seconds[half:]):.2f} in the second")  # fmt: skip
    print(f"saved readings: {held / 1e6:.0f} MB of at most {limit / 1e6:.0f}")
    return int(last > 1.02 * warm or max(files[-50:]) > max(files[:WARM]) or held > limit)


if __name__ == "__main__":
    main()
