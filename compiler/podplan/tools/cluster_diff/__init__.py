"""Compares the objects of a job in a cluster with the lowered ones, and finds lowering options for the
differences.

kubectl_dump ─ object_matching ─ differences ─ aggregation ─▶ report
                                           └── adoption ─ config_writer ─▶ podplan.toml

Lowering options are proposed from the real objects, and adopted only if lowering the job again with them
leaves fewer differences. So every option that is reported as adoptable works.
"""
