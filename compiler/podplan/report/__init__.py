"""One module per output format; each turns a CheckResult into text and imports nothing of other layers."""
