"""The settings with their defaults, ``WIM_EDGE_*`` variables (``WIM_EDGE_N_CTX=8192``), and the folders of files."""

from __future__ import annotations

import difflib
import errno
import os
import re
import stat
import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import InitVar, dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

from wim_edge.errors import DownloadError, InvalidRequestError

PATTERNS = ("llm", "rag", "wim", "wim-focus", "wim-shallow")
RELEVANCES = ("verdict", "likelihood-gain", "likelihood", "cascade", "bm25")
MARGINS = ("verbatim", "free")
ANSWERS = ("auto", "fact", "yesno", "list", "summary", "free")
SHORT_ANSWERS = ("judge", "writer")
RETRIEVERS = ("bm25", "recall", "hybrid")
KV_TYPES = ("f16", "q8_0", "q4_0", "f32")
TOKEN_VARIABLE = "WIM_EDGE_TOKEN"
"""The environment variable with the server's token. It is not a setting, so nothing prints it."""
OFFLINE_VARIABLE = "WIM_EDGE_OFFLINE"
"""The environment variable that forbids downloads. Only ``serve``, ``rpc-serve``, ``--ray``, ``--rpc`` open sockets."""
NO_ADAPTER = NO_MODEL = "none"
"""The value of ``adapter`` for the model without an adapter, and of ``embedding_model`` for no model."""
ITSELF = "self"
"""The value of ``judge`` for the model that ``model`` names."""
FORMER_NAMES = {"relevance_model": "judge"}
"""{former name of a setting: its current name}. Former names are accepted for one version."""
AUTO, ALL = "auto", "all"
"""Values of ``within`` that are neither a time nor a share."""
UNLIKELY = 0.05
"""The bound for P(an unread segment answers better) below which reading stops, if ``within`` is auto."""
WITHIN_PATTERN = rf"^(?:{AUTO}|{ALL}|[0-9]{{1,9}}(?:\.[0-9]{{1,9}})?(?:s|m|h|%))$"
"""The form of ``within``, as a regular expression for JSON Schema."""
_WITHIN = re.compile(r"(?P<number>[0-9]{1,9}(?:\.[0-9]{1,9})?)(?P<unit>s|m|h|%)")
_UNIT_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}
_MAX_SEGMENTS = 16
"""The most segments read with ``within`` auto. If none of them answers, later ones seldom do (docs/choices.md)."""
SHORT = 8  # the most segments of a text that ``within`` auto reads whole: a later one may change what another says
_PATHS = ("templates", "readings")
_MAX_SMALL_FILE = 16 << 20
_ENDPOINT = re.compile(r"[\w.-]+:\d{1,5}", re.ASCII)  # llama.cpp takes no IPv6 addresses
_NOUNS: Mapping[object, str] = {
    str: "a text", int: "a whole number", float: "a number", bool: "yes or no", Path: "a path", tuple: "texts"
}  # fmt: skip
_CHOICES = {"kv_type": KV_TYPES, "pattern": PATTERNS, "relevance": RELEVANCES, "answer": ANSWERS, "margins": MARGINS,
            "short_answer": SHORT_ANSWERS, "retriever": RETRIEVERS}  # fmt: skip
_RANGES: Mapping[str, tuple[float, float | None]] = {
    "n_ctx": (256, None), "n_batch": (16, 8192), "n_threads": (1, 1024), "n_gpu_layers": (-1, None),
    "max_passages": (1, 64), "segment_tokens": (16, None), "margin_tokens": (1, None), "answer_tokens": (1, None),
    "relevance_threshold": (0, 1), "readings_bytes": (0, None), "recall_passages": (1, 64), "seed": (0, 2**63 - 1),
    "scan_pages": (0, None), "document_bytes": (1, None), "markup_bytes": (1, None), "html_depth": (1, None),
    "pdf_pages": (1, None), "markdown_lines": (1, None),
}  # fmt: skip
"""{name of a setting: (least value, most value)}; a most value of None means no upper bound."""


