"""The language server for editors (Language Server Protocol 3.17).

The framing is implemented here. pygls 2.1 was measured as the alternative: it needs five more packages and a
second more until the first answer; a message without a length makes it hang, and one with a huge length ends
it with a traceback.
"""
