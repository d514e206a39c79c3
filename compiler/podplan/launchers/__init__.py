"""The command line of a container: shell strings, references, and the launchers of training jobs.

Read ``podplan.launchers.discovery`` first. Everything here is a pure function of plain strings; invalid input
raises nothing, and values that are unknown offline are marked as unknown.
"""