@dataclass(frozen=True)
class Within:
    """The bounds of a reading: ``seconds`` since its beginning, a ``share`` of the documents' tokens (0 to 1), a number
    of ``segments``, and ``unread``, the least P(an unread segment answers better). A field of None sets no bound."""

    seconds: float | None = None
    share: float | None = None
    unread: float | None = None
    segments: int | None = None

    @classmethod
    def parse(cls, text: str | None) -> Within:
        """Returns the bounds for a value of `Settings.within`; None means auto. Raises InvalidRequestError."""
        if text is None or text == AUTO:
            return cls(unread=UNLIKELY, segments=_MAX_SEGMENTS)
        if text == ALL:
            return cls()
        found = _WITHIN.fullmatch(text)
        number = float(found["number"]) if found else 0.0
        if found is None or number == 0 or (found["unit"] == "%" and number > 100):
            hint = "It takes auto, 20s, 5m, 10% or all (the option, or WIM_EDGE_WITHIN)."
            raise InvalidRequestError(f"within is {text!r}", hint)
        unit = found["unit"]
        return cls(share=number / 100) if unit == "%" else cls(seconds=number * _UNIT_SECONDS[unit])

    def is_spent(self, seconds: float, share: float, segments: int, unread: float | None) -> bool:
        """Returns whether the reading ends after this many seconds and segments. ``share``: of the text, with one more
        segment. ``unread``: from `Ranking.unread`; if None, auto reads the whole text."""
        if self.unread is not None:
            return unread is not None and (unread < self.unread or segments >= (self.segments or segments + 1))
        if self.seconds is not None:
            return seconds >= self.seconds
        return self.share is not None and share > self.share


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits on a document, to spare memory and time. Exceeding the first four is an error, the others a warning."""

    document_bytes: int = 512 * 2**20
    """The most bytes of a file, and of the unpacked contents of a DOCX, an EPUB or a file of rows."""
    markup_bytes: int = 64 * 2**20
    """The most bytes of markup in a DOCX or EPUB. The parser takes many times as much memory."""
    html_depth: int = 10_000
    """The most levels of nested elements in HTML."""
    pdf_pages: int = 100_000
    """The most pages of a PDF."""
    scan_pages: int = 1_000
    """The most scanned pages of a file that OCR recognises; further scanned pages are left out. 0: no OCR."""
    markdown_lines: int = 200_000
    """The most lines of Markdown whose headings are read; a longer text is read without headings."""


@dataclass(frozen=True, kw_only=True)
class Settings(Limits):
    """The settings of a user. Sizes are in tokens unless stated otherwise; None leaves the choice to wim-edge."""

    model: str | None = None
    """A name in models.toml, or the path of a GGUF file; None: the highest ranked model on this disk that fits."""

    # The engine
    n_ctx: int | None = None
    """The context size; None: what the document needs, up to the model's trained context and the memory."""
    n_batch: int = 512
    """The tokens of a prefill batch, logical and physical (512 measured faster than 2,048 on a CPU)."""
    n_threads: int | None = None
    """The number of CPU threads; None: as many as physical cores."""
    n_gpu_layers: int | None = None
    """The number of layers on the GPU; None: as many as fit, -1: all, 0: none."""
    rpc: str | None = None
    """The RPC servers whose devices hold the layers: HOST:PORT, separated by commas."""
    kv_type: str = "f16"
    """The element type of the KV cache, one of KV_TYPES."""
    flash_attn: bool | None = None
    """True turns flash attention on; None: llama.cpp's choice on a GPU, off on a CPU, where it slows deep decoding."""
    adapter: str | None = None
    """A LoRA adapter that points at answers: the name of a shipped one, or the path of a GGUF file made for the model;
    "none": no adapter. None: the adapter in the model's entry of models.toml, if any."""

    # The pattern. If a field is None, models.toml may have a value for the model
    pattern: str | None = None
    """One of PATTERNS; `wim_edge.reading.resolved_settings` describes them and the default."""
    relevance: str | None = None
    """The method that scores segments or margins, one of RELEVANCES (`wim_edge.reading.relevance`)."""
    judge: str | None = None
    """The model that decides which passages answer and whether any does: a name or path, as for ``model``; "self": the
    model itself. None: in shallow reading the embedded model, if it is on this disk; else the model itself."""
    embedding_model: str | None = None
    """The scout, an embedding model that helps to choose which segments are read first: a name or path, as for
    ``model``; "none": no model. None: all-minilm-l6-v2 for a long text, if it is on this disk."""
    relevance_threshold: float | None = None
    """The least relevance, 0 to 1, of a segment that the answer draws on. For verdicts it is absolute (None: 0.5); else
    it is a share of the best segment's relevance (None: 0.1, or 0.03 in shallow reading)."""
    max_passages: int | None = None
    """The most segments or margins that the answer draws on."""
    margins: str | None = None
    """The kind of margins, one of MARGINS; verbatim: quotations, free: the model's own words."""
    query_first: bool = False
    """True puts the question before the context too ("Lost in the Middle", section 5.2)."""
    segment_tokens: int | None = None
    """The most tokens of a segment."""
    margin_tokens: int | None = None
    """The most tokens of a margin; None: 128 for a quotation, which costs no decoding, 64 in the model's own words."""
    within: str | None = None
    """The bound on reading for an answer: a time ("20s", "5m"), a share of the text ("10%"), "all", or "auto". In
    shallow reading auto ends when a better segment is unlikely, or after 16; else with the text. None: auto."""
    answer: str = "auto"
    """The kind of answer, one of ANSWERS; auto: words of the text, or yes or no, as the model chooses; free: an
    explanation of any length, by a model that writes."""
    prose: bool | None = None
    """True: the model writes the answer, and also points at a short answer. False: for a question of fact it only
    points, which a small model does better. None: the model's value in models.toml, else True."""
    short_answer: str | None = None
    """The model whose short answer is shown first, if one model judges and another writes: one of SHORT_ANSWERS. None:
    the writer's value in models.toml, else the judge."""
    first: bool = False
    """True ends the reading with the first answer that the judge is sure of."""
    answer_tokens: int = 256
    """The most tokens of an answer."""
    stop: tuple[str, ...] = ()
    """Texts that end an answer. They are not part of the answer."""
    templates: Path | None = None
    """A directory whose templates replace the shipped ones."""

    # The library
    retriever: str = "bm25"
    """The method that finds passages of a library, one of RETRIEVERS (`wim_edge.recall.recaller`)."""
    recall_passages: int = 4
    """The most passages of a library that are read for an answer."""
    save: bool = True
    """True saves readings on disk, so that the next question need not read the same text again."""
    readings: Path | None = None
    """The folder of saved readings; None: a folder in the user's cache directory."""
    readings_bytes: int | None = None
    """The most bytes of saved readings; None: a tenth of the disk's free space, at most 20 GB."""

    # Sampling of the answer and the margins; verdicts are never sampled
    temperature: float = 0.0
    """The sampling temperature; 0: greedy decoding."""
    top_p: float = 1.0
    min_p: float = 0.0
    seed: int = 0
    relevance_model: InitVar[str | None] = None
    """The former name of ``judge``."""

    @property
    def other_judge(self) -> str | None:
        """The name or path of a judge that is not the model itself; None if ``judge`` is None or "self"."""
        return None if self.judge == ITSELF else self.judge

    def __post_init__(self, relevance_model: str | None) -> None:
        if relevance_model is not None:
            object.__setattr__(self, "judge", relevance_model)
        for name, kinds in _kinds().items():
            if not _is_one(getattr(self, name), kinds):
                wanted = " or ".join(_NOUNS[kind] for kind in kinds if kind in _NOUNS)
                raise InvalidRequestError(f"{name} is {getattr(self, name)!r:.80}", f"It takes {wanted}.")
        Within.parse(self.within)
        for name, good, wanted in self._rules():
            if not good:
                hint = f"It takes {wanted} (the option, or WIM_EDGE_{name.upper()})."
                raise InvalidRequestError(f"{name} is {getattr(self, name)!r}", hint)

    def _rules(self) -> Iterator[tuple[str, bool, str]]:
        """Yields for each setting with a rule: its name, whether its value is valid, and the valid values in words."""
        for name, choices in _CHOICES.items():
            yield name, getattr(self, name) in (None, *choices), f"one of {', '.join(choices)}"
        for name, (least, most) in _RANGES.items():
            value = getattr(self, name)
            good = value is None or (least <= value and (most is None or value <= most))
            yield name, good, f"at least {least}" if most is None else f"{least} to {most}"
        yield "rpc", self.rpc is None or all(map(_ENDPOINT.fullmatch, self.rpc.split(","))), "HOST:PORT[,HOST:PORT]"
        yield "temperature", self.temperature == 0 or 0.01 <= self.temperature <= 10, "0 (greedy), or 0.01 to 10"
        yield "top_p", 0 < self.top_p <= 1, "above 0, up to 1"
        yield "min_p", 0 <= self.min_p < 1, "0 to below 1"

    def with_changes(self, **changes: object) -> Settings:
        """Returns a copy with these fields changed; None leaves a field unchanged."""
        given = {name: value for name, value in changes.items() if value is not None}
        return replace(self, **given)  # type: ignore[arg-type]

    def to_dict(self) -> dict[str, Any]:
        """Returns the settings that are not None, by name, as plain data for JSON; `from_dict` is the inverse."""
        return plain(vars(self))

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] = os.environ) -> Settings:
        """Returns the defaults, changed by ``WIM_EDGE_*`` variables. An invalid variable raises InvalidRequestError."""
        names = {field.name: field.name for field in fields(cls)} | FORMER_NAMES
        own = {"WIM_EDGE_" + name.upper(): today for name, today in names.items()}
        known = ["WIM_EDGE_HOME", TOKEN_VARIABLE, OFFLINE_VARIABLE, *own]
        for variable in environ:
            if variable.startswith("WIM_EDGE_") and variable not in known:
                near = difflib.get_close_matches(variable, known, 3, 0.4)
                raise InvalidRequestError(f"{variable} is not a setting", f"Nearest: {', '.join(near or known)}.")
        changes: dict[str, object] = {}
        for variable, today in own.items():
            if text := environ.get(variable, "").strip():
                changes[today] = _parse(variable, text, _kinds()[today])
        return cls().with_changes(**changes)


