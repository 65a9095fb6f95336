"""The program's beginning, where Ctrl-C finds no command yet."""

from __future__ import annotations

import os
import sys
from types import ModuleType

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


@pytest.mark.parametrize(("modules", "gone", "code"), [(("ray",), [3], 3), ((), [], 3), (("ray",), [], "a line")])
def test_with_ray_the_process_ends_before_it_is_taken_apart(
    monkeypatch: pytest.MonkeyPatch, modules: tuple[str, ...], gone: list[int], code: object
) -> None:
    ended: list[int] = []
    monkeypatch.delitem(sys.modules, "ray", raising=False)
    for name in modules:
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setattr("wim_edge.cli.main", lambda prog_name: sys.exit(code))
    monkeypatch.setattr(os, "_exit", ended.append)
    with pytest.raises(SystemExit) as left:
        program.main()
    assert ended == gone
    assert left.value.code == code


def test_output_that_cannot_be_written_is_not_lost_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        def write(self, _: str) -> None:
            pass

        def flush(self) -> None:
            raise OSError(28, "No space left on device")

    ended: list[int] = []
    monkeypatch.setitem(sys.modules, "ray", ModuleType("ray"))
    monkeypatch.setattr("wim_edge.cli.main", lambda prog_name: sys.exit(0))
    monkeypatch.setattr(os, "_exit", ended.append)
    monkeypatch.setattr(sys, "stdout", Full())
    with pytest.raises(SystemExit):
        program.main()
    assert ended == []
