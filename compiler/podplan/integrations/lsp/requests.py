"""The requests about a place in a document: from params to a result."""

from __future__ import annotations

from podplan.core.typing import TYPE_CHECKING, Any
from podplan.integrations.lsp import actions
from podplan.integrations.lsp import completion as completing
from podplan.integrations.lsp import definition as defining
from podplan.integrations.lsp import hover as hovering
from podplan.integrations.lsp import params as given
from podplan.integrations.lsp.cursor import spot
from podplan.integrations.lsp.diagnostics import Places
from podplan.integrations.lsp.document_symbols import symbols as outlined
from podplan.integrations.lsp.documents import too_long

if TYPE_CHECKING:
    from podplan.integrations.lsp.server import Server

Message = dict[str, Any]
_AUTOMATIC = 2  # CodeActionTriggerKind: nobody asked, the cursor moved


def hover(server: Server, params: Message) -> Message | None:
    here = spot(params, server.workspace.documents, server.encoding)
    said = hovering.text(here, server.workspace) if here is not None else None
    return {"contents": {"kind": _format(server.capabilities), "value": said}} if said else None


def _format(capabilities: Message) -> str:
    """Markdown, unless the editor shows only plain text."""
    known: Any = capabilities
    for key in ("textDocument", "hover", "contentFormat"):
        known = known.get(key) if isinstance(known, dict) else None
    return "plaintext" if isinstance(known, list) and "markdown" not in known else "markdown"


def completion(server: Server, params: Message) -> Message | None:
    here = spot(params, server.workspace.documents, server.encoding)
    if here is None:
        return None
    return {"isIncomplete": False, "items": completing.items(here, server.workspace, server.encoding)}


def definition(server: Server, params: Message) -> Message | None:
    here = spot(params, server.workspace.documents, server.encoding)
    if here is None:
        return None
    return defining.location(here, server.workspace, _places(server))


def symbols(server: Server, params: Message) -> list[Message] | None:
    document = server.workspace.documents.get(given.text(given.mapping(params, "textDocument"), "uri"))
    if document is None or too_long(document):
        return None
    return outlined(document, server.encoding)


def code_actions(server: Server, params: Message) -> list[Message] | None:
    document = server.workspace.documents.get(given.text(given.mapping(params, "textDocument"), "uri"))
    where = given.mapping(params, "range")
    (first, _), (last, _) = given.position(where, "start"), given.position(where, "end")
    if document is None:
        return None
    server.checked()
    asked = params.get("context")
    context = asked if isinstance(asked, dict) else {}
    only, places = context.get("only"), _places(server)
    found = actions.fixes(document, (first, last), server.report, places)
    found = found if actions.wants(only, actions.QUICK_FIX) else []
    wanted = actions.wants(only, actions.FIX_ALL) and (only or context.get("triggerKind") != _AUTOMATIC)
    if wanted and actions.safe_fixes(server.report, document, places):
        whole = actions.fix_all(document, server.workspace, server.encoding)
        found += [whole] if whole is not None else []
    return found


def _places(server: Server) -> Places:
    return Places(server.report.texts, server.workspace.documents, server.encoding)
