"""podplan as a config management plugin of Argo CD: what it is told, what it finds, and what it hands over.

Argo CD copies a repository into a sidecar of its repo-server and runs ``podplan cmp generate`` in the folder
of an Application; what that prints is what Argo CD applies
(docs/evidence/gitops-argocd.md#output-of-generate). Nothing here reads the
environment: ``cli/cmp.py`` hands over its variables.
"""
