"""What a cluster really made of a job, against what lowering says: differences, and the settings for them.

    dump ─ read ─ match ─ differences ─ fold ─▶ report
                              └── adopting: which settings make them go ─ writing ─▶ podplan.toml

A setting is proposed by looking at the real objects, and taken only if lowering the job again with it leaves
less to differ. So what is said to be adoptable is.
"""
