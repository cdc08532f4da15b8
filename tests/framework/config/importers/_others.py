"""An action and a plugin of another distribution."""

from pumice import Action, Plugin
from pumice.discovery import Catalog


class Quiet(Plugin):
    class Options(Plugin.Options):
        hours: int = 8


def catalog_with(sweep: type[Action]) -> Catalog:
    """The installed parts, the plugin ``quiet`` and the action ``sweep``."""
    catalog = Catalog()
    catalog.register_local("plugin", "quiet", Quiet)
    catalog.register_local("action", "sweep", sweep)
    return catalog
