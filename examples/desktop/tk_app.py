"""A desktop program: a text, a question, the margins as they are written, and buttons that end or stop the reading.

    python tk_app.py [FILE [QUESTION]]
    pyinstaller --noconfirm --windowed tk_app.py        a folder that runs where no Python is (docs/embedding.md)

With --answer it asks QUESTION of FILE at once, writes the answer to standard output and ends, as a test does.
"""

import queue
import sys
import threading
import tkinter as tk
from pathlib import Path
from tkinter import filedialog, ttk

from wim_edge import Runtime, Settings, WimEdgeError, events


class ReadingWindow:
    """The window: the model works in a thread, and what it tells reaches the window through a queue."""

    def __init__(self, root: tk.Tk, runtime: Runtime, path: str, question: str) -> None:
        self.root, self.runtime, self.path = root, runtime, path
        self.told: queue.SimpleQueue[events.Event | Exception] = queue.SimpleQueue()
        root.title("wim-edge")
        bar = ttk.Frame(root, padding=6)
        bar.pack(fill="x")
        ttk.Button(bar, text="Open…", command=self.choose).pack(side="left")
        self.entry = ttk.Entry(bar)
        self.entry.insert(0, question)
        self.entry.pack(side="left", fill="x", expand=True, padx=6)
        self.entry.bind("<Return>", lambda _: self.ask())
        ttk.Button(bar, text="Ask", command=self.ask).pack(side="left")
        pressed = {"Answer now": runtime.answer_now, "Stop": runtime.cancel}
        self.stops = [ttk.Button(bar, text=name, command=do, state="disabled") for name, do in pressed.items()]
        for one in self.stops:
            one.pack(side="left", padx=(6, 0))
        panes = ttk.PanedWindow(root, orient="horizontal")
        panes.pack(fill="both", expand=True)
        self.text, self.margins = (tk.Text(panes, wrap="word", width=width, height=30) for width in (70, 45))
        self.text.tag_configure("margin", background="#fff3b0")
        panes.add(self.text, weight=3)
        panes.add(self.margins, weight=2)
        self.state = ttk.Label(root, padding=6, anchor="w", text=f"{path or 'Open a document.'}")
        self.state.pack(fill="x")
        self.thread = threading.Thread()
        self.look()

    def choose(self) -> None:
        """Lets the user choose a document."""
        self.path = filedialog.askopenfilename() or self.path
        self.state["text"] = self.path

    def ask(self) -> None:
        """Puts the question; the answer comes through `look`."""
        if self.path and self.entry.get().strip() and not self.thread.is_alive():
            self.margins.delete("1.0", "end")
            self.let_stop("normal")
            self.thread = threading.Thread(target=self.work, args=(self.path, self.entry.get()), daemon=True)
            self.thread.start()

    def work(self, path: str, question: str) -> None:
        """Asks in a thread of its own."""
        try:
            from wim_edge.documents import read_document

            document = read_document(path)
            self.root.after(0, self.show, document.text)
            for event in self.runtime.stream(document, question):
                self.told.put(event)
        except (WimEdgeError, OSError) as error:
            self.told.put(error)

    def let_stop(self, state: str) -> None:
        for one in self.stops:
            one["state"] = state

    def show(self, text: str) -> None:
        """Shows the document."""
        self.text.delete("1.0", "end")
        self.text.insert("1.0", text)

    def look(self) -> None:
        """Shows what was told since the last look."""
        while not self.told.empty():
            match self.told.get():
                case events.ReadingProgress(tokens=tokens, of=of):
                    self.state["text"] = f"{tokens:,} of {of:,} tokens"
                case events.MarginJudged(relevant=True) as margin:
                    self.margins.insert("end", f"{margin.text}\n\n")
                    if margin.quote:
                        start, end = margin.quote
                        self.text.tag_add("margin", f"1.0+{start}c", f"1.0+{end}c")
                        self.text.see(f"1.0+{start}c")
                case events.AnswerFinished() as answer:
                    self.margins.insert("end", f"{answer.text}\n")
                    self.finish(answer.text, f"{answer.status}, sources: {len(answer.sources)}")
                case Exception() as error:
                    self.finish(f"error: {error}", str(error))
        self.root.after(50, self.look)

    def finish(self, answer: str, state: str) -> None:
        """Ends a question."""
        self.let_stop("disabled")
        self.state["text"] = state
        if "--answer" in sys.argv:
            sys.stdout.write(f"{answer}\n")
            sys.stdout.flush()
            self.root.after(200, self.root.destroy)


def main() -> None:
    """Opens the window."""
    given = [*(one for one in sys.argv[1:] if one != "--answer"), "", ""]
    with Runtime(Settings()) as runtime:
        root = tk.Tk()
        window = ReadingWindow(root, runtime, str(Path(given[0]).absolute()) if given[0] else "", given[1])
        if "--answer" in sys.argv:
            root.after(100, window.ask)
        root.mainloop()


if __name__ == "__main__":
    main()
