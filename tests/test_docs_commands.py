"""Every command on a page is run, and what the page says it prints is what it prints."""

import re
import shlex
from pathlib import Path

import click
import pytest

from pumice.cli import main as pumice_command
from tests.docs_console import ROOT, Shell, blocks, matches, shell_lines, steps

PAGES = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
    for path in [
        *sorted((ROOT / "docs").glob("*.md")),
        ROOT / "README.md",
        *sorted(ROOT.glob("contrib/*/README.md")),
    ]
}
NOT_RUN = {
    "make demo": "sets up the environment; tests/framework/cli/test_golden.py runs its command",
    "make test": "runs the tests, this one included",
    "pip install pumice ": "needs a package index; tests/fresh installs the wheels",
    "pip install 'pumice-framework[": "needs a package index",
    "pip install ./contrib": "would install again what the tests already use",
    "kubectl ": "needs a cluster; contrib/kubernetes/tests apply the same files to an API server",
    "helm ": "needs a cluster; contrib/kubernetes/tests render the chart",
    "docker ": "needs a container runtime",
    "pumice run --backend kubernetes": "needs a cluster; contrib/kubernetes/tests run it",
    "pumice dump": "needs a cluster; contrib/kubernetes/tests run it",
    "pumice shadow": "needs a cluster; contrib/kubernetes/tests run it",
    "pumice serve": "runs until Ctrl-C; tests/framework/cli/test_serve.py",
    "PUMICE_SERVE_TOKEN": "runs until Ctrl-C; tests/framework/cli/test_serve.py",
    "pumice simulate synthetic --trace-option": "ten minutes of CPU, for the figures of the page",
    "pumice simulate philly.csv.gz": "needs a trace that is not part of the project",
    "pumice-fragmentation NODES.csv": "needs a trace that is not part of the project",
    'eval "$(pumice completion zsh)"': "needs zsh; tests/framework/cli/test_doctor.py",
}
"""Commands by how they begin, and why they are not run here."""
INSTALLS = ("docs/write-a-plugin.md",)
"""Pages that build and install a distribution: run by ``make test-long``."""
ELSEWHERE = ("docs/tutorial.md",)
"""Run by tests/fresh/test_tutorial.py, in an environment of its own."""
COMMAND = re.compile(r"(\$ |(pumice|make|pip|python|kubectl|helm|docker|pytest|git)\s)")


def excused(command: str) -> bool:
    return any(command.startswith(start) for start in NOT_RUN)


def commands(text: str) -> list[str]:
    found = []
    for block in blocks(text):
        if block.language == "console":
            found += [step.command for step in steps(block.body)]
        elif block.language == "sh":
            found += shell_lines(block.body)
    return found


def run_page(text: str, shell: Shell) -> list[str]:
    """What is wrong with a page."""
    wrong = []
    for block in blocks(text):
        if block.name:
            shell.write(block)
        elif block.language == "console":
            for step in steps(block.body):
                status, printed = shell.run(step.command)
                if not matches(step.output, printed) or status:
                    place = f"line {block.line}: $ {step.command} (status {status})"
                    wrong.append(f"{place}\n{printed}")
        elif block.language == "sh":
            for command in shell_lines(block.body):
                if excused(command):
                    continue
                status, printed = shell.run(command)
                if status:
                    wrong.append(f"line {block.line}: {command} (status {status})\n{printed}")
    return wrong


RUN = [
    pytest.param(page, marks=[pytest.mark.long] if page in INSTALLS else [])
    for page, text in PAGES.items()
    if page not in ELSEWHERE and any(not excused(command) for command in commands(text))
]


@pytest.mark.parametrize("page", RUN)
def test_commands_print_what_the_page_says(page, tmp_path):
    wrong = run_page(PAGES[page], Shell(tmp_path))
    assert not wrong, f"`python -m tests.docs_console {page}` renews it:\n" + "\n".join(wrong)


@pytest.mark.parametrize("page", PAGES)
def test_commands_stand_in_blocks_that_are_run(page):
    strays = [
        f"line {block.line + number}: {line}"
        for block in blocks(PAGES[page])
        if block.language in ("", "text", "bash", "shell")
        for number, line in enumerate(block.body.splitlines(), 1)
        if COMMAND.match(line)
    ]
    assert not strays, "write ```console or ```sh"


def test_every_excuse_is_needed():
    every = [command for text in PAGES.values() for command in commands(text)]
    assert not [start for start in NOT_RUN if not any(c.startswith(start) for c in every)]


INLINE = re.compile(r"(?<!`)`(pumice [a-z][^`\n]*)`(?!`)")


@pytest.mark.parametrize("page", PAGES)
def test_commands_in_the_text_have_known_names_and_options(page):
    text = re.sub(r"```.*?```", "", PAGES[page], flags=re.S)
    unknown = [command for command in INLINE.findall(text) if not known(command)]
    assert not unknown


def known(command: str) -> bool:
    words = shlex.split(command.replace("…", "etc").replace("`", ""))[1:]
    parser: click.Command = pumice_command
    options: set[str] = {"--help"}
    for number, word in enumerate(words):
        options |= {name for option in parser.params for name in option.opts}
        if not isinstance(parser, click.Group):
            break
        if word.startswith("-"):
            continue
        inner = parser.get_command(click.Context(parser), word)
        if inner is None:
            return number > 0 and words[number - 1].startswith("-")
        parser = inner
    options |= {name for option in parser.params for name in option.opts}
    return all(
        word.split("=")[0] in options or re.fullmatch("-v+", word)
        for word in words
        if re.match("--?[a-z]", word)
    )


def test_a_wrong_output_is_seen(tmp_path: Path):
    page = "```console\n$ echo one; echo two\none\nthree\n```\n"
    assert run_page(page, Shell(tmp_path))


def test_an_ellipsis_stands_for_text_and_for_lines():
    assert matches("a … c\n…\nlast\n", "a b c\nx\ny\nlast\n")
    assert not matches("a … c\n", "a b c\nx\n")
