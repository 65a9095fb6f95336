"""The models that a runtime holds in memory, their chat formats, and the context for documents."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wim_edge.catalog import EMBEDDED, SCOUT, ModelEntry, PathSource, ResolvedModel, is_here, resolve
from wim_edge.catalog.entry import USUAL_CONTEXT
from wim_edge.documents import Document
from wim_edge.engine.protocols import Context, Embedder, Model
from wim_edge.errors import InvalidRequestError, ModelFileError
from wim_edge.reading.chat import ChatFormat, chat_format
from wim_edge.reading.plan import check_fits, context_limit
from wim_edge.reading.resolved_settings import ResolvedSettings, resolve as resolve_settings
from wim_edge.settings import ITSELF, NO_ADAPTER, NO_MODEL, Settings, adapter_file
from wim_edge.support import Confirmation, SupportWeights
from wim_edge.system.journal import templates_digest
from wim_edge.tuned import load as load_tuned

if TYPE_CHECKING:
    from wim_edge.engine.embedding import EmbeddingModel
    from wim_edge.engine.model import Model as LlamaModel


@dataclass(frozen=True)
class Identity:
    """All that answers depend on besides the settings. ``fingerprint``: of the model's file and llama.cpp's build;
    ``scores``: the fingerprints of judge, scout and adapter; ``templates``: a digest of the user's templates."""

    name: str
    fingerprint: str
    scores: str = ""
    templates: str = ""


MODEL_SETTINGS = ("model", "n_batch", "n_threads", "n_gpu_layers", "rpc", "kv_type", "flash_attn", "adapter")
"""The settings that cannot change on a loaded model."""
_LONG = 1 << 15
"""The fewest characters of documents that `check_fits` checks. For fewer, the check takes longer than it saves."""


