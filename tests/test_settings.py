"""The settings: from the environment, checked, and each in its place."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from wim_edge.errors import InvalidRequestError
from wim_edge.settings import Paths, Settings, Within, package_file, read_small_file


def test_settings_from_the_environment() -> None:
    found = Settings.from_environment(
        {"WIM_EDGE_N_CTX": "4096", "WIM_EDGE_FLASH_ATTN": "no", "WIM_EDGE_TEMPERATURE": "0.5", "WIM_EDGE_MODEL": "m",
         "WIM_EDGE_TEMPLATES": "/t"}
    )  # fmt: skip
    assert (found.n_ctx, found.flash_attn, found.temperature, found.model) == (4096, False, 0.5, "m")
    assert found.templates == Path("/t")


@pytest.mark.parametrize(
    ("name", "value"),
    [("N_CTX", "many"), ("FLASH_ATTN", "perhaps"), ("KV_TYPE", "q3"), ("SEED", "-1"), ("TOP_P", "0"), ("PATTERN", "x")],
)
def test_bad_settings_are_named(name: str, value: str) -> None:
    with pytest.raises(InvalidRequestError, match=f"(?i){name}") as caught:
        Settings.from_environment({f"WIM_EDGE_{name}": value})
    assert caught.value.hint


def test_a_misspelt_variable_is_named_with_the_nearest() -> None:
    with pytest.raises(InvalidRequestError, match="WIM_EDGE_SEGMENTS_TOKEN is not a setting") as caught:
        Settings.from_environment({"WIM_EDGE_SEGMENTS_TOKEN": "5"})
    assert "WIM_EDGE_SEGMENT_TOKENS" in caught.value.hint


def test_home_moves_everything(tmp_path: Path) -> None:
    paths = Paths.from_environment({"WIM_EDGE_HOME": str(tmp_path)})
    assert all(path.is_relative_to(tmp_path) for path in (paths.config, paths.models, paths.cache))


def test_shipped_files_are_there() -> None:
    assert package_file("models.toml").is_file()
    assert (package_file("templates") / "final_answer.jinja").is_file()


@pytest.mark.parametrize(
    "wrong",
    [{"n_ctx": 1e30}, {"answer_tokens": 3.7}, {"save": "no"}, {"n_batch": True}, {"document_bytes": "x"},
     {"stop": "abc"}, {"stop": (1, 2)}, {"model": 5}, {"readings": Path("a\0b")}, {"temperature": float("nan")}],
    ids=str,
)  # fmt: skip
def test_a_setting_of_another_type_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidRequestError, match=next(iter(wrong))):
        Settings(**wrong)  # type: ignore[arg-type]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_a_pipe_in_the_place_of_a_file_of_ours_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "good").write_bytes(b"x")
    assert read_small_file(tmp_path / "good") == b"x"
    os.mkfifo(tmp_path / "pipe")
    for bad in (tmp_path / "pipe", Path("/dev/zero"), tmp_path, tmp_path / "none"):
        with pytest.raises(OSError, match=r"regular|directory"):
            read_small_file(bad)


@pytest.mark.parametrize("within", ["", "0s", "20", "s", "-1s", "101%", "0%", "1e3s", "٣s", "ALL", "5 s", "nan%"])
def test_other_forms_of_a_bound_are_refused(within: str) -> None:
    with pytest.raises(InvalidRequestError, match="within is"):
        Settings(within=within)


@pytest.mark.parametrize(
    ("form", "seconds", "share"),
    [("20s", 20.0, None), ("1.5m", 90.0, None), ("2h", 7200.0, None), ("10%", None, 0.1), ("all", None, None)],
)
def test_forms_of_a_bound(form: str, seconds: float | None, share: float | None) -> None:
    assert Within.parse(form) == Within(seconds, share)
