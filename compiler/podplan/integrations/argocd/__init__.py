"""podplan as a config management plugin of Argo CD: parameters, profiles, and generated manifests.

Argo CD copies a repository into a sidecar of its repo-server, runs ``podplan cmp generate`` in the folder of
an Application, and applies its output (docs/evidence/gitops-argocd.md#output-of-generate). This package does
not read the environment: ``cli/cmp.py`` passes its variables.
"""
