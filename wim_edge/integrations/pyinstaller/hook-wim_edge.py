"""A PyInstaller hook: collects templates, models.toml, llama.cpp's libraries, and modules that are imported by name."""

from importlib.util import find_spec

from PyInstaller.utils.hooks import collect_data_files, collect_dynamic_libs, collect_submodules, copy_metadata

_LEFT_OUT = ("wim_edge.evaluation", "wim_edge.integrations", "wim_edge.batch", "wim_edge.batch.ray_cluster")

hiddenimports = collect_submodules("wim_edge", filter=lambda name: not name.startswith(_LEFT_OUT))
hiddenimports += ["snowballstemmer"]
FORMATS = (
    "lxml.etree", "markdown_it", "openpyxl.styles.numbers", "openpyxl.utils.cell", "openpyxl.utils.datetime",
    "pypdfium2", "striprtf.striprtf",
)  # fmt: skip
"""The modules that `wim_edge.documents.document.require` imports. Only those that are installed are collected."""
hiddenimports += [name for name in FORMATS if find_spec(name.partition(".")[0])]
datas = collect_data_files("wim_edge") + copy_metadata("wim-edge") + copy_metadata("llama-cpp-python")
binaries = collect_dynamic_libs("llama_cpp")
excludedimports = ["ray", "matplotlib", "torch"]
