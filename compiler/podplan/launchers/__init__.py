"""The command line that a container runs: shell strings, references, and the launchers of training jobs.

Read ``podplan.launchers.discovery`` first. Everything here is a pure function of plain strings; nothing
raises on odd input, and what cannot be known offline is marked as unknown.
"""
