"""PyInstaller's hook, without Qt's translations of its own dialogs."""

from PyInstaller.utils.hooks.qt import add_qt6_dependencies

hiddenimports, binaries, datas = add_qt6_dependencies(__file__)
datas = [one for one in datas if "translations" not in str(one[1])]
