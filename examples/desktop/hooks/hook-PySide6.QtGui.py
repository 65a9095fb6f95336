"""PyInstaller's hook, with the plugins alone that a window needs: not GTK's, Wayland's and those of image formats."""

from PyInstaller.utils.hooks.qt import add_qt6_dependencies

_KEPT = ("/platforms", "/platforminputcontexts", "/styles")
_DRAWN_ELSEWHERE = ("eglfs", "linuxfb", "minimal", "vkkhrdisplay", "vnc", "wayland")
_, found, datas = add_qt6_dependencies(__file__)
hiddenimports = ["PySide6.QtCore"]
binaries = [
    (source, folder) for source, folder in found
    if "plugins" not in str(folder)
    or (str(folder).endswith(_KEPT) and not any(name in str(source) for name in _DRAWN_ELSEWHERE))
]  # fmt: skip
