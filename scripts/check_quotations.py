"""Checks that quotations are on the pages that they name, in the text that other libraries extract from the file.

    python scripts/check_quotations.py FILE.pdf ... [--question Q]... [--pages 6] [--json] [--out FILE]

wim-edge extracts a PDF's text with PDFium. The check extracts it again with poppler (the command pdftotext) and with
pypdf, one of which must be installed (`pip install pypdf`, in a separate environment). Some stretches of two pages,
evenly spread over each file, are read and asked: the given questions, or one for each stretch about a sentence in its
middle. Each margin that an answer draws on is searched on the page that its source names. If it is not there, the
output says where it is, or how the text differs. Only words are compared: line ends, hyphens and compatible forms of
characters in Unicode do not count.

    on_page          on the page, or across its end
    on_another_page  on other pages alone
    not_found        on none; `why`: spaces differ, order differs (all its words are on the page), text differs

The libraries order tables and running heads differently, and guess at spaces: `any` is the best result of them for a
quotation. The pattern is `wim`, with quotations of all segments that make the question likelier, and an answer that is
cut off at once. `files` names the files that were read, with SHA-256.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from wim_edge import Document, Runtime, Settings, events, read_document

STRETCH = 2  # pages, so that segments and quotations may go over a page's end
SENTENCE = re.compile(r"[A-Z][^.!?]{40,300}[.!?](?=\s)")
QUESTION_WORDS = 12
SETTINGS: dict[str, Any] = {
    "pattern": "wim", "margins": "verbatim", "max_passages": 16, "relevance_threshold": 0.0, "answer_tokens": 1,
}  # fmt: skip
"""Settings for as many quotations as possible, and no time spent on the answer."""
KINDS = ("on_page", "on_another_page", "not_found")
Pages = list[str]
"""A file's text by page, as a library extracts it."""
Extractors = dict[str, tuple[str, Callable[[Path], Pages]]]
"""(the library's version, a function that extracts a file's pages), by name."""


def main() -> None:
    options = arguments()
    extractors = available()
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings.from_environment().with_changes(**SETTINGS, model=options.model, readings=Path(folder))
        with Runtime(settings) as runtime:
            model = runtime.open().info.name
            files = [check(runtime, path, options, extractors) for path in options.files]
    results: dict[str, Any] = {
        "command": shlex.join(["python", f"scripts/{Path(__file__).name}", *sys.argv[1:]]),
        "model": model,
        "extractors": {name: summarize(name, release, files) for name, (release, _) in extractors.items()},
        "any": summarize("any", "", files),
        "files": files,
    }
    if options.out:
        options.out.write_text(json.dumps(results, indent=2, ensure_ascii=False), encoding="utf-8")
    if options.json:
        print(json.dumps(results, indent=2, ensure_ascii=False))
    else:
        show(results)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE.pdf")
    parser.add_argument(
        "--question", action="append", metavar="Q", help="asked of every file; default: made of its text"
    )
    parser.add_argument(
        "--pages", type=int, default=6, metavar="N", help="read of a file at most; default: %(default)s"
    )
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the JSON here")
    parser.add_argument("--json", action="store_true", help="the figures as JSON on standard output")
    return parser.parse_args()


# What is quoted


def check(runtime: Runtime, path: Path, options: argparse.Namespace, extractors: Extractors) -> dict[str, Any]:
    """Returns a file's quotations, each with its place according to every extractor."""
    document = read_document(path)
    stretches = spread(document, options.pages)
    read = replace(document, parts=tuple(stretches))
    questions = options.question or [question_about(document.text[slice(*stretch)]) for stretch in stretches]
    pages = {name: extract(path) for name, (_, extract) in extractors.items()}
    quotations = []
    for source in quoted(runtime, read, questions):
        places = {name: locate(source, texts) for name, texts in pages.items()}
        places["any"] = min(places.values(), key=lambda place: KINDS.index(place["kind"]))
        quotations.append({"page": source.page, "text": source.margin, **places})
    print(f"{path.name}: {len(quotations)} quotations", file=sys.stderr)
    return {
        "name": path.name,
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "pages": max(len(texts) for texts in pages.values()),
        "questions": questions,
        "quotations": quotations,
    }


