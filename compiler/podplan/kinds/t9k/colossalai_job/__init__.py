"""ColossalAIJob: compiled from a profile, taken apart again, and lowered to Pods."""
