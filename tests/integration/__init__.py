"""Reports validated by the programs that read them: `make integration` installs these from npm."""