def spread(document: Document, pages: int) -> list[tuple[int, int]]:
    """Returns the offsets of stretches of two pages, evenly spread, with ``pages`` pages in all."""
    starts = [mark.start for mark in document.marks if mark.page is not None] + [len(document.text)]
    stretches = [(starts[n], starts[min(n + STRETCH, len(starts) - 1)]) for n in range(0, len(starts) - 1, STRETCH)]
    n = max(1, min(pages // STRETCH, len(stretches)))
    return [stretches[(2 * k + 1) * len(stretches) // (2 * n)] for k in range(n)]


def question_about(text: str) -> str:
    """Returns a question about a sentence in the middle of the text."""
    sentences = SENTENCE.findall(text) or [text]
    words = sentences[len(sentences) // 2].split()[:QUESTION_WORDS]
    return f"What does the text say about this: {' '.join(words)}?"


def quoted(runtime: Runtime, document: Document, questions: list[str]) -> Iterator[events.Source]:
    """Yields the quoted sources of the answers, each place once."""
    seen = set()
    for question in questions:
        for event in runtime.stream(document, question):
            if isinstance(event, events.AnswerFinished):
                for source in event.sources:
                    if source.quote is not None and source.quote not in seen:
                        seen.add(source.quote)
                        yield source


# Where it stands


def locate(source: events.Source, pages: Pages) -> dict[str, str]:
    """Returns ``kind``, one of `KINDS`, and for a quotation that is not on its page also ``why``."""
    assert source.page is not None
    here, beyond = pages[source.page - 1], "".join(pages[source.page : source.page + 1])
    words = plain(source.margin)
    if words in plain(here) or (words in plain(f"{here}\n{beyond}") and words not in plain(beyond)):
        return {"kind": "on_page"}
    if words.replace(" ", "") in plain(here).replace(" ", ""):
        return {"kind": "not_found", "why": "spaces differ"}
    others = [number for number, text in enumerate(pages, 1) if words in plain(text)]
    if others:
        return {"kind": "on_another_page", "why": f"on {', '.join(map(str, others))}"}
    missing = Counter(words.split()) - Counter(plain(f"{here}\n{beyond}").split())
    return {"kind": "not_found", "why": f"text differs: {' '.join(missing)}" if missing else "order differs"}


def plain(text: str) -> str:
    """Returns the text's words with single spaces, in Unicode's compatible forms (NFKC). Hyphens in words are dropped,
    and so are the pipes between a table's cells."""
    text = unicodedata.normalize("NFKC", text.replace("\u00ad", "").replace("|", " ")).replace("\u2010", "-")
    return " ".join(re.sub(r"(?<=\w)-\s*(?=\w)", "", text).split())


# Other libraries


def available() -> Extractors:
    """Returns the installed extractors. Raises SystemExit if there is none."""
    extractors: Extractors = {}
    if shutil.which("pdftotext"):
        banner = subprocess.run(["pdftotext", "-v"], capture_output=True, text=True, check=False).stderr
        extractors["pdftotext"] = (banner.split("\n")[0].split()[-1], by_pdftotext)
    with suppress(PackageNotFoundError):
        extractors["pypdf"] = (version("pypdf"), by_pypdf)
    if not extractors:
        raise SystemExit("no other library extracts text here: pip install pypdf, or install poppler's pdftotext")
    return extractors


def by_pdftotext(path: Path) -> Pages:
    done = subprocess.run(["pdftotext", "-enc", "UTF-8", path, "-"], capture_output=True, check=True)
    return done.stdout.decode("utf-8").split("\f")[:-1]


def by_pypdf(path: Path) -> Pages:
    import pypdf

    return [page.extract_text() for page in pypdf.PdfReader(path).pages]


# What came of it


def summarize(name: str, release: str, files: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns the counts of one extractor, and every quotation that is not on its page."""
    quotations = [(file["name"], quotation) for file in files for quotation in file["quotations"]]
    kinds = Counter(quotation[name]["kind"] for _, quotation in quotations)
    elsewhere = [
        {"file": file, "page": quotation["page"], "text": quotation["text"], **quotation[name]}
        for file, quotation in quotations
        if quotation[name]["kind"] != "on_page"
    ]
    share = kinds["on_page"] / len(quotations) if quotations else None
    counts = {kind: kinds[kind] for kind in KINDS}
    return {"version": release, "n": len(quotations), **counts, "share_on_page": share, "elsewhere": elsewhere}


def show(results: dict[str, Any]) -> None:
    for name, counts in {**results["extractors"], "any": results["any"]}.items():
        print(f"{name} {counts['version']}: {counts['n']} quotations, "
              + ", ".join(f"{counts[kind]} {kind.replace('_', ' ')}" for kind in KINDS))  # fmt: skip
        for one in counts["elsewhere"]:
            print(f"  {one['file']}, page {one['page']}: {one['why']}: {one['text']!r}")


if __name__ == "__main__":
    main()