@cache
def _kinds() -> Mapping[str, tuple[type, ...]]:
    """Returns {field of `Settings`: the types that its value may have}."""
    hints = typing.get_type_hints(Settings)
    options = {name: typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
               for name in (field.name for field in fields(Settings)) for hint in [hints[name]]}  # fmt: skip
    return {name: tuple(typing.get_origin(one) or one for one in some) for name, some in options.items()}


def _is_one(value: object, kinds: tuple[type, ...]) -> bool:
    """Returns whether a value has one of these types. A bool is no int, an int may be a float, a text has no NUL."""
    if isinstance(value, bool):
        return bool in kinds
    if isinstance(value, tuple):
        return tuple in kinds and all(isinstance(one, str) for one in value)
    return isinstance(value, (*kinds, int) if float in kinds else kinds) and "\0" not in str(value)


def _parse(variable: str, text: str, kinds: tuple[type, ...]) -> object:
    kind = next(one for one in kinds if one is not types.NoneType)
    try:
        if kind is bool:
            return {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}[text.lower()]
        return (text,) if kind is tuple else kind(text)
    except (ValueError, KeyError):
        raise InvalidRequestError(f"{variable} is {text!r}", f"It takes {_NOUNS[kind]}.") from None


def plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Returns ``settings`` (values by name) as plain data for JSON. Leaves out values of None, the default."""
    return {name: str(one) if isinstance(one, Path) else one for name, one in settings.items() if one is not None}


def from_dict(given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns fields of `Settings`, by name, from plain data. Raises InvalidRequestError for an unknown name."""
    given = {FORMER_NAMES.get(name, name): value for name, value in given.items()}
    unknown = given.keys() - {field.name for field in fields(Settings)}
    if unknown:
        raise InvalidRequestError(f"{', '.join(sorted(unknown))}: no such setting", "See docs/python.md.")
    found: dict[str, Any] = {name: Path(value) if name in _PATHS and value else value for name, value in given.items()}
    return found | ({"stop": tuple(found["stop"])} if isinstance(found.get("stop"), list) else {})


