// The schemas that the extension "YAML" asks for: which one a text has, and what is in it. Needs no VS Code.

import { findSchemaName } from "./kind";

export const SCHEME = "podplan-schema";

export interface Contributor {
  requestSchema(resource: string): string | undefined;
  requestSchemaContent(uri: string): Promise<string>;
  /** Forgets the schemas, which may differ in another podplan. */
  clear(): void;
}

/** `load` prints a schema by its name; `canLoad` is false while no podplan was found or started. */
export function createContributor(
  readText: (resource: string) => string | undefined,
  canLoad: () => boolean,
  load: (name: string) => Promise<string>,
): Contributor {
  const contents = new Map<string, Promise<string>>();
  return {
    requestSchema: (resource) => {
      // The extension "YAML" keeps a schema for the session: none may be offered that could not be loaded.
      const text = canLoad() ? readText(resource) : undefined;
      const name = text === undefined ? undefined : findSchemaName(text);
      return name && `${SCHEME}:/${name}`;
    },
    requestSchemaContent: (uri) => {
      const name = decodeURIComponent(uri).slice(`${SCHEME}:/`.length);
      // An unknown kind has no schema, which is no error: {} accepts everything.
      const content = contents.get(name) ?? load(name).catch(() => "{}");
      contents.set(name, content);
      return content;
    },
    clear: () => contents.clear(),
  };
}
