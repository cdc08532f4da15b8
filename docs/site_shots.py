"""Screenshots of the built site: ``make docs && python docs/site_shots.py FOLDER``.

They need Playwright and Chromium: Debian's, or the one that CHROMIUM names. ``docs/img`` has two.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

SITE = Path(__file__).parents[1] / "site"
PAGES = ("index", "recipes", "worked-examples", "differences", "plugins")


def main() -> None:
    folder = Path(sys.argv[1])
    with sync_playwright() as playwright:
        chromium = os.environ.get("CHROMIUM", "/usr/bin/chromium")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for width, height in ((400, 860), (1600, 1000)):
            for scheme in ("light", "dark"):
                page = browser.new_page(
                    viewport={"width": width, "height": height},
                    color_scheme=scheme,
                    reduced_motion="reduce",
                )
                for name in PAGES:
                    page.goto(f"{(SITE / name).as_uri()}.html")
                    page.screenshot(path=folder / f"{name}-{width}-{scheme}.png")
                page.close()
        browser.close()


if __name__ == "__main__":
    main()