NO_DEVICE = r"(?!(?i:con|prn|aux|nul|com\d|lpt\d)(?:\.|\Z))"
"""The beginning of a regular expression for file names. It excludes Windows' device names, with any extension."""


@dataclass(frozen=True)
class Paths:
    """The folders of wim-edge; ``WIM_EDGE_HOME`` moves all of them into one folder."""

    config: Path
    models: Path
    cache: Path
    libraries: Path

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] = os.environ) -> Paths:
        home = environ.get("WIM_EDGE_HOME", "").strip()
        if home:
            root = Path(os.path.expanduser(home))  # unlike Path.expanduser it never raises
            return cls(root / "config", root / "models", root / "cache", root / "libraries")
        from platformdirs import PlatformDirs

        own = PlatformDirs("wim-edge", appauthor=False)
        data = own.user_data_path
        return cls(own.user_config_path, data / "models", own.user_cache_path, data / "libraries")


def check_online(wanted: str, instead: str = "") -> None:
    """Raises DownloadError if downloads are forbidden. ``wanted`` begins the message, ``instead`` ends the hint."""
    if _parse(OFFLINE_VARIABLE, os.environ.get(OFFLINE_VARIABLE, "").strip() or "no", (bool,)) is True:
        hint = f"Leave out --offline ({OFFLINE_VARIABLE}){instead}."
        raise DownloadError(f"{wanted}, and offline nothing is fetched", hint)


def read_small_file(path: Path) -> bytes:
    """Returns a file's contents. Raises OSError if it is over 16 MiB, or no regular file: a pipe may never end."""
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | getattr(os, "O_NONBLOCK", 0))) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        data = file.read(_MAX_SMALL_FILE + 1)
        if len(data) > _MAX_SMALL_FILE:
            raise OSError(errno.EFBIG, "larger than 16 MiB", str(path))
        return data


def adapter_file(name: str | None) -> Path | None:
    """Returns an adapter's file. ``name``: a shipped adapter's name, or a path. Returns None for None and "none"."""
    if name is None or name == NO_ADAPTER:
        return None
    own = package_file("adapters") / name
    return own if own.is_file() else Path(name)


def package_file(name: str) -> Path:
    """Returns the path of a shipped file or folder, such as ``models.toml``, in the installed package or a checkout."""
    package = Path(__file__).resolve().parent
    installed = package / "shipped" / name
    return installed if installed.exists() else package.parent / name
