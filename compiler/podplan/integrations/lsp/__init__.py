"""The language server: what podplan knows, where somebody writes it (Language Server Protocol 3.17).

The framing is our own. pygls 2.1 was measured against it: five packages more, a second more until the first
answer, and a message without a length silences it; one with a huge length ends it with a traceback.
"""
