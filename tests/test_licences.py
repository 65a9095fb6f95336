"""What docs/licences.md says against what is installed."""

from __future__ import annotations

import importlib.metadata
import re
import tomllib

import pytest

from tests.conftest import ROOT

_PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
_EXTRAS = {name: found for name, found in _PROJECT["optional-dependencies"].items() if name not in ("all", "dev")}
_NEEDED = {re.split(r"[><=\[ ]", one)[0]: extra for extra, found in [("", _PROJECT["dependencies"]), *_EXTRAS.items()]
           for one in found}  # fmt: skip
_ROWS = re.findall(r"^\| ([\w-]+)[^|]*\| ([^|]+) \| ([^|]+) \|$", (ROOT / "docs" / "licences.md").read_text(), re.M)


def test_every_dependency_is_listed_where_it_is_needed() -> None:
    listed = {name: "" if needed == "all" else needed.strip("`") for name, needed, _ in _ROWS[1:]}
    assert {name: extra for name, extra in listed.items() if name != "---"} == _NEEDED


def test_every_dependency_has_an_upper_bound() -> None:
    for one in [*_PROJECT["dependencies"], *(one for found in _EXTRAS.values() for one in found)]:
        assert re.search(r"<\d", one), one


@pytest.mark.parametrize(("name", "licence"), [(name, licence) for name, _, licence in _ROWS if name in _NEEDED])
def test_the_licence_is_what_the_package_says(name: str, licence: str) -> None:
    try:
        told = importlib.metadata.metadata(name)
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("not installed")
    said = " ".join([told.get("License-Expression") or "", told.get("License") or "", *told.get_all("Classifier", [])])
    kind = re.match(r"(?:the )?([A-Za-z]+)", licence)
    assert kind
    assert kind[1].lower() in said.lower()


def test_constraints_lie_within_the_ranges() -> None:
    from packaging.requirements import Requirement
    from packaging.version import Version

    pinned = dict(re.findall(r"^([\w.-]+)==(\S+)$", (ROOT / "constraints.txt").read_text(), re.M))
    versions = {name.lower().replace("_", "-"): version for name, version in pinned.items()}
    for one in [*_PROJECT["dependencies"], *(one for found in _EXTRAS.values() for one in found)]:
        requirement = Requirement(one)
        assert Version(versions[requirement.name]) in requirement.specifier
