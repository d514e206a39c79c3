"""podplan as a step of GitHub Actions: its inputs, the base of a pull request, and the files of the runner.

The workflow is trusted, the checkout is not (docs/evidence/github-actions.md#trust-in-the-checkout).
"""
