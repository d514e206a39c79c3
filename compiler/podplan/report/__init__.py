"""One module per output format; each turns a Result into text and knows nothing else."""
