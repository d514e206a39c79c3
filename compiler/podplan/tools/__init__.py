"""The implementation of commands other than ``check``, one package or module each."""
