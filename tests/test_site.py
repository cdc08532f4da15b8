"""The built site: it loads nothing from other hosts, and says what the switches of the code say."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from mkdocs.commands.build import build
from mkdocs.config import load_config

from pumice.config.settings import EvictionSettings
from tests.docs_console import ROOT

LOADING = {"script": "src", "img": "src", "iframe": "src", "link": "href", "source": "src"}
"""Elements that a browser loads something for, and the attribute that says what."""
STYLE = re.compile(r"""(?:url\(\s*|@import\s+)["']?(https?:)?//""")
OWN = ("stylesheet", "icon", "preload", "preconnect", "dns-prefetch", "manifest", "modulepreload")


class Loads(HTMLParser):
    """The addresses on other hosts that a page loads."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        address = given.get(LOADING.get(tag, "")) or ""
        loads = tag != "link" or any(rel in OWN for rel in (given.get("rel") or "").split())
        if loads and re.match(r"(https?:)?//", address):
            self.found.append(address)


def external(html: str) -> list[str]:
    parser = Loads()
    parser.feed(html)
    return parser.found + [found[0] for found in STYLE.finditer(html)]


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    build(load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder), strict=True))
    return folder


def test_pages_load_nothing_from_elsewhere(site):
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 30
    assert not {p.name: external(p.read_text()) for p in pages if external(p.read_text())}


def test_styles_and_pictures_load_nothing_from_elsewhere(site):
    files = [*site.rglob("*.css"), *site.rglob("*.svg")]
    assert files
    assert not [path.name for path in files if STYLE.search(path.read_text())]


def test_what_is_loaded_from_elsewhere_is_seen():
    assert external('<link rel="stylesheet" href="https://fonts.example/x.css">')
    assert external('<script src="//cdn.example/x.js"></script>')
    assert external("<style>@font-face { src: url(https://fonts.example/x.woff2) }</style>")
    assert not external('<a href="https://example.org">there</a><img src="img/cast.svg">')


def test_both_palettes_and_highlighting_are_built(site):
    page = (site / "policy.html").read_text()
    assert 'data-md-color-scheme="slate"' in page
    assert '<span class="nt">' in page or '<span class="n">' in page


def test_every_switch_for_upstream_is_among_the_differences():
    page = (ROOT / "docs" / "differences.md").read_text(encoding="utf-8")
    durations = {"reservation", "terminating", "memory"}
    names = [f"evictions.{name}" for name in EvictionSettings.model_fields if name not in durations]
    for folder in ("builtin_plugins", "builtin_actions"):
        for file in (ROOT / folder).rglob("*.py"):
            names += re.findall(r'alias="(upstream\w+)"', file.read_text(encoding="utf-8"))
    assert len(names) > 6
    assert not [name for name in names if f"`{name}`" not in page]
