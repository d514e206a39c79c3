"""Fingerprints of findings, which do not depend on the line."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence

from podplan.core.findings import Finding
from podplan.lint.baseline import build_entry

_HASH_LENGTH = 32


def compute_fingerprints(findings: Sequence[Finding], texts: Mapping[str, str]) -> list[str]:
    """Return a unique hash for each finding; ``texts`` has the texts of the files.

    As in a baseline, a finding is identified by rule, object, path and value; equal ones by their number.
    """
    occurrences: Counter[tuple[object, ...]] = Counter()
    hashes = []
    for finding in findings:
        baseline_entry = build_entry(finding, texts)
        key = (baseline_entry.file, *baseline_entry.key)
        occurrences[key] += 1
        text = json.dumps([key, occurrences[key]], ensure_ascii=True, default=str)
        hashes.append(hashlib.sha256(text.encode()).hexdigest()[:_HASH_LENGTH])
    return hashes
