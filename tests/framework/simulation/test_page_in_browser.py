"""The report in a real browser: plots have a size, nothing overflows, nothing is loaded."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from pumice.cli import main

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
PROBE = """<script>
const drawn = [...document.querySelectorAll(".plot .line")].filter(p => p.getTotalLength() > 0);
const box = [...document.querySelectorAll(".plot")].map(p => p.getBoundingClientRect());
document.body.innerHTML = "<pre>" + JSON.stringify({
  lines: drawn.length,
  plots: box.filter(b => b.width > 100 && b.height > 50).length,
  overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  loaded: performance.getEntriesByType("resource").length,
}) + "</pre>";
</script>"""

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium: apt-get install chromium")


@pytest.mark.parametrize("width", [1200, 500])
def test_the_page_is_drawn(tmp_path: Path, width: int) -> None:
    report = tmp_path / "report.html"
    given = ["--trace-option", "jobs=12", "--trace-option", "gpus=16", "--processes", "1"]
    chosen = ["--preset", "volcano", "--preset", "pumice", "--report", str(report)]
    result = CliRunner().invoke(main, ["simulate", "synthetic", *given, *chosen])
    assert result.exit_code == 0, result.output
    report.write_text(report.read_text().replace("</body>", PROBE + "</body>"))
    done = subprocess.run(
        [
            str(CHROMIUM),
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            f"--user-data-dir={tmp_path / 'profile'}",
            f"--window-size={width},900",
            "--dump-dom",
            report.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    found = re.search(r"<pre>(\{.*\})</pre>", done.stdout)
    assert found is not None, done.stdout[-500:]
    seen = json.loads(found[1])
    # Three plots of both policies, and one for each of the three queues that have jobs.
    assert seen["plots"] == 3 + 3
    assert seen["lines"] >= 3 * 2 + 3 * 2
    assert seen["overflow"] <= 0
    assert seen["loaded"] == 0
