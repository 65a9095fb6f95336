"""The roles of models for one question: which one reads and judges, and which one writes the answer. In shallow reading
the judge reads, scores, points, and decides whether the documents answer at all; the writer gets only the chosen
passages. Readings are saved for the judge, so they serve every writer."""

from __future__ import annotations

from collections.abc import Sequence as Seq
from dataclasses import dataclass, replace

from wim_edge import tuned
from wim_edge.catalog.entry import WORKING_SPACE
from wim_edge.documents import Document
from wim_edge.errors import ModelError
from wim_edge.loaded_models import LoadedModels
from wim_edge.reading.plan import context_limit
from wim_edge.reading.resolved_settings import ResolvedSettings, automatic
from wim_edge.settings import Settings

_SAMPLE = 1 << 14
"""The most characters that are tokenized to estimate the tokens of all documents."""


@dataclass(frozen=True)
class Roles:
    """The models of a question by role, and the settings of its reading."""

    model: LoadedModels
    """The model that the settings name."""
    reader: LoadedModels
    """The model that reads, scores and points: in shallow reading the judge, else the model itself."""
    resolved: ResolvedSettings
    """The reader's settings."""
    writer: LoadedModels | None = None
    """The model that writes the answer, if it is not the reader; None: the reader writes or only quotes."""
    auxiliary: LoadedModels | None = None
    """The judge that the settings name for deep reading, to score the segments (Writing in the Margins, appendix A)."""

    @property
    def judge(self) -> LoadedModels | None:
        """The model that judges for ``model``; None: ``model`` itself."""
        return self.auxiliary or (self.reader if self.reader is not self.model else None)

    @property
    def used(self) -> list[LoadedModels]:
        """The models that a question may load, the reader first."""
        return [one for one in (self.reader, self.auxiliary, self.writer) if one is not None]


def roles_for(loaded: LoadedModels, documents: Seq[Document]) -> Roles:
    """Returns the roles for a question on ``documents``. A pattern that no setting names is wim-shallow with a judge,
    wim without documents, else chosen by length, which loads the model. Raises ModelError, CapacityError."""
    loaded.locate()
    judge, resolved = loaded.judge(), loaded.resolved()
    if resolved.settings.pattern is None and (documents or judge is not None):
        resolved = loaded.resolved(_usual_pattern(loaded, resolved, documents, judge))
    if judge is None or resolved.pattern.deep:
        return Roles(loaded, loaded, resolved, auxiliary=judge if loaded.settings.other_judge is not None else None)
    as_read = replace(judge.resolved(pattern=resolved.pattern.name), prose=False, why=resolved.why)
    return Roles(loaded, judge, as_read, loaded if resolved.prose else None)


def resolved_settings(settings: Settings) -> ResolvedSettings:
    """Returns the settings to show to a person, as far as they are known without documents or a loaded model: those of
    the model that reads, but with model, judge, pattern, prose and rpc of the model that ``settings`` names."""
    loaded = LoadedModels(settings)
    try:
        roles = roles_for(loaded, ())
    except ModelError:
        return loaded.resolved()
    if roles.reader is loaded:
        return roles.resolved
    own, read = loaded.resolved(), roles.resolved
    names = ("model", "judge", "pattern", "prose", "rpc")
    shown = replace(read.settings, **{name: getattr(own.settings, name) for name in names})
    shown = replace(shown, judge=shown.judge or roles.reader.name)
    origins = {**read.origins, **{name: own.origins[name] for name in names}}
    return replace(read, settings=shown, origins=origins, prose=own.prose)


def process_memory(settings: Settings) -> int:
    """Estimates how many bytes of memory a process needs to answer with these settings. Raises ModelError."""
    return sum(one.memory_bytes() for one in roles_for(LoadedModels(settings), ()).used) + WORKING_SPACE


def _usual_pattern(
    loaded: LoadedModels, resolved: ResolvedSettings, documents: Seq[Document], judge: LoadedModels | None
) -> tuple[str, str]:
    if judge is not None:
        return "wim-shallow", "the judge reads each segment alone"
    model = loaded.model()
    sample = "".join(document.text[:_SAMPLE] for document in documents)[:_SAMPLE]
    size = sum(len(document.text) for document in documents)
    tokens = len(model.tokenize(sample)) * size // max(1, len(sample))
    limit = context_limit(resolved.settings, model.info.n_ctx_train, model.largest_n_ctx).tokens
    return automatic(tokens, limit, tuned.known_speed(model))
