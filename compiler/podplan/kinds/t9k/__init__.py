"""The kinds of TensorStack T9k, and what their controllers share."""
