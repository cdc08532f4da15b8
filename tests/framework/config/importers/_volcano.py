"""Volcano's configuration of its chart, and importing one plugin of it."""

import json

from pumice.config.importers.volcano.policy import import_volcano

HELM = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
  - name: conformance
- plugins:
  - name: overcommit
  - name: drf
    enablePreemptable: false
  - name: predicates
  - name: proportion
  - name: nodeorder
  - name: binpack
"""


def imported(plugin="nodeorder", actions="allocate", rest="", **entry):
    """Policy and notes of a configuration with one plugin."""
    head = f"actions: {json.dumps(actions)}\ntiers:\n- plugins:\n  - "
    return import_volcano(f"{head}{json.dumps({'name': plugin, **entry})}\n{rest}")


def texts(notes):
    return [str(note) for note in notes]


BUILT_IN = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: conformance
- plugins:
  - name: overcommit
  - name: drf
  - name: predicates
  - name: proportion
  - name: nodeorder
"""
