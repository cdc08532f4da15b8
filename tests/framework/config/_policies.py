"""Policies as text."""

GOOD = """\
actions = ["enqueue", "allocate"]

[[tiers]]
plugins = ["priority", { name = "gang", disable = ["preemptable"] }]

[[tiers]]
plugins = ["nodeorder"]

[plugin.nodeorder]
leastrequested.weight = "5"
strict = "true"

[action.allocate]
limit = 7

[scheduler]
period = "500ms"
scheduler_names = ["volcano"]
"""
HEAD = 'actions = ["allocate"]\n[[tiers]]\nplugins = ["nodeorder", "binpack"]\n'
