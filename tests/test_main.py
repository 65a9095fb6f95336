"""The program's beginning, where Ctrl-C finds no command yet."""

from __future__ import annotations

import sys

import pytest

from wim_edge import __main__ as program


def test_the_command_is_called_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[str] = []
    monkeypatch.setattr("wim_edge.cli.main", lambda prog_name: called.append(prog_name))
    program.main()
    assert called == ["wim-edge"]


def test_ctrl_c_before_there_is_a_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    class Interrupted:
        def find_spec(self, name: str, *_: object) -> None:
            if name == "wim_edge.cli":
                raise KeyboardInterrupt

    import wim_edge

    monkeypatch.delitem(sys.modules, "wim_edge.cli", raising=False)
    monkeypatch.delattr(wim_edge, "cli", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Interrupted(), *sys.meta_path])
    with pytest.raises(SystemExit) as ended:
        program.main()
    assert ended.value.code == 130
    assert capsys.readouterr().err == "cancelled\n"
