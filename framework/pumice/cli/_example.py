"""A minimal plugin for an extension point, generated from its spec."""

from __future__ import annotations

from pumice.hookspecs import ExtensionPoint

_ANSWERS = {"bool": "True", "float": "0.0", "int": "0", "str": '""'}


def example(point: ExtensionPoint) -> str:
    """Python code that can be saved and loaded as it is; it changes no decision."""
    arguments = ", ".join(("self", *point.args))
    name = "".join(word.capitalize() for word in point.name.split("_"))
    return "\n".join(
        [
            "from pumice import Plugin, hookimpl",
            "",
            "",
            f"class {name}(Plugin):",
            f'    """Answer {point.name}."""',
            "",
            "    @hookimpl",
            f"    def {point.name}({arguments}):",
            f"        {_body(point)}",
        ]
    )


def _body(point: ExtensionPoint) -> str:
    returns = point.signature.rpartition("->")[2].strip()
    kinds = [kind.strip() for kind in returns.split("|")]
    if kinds == ["None"]:
        return "pass  # a notification: no answer is expected"
    if "None" in kinds:
        return f"return None  # {returns}; None: no opinion"
    return f"return {_ANSWERS.get(kinds[0], 'None')}  # {returns}"
