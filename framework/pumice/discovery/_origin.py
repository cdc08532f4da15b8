"""The project links in a distribution's metadata."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, metadata

from pumice.discovery._source import Source

_LABELS = ("documentation", "docs", "homepage", "home", "repository", "source", "source code")
"""The labels of project links that lead to documentation, best first."""


def project_url(source: Source) -> str:
    """The link to the documentation, else to the home page, else any; empty without one."""
    try:
        fields = metadata(source.distribution) if source.distribution else None
    except PackageNotFoundError:
        fields = None
    if fields is None:
        return ""
    links: dict[str, str] = {}
    for entry in fields.get_all("Project-URL") or []:
        label, _, link = str(entry).partition(",")
        links[label.strip().lower()] = link.strip()
    home = str(fields.get_all("Home-page", [""])[0])
    known = [links[label] for label in _LABELS if label in links]
    return next((link for link in (*known, home, *links.values()) if link), "")
