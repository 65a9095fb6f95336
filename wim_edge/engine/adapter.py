"""A LoRA adapter: small weights beside a model's own, applied to what is evaluated while it is on.

Tokens evaluated before stay as they were: an adapter that is on for the question and the answer alone reads from the
states that the plain model has left of the text (an activated LoRA), so that saved readings serve both.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from wim_edge.engine.bindings import last_errors, lib
from wim_edge.errors import ModelFileError

_HEAD = b"GGUF"


class Adapter:
    """An adapter, loaded for one model, which frees it. Raises ModelFileError for a file that is no adapter for it."""

    def __init__(self, model_handle: object, path: Path) -> None:
        try:
            with open(path, "rb") as file:
                head = file.read(len(_HEAD))
        except OSError as error:
            raise ModelFileError(f"{path}: {error.strerror or error}", "Check the adapter's path.") from error
        last_errors()
        self.path = path
        self.handle = lib.llama_adapter_lora_init(model_handle, os.fsencode(path)) if head == _HEAD else None
        if not self.handle:
            raise ModelFileError(
                f"{path} is no adapter for this model: {last_errors() or 'it is no GGUF file'}",
                "Name the adapter that was made for the model, or use --adapter none.",
            )

    @contextmanager
    def on(self, context_handle: object) -> Iterator[None]:
        """Applies the adapter to what this context evaluates meanwhile."""
        adapters = (lib.llama_adapter_lora_p_ctypes * 1)(self.handle)
        lib.llama_set_adapters_lora(context_handle, adapters, 1, (ctypes.c_float * 1)(1.0))
        try:
            yield
        finally:
            lib.llama_set_adapters_lora(context_handle, None, 0, None)
