"""Fuzzing of all code that reads untrusted input: `make fuzz` runs the targets with atheris.

``targets`` is the table; a target itself does not need atheris, so `make test` also tries the inputs that
once caused an error (fixtures/fuzz). docs/reliability.md lists what was run and found.
"""
