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

# The traits of the kinds whose replica types are fixed, and whose master decides.
TYPED_TRAINING_TRAITS = frozenset(
    {
        "deadline",
        "training-container-by-name",
        "restarts-by-controller",
        "shared-retries",
        "replica-restart-policy",
        "exit-code-restarts",
    }
)
