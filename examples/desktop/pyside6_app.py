"""The program of tk_app.py in Qt: a text, a question, the margins as they are written, and buttons that stop it.

    python pyside6_app.py [FILE [QUESTION]]             with PySide6-Essentials; docs/embedding.md freezes it

With --answer it asks QUESTION of FILE at once, writes the answer to standard output and ends, as a test does.
"""

import sys
import threading
from pathlib import Path

from PySide6 import QtCore, QtGui, QtWidgets

from wim_edge import Document, Runtime, Settings, WimEdgeError, events, read_document


class ReadingWindow(QtWidgets.QWidget):
    """The window: the model works in a thread, and what it tells reaches the window by a signal."""

    told = QtCore.Signal(object)

    def __init__(self, runtime: Runtime, path: str, question: str) -> None:
        super().__init__(windowTitle="wim-edge")
        self.runtime, self.path, self.shown = runtime, path, ""
        self.thread_ = threading.Thread()
        self.told.connect(self.show_told)
        self.entry = QtWidgets.QLineEdit(question, returnPressed=self.ask)
        self.text, self.margins = (QtWidgets.QPlainTextEdit(readOnly=True) for _ in range(2))
        self.state = QtWidgets.QLabel(path or "Open a document.")
        pressed = {"Open…": self.choose, "Ask": self.ask, "Answer now": runtime.answer_now, "Stop": runtime.cancel}
        choose, ask, *self.stops = (QtWidgets.QPushButton(name, clicked=do) for name, do in pressed.items())
        bar, panes, layout = [choose, self.entry, ask, *self.stops], QtWidgets.QSplitter(), QtWidgets.QGridLayout(self)
        for column, one in enumerate(bar):
            layout.addWidget(one, 0, column)
        panes.addWidget(self.text)
        panes.addWidget(self.margins)
        panes.setSizes([600, 400])
        for row, one in ((1, panes), (2, self.state)):
            layout.addWidget(one, row, 0, 1, len(bar))
        layout.setRowStretch(1, 1)
        self.let_stop(False)
        self.resize(1000, 620)

    def choose(self) -> None:
        """Lets the user choose a document."""
        self.path = QtWidgets.QFileDialog.getOpenFileName(self)[0] or self.path
        self.state.setText(self.path)

    def ask(self) -> None:
        """Puts the question; the answer comes through `show_told`."""
        if self.path and self.entry.text().strip() and not self.thread_.is_alive():
            self.margins.clear()
            self.text.setExtraSelections([])
            self.thread_ = threading.Thread(target=self.work, args=(self.path, self.entry.text()))
            self.thread_.start()
            self.let_stop(True)

    def work(self, path: str, question: str) -> None:
        """Asks in a thread of its own; tells the document, then each event, or the error."""
        try:
            document = read_document(path)
            self.told.emit(document)
            for event in self.runtime.stream(document, question):
                self.told.emit(event)
        except (WimEdgeError, OSError) as error:
            self.told.emit(error)

    def let_stop(self, enabled: bool) -> None:
        for one in self.stops:
            one.setEnabled(enabled)

    def show_told(self, told: object) -> None:
        """Shows the document, an event or an error."""
        match told:
            case Document(text=text):
                self.shown = text
                self.text.setPlainText(text)
            case events.ReadingProgress(tokens=tokens, of=of):
                self.state.setText(f"{tokens:,} of {of:,} tokens")
            case events.MarginJudged(relevant=True) as margin:
                self.margins.appendPlainText(f"{margin.text}\n")
                if margin.quote:
                    self.mark(*margin.quote)
            case events.AnswerFinished() as answer:
                self.margins.appendPlainText(answer.text)
                self.finish(answer.text, f"{answer.finish_reason}: {answer.status}, sources: {len(answer.sources)}")
            case Exception() as error:
                self.finish(f"error: {error}", str(error))

    def mark(self, start: int, end: int) -> None:
        """Marks characters of the text, and shows them; Qt counts characters in UTF-16."""
        first, last = (len(self.shown[:at].encode("utf-16-le")) // 2 for at in (start, end))
        found, cursor = QtWidgets.QTextEdit.ExtraSelection(), QtGui.QTextCursor(self.text.document())
        cursor.setPosition(first)
        self.text.setTextCursor(cursor)
        cursor.setPosition(last, QtGui.QTextCursor.MoveMode.KeepAnchor)
        found.cursor = cursor
        found.format.setBackground(QtGui.QColor("#fff3b0"))
        self.text.setExtraSelections([*self.text.extraSelections(), found])
        self.text.centerCursor()

    def finish(self, answer: str, state: str) -> None:
        """Ends a question."""
        self.let_stop(False)
        self.state.setText(state)
        if "--answer" in sys.argv:
            sys.stdout.write(f"{answer}\n")
            sys.stdout.flush()
            QtCore.QTimer.singleShot(200, self.close)

    def closeEvent(self, event: QtGui.QCloseEvent) -> None:
        """Stops the reading, and waits for its thread."""
        while self.thread_.is_alive():
            self.runtime.cancel()
            self.thread_.join(0.1)


def main() -> None:
    """Opens the window."""
    given = [*(one for one in sys.argv[1:] if one != "--answer"), "", ""]
    app = QtWidgets.QApplication([])
    with Runtime(Settings()) as runtime:
        window = ReadingWindow(runtime, str(Path(given[0]).absolute()) if given[0] else "", given[1])
        window.show()
        if "--answer" in sys.argv:
            QtCore.QTimer.singleShot(100, window.ask)
        app.exec()


if __name__ == "__main__":
    main()
