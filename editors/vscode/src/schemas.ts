// Offers podplan's JSON Schemas to the extension "YAML" of Red Hat, by the kind of each file and not by its name.

import * as vscode from "vscode";

import { findSchemaName } from "./kind";
import type { Server } from "./server";

const SCHEME = "podplan-schema";
const YAML_EXTENSION = "redhat.vscode-yaml";

/** The part of that extension's API that is used; see its wiki page "Extension API". */
interface YamlApi {
  registerContributor(
    schema: string,
    requestSchema: (resource: string) => string | undefined,
    requestSchemaContent: (uri: string) => Promise<string>,
  ): boolean;
}

export async function offerSchemas(server: Server): Promise<void> {
  const extension = vscode.extensions.getExtension<YamlApi>(YAML_EXTENSION);
  if (!extension || !vscode.workspace.getConfiguration("podplan").get("schemas.enabled", true)) {
    return;
  }
  const api = await extension.activate();
  const contents = new Map<string, Promise<string>>();
  server.onDidStart(() => contents.clear());
  api.registerContributor(
    SCHEME,
    (resource) => {
      const document = vscode.workspace.textDocuments.find(({ uri }) => uri.toString() === resource);
      const name = document && findSchemaName(document.getText());
      return name && `${SCHEME}:/${name}`;
    },
    (uri) => {
      const name = vscode.Uri.parse(uri).path.slice(1);
      // An unknown kind has no schema, which is no error: {} accepts everything.
      const content = contents.get(name) ?? server.run("schema", "show", name, "--editors").catch(() => "{}");
      contents.set(name, content);
      return content;
    },
  );
}
