"""Reports read by the programs that they are made for: `make integration` installs them from npm."""
