"""A file on Hugging Face: downloaded, verified, continued, and found in that package's own cache."""

from __future__ import annotations

import errno
import importlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from tests.attack.hub import Hub, running, write_entry
from tests.catalog.conftest import Make, sha256
from tests.conftest import written
from wim_edge.catalog import HubSource, fetch, hub as hub_module, locate, remove
from wim_edge.errors import DownloadError, ModelError, ModelFileError
from wim_edge.settings import Paths


class TestHub:
    def test_a_file_is_downloaded_verified_and_found(
        self, make_entry: Make, paths: Paths, hub: Any, gguf: bytes
    ) -> None:
        source = HubSource("owner/tiny-GGUF", "sub/tiny.gguf", "abc", sha256(gguf))
        entry = make_entry(source=source)
        calls = hub(gguf)
        seen: list[tuple[int, int | None]] = []
        assert locate(entry) is None
        path = fetch(entry, lambda done, total: seen.append((done, total)))
        assert path == paths.models / "owner/tiny-GGUF/sub/tiny.gguf" == locate(entry)
        assert seen[-1] == (len(gguf), len(gguf))
        fetch(entry)
        assert calls == [{"repo": "owner/tiny-GGUF", "file": "sub/tiny.gguf", "revision": "abc"}]

    def test_a_wrong_checksum_leaves_nothing(self, make_entry: Make, hub: Any, gguf: bytes) -> None:
        hub(gguf + b"more")
        entry = make_entry(source=HubSource("owner/tiny-GGUF", "tiny.gguf", sha256=sha256(gguf)))
        with pytest.raises(DownloadError, match="SHA-256"):
            fetch(entry)
        assert locate(entry) is None

    def test_what_is_no_model_leaves_nothing(self, make_entry: Make, hub: Any) -> None:
        hub(b"<html>Sign in to this network, please</html>")
        with pytest.raises(ModelFileError, match="not a GGUF file"):
            fetch(make_entry())
        assert locate(make_entry()) is None

    def test_a_damaged_file_is_fetched_again(self, make_entry: Make, paths: Paths, hub: Any, gguf: bytes) -> None:
        written(paths.models / "owner/tiny-GGUF/tiny.gguf", gguf[:-1])
        hub(gguf)
        assert fetch(make_entry()).read_bytes() == gguf

    def test_the_disk_is_looked_at_first(self, make_entry: Make, hub: Any, disk: Any) -> None:
        calls = hub()
        disk(5 * 10**6)
        with pytest.raises(DownloadError, match=r"2\.5 GB needed, 5 MB free"):
            fetch(make_entry(bytes=2_500_000_000))
        assert not calls

    def test_what_is_there_already_needs_no_space(
        self, make_entry: Make, paths: Paths, hub: Any, disk: Any, gguf: bytes
    ) -> None:
        hub(gguf)
        entry = make_entry(source=HubSource("owner/tiny-GGUF", "tiny.gguf", sha256=sha256(gguf)))
        partial = paths.models / f"owner/tiny-GGUF/.cache/huggingface/download/x.{sha256(gguf)}.incomplete"
        written(partial, gguf[:100])
        disk(len(gguf) - 100)
        assert fetch(entry).read_bytes() == gguf

    def test_without_the_package(self, make_entry: Make, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "huggingface_hub", None)
        with pytest.raises(DownloadError) as caught:
            fetch(make_entry())
        assert caught.value.hint == "pip install 'huggingface-hub>=1.1,<1.18'"

    @pytest.mark.parametrize(
        ("error", "message", "hint"),
        [
            ("GatedRepoError", "accept its terms", "HF_TOKEN"),
            ("RepositoryNotFoundError", "no repository owner/tiny-GGUF", "repo in models.toml"),
            ("RevisionNotFoundError", "no revision main", "revision in models.toml"),
            ("RemoteEntryNotFoundError", "no file tiny.gguf", "file in models.toml"),
            ("HfHubHTTPError", "answered 503", "later"),
            ("OfflineModeIsEnabled", "HF_HUB_OFFLINE", "copy the file to"),
            ("LocalEntryNotFoundError", "could not be downloaded", "Check the network"),
            ("peer closed connection", "peer closed connection", ""),
            (OSError(errno.ENOSPC, "full"), r"is full: .* needed", ""),
        ],
    )
    def test_errors_say_what_to_do(
        self, make_entry: Make, hub: Any, error: str | OSError, message: str, hint: str
    ) -> None:
        hub(error=self.error_of(error) if isinstance(error, str) else error)
        with pytest.raises(DownloadError, match=message) as caught:
            fetch(make_entry())
        assert hint in caught.value.hint

    @staticmethod
    def error_of(kind: str) -> Exception:
        """Returns an error of this class, or the HTTP client's with this text."""
        errors = importlib.import_module("huggingface_hub.errors")
        error_type = getattr(errors, kind, None)
        if error_type is None:
            return errors.HfHubHTTPError.__bases__[0](kind)  # type: ignore[no-any-return]
        if not issubclass(error_type, errors.HfHubHTTPError):
            return error_type(f"{kind} happened")  # type: ignore[no-any-return]
        http = importlib.import_module(errors.HfHubHTTPError.__bases__[0].__module__.partition(".")[0])
        request = http.Request("GET", "https://localhost/")
        return error_type("went wrong", response=http.Response(503, request=request))  # type: ignore[no-any-return]

    def test_offline_is_told_from_the_cause(self, make_entry: Make, hub: Any) -> None:
        error = self.error_of("LocalEntryNotFoundError")
        error.__cause__ = self.error_of("OfflineModeIsEnabled")
        hub(error=error)
        with pytest.raises(DownloadError, match="HF_HUB_OFFLINE"):
            fetch(make_entry())

    @pytest.mark.parametrize(("head", "is_last", "said"), [
        (lambda *_, **__: time.sleep(1), False, "no answer for 0.1 seconds"),
        (lambda *_, **__: time.sleep(1), True, "then it fails"),  # the last source is waited for
        (Mock(side_effect=ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")), True, "refused"),
    ])  # fmt: skip
    def test_a_hub_that_is_silent_or_cannot_be_reached(
        self, paths: Paths, monkeypatch: pytest.MonkeyPatch, head: Any, is_last: bool, said: str
    ) -> None:
        package = pytest.importorskip("huggingface_hub")
        monkeypatch.setattr(package, "hf_hub_download", Mock(side_effect=OSError("then it fails")))
        monkeypatch.setattr(package.constants, "HF_HUB_ETAG_TIMEOUT", 0.1)
        monkeypatch.setattr(package.get_session(), "head", head)
        with pytest.raises(DownloadError, match=said):
            hub_module.download(HubSource("owner/a", "a.gguf"), paths.models, 1, lambda *_: None, is_last=is_last)


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
            "try: print(catalog.fetch(catalog.Catalog.load().get('tiny'), print))\n"
            "except DownloadError as error: print(error)\n"
        )
        environment = os.environ | {"HF_ENDPOINT": hub.endpoint, "HF_HUB_OFFLINE": offline, "NO_PROXY": "127.0.0.1"}
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
        blob = written(repo / "blobs" / sha256(gguf), gguf)
        link = repo / "snapshots" / commit / "tiny.gguf"
        link.symlink_to(blob)
        return link

    def test_is_used_where_it_lies(self, make_entry: Make, cached: Path) -> None:
        assert locate(make_entry()) == cached
        assert fetch(make_entry()) == cached
        with pytest.raises(ModelError, match="cache") as caught:
            remove(make_entry())
        assert str(cached) in caught.value.hint

    def test_another_revision_will_do_but_no_other_file(self, make_entry: Make, cached: Path, gguf: bytes) -> None:
        for digest, found in ((sha256(gguf), cached), ("0" * 64, None)):
            source = HubSource("owner/tiny-GGUF", "tiny.gguf", "2" * 40, digest)
            assert locate(make_entry(source=source)) == found

    def test_without_a_cache_the_package_is_not_imported(
        self, make_entry: Make, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "huggingface_hub", None)
        assert locate(make_entry()) is None
