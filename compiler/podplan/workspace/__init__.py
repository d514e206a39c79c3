"""The files of the repository: which are loaded, what their documents are, and what refers to what."""
