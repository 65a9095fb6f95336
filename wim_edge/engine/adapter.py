"""A LoRA adapter: small weights that are added to a model's own while it is on.

Cells that are filled before keep the plain model's values (an activated LoRA), so one saved reading serves both.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from wim_edge.engine.bindings import last_errors, lib
from wim_edge.errors import ModelFileError

_MAGIC = b"GGUF"


class Adapter:
    """An adapter, loaded for one model, which frees it. Raises ModelFileError for a file that is not its adapter."""

    def __init__(self, model_handle: object, path: Path) -> None:
        try:
            with open(path, "rb") as file:
                is_gguf = file.read(len(_MAGIC)) == _MAGIC
        except OSError as error:
            raise ModelFileError(f"{path}: {error.strerror or error}", "Check the adapter's path.") from error
        last_errors()
        self.handle = lib.llama_adapter_lora_init(model_handle, os.fsencode(path)) if is_gguf else None
        if not self.handle:
            raise ModelFileError(
                f"{path} is no adapter for this model: {last_errors() or 'not a GGUF file'}",
                "Name the adapter that was made for the model, or use --adapter none.",
            )

    @contextmanager
    def on(self, context_handle: object) -> Iterator[None]:
        """Applies the adapter to what this context evaluates in the block."""
        adapters = (lib.llama_adapter_lora_p_ctypes * 1)(self.handle)
        lib.llama_set_adapters_lora(context_handle, adapters, 1, (ctypes.c_float * 1)(1.0))
        try:
            yield
        finally:
            lib.llama_set_adapters_lora(context_handle, None, 0, None)
