"""An embedding model tells which segments are read first."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tests.embedder import FakeEmbedder
from tests.reading.island import SMALL, finished, read, reply, shown, text
from tests.tiny import write_tiny_embedder
from wim_edge import Document, Runtime, Settings, events, loaded_models
from wim_edge.errors import ModelFileError
from wim_edge.library import ReadingStore
from wim_edge.loaded_models import LoadedModels
from wim_edge.reading.ranking import AFTER, AT_ONCE, outlook
from wim_edge.testing import FakeModel

GOLD = "In the end Ottilie Brandt discovered the hoard beneath the old lighthouse; the treasure was hers. "
MODEL = FakeModel(reply)
QUESTION = "Whose luck was it?"  # no word of it stands there


def near(text: str) -> float:
    return 0.9 if "treasure" in text else 0.5 + len(text) % 7 / 100


def asked(runtime: Runtime, n: int, gold: int) -> list[events.Event]:
    return list(runtime.stream(Document("d", text(n, gold, GOLD)), QUESTION))


def keeping(readings: Path, embedder: FakeEmbedder) -> Runtime:
    return Runtime(SMALL.with_changes(save=True, readings=readings), model=MODEL, embedder=embedder)


def test_what_is_near_comes_first_though_it_shares_no_word() -> None:
    with Runtime(SMALL, model=FakeModel(reply)) as words_alone:
        assert finished(asked(words_alone, 46, 40)).status == "not_found"
    embedder = FakeEmbedder(near)
    with Runtime(SMALL, model=FakeModel(reply), embedder=embedder) as runtime:
        found = asked(runtime, 46, 40)
    last = finished(found)
    assert last.text.startswith("Ottilie Brandt")
    assert last.read_segments < 8
    orders = [event.segments for event in found if isinstance(event, events.ReadingOrder)]
    assert read(found)[AFTER:] == list(orders[-1][: last.read_segments - AFTER])
    told = [(event.segments, event.of) for event in found if isinstance(event, events.SegmentsEmbedded)]
    assert told[-1] == (last.segments, last.segments)
    assert len(embedder.embedded) == last.segments
    assert "embed" in last.usage.seconds
    assert not embedder.closed  # it is its maker's


def test_of_a_long_text_those_that_promise_most_are_embedded_and_reading_on_goes_further() -> None:
    document, embedder = Document("d", text(300, 290, GOLD)), FakeEmbedder(near)
    with Runtime(SMALL, model=FakeModel(reply), embedder=embedder) as runtime:
        first = runtime.ask(document, QUESTION)
        assert len(embedder.embedded) == AT_ONCE
        assert first.text.startswith("Perhaps: nothing")
        first = runtime.ask(document, QUESTION, read_on=True)
    assert first.text.startswith("Ottilie Brandt")
    assert GOLD[:40] in shown(document, first)
    assert len(embedder.embedded) == len(set(embedder.embedded)) <= first.segments
    assert first.read_segments < first.segments


def test_vectors_are_kept_with_the_reading_and_go_with_it(tmp_path: Path) -> None:
    embedder = FakeEmbedder(near)
    for _ in range(2):
        with keeping(tmp_path, embedder) as runtime:
            first = finished(asked(runtime, 20, 15))
    assert first.text.startswith("Ottilie Brandt")
    assert len(embedder.embedded) == first.segments  # once
    library = ReadingStore(tmp_path)
    before = library.index.total()
    library.clear()
    assert before > library.index.total() == 0
    with keeping(tmp_path, embedder) as runtime:
        asked(runtime, 20, 15)
    assert len(embedder.embedded) == 2 * first.segments


def test_damaged_vectors_are_made_anew(tmp_path: Path) -> None:
    embedder = FakeEmbedder(near)
    with keeping(tmp_path, embedder) as runtime:
        asked(runtime, 20, 15)
    n = len(embedder.embedded)
    with sqlite3.connect(tmp_path / "index.sqlite") as db:
        rows = [digest for (digest,) in db.execute("SELECT digest FROM vector ORDER BY digest LIMIT 5")]
        damages = [b"", b"\x00" * 6, b"\x00\x7e" * 2, b"\x00" * 3, "text"]  # of another length, no numbers, none
        for digest, data in zip(rows, damages, strict=True):
            db.execute("UPDATE vector SET data = ? WHERE digest = ?", (data, digest))
    with keeping(tmp_path, embedder) as runtime:
        assert finished(asked(runtime, 20, 15)).text.startswith("Ottilie Brandt")
    assert len(embedder.embedded) == n + 5


def test_an_embedder_that_makes_no_numbers_is_as_none() -> None:
    with Runtime(SMALL, model=FakeModel(reply), embedder=FakeEmbedder(lambda _: float("nan"))) as runtime:
        last = finished(asked(runtime, 20, 15))
    assert last.segments > last.read_segments or last.unread_probability == 0.0


def test_a_text_read_ahead_is_embedded_whole(tmp_path: Path) -> None:
    embedder = FakeEmbedder(near)
    with keeping(tmp_path, embedder) as runtime:
        list(runtime.read(Document("d", text(132, 101, GOLD))))
        n = len(embedder.embedded)
        assert n >= 132
        last = finished(asked(runtime, 132, 101))
    assert n == len(embedder.embedded) == last.segments


def test_what_was_embedded_before_it_is_cancelled_is_kept(tmp_path: Path) -> None:
    embedder = FakeEmbedder(near)
    with keeping(tmp_path, embedder) as runtime:
        for event in runtime.stream(Document("d", text(40, 30, GOLD)), QUESTION):
            if isinstance(event, events.SegmentsEmbedded) and event.segments >= 16:
                runtime.cancel()
        assert isinstance(event, events.AnswerFinished)
        assert event.finish_reason == "cancelled"
        n = len(embedder.embedded)
        assert n < 40
        last = finished(asked(runtime, 40, 30))
    assert last.text.startswith("Ottilie Brandt")
    assert len(embedder.embedded) == last.segments + (len(embedder.embedded) - len(set(embedder.embedded)))
    assert embedder.embedded[n] not in embedder.embedded[:16]


def test_tables_of_contents_stay_last() -> None:
    ahead = outlook(["A word.", "The treasure ....... 3\nThe island . . . . . 7\n", "Other words."], "What?", [0] * 3)
    assert ahead.nearer({0: 0.1, 1: 0.9, 2: 0.5}).order == (2, 0, 1)


def test_a_pattern_that_reads_in_order_says_that_it_is_not_used(tmp_path: Path) -> None:
    settings = SMALL.with_changes(pattern="wim", embedding_model=str(tmp_path / "none.gguf"))
    with Runtime(settings, model=FakeModel(reply)) as runtime:
        warnings = [event.text for event in asked(runtime, 4, 2) if isinstance(event, events.Warning)]
    assert "the embedding model is not used: wim reads in the order of the document" in warnings


@pytest.mark.real
def test_a_file_is_loaded_by_its_path(tmp_path: Path) -> None:
    file = write_tiny_embedder(tmp_path / "tiny.gguf")
    settings = SMALL.with_changes(embedding_model=str(file))
    with Runtime(settings, model=FakeModel(reply)) as runtime:
        found = asked(runtime, 20, 15)
        assert finished(found).text
        assert [event for event in found if isinstance(event, events.SegmentsEmbedded)]
        other = runtime.with_changes(answer_tokens=4)
        assert finished(asked(other, 20, 15)).text
    none = settings.with_changes(embedding_model="none.gguf")
    with pytest.raises(ModelFileError), Runtime(none, model=FakeModel(reply)) as bad:
        asked(bad, 4, 2)


@pytest.mark.parametrize(
    ("segments", "question", "is_used"),
    [(40, QUESTION, True), (4, QUESTION, False), (40, "Чья это была удача?", False), (40, "12 + 3?", True)],
)
def test_the_usual_scout_helps_with_long_texts_in_latin_letters(
    monkeypatch: pytest.MonkeyPatch, segments: int, question: str, is_used: bool
) -> None:
    embedder = FakeEmbedder(near)
    monkeypatch.setattr(LoadedModels, "embedder_name", "scout")
    monkeypatch.setattr(loaded_models, "resolve", lambda name: name)
    monkeypatch.setattr(loaded_models, "open_embedder", lambda found, settings: embedder)
    with Runtime(SMALL, model=FakeModel(reply)) as runtime:
        list(runtime.stream(Document("d", text(segments, segments - 2, GOLD)), question))
    assert bool(embedder.embedded) == is_used
    assert embedder.closed == is_used


def test_a_usual_scout_that_cannot_be_loaded_is_left_out_with_a_warning(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    damaged = tmp_path / "scout.gguf"
    damaged.write_bytes(b"GGUF")
    monkeypatch.setattr(LoadedModels, "embedder_name", str(damaged))
    with Runtime(SMALL, model=FakeModel(reply)) as runtime:
        found = asked(runtime, 40, 2)
    warnings = [event.text for event in found if isinstance(event, events.Warning)]
    assert any("is not used" in text and "models pull" in text for text in warnings)
    assert finished(found).text
    with pytest.raises(ModelFileError), Runtime(SMALL.with_changes(embedding_model=str(damaged)),
                                                model=FakeModel(reply)) as named:  # fmt: skip
        asked(named, 40, 2)


def test_a_scout_is_loaded_once_and_closed_with_the_runtime(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[FakeEmbedder] = []
    monkeypatch.setattr(loaded_models, "resolve", lambda name: name)
    monkeypatch.setattr(
        loaded_models, "open_embedder", lambda found, settings: opened.append(FakeEmbedder(near)) or opened[-1]
    )
    with Runtime(SMALL, model=FakeModel(reply)) as runtime:
        for name in ("one", "one", "other"):
            asked(runtime.with_changes(embedding_model=name), 20, 15)
        assert [one.closed for one in opened] == [False, False]
    assert [one.closed for one in opened] == [True, True]


def test_none_is_no_scout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loaded_models, "is_here", lambda name: True)
    assert LoadedModels(Settings()).embedder_name == "all-minilm-l6-v2"
    assert LoadedModels(Settings(embedding_model="none")).embedder_name is None
    assert LoadedModels(Settings(embedding_model="e5.gguf")).embedder_name == "e5.gguf"
    assert LoadedModels(Settings(), FakeModel(reply)).embedder_name is None
