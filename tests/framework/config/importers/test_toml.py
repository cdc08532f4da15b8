"""The TOML writer of the importers."""

import tomli

from pumice.config.importers._toml import write_toml


def test_toml_of_odd_values():
    policy = {
        "preset": "volcano",
        "actions": ["allocate"],
        "tiers": [{"plugins": [{"name": "a b", "enable": []}]}],
        "plugin": {
            "a b": {
                "k.e": 'quo"te\nline',
                "list": [{"x": 1.5, "y z": [True, "é"]}, {}],
                "long": [f"word-{number}" for number in range(20)],
            }
        },
        "scheduler": {"period": "1s"},
    }
    text = write_toml(policy, "Title", ["a note " * 40])
    assert tomli.loads(text) == policy
    assert max(map(len, text.splitlines())) <= 100