class LoadedModels:
    """The models that the settings name: the model itself, its judge and an embedding model. Each loads on first use.
    ``model``, ``embedder``, ``judge``: open models of the caller, used instead."""

    def __init__(
        self, settings: Settings, model: Model | None = None, embedder: Embedder | None = None,
        judge: Model | None = None,
    ) -> None:  # fmt: skip
        self.settings = settings
        self._model, self._is_given = model, model is not None
        self._lender: LoadedModels | None = None
        """The object whose models this one uses; None: this object loads and closes its models."""
        self._found: ResolvedModel | None = None
        self._tuned: dict[str, Any] = {}
        self._given_judge = judge
        self._judge: LoadedModels | None = None
        self._given_embedder = embedder
        self._embedders: dict[str, EmbeddingModel] = {}
        self._opened = ExitStack()
        """Closes the models that the caller did not give."""
        self._context: Context | None = None

    @property
    def name(self) -> str:
        """The model's name. Raises ModelNotFoundError."""
        return self.model().info.name if self._is_given else self.find().name

    @property
    def _entry(self) -> ModelEntry | None:
        return self._found.entry if self._found else None

    @property
    def chat_variables(self) -> Mapping[str, Any]:
        """The variables for the model's chat template, from models.toml."""
        return self._entry.chat if self._entry else {}

    @cached_property
    def support(self) -> SupportWeights:
        """The weights of evidence that were fitted for the model."""
        return SupportWeights.from_mapping(self._entry.support if self._entry else {})

    @cached_property
    def confirmation(self) -> Confirmation:
        """The weights with which the model, if it is the writer, changes the support that a judge found."""
        return Confirmation.from_mapping(self._entry.confirmation if self._entry else {})

    @property
    def in_memory(self) -> list[str]:
        """The names of the models in memory: this model and its judge, each only if it is loaded."""
        own = [self.name] if self._model is not None else []
        return own + (self._judge.in_memory if self._judge is not None else [])

    def memory_bytes(self) -> int:
        """Estimates the bytes of the model and of a context of ``n_ctx`` or a usual size. Raises ModelError."""
        from wim_edge.engine.gguf import read_header
        from wim_edge.engine.memory_estimate import estimate

        header, settings = read_header(self.find().path), self.resolved().settings
        n_ctx = min(settings.n_ctx or USUAL_CONTEXT, header.number("context_length", USUAL_CONTEXT))
        return estimate(header, n_ctx, settings.n_batch, settings.kv_type).total

    def model(self) -> Model:
        """Returns the model. The first call loads the model. Raises ModelError, CapacityError."""
        if self._lender is not None:
            return self._lender.model()
        if self._model is None:
            # With another judge this model needs no adapter: only the judge points
            own = self.settings if self.judge() is None else replace(self.settings, adapter=NO_ADAPTER)
            self._model = open_model(self.find(), own)
            self._opened.callback(self._model.close)
        return self._model

    def check_file(self) -> None:
        """Raises ModelError or CapacityError if the model's file cannot be loaded, as far as its header shows."""
        if self._lender is not None:
            self._lender.check_file()
        elif self._model is None:
            check_model_file(self.find(), self.settings)

    def check_fits(self, documents: Sequence[Document]) -> None:
        """Raises ContextOverflowError, before the weights are loaded, if the pattern needs all documents in the context
        and they cannot fit. Also raises what `model` raises."""
        size = sum(len(document.text) for document in documents)
        if (self._lender or self)._model is not None or size < _LONG:
            return
        found, resolved = self.find(), self.resolved()
        if not resolved.pattern.needs_full_context:
            return
        from wim_edge.engine.bindings import vocabulary
        from wim_edge.engine.gguf import read_header
        from wim_edge.engine.memory_estimate import free_memory, gpu_layers, largest_n_ctx

        check_model_file(found, self.settings)
        path, settings = found.path, resolved.settings
        header = read_header(path)
        trained = header.number("context_length", USUAL_CONTEXT)
        free = free_memory(header, gpu_layers(header, settings.n_gpu_layers))
        limit = context_limit(settings, trained, lambda: largest_n_ctx(header, settings, trained, free))
        if size > limit.tokens:
            with vocabulary(path) as count:
                check_fits(count, documents, limit)

    def find(self) -> ResolvedModel:
        """Returns the file of the model, which is looked up once. Raises ModelNotFoundError."""
        if self._found is None:
            self._found = resolve(self.settings.model)
            self._tuned = load_tuned(self._found.path)
        return self._found

    def resolved(
        self, automatic: tuple[str, str] | None = None, *, here: bool = True, pattern: str | None = None
    ) -> ResolvedSettings:
        """Returns the settings for a question; after `find`, with those of models.toml. ``automatic``: as in
        `resolve_settings`. ``here``: False leaves out tuned settings. ``pattern``: replaces the settings' pattern."""
        settings = self.settings.with_changes(pattern=pattern)
        suggested = self._found.suggested if self._found else {}
        return resolve_settings(settings, suggested, self._tuned if here else {}, automatic)

    def chat(self) -> tuple[ChatFormat, str | None]:
        """Returns the model's chat format, and a warning if its template can't be used."""
        return chat_format(self.model(), self.chat_variables)

    def judge(self) -> LoadedModels | None:
        """Returns the judge if it is another model: the named one, or else the embedded one, which was trained to
        judge. None: the model judges itself. Raises ModelNotFoundError."""
        name = self.settings.other_judge
        if name is None and not self._takes_usual_judge():
            return None
        if self._judge is None:
            own, lends = self.settings, self._lender
            layers = 0 if own.rpc else own.n_gpu_layers  # with RPC the judge runs on this machine's CPU
            settings = replace(own, model=name or EMBEDDED, judge=ITSELF, rpc=None, n_gpu_layers=layers, prose=None)
            shared = lends.judge() if lends is not None and lends.settings.judge == own.judge else None
            given = self._given_judge if name is None else None
            self._judge = shared._sharing(settings) if shared is not None else LoadedModels(settings, given)
            self._judge.locate()
            self._opened.callback(self._judge.close)
        return self._judge

    def _takes_usual_judge(self) -> bool:
        """Returns whether an unnamed judge is used: the caller's model or, if this model writes, the embedded one."""
        given = self.settings
        if (
            given.judge == ITSELF or given.adapter not in (None, NO_ADAPTER) or given.margins not in (None, "verbatim")
            or given.relevance not in (None, "likelihood", "cascade")
        ):  # fmt: skip
            return False
        if self._given_judge is not None:
            return True
        if self._is_given or not is_here(EMBEDDED):
            return False
        found = self.find()
        return found.name != EMBEDDED and found.suggested.get("prose") is not False

    def embedder(self) -> Embedder | None:
        """Returns the embedding model, or None if there is none. Raises what `model` raises."""
        owner, name = self._lender or self, self.embedder_name
        if owner._given_embedder is not None or name is None:
            return owner._given_embedder
        if name not in owner._embedders:
            opened = owner._embedders[name] = open_embedder(resolve(name), self.settings)
            owner._opened.callback(opened.close)
        return owner._embedders[name]

    @property
    def embedder_name(self) -> str | None:
        """The name of the embedding model: the setting's, else the usual one if it is on this disk; None: no model."""
        named = self.settings.embedding_model
        if named is not None or self._is_given:
            return None if named == NO_MODEL else named
        return SCOUT if is_here(SCOUT) else None

    def context(self, n_ctx: int) -> Context:
        """Returns the context for documents, with at least ``n_ctx`` cells. Raises MemoryBudgetError."""
        if self._context is not None and self._context.n_ctx < n_ctx:
            self._context.close()
            self._context = None
        if self._context is None:
            self._context = self.model().context(n_ctx)
        return self._context

    def with_changes(self, **changes: object) -> LoadedModels:
        """Returns a copy with these settings changed. The copy shares the models; closing this object closes them.
        Raises InvalidRequestError if one of `MODEL_SETTINGS` changes."""
        settings = self.settings.with_changes(**changes)
        self.locate()  # `resolved` then includes the model's settings
        own = self.resolved().settings
        named = [name for name in MODEL_SETTINGS if changes.get(name) is not None]
        if fixed := [name for name in named if getattr(settings, name) != getattr(own, name)]:
            raise InvalidRequestError(f"{', '.join(fixed)} cannot change on a loaded model", "Open another Runtime.")
        return self._sharing(settings)

    def _sharing(self, settings: Settings) -> LoadedModels:
        """Returns a copy with other settings. The copy uses the original's model; the original loads and closes it."""
        self.locate()
        other = copy(self)
        other.settings, other._lender = settings, self._lender or self
        other._model = other._judge = other._context = None
        other._opened = ExitStack()
        return other

    def locate(self) -> None:
        """Finds the model's file, unless the model was given. Raises ModelNotFoundError."""
        if not self._is_given:
            self.find()

    def close(self) -> None:
        """Frees the contexts, and the models that the caller did not give."""
        if self._context is not None:
            self._context.close()
            self._context = None
        self._opened.close()
        self._judge, self._embedders = None, {}
        if not self._is_given:
            self._model = None


