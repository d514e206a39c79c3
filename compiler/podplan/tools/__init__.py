"""What commands besides ``check`` do, one package or module each."""
