"""The release check notices what was not installed from the wheel at hand."""

from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.release.check import differences


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    file = tmp_path / "thing-1.0-py3-none-any.whl"
    with ZipFile(file, "w") as archive:
        archive.writestr("thing/__init__.py", "NEW = True\n")
        archive.writestr("thing-1.0.dist-info/RECORD", "")
    return file


def install(site: Path, text: str) -> None:
    (site / "thing").mkdir(parents=True)
    (site / "thing/__init__.py").write_text(text)


def test_the_files_of_the_wheel_pass(wheel, tmp_path):
    install(tmp_path / "site", "NEW = True\n")
    assert differences(wheel, tmp_path / "site") == []


def test_a_file_of_another_build_is_named(wheel, tmp_path):
    install(tmp_path / "site", "NEW = False\n")
    (text,) = differences(wheel, tmp_path / "site")
    assert text == "thing/__init__.py is not that of thing-1.0-py3-none-any.whl"


def test_a_missing_file_is_named(wheel, tmp_path):
    assert differences(wheel, tmp_path / "site") == ["thing/__init__.py is missing"]
