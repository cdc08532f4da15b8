"""Code in a fresh interpreter."""

import subprocess
import sys
from textwrap import dedent


def isolated(code: str) -> str:
    result = subprocess.run(
        [sys.executable, "-c", dedent(code)], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stdout
