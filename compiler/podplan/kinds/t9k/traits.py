"""The traits that all kinds of T9k have."""

COMMON_TRAITS = frozenset(
    {
        "training",
        "pod-templates",
        "replica-types",
        "debug-mode",
        "pause-mode",
        "t9k-scheduler",
        "template-restart-policy-ignored",
    }
)
