"""The colours of the page contrast enough, in light and in dark."""

import re
from importlib import resources

import pytest

STYLE = resources.files("pumice.serve").joinpath("static", "style.css").read_text("utf-8")
LIGHT, DARK = (
    dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", block))
    for block in re.findall(r":root \{(.*?)\}", STYLE, re.S)
)


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    lower, higher = sorted((luminance(one), luminance(other)))
    return (higher + 0.05) / (lower + 0.05)


def test_both_schemes_have_the_same_colours():
    assert LIGHT.keys() == DARK.keys()


@pytest.mark.parametrize("scheme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("ground", ["panel", "ground", "row"])
@pytest.mark.parametrize("text", ["text", "muted", "accent", "bad", "good", "warn"])
def test_text_contrasts(scheme, ground, text):
    assert contrast(scheme[text], scheme[ground]) >= 4.5


@pytest.mark.parametrize("scheme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize(
    "mark, ground",
    [("focus", "panel"), ("focus", "ground"), ("allocated", "track"), ("mark", "track")],
)
def test_marks_contrast(scheme, mark, ground):
    assert contrast(scheme[mark], scheme[ground]) >= 3


@pytest.mark.parametrize("scheme", [LIGHT, DARK], ids=["light", "dark"])
def test_the_heat_map_goes_from_light_to_strong(scheme):
    steps = [contrast(scheme[f"heat-{level}"], scheme["cell"]) for level in range(5)]
    assert steps == sorted(steps)
    assert steps[-1] >= 4.5
