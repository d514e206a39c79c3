"""Requests about a position in a document: from params to a result."""

from __future__ import annotations

from collections.abc import Callable

from podplan.core.typing import TYPE_CHECKING, Any
from podplan.integrations.lsp import actions
from podplan.integrations.lsp import completion as completing
from podplan.integrations.lsp import definition as defining
from podplan.integrations.lsp import hover as hovering
from podplan.integrations.lsp import params as given
from podplan.integrations.lsp import previews as previewing
from podplan.integrations.lsp.cursor import locate_cursor
from podplan.integrations.lsp.diagnostics import RangeMapper
from podplan.integrations.lsp.document_symbols import build_symbols as outlined
from podplan.integrations.lsp.documents import OpenDocument, is_too_long
from podplan.workspace.files import OutsideRoot, PathNotFound

if TYPE_CHECKING:
    from podplan.integrations.lsp.server import LanguageServer

Message = dict[str, Any]
_AUTOMATIC_TRIGGER = 2  # CodeActionTriggerKind: the cursor moved, without a request of the user


def handle_hover(server: LanguageServer, params: Message) -> Message | None:
    cursor_context = locate_cursor(params, server.workspace.documents, server.encoding)
    hover_text = (
        hovering.render_hover(cursor_context, server.workspace) if cursor_context is not None else None
    )
    return (
        {"contents": {"kind": _select_format(server.capabilities), "value": hover_text}}
        if hover_text
        else None
    )


def _select_format(capabilities: Message) -> str:
    """Return Markdown, unless the editor supports only plain text."""
    formats: Any = capabilities
    for key in ("textDocument", "hover", "contentFormat"):
        formats = formats.get(key) if isinstance(formats, dict) else None
    return "plaintext" if isinstance(formats, list) and "markdown" not in formats else "markdown"


def handle_completion(server: LanguageServer, params: Message) -> Message | None:
    cursor_context = locate_cursor(params, server.workspace.documents, server.encoding)
    if cursor_context is None:
        return None
    return {
        "isIncomplete": False,
        "items": completing.build_items(cursor_context, server.workspace, server.encoding),
    }


def handle_definition(server: LanguageServer, params: Message) -> Message | None:
    cursor_context = locate_cursor(params, server.workspace.documents, server.encoding)
    if cursor_context is None:
        return None
    return defining.find_definition(cursor_context, server.workspace, _build_range_mapper(server))


def handle_symbols(server: LanguageServer, params: Message) -> list[Message] | None:
    document = server.workspace.documents.get(
        given.require_text(given.require_mapping(params, "textDocument"), "uri")
    )
    if document is None or is_too_long(document):
        return None
    return outlined(document, server.encoding)


def handle_code_actions(server: LanguageServer, params: Message) -> list[Message] | None:
    document = server.workspace.documents.get(
        given.require_text(given.require_mapping(params, "textDocument"), "uri")
    )
    line_params = given.require_mapping(params, "range")
    (first, _), (last, _) = (
        given.require_position(line_params, "start"),
        given.require_position(line_params, "end"),
    )
    if document is None:
        return None
    server.flush_check()
    raw_context = params.get("context")
    context = raw_context if isinstance(raw_context, dict) else {}
    only, ranges = context.get("only"), _build_range_mapper(server)
    found_actions = actions.build_quick_fixes(document, (first, last), server.report, ranges)
    found_actions = found_actions if actions.accepts_kind(only, actions.QUICK_FIX) else []
    wants_fix_all = actions.accepts_kind(only, actions.FIX_ALL) and (
        only or context.get("triggerKind") != _AUTOMATIC_TRIGGER
    )
    if wants_fix_all and actions.count_safe_fixes(server.report, document, ranges):
        fix_all_action = actions.build_fix_all(document, server.workspace, server.encoding)
        found_actions += [fix_all_action] if fix_all_action is not None else []
    return found_actions


def handle_lower(server: LanguageServer, params: Message) -> Message:
    variant = params.get("variant")
    if not isinstance(variant, str | None):
        raise given.ResponseError(given.INVALID_PARAMS, "params: variant must be a string or null")
    return _preview(
        server, params, lambda document: previewing.lower_document(document, server.workspace, variant)
    )


def handle_graph(server: LanguageServer, params: Message) -> Message:
    return _preview(server, params, lambda document: previewing.draw_document(document, server.workspace))


def _preview(server: LanguageServer, params: Message, build: Callable[[OpenDocument], Message]) -> Message:
    """Return what ``build`` makes of an open document. Raises ResponseError: if that is nothing."""
    document = server.workspace.documents.get(
        given.require_text(given.require_mapping(params, "textDocument"), "uri")
    )
    if document is None:
        raise given.ResponseError(given.REQUEST_FAILED, "this file is not open in the editor")
    if is_too_long(document):
        raise given.ResponseError(given.REQUEST_FAILED, "this file is too long to be lowered as you type")
    try:
        return build(document)
    except (OutsideRoot, PathNotFound) as error:
        raise given.ResponseError(given.REQUEST_FAILED, str(error)) from None


def _build_range_mapper(server: LanguageServer) -> RangeMapper:
    return RangeMapper(server.report.texts, server.workspace.documents, server.encoding)
