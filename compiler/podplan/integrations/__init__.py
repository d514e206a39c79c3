"""podplan in other programs: Argo CD, GitHub Actions, editors."""
