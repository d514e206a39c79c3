"""Whatever strangers may write, thrown at the parts that read it: `make fuzz` runs the targets under atheris.

``targets`` is the table; what a target does with bytes needs no atheris, so that the inputs that once broke
something (fixtures/fuzz) are tried in `make test`, too. docs/reliability.md tells what was run and found.
"""
