"""A text of a mill, a scripted model, and what it is asked."""

from __future__ import annotations

from wim_edge import Document, Runtime, Settings, events
from wim_edge.support import SupportWeights
from wim_edge.testing import FakeModel

MILL = "The mill stood by the river. Dr. A. Brandt bought it in 1921. She paid 4,000 crowns for the old mill."
TABLE = "| Name | Room |\n| --- | --- |\n| Ada Quill | 12 |\n| Hugo Tindall | 14 |\n"
SURE, UNSURE, NONE = (SupportWeights(bias, 0, 0, 0, 0) for bias in (3, -0.5, -3))


def ask(
    text: str | Document, question: str, says: str, support: SupportWeights = SURE, **settings: object
) -> events.AnswerFinished:
    def reply(prompt: str) -> str:
        return says if "Answer with a few words" in prompt else "Dr. Brandt paid 5,000 crowns."

    document = Document("mill.txt", text) if isinstance(text, str) else text
    chosen = Settings(pattern="wim-shallow", prose=False, save=False).with_changes(**settings)
    with Runtime(chosen, model=FakeModel(reply)) as runtime:
        runtime._loaded.support = support
        return runtime.ask(document, question)
