"""podplan inside other programs: Argo CD, GitHub Actions, editors."""
