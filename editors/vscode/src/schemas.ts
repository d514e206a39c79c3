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

/** Offers the schemas as soon as the extension "YAML" is there: it may be installed or enabled later. */
export function offerSchemas(server: Server): vscode.Disposable {
  let offered = false;
  const offer = async () => {
    const extension = vscode.extensions.getExtension<YamlApi>(YAML_EXTENSION);
    const enabled = vscode.workspace.getConfiguration("podplan").get("schemas.enabled", true);
    if (extension && enabled && !offered) {
      offered = true;
      register(await extension.activate(), server);
    }
  };
  void offer();
  return vscode.extensions.onDidChange(offer);
}

function register(api: YamlApi, server: Server): void {
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