def open_model(found: ResolvedModel, settings: Settings) -> LlamaModel:
    """Loads a model's file. Settings that are not given come from `tune` or models.toml. Raises ModelError,
    CapacityError, and what `engine.rpc.register` raises."""
    from wim_edge.engine.model import Model  # the native library loads here, not before

    tuned = load_tuned(found.path)
    check_model_file(found, settings)
    return Model(found.path, resolve_settings(settings, found.suggested, tuned).settings, found.name)


def open_embedder(found: ResolvedModel, settings: Settings) -> EmbeddingModel:
    """Loads an embedding model's file. Raises what `open_model` raises."""
    from wim_edge.engine import load_check
    from wim_edge.engine.embedding import EmbeddingModel

    if _is_unknown(found):
        load_check.check(found.path, embeds=True)
    return EmbeddingModel(found.path, settings, found.name)


def check_model_file(found: ResolvedModel, settings: Settings) -> None:
    """Checks that a model's file can be loaded. Without RPC, a file that no catalog lists is first tried in a child
    process. Raises what `open_model` raises."""
    from wim_edge.engine import load_check, rpc
    from wim_edge.engine.gguf import read_header
    from wim_edge.engine.memory_estimate import check_weights

    rpc.register(settings.rpc)
    check_weights(read_header(found.path), settings)
    if settings.rpc is None and _is_unknown(found):
        load_check.check(found.path)


def _is_unknown(found: ResolvedModel) -> bool:
    """Returns whether a model's file is in no catalog, so that nobody has checked the file."""
    if found.entry is None:
        return True
    return any(isinstance(one, PathSource) and one.path == found.path for one in found.entry.sources)


def portable_settings(settings: Settings) -> Settings:
    """Returns settings that mean the same anywhere, with those of models.toml and absolute paths. Raises ModelError."""
    found = resolve(settings.model)
    settings = resolve_settings(settings, found.suggested).settings
    templates = settings.templates and settings.templates.absolute()
    model = found.name if found.entry else str(found.path.absolute())
    others = (settings.judge, settings.embedding_model)  # names stay, files get their whole paths
    judge, scout = (os.path.abspath(one) if one and os.path.isfile(one) else one for one in others)
    return settings.with_changes(model=model, judge=judge, embedding_model=scout, templates=templates)


def model_identity(settings: Settings) -> Identity:
    """Returns the identity of the models that the settings name, without loading the models. Raises ModelError."""
    name, found = _fingerprint(settings.model)
    own = LoadedModels(settings)
    own.find()
    judge = own.judge()
    adapter = adapter_file((judge or own).resolved(here=False).settings.adapter)
    others = [_fingerprint(one)[1] for one in (judge and judge.settings.model, own.embedder_name) if one]
    others += [_digest(adapter)] if adapter else []
    return Identity(name, found, " ".join(others), templates_digest(settings.templates) if settings.templates else "")


def _digest(file: Path) -> str:
    """Returns a digest of a small file's contents. Raises ModelFileError."""
    try:
        return hashlib.blake2b(file.read_bytes(), digest_size=8).hexdigest()
    except OSError as error:
        raise ModelFileError(f"{file}: {error.strerror or error}", "Check the adapter's path.") from error


def _fingerprint(model: str | None) -> tuple[str, str]:
    """Returns (name, fingerprint of file and llama.cpp's build) of a model."""
    from wim_edge.engine.bindings import fingerprint
    from wim_edge.engine.gguf import read_header

    found = resolve(model)
    try:
        return found.name, fingerprint(read_header(found.path, embeds=True))
    except OSError as error:
        raise ModelFileError(f"{found.path}: {error.strerror or error}", "Check the file.") from error


def check_same(model: Identity, settings: Settings, where: str) -> None:
    """Raises ModelError if the settings' `model_identity` here is not ``model``. ``where``: this machine's name."""
    if model_identity(settings) != model:
        raise ModelFileError(
            f"{where} has another {model.name}, other templates or another llama-cpp-python than the run",
            "Install the same on each machine.",
        )
