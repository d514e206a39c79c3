// Reads apiVersion and kind of the documents of a YAML text by their lines, also while it does not parse.

export interface Kind {
  readonly apiVersion: string;
  readonly kind: string;
}

const FIELD = /^(apiVersion|kind):[ \t]+["']?([\w./-]+)["']?[ \t]*(?:#.*)?$/gm;
const MODELINE = /^#\s*(?:yaml-language-server:\s*\$schema=|\$schema:\s)/m;

export function readKinds(text: string): Kind[] {
  return text.split(/^---(?=\s|$)/m).flatMap((document) => {
    const fields = new Map([...document.matchAll(FIELD)].map((match) => [match[1], match[2]]));
    const [apiVersion, kind] = [fields.get("apiVersion"), fields.get("kind")];
    return apiVersion && kind ? [{ apiVersion, kind }] : [];
  });
}

/** Whether a text may have Pods: a profile or base, or an object of an API group that is not podplan's. */
export function mayBeJob(text: string): boolean {
  return readKinds(text).some(({ apiVersion, kind }) =>
    apiVersion.startsWith("podplan/") ? kind.startsWith("JobProfile") : /(Job|JobSet)$/.test(kind),
  );
}

/** The name for `podplan schema show`; undefined if the text has a modeline, several kinds, or none. */
export function findSchemaName(text: string): string | undefined {
  if (MODELINE.test(text)) {
    return undefined;
  }
  const names = new Set(readKinds(text).map(nameSchema));
  const [name] = names;
  return names.size === 1 ? name : undefined;
}

function nameSchema({ apiVersion, kind }: Kind): string | undefined {
  if (apiVersion.startsWith("podplan/")) {
    return kind === "JobProfile" || kind === "ClusterInventory" ? kind : undefined;
  }
  return /Job$|^JobSet$|TrainingRuntime$/.test(kind) ? `${apiVersion}/${kind}` : undefined;
}
